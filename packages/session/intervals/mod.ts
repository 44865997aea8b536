/**
 * What threads did and when: what the scheduler's events and the kernel's records say of it.
 *
 * @module
 */
export * from "./scheduler_events.ts";
export * from "./thread_intervals.ts";
export * from "./interval_text.ts";
export * from "./parallelism.ts";
