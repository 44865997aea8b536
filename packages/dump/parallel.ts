// Uses Deno's workers and standard output; most of this package runs in any JavaScript runtime.
/**
 * Dumps of files by several threads, on Deno.
 *
 * @module
 */
import { HEADER_AUXTRACE } from "@perfdata/format/feature-names";
import { PERF_SAMPLE_AUX, PERF_SAMPLE_READ } from "@perfdata/format/perf-event";
import { type PerfDataReader } from "@perfdata/format";
import { writeStdout } from "@perfdata/format/file-sink";
import {
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_BUILD_ID,
  PERF_RECORD_HEADER_TRACING_DATA,
} from "@perfdata/format/record-types";
import { textOfFile } from "@perfdata/session/workers";
import { readBefore } from "./text/before.ts";
import { dump, type DumpOptions, type DumpStats } from "./dump.ts";
import { type DumpAbout, DumpConsumer } from "./dump_consumer.ts";

/** How to dump a file with several threads: the text goes to standard output. */
export interface ParallelDumpOptions extends Omit<DumpOptions, "path" | "write"> {
  /** Bytes of records that a thread takes at a time, about; 2 MB by default. */
  readonly windowBytes?: number;
}

/** Records that say what others after them mean, or that data follows. */
const NOT_WITH = [
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_BUILD_ID,
  PERF_RECORD_HEADER_TRACING_DATA,
  PERF_RECORD_AUXTRACE,
];

/**
 * Writes what `dump` writes to standard output, with up to `jobs` threads.
 *
 * The file is looked through once, for its windows of time and what changed the machine; then each thread
 * makes the text of windows. Where symbols or counters are printed, and for AUX data, one thread goes
 * through all of it, and so it does for files in pipe format or with compressed records. The text is the
 * same for any number of threads.
 *
 * @param reader The file; what is wrong with it is reported once, by this reader.
 * @param path The same file: each thread opens it for itself.
 * @param jobs How many threads, this one included.
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
 * @param jobs How many threads, this one included.
 * @param windowBytes Bytes of a window, about.
 * @returns `undefined`, with nothing written, where that cannot be done.
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

/** Whether a dump can be made of windows, as far as the header says. */
function hasWindows(
  { isPipe, fileSize, features, events }: PerfDataReader,
  { limit, symbols }: DumpOptions,
): boolean {
  const needsAll = PERF_SAMPLE_READ | PERF_SAMPLE_AUX;
  return !isPipe && fileSize !== undefined && limit === undefined && symbols === undefined &&
    !features.some(({ id }) => id === HEADER_AUXTRACE) &&
    events.all.every(({ layout }) => (layout.sampleType & needsAll) === 0);
}
