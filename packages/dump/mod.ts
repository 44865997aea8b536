/**
 * Records as text: what `perf report -D` prints.
 *
 * @module
 */
export * from "./dump.ts";
export * from "./event_name.ts";
export * from "./record_names.ts";
export * from "./stats_text.ts";
