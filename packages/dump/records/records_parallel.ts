// Uses Deno's workers and standard output. Most other modules of this package run in any JavaScript
// runtime.
/**
 * Multi-threaded output of records, on Deno.
 *
 * @module
 */
import type { PerfDataReader } from "@perfdata/format/records";
import { writeStdout } from "@perfdata/format/files";
import {
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_TRACING_DATA,
} from "@perfdata/format/constants";
import type { Engine } from "@perfdata/session";
import { textOfFile } from "@perfdata/session/workers";
import { withCsv } from "./csv_line.ts";
import type { RecordsOptions } from "./records.ts";
import { askAgain, filterWords } from "./records_choice.ts";
import { isTimeOrdered, makeRecords, type RecordsAbout, RecordsText } from "./records_text.ts";

/** Options of {@linkcode recordsFile}. The text goes to standard output. */
export interface ParallelRecordsOptions extends RecordsOptions {
  /** Approximate bytes of records in a thread's window; default 2 MB. */
  readonly windowBytes?: number;
}

/** Result of {@linkcode recordsFile}. */
export interface WrittenRecords {
  /** The engine, with its statistics. */
  readonly engine: Engine;
  /** Number of records. */
  readonly count: number;
  /** The count of tracepoint samples without `fields`, because their raw data is too short. */
  readonly cut: number;
}

/** Record types that change the meaning of later records. */
const NOT_WITH = [
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_TRACING_DATA,
];

/**
 * Writes the text of `writeRecords` to standard output, with up to `jobs` threads: the file is
 * scanned once, then each thread writes some windows. The text does not depend on the number of
 * threads.
 *
 * A single thread is used for `limit`, symbols, functions, whole stacks, pipes and compressed
 * records.
 *
 * @param reader The file. Its damage is reported once, by this reader.
 * @param path Path of the same file, which each thread opens.
 * @param jobs Number of threads, including this one.
 * @throws {PerfDataError} In strict mode, if the file is damaged.
 */
export async function recordsFile(
  reader: PerfDataReader,
  path: string,
  jobs: number,
  options: ParallelRecordsOptions = {},
): Promise<WrittenRecords> {
  const { windowBytes, ...given } = options;
  const wish = await withCsv(given);
  const isShared = jobs > 1 || wish.filter?.time !== undefined;
  const written = isShared
    ? await recordsByWindows(reader, path, jobs, writeStdout, wish, windowBytes)
    : undefined;
  if (written !== undefined) return written;
  const text = new RecordsText(reader, writeStdout, wish);
  return { engine: await text.run(), count: text.count, cut: text.cut };
}

/**
 * Writes the records of a file by windows.
 *
 * @param jobs Number of threads, including this one.
 * @param windowBytes Approximate size of a window.
 * @returns `undefined`, with nothing written, if the file cannot be split into windows.
 */
export async function recordsByWindows(
  reader: PerfDataReader,
  path: string,
  jobs: number,
  write: (text: Uint8Array) => void,
  options: RecordsOptions,
  windowBytes?: number,
): Promise<WrittenRecords | undefined> {
  const about = reader.isPipe || reader.fileSize === undefined ? undefined : aboutOf(options);
  if (about === undefined) return undefined;
  const isTimed = isTimeOrdered(options);
  const { csvLine } = await withCsv(options);
  const made = await textOfFile<RecordsAbout>({
    reader,
    path,
    jobs,
    start: () => new Worker(new URL("./records_worker.ts", import.meta.url), { type: "module" }),
    about,
    make: (reader, about, write) => makeRecords(reader, about, write, csvLine),
    begin: (consumer) => (consumer as RecordsText).begin(),
    write,
    notWith: NOT_WITH,
    machine: isTimed,
    order: isTimed ? "time" : "file",
    time: options.filter?.time,
    windowBytes,
    progress: options.progress,
    diagnostics: options.diagnostics ?? fail,
  });
  if (made === undefined) return undefined;
  const { count, cut, asked } = (made.consumer as RecordsText).part();
  if (asked !== undefined) askAgain(options.filter ?? {}, asked);
  return { engine: made.engine, count, cut };
}

function fail(error: Error): never {
  throw error;
}

/** Input of another thread; `undefined` if a single thread has to be used. */
function aboutOf(
  { format, u64, types, from, order, fields, filter, limit, symbols, unwind }: RecordsOptions,
): RecordsAbout | undefined {
  if ((limit ?? symbols ?? unwind) !== undefined) return undefined;
  const { event, comm, dso, symbol: _, ...numbers } = filter ?? {};
  const words = filterWords(filter ?? {});
  if (words === undefined) return undefined;
  return {
    format,
    ...(u64 === undefined ? {} : { u64 }),
    types,
    from,
    order,
    fields,
    ...(filter === undefined ? {} : { filter: numbers }),
    ...((event ?? comm ?? dso) === undefined ? {} : { words }),
  };
}
