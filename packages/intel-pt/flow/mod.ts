/**
 * The instruction flow of a trace: code, paths, events, and time.
 *
 * @module
 */
export * from "./code.ts";
export * from "./flow_decoder.ts";
export * from "./flow_event.ts";
export * from "./path_table.ts";
export * from "./time_keeper.ts";
