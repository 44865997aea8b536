/**
 * A file opened for analysis: the order of its records, and the machine that was recorded.
 *
 * @module
 */
export * from "./machine.ts";
export * from "./machine_history.ts";
export * from "./machine_maps.ts";
export { NameTable } from "./machine_names.ts";
export * from "./order.ts";
