/**
 * Reads records in the order of their delivery, in parts that are independent of each other.
 *
 * @module
 */
export * from "./plan.ts";
export * from "./window_reader.ts";
