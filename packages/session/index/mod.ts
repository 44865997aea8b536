/**
 * The index of a recording: the result of one scan over its record headers.
 *
 * @module
 */
export * from "./kept_records.ts";
export * from "./moments.ts";
export * from "./recording_index.ts";
export * from "./rounds.ts";
export * from "./seen_threads.ts";
