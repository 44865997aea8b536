// Uses Deno's API, or opens what does; everything else in this package runs in any JavaScript runtime.
/**
 * Records and dumps that several threads write, on Deno.
 *
 * @module
 */
export { dumpByWindows, dumpFile, type ParallelDumpOptions } from "../parallel.ts";
export {
  type ParallelRecordsOptions,
  recordsByWindows,
  recordsFile,
  type WrittenRecords,
} from "../records/records_parallel.ts";
