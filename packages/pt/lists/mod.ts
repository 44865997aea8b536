/**
 * Rows for branches, instructions, packet events and entries, and their text.
 *
 * @module
 */
export * from "./pt_entries.ts";
export * from "./pt_entries_text.ts";
export * from "./pt_list.ts";
export * from "./pt_text.ts";
