/**
 * The AUX area streams of a recording: collected, read in blocks, stitched, copied, and listed in a manifest.
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
