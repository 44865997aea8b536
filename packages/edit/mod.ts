/**
 * Editing of recordings: copies in another form, with records left out, replaced or added.
 *
 * @module
 */
export * from "./copy.ts";
export * from "./recording_output.ts";
export * from "./aux_cut.ts";
export * from "./slice.ts";
export * from "./pseudonym.ts";
export * from "./redact.ts";
export * from "./kept_tracing_data.ts";
export * from "./search_text.ts";
export * from "./repair.ts";
export * from "./merge.ts";
export * from "./compress.ts";
export * from "./for_perf.ts";
export * from "./byte_order.ts";
export * from "./build_ids.ts";
export * from "./choose.ts";
export * from "./inject_jit.ts";
