// Uses Deno's workers and standard output. Most other modules of this package run in any JavaScript
// runtime.
/**
 * Multi-threaded dumps of files, on Deno.
 *
 * @module
 */
import {
  HEADER_AUXTRACE,
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_BUILD_ID,
  PERF_RECORD_HEADER_TRACING_DATA,
  PERF_SAMPLE_AUX,
  PERF_SAMPLE_READ,
} from "@perfdata/format/constants";
import type { PerfDataReader } from "@perfdata/format/records";
import { writeStdout } from "@perfdata/format/files";
import { textOfFile } from "@perfdata/session/workers";
import { readBefore } from "./text/before.ts";
import { dump, type DumpOptions, type DumpStats } from "./dump.ts";
import { type DumpAbout, DumpConsumer } from "./dump_consumer.ts";

/** Options of {@linkcode dumpFile}. The text goes to standard output. */
export interface ParallelDumpOptions extends Omit<DumpOptions, "path" | "write"> {
  /** Approximate bytes of records in a thread's window; default 2 MB. */
  readonly windowBytes?: number;
}

/** Record types that change the meaning of later records, or are followed by data. */
const NOT_WITH = [
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_BUILD_ID,
  PERF_RECORD_HEADER_TRACING_DATA,
  PERF_RECORD_AUXTRACE,
];

/**
 * Writes the text of `dump` to standard output, with up to `jobs` threads.
 *
 * The file is scanned once for time windows and changes of the machine; then each thread writes
 * some windows. A single thread is used for symbols, counters, AUX data, pipes and compressed
 * records. The text does not depend on the number of threads.
 *
 * @param reader The file. Its damage is reported once, by this reader.
 * @param path Path of the same file, which each thread opens.
 * @param jobs Number of threads, including this one.
 * @throws {PerfDataError} In strict mode, if the file is damaged.
 */
export async function dumpFile(
  reader: PerfDataReader,
  path: string,
  jobs: number,
  options: ParallelDumpOptions = {},
): Promise<DumpStats> {
  const { windowBytes, ...wish } = options;
  const whole = { ...wish, path, write: writeStdout };
  const isShared = jobs > 1 || wish.time !== undefined;
  const stats = isShared ? await dumpByWindows(reader, jobs, whole, windowBytes) : undefined;
  return stats ?? await dump(reader, whole);
}

/**
 * Dumps a file by windows.
 *
 * @param jobs Number of threads, including this one.
 * @param windowBytes Approximate size of a window.
 * @returns `undefined`, with nothing written, if the file cannot be split into windows.
 */
export async function dumpByWindows(
  reader: PerfDataReader,
  jobs: number,
  options: DumpOptions,
  windowBytes?: number,
): Promise<DumpStats | undefined> {
  const { progress, diagnostics, symbols: _, write, ...about } = options;
  const { order, from, time, path } = about;
  if (!hasWindows(reader, options)) return undefined;
  const start = from === undefined ? undefined : (await readBefore(reader, from)).start;
  const made = await textOfFile<DumpAbout>({
    reader,
    path,
    jobs,
    start: () => new Worker(new URL("./dump_worker.ts", import.meta.url), { type: "module" }),
    about,
    make: (reader, about, write) => new DumpConsumer(reader, { ...about, write }, true),
    begin: (consumer) => (consumer as DumpConsumer).begin(),
    write,
    notWith: NOT_WITH,
    machine: true,
    order,
    from: start,
    time,
    windowBytes,
    progress,
    diagnostics: diagnostics ?? (() => {}),
  });
  if (made === undefined) return undefined;
  const consumer = made.consumer as DumpConsumer;
  consumer.statistics(made.engine.eventNames);
  return {
    ...made.engine.order,
    violations: made.index.isTimed ? made.index.rounds.late : 0,
    ...consumer.stats,
    from: start === from ? undefined : start,
  };
}

/** Whether the header allows a dump by windows. */
function hasWindows(
  { isPipe, fileSize, features, events }: PerfDataReader,
  { limit, symbols }: DumpOptions,
): boolean {
  const needsAll = PERF_SAMPLE_READ | PERF_SAMPLE_AUX;
  return !isPipe && fileSize !== undefined && limit === undefined && symbols === undefined &&
    !features.some(({ id }) => id === HEADER_AUXTRACE) &&
    events.all.every(({ layout }) => (layout.sampleType & needsAll) === 0);
}
