/**
 * Calls and returns with their times, and sums by function.
 *
 * @module
 */
export * from "./pt_call_events.ts";
export { type CallRows, PLACE_ROWS } from "./pt_call_log.ts";
export * from "./pt_call_tree.ts";
export * from "./pt_calls.ts";
export { type CallPart, type JoinedCalls, OneThreadOnly } from "./pt_joined_calls.ts";
export * from "./pt_latency.ts";
export { PlaceSums } from "./pt_place_sums.ts";
