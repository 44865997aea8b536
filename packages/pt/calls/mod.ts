/**
 * Calls and returns with their times, and sums of functions.
 *
 * @module
 */
export * from "./pt_call_events.ts";
export * from "./pt_call_log.ts";
export * from "./pt_call_part.ts";
export * from "./pt_call_tree.ts";
export * from "./pt_calls.ts";
export * from "./pt_latency.ts";
