/**
 * Access to files of this machine in Deno, Node and Bun, as `open` uses it: recordings as sources and
 * sinks, and files with symbols.
 *
 * @example
 * ```ts
 * import { PerfDataReader } from "@perfdata/format";
 * import { pathSource } from "@perfdata/perfdata/files";
 * import { assertEquals } from "@std/assert";
 *
 * const source = pathSource("fixtures/recorded/callchain.perf.data");
 * const reader = await PerfDataReader.open(source);
 * assertEquals(reader.isPipe, false);
 * source.close();
 * ```
 *
 * @module
 */
export { machineFiles, machinePlaces } from "../files/machine_files.ts";
export { type FilePath } from "../files/node_fs.ts";
export * from "../files/path_sink.ts";
export * from "../files/path_source.ts";
export { type TableFolder, tableFolder } from "../files/table_folder.ts";
