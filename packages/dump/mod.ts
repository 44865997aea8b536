/**
 * The text of `perf.data` files: what `perf report -D` prints, their headers, their bytes and their
 * records, for people and for pipes.
 *
 * @module
 */
export { dump, type DumpOptions, type DumpStats } from "./dump.ts";
export { headerLines, type HeaderOptions } from "./header/header.ts";
export { hexOfRecord } from "./hex/hex_record.ts";
export { HEX_SECTIONS, type HexOptions, type HexRun } from "./hex/hex_run.ts";
export { hexRuns } from "./hex/hex_runs.ts";
export { hexText, type HexTextOptions } from "./hex/hex_text.ts";
export type { RecordFilter } from "./records/record_filter.ts";
export * from "./records/record_line.ts";
export * from "./records/perf_record_names.ts";
export { CSV_COLUMNS } from "./records/records_csv.ts";
export { type CsvLine, type RecordsOptions, writeRecords } from "./records/records.ts";
export type { U64Style } from "./records/records_json.ts";
export * from "./text/stats_text.ts";
