/**
 * What one look through a recording finds, before anything of it is decoded.
 *
 * @module
 */
export * from "./kept_records.ts";
export * from "./moments.ts";
export * from "./recording_index.ts";
export * from "./rounds.ts";
export * from "./seen_threads.ts";
