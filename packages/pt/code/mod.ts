/**
 * Threads, mappings and code at any time of a trace, and the names of functions.
 *
 * @module
 */
export * from "./pt_bundle.ts";
export * from "./pt_code.ts";
export * from "./pt_history.ts";
export * from "./pt_names.ts";
export * from "./pt_places.ts";
export * from "./pt_sideband.ts";
export * from "./pt_trace.ts";
