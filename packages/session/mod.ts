/**
 * A `perf.data` file opened for analysis.
 *
 * @module
 */
export * from "./aux_copy.ts";
export * from "./aux_manifest.ts";
export * from "./aux_overlap.ts";
export * from "./aux_stitch.ts";
export * from "./aux_streams.ts";
