/**
 * When threads ran and waited, from the scheduler's events and the kernel's records.
 *
 * @module
 */
export * from "./scheduler_events.ts";
export * from "./thread_intervals.ts";
export * from "./interval_text.ts";
export * from "./parallelism.ts";
