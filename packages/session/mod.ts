/**
 * A `perf.data` file opened for analysis: the order of its records, the machine that was recorded,
 * its AUX streams.
 *
 * @module
 */
export * from "./auxtrace/aux_blocks.ts";
export * from "./auxtrace/aux_copy.ts";
export * from "./auxtrace/aux_manifest.ts";
export * from "./auxtrace/aux_overlap.ts";
export * from "./auxtrace/aux_stitch.ts";
export * from "./auxtrace/aux_streams.ts";
export * from "./auxtrace/aux_trace.ts";
export * from "./engine.ts";
export * from "./events/event_names.ts";
export * from "./places/places.ts";
export * from "./resolve.ts";
export * from "./order/run.ts";
export * from "./stacks/stacks.ts";
export * from "./stacks/chains.ts";
export * from "./auxtrace/libipt.ts";
export * from "./machine/machine.ts";
export * from "./machine/machine_maps.ts";
export { NameTable } from "./machine/machine_names.ts";
export * from "./order/order.ts";
export * from "./events/stream_feature.ts";
