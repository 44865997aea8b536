/**
 * What ran where: threads, mappings and code as of any moment of a trace, and their names.
 *
 * @module
 */
export * from "./pt_bundle.ts";
export * from "./pt_code.ts";
export * from "./pt_history.ts";
export * from "./pt_names.ts";
export * from "./pt_places.ts";
export * from "./pt_sideband.ts";
