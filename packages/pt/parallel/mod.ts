/**
 * Decodes parts of buffers in several threads, and joins the results.
 *
 * @module
 */
export * from "./pt_join.ts";
export * from "./pt_join_calls.ts";
export * from "./pt_join_list.ts";
export * from "./pt_ranges.ts";
export * from "./serve_pt.ts";
