/**
 * A `perf.data` file opened for analysis: the order of its records, the machine that was recorded,
 * its AUX streams.
 *
 * @module
 */
export * from "./aux_blocks.ts";
export * from "./aux_copy.ts";
export * from "./aux_manifest.ts";
export * from "./aux_overlap.ts";
export * from "./aux_stitch.ts";
export * from "./aux_streams.ts";
export * from "./aux_trace.ts";
export * from "./engine.ts";
export * from "./event_names.ts";
export * from "./places.ts";
export * from "./resolve.ts";
export * from "./run.ts";
export * from "./stacks.ts";
export * from "./chains.ts";
export * from "./libipt.ts";
export * from "./machine.ts";
export * from "./machine_maps.ts";
export { NameTable } from "./machine_names.ts";
export * from "./order.ts";
export * from "./stream_feature.ts";
