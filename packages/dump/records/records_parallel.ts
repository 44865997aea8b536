// Uses Deno's workers and standard output; most of this package runs in any JavaScript runtime.
/**
 * Records of files as text, by several threads, on Deno.
 *
 * @module
 */
import type { PerfDataReader } from "@perfdata/format";
import { writeStdout } from "@perfdata/format/file-sink";
import {
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_TRACING_DATA,
} from "@perfdata/format/record-types";
import type { Engine } from "@perfdata/session/engine";
import { textOfFile } from "@perfdata/session/workers";
import { withCsv } from "./csv_line.ts";
import type { RecordsOptions } from "./records.ts";
import { askAgain, filterWords } from "./records_choice.ts";
import { isTimeOrdered, makeRecords, type RecordsAbout, RecordsText } from "./records_text.ts";

/** How to write the records of a file with several threads: they go to standard output. */
export interface ParallelRecordsOptions extends RecordsOptions {
  /** Bytes of records that a thread takes at a time, about; 2 MB by default. */
  readonly windowBytes?: number;
}

/** What was written. */
export interface WrittenRecords {
  /** What was found on the way. */
  readonly engine: Engine;
  /** Number of records. */
  readonly count: number;
}

/** Records that say what others after them mean. */
const NOT_WITH = [
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_TRACING_DATA,
];

/**
 * Writes what `writeRecords` writes to standard output, with up to `jobs` threads: the file is looked
 * through once, then each thread makes the lines of some parts. The text is the same for any number of
 * threads.
 *
 * Where a number of lines, symbols, functions or whole stacks are asked for, and for files in pipe format or
 * with compressed records, one thread goes through all of it.
 *
 * @param reader The file; what is wrong with it is reported once, by this reader.
 * @param path The same file: each thread opens it for itself.
 * @param jobs How many threads, this one included.
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
  return { engine: await text.run(), count: text.count };
}

/**
 * Writes the records of a file by windows.
 *
 * @param jobs How many threads, this one included.
 * @param windowBytes Bytes of a window, about.
 * @returns `undefined`, with nothing written, where that cannot be done.
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
  const { count, asked } = (made.consumer as RecordsText).part();
  if (asked !== undefined) askAgain(options.filter ?? {}, asked);
  return { engine: made.engine, count };
}

function fail(error: Error): never {
  throw error;
}

/** Inputs of another thread; `undefined` if one thread has to do everything. */
function aboutOf(
  { format, u64, types, from, order, filter, limit, symbols, unwind }: RecordsOptions,
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
    ...(filter === undefined ? {} : { filter: numbers }),
    ...((event ?? comm ?? dso) === undefined ? {} : { words }),
  };
}
