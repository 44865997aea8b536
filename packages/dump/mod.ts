/**
 * `perf.data` files as text: the output of `perf report -D`, headers, bytes and records, for people
 * and for pipes.
 *
 * @module
 */
export { dump, dumpFile, type DumpOptions, type DumpStats } from "./dump.ts";
export { type DumpAbout, makeDump } from "./dump_consumer.ts";
export { headerLines, type HeaderOptions } from "./header/header_text.ts";
export { hexOfRecord } from "./hex/hex_record.ts";
export { HEX_SECTIONS, type HexOptions, type HexRun } from "./hex/hex_run.ts";
export { hexRuns } from "./hex/hex_runs.ts";
export { hexText, type HexTextOptions } from "./hex/hex_text.ts";
export {
  dumpRecordName,
  isRecordName,
  recordNames,
  recordTypeOfName,
} from "./records/perf_record_names.ts";
export { type RecordFilter } from "./records/record_filter.ts";
export { recordThread } from "./records/record_line.ts";
export {
  recordsFile,
  type RecordsFileOptions,
  type RecordsFilter,
  type RecordsOptions,
  type RecordSymbols,
  writeRecords,
  type WrittenRecords,
} from "./records/records.ts";
export type { SentName } from "./records/records_choice.ts";
export { makeRecords, type RecordsAbout } from "./records/records_text.ts";
export type { U64Style } from "./records/records_json.ts";
export {
  type RecordsToShow,
  SHOW_FLAGS,
  type ShowFlag,
  shownRecords,
} from "./records/shown_records.ts";
