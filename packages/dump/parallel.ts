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
import { textOfFile, type TextThreads } from "@perfdata/session/workers";
import { readBefore } from "./text/before.ts";
import type { DumpOptions, DumpStats } from "./dump.ts";
import { type DumpAbout, type DumpConsumer, makeDump } from "./dump_consumer.ts";

/** Record types that change the meaning of later records, or are followed by data. */
const NOT_WITH = [
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_BUILD_ID,
  PERF_RECORD_HEADER_TRACING_DATA,
  PERF_RECORD_AUXTRACE,
];

/**
 * Dumps a file by windows.
 *
 * @returns `undefined`, with nothing written, if the file cannot be split into windows.
 */
export async function dumpByWindows(
  reader: PerfDataReader,
  options: DumpOptions,
  threads: TextThreads,
): Promise<DumpStats | undefined> {
  const { progress, diagnostics, symbols: _, write, ...about } = options;
  const { order, from, time, path } = about;
  if (!hasWindows(reader, options)) return undefined;
  const start = from === undefined ? undefined : (await readBefore(reader, from)).start;
  const made = await textOfFile<DumpAbout>({
    ...threads,
    reader,
    path,
    about,
    make: makeDump,
    begin: (consumer) => (consumer as DumpConsumer).begin(),
    write,
    notWith: NOT_WITH,
    machine: true,
    order,
    from: start,
    time,
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
