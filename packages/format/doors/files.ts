// Uses Deno's API, or opens what does; everything else in this package runs in any JavaScript runtime.
/**
 * Files as sources and sinks, on Deno.
 *
 * @module
 */
export {
  type FileSink,
  fileSink,
  type NewFile,
  newFile,
  type NewFolder,
  newFolder,
  NOT_A_FILE,
  OutputError,
  writeAllSync,
  writeStdout,
} from "../sources/file_sink.ts";
export {
  type FileSource,
  fileSource,
  headerFile,
  type OpenOptions,
  openSource,
  setTempFolder,
  stdinSource,
} from "../sources/file_source.ts";
export { guardHeap } from "../sources/heap_guard.ts";
export { tempFile } from "../sources/temp_file.ts";
