// Uses Deno's API, or opens what does; everything else in this package runs in any JavaScript runtime.
/**
 * Work by several threads, on Deno: samples, text of records, copies of AUX data.
 *
 * @module
 */
export {
  type AuxFileCopy,
  copyAuxToFiles,
  type CopyToFilesOptions,
} from "../workers/aux_file_copy.ts";
export {
  branchWorkers,
  type CollectAbout,
  collectWorkers,
  dumpThread,
  infoCollectWorkers,
  infoWorkers,
  type LineAbout,
  lineWorkers,
  recordsThread,
  textThreads,
} from "../workers/threads.ts";
