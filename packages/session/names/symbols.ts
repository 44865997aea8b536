/**
 * The addresses that occur in a recording, and their symbols. Separate from `@perfdata/session`, so
 * that programs without names do not load the readers of ELF and DWARF.
 *
 * @module
 */
export * from "../places/address_table.ts";
export * from "../places/addresses.ts";
export * from "./bundle_symbols.ts";
export * from "./place_symbols.ts";
export * from "../places/places.ts";
export * from "../places/recorded_objects.ts";
export * from "./symbolize.ts";
