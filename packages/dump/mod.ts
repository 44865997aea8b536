/**
 * The text of `perf.data` files: their header, their bytes and their records, for people and pipes.
 *
 * @module
 */
export { headerLines, type HeaderOptions } from "./header.ts";
export { defaultEventName } from "./header_events.ts";
export { CSV_COLUMNS, isRecordName, type RecordsOptions, recordsText } from "./records.ts";
export type { U64Style } from "./records_json.ts";
export { HEX_SECTIONS, type HexOptions, type HexRun, hexRuns } from "./hex_runs.ts";
export { hexLines, type HexTextOptions } from "./hex_text.ts";
export * from "./dump.ts";
export * from "./event_name.ts";
export * from "./record_names.ts";
export * from "./stats_text.ts";
