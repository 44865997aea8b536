/**
 * `perf.data` files as text: the output of `perf report -D`, headers, bytes and records, for people
 * and for pipes.
 *
 * @module
 */
export { dump, type DumpOptions, type DumpStats } from "./dump.ts";
export { headerLines } from "./header/header_text.ts";
export { hexOfRecord } from "./hex/hex_record.ts";
export { hexText } from "./hex/hex_text.ts";
export { type RecordsOptions, writeRecords } from "./records/records.ts";
