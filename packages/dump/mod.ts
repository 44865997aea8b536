/**
 * The text of `perf.data` files: what `perf report -D` prints, their headers, their bytes and their
 * records, for people and for pipes.
 *
 * @module
 */
export { dump, type DumpOptions, type DumpStats } from "./dump.ts";
export { headerLines, type HeaderOptions } from "./header.ts";
export { hexOfRecord } from "./hex_record.ts";
export { HEX_SECTIONS, type HexOptions, type HexRun } from "./hex_run.ts";
export { hexRuns } from "./hex_runs.ts";
export { hexText, type HexTextOptions } from "./hex_text.ts";
export type { RecordFilter } from "./record_filter.ts";
export * from "./record_line.ts";
export * from "./record_names.ts";
export { CSV_COLUMNS } from "./records_csv.ts";
export { type CsvLine, type RecordsOptions, writeRecords } from "./records.ts";
export type { U64Style } from "./records_json.ts";
export * from "./stats_text.ts";
