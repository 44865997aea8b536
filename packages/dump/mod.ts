/**
 * The text of `perf.data` files: what `perf report -D` prints, their headers, their bytes and their
 * records, for people and for pipes.
 *
 * @module
 */
export { dump, type DumpOptions, type DumpStats } from "./dump.ts";
export { headerLines } from "./header/header_text.ts";
export { hexOfRecord } from "./hex/hex_record.ts";
export { hexText } from "./hex/hex_text.ts";
export { type RecordsOptions, writeRecords } from "./records/records.ts";
