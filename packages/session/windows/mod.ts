/**
 * Records in the order of their delivery, read in parts that need nothing of each other.
 *
 * @module
 */
export * from "./plan.ts";
export * from "./window_reader.ts";
