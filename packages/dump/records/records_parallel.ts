import type { PerfDataReader } from "@perfdata/format/records";
import {
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_TRACING_DATA,
} from "@perfdata/format/constants";
import { askAgain, sentWords } from "@perfdata/session";
import { textOfFile, type TextThreads } from "@perfdata/session/workers";
import type { RecordsFileOptions, RecordsOptions, WrittenRecords } from "./records.ts";
import { isTimeOrdered, makeRecords, type RecordsAbout, type RecordsText } from "./records_text.ts";

/** Record types that change the meaning of later records. */
const NOT_WITH = [
  PERF_RECORD_HEADER_ATTR,
  PERF_RECORD_HEADER_TRACING_DATA,
];

/**
 * Writes the records of a file by windows.
 *
 * @returns `undefined`, with nothing written, if the file cannot be split into windows.
 */
export async function recordsByWindows(
  reader: PerfDataReader,
  options: RecordsFileOptions,
  threads: TextThreads,
): Promise<WrittenRecords | undefined> {
  const about = reader.isPipe || reader.fileSize === undefined ? undefined : aboutOf(options);
  if (about === undefined) return undefined;
  const isTimed = isTimeOrdered(options);
  const made = await textOfFile<RecordsAbout>({
    ...threads,
    reader,
    path: options.path,
    about,
    make: makeRecords,
    begin: (consumer) => (consumer as RecordsText).begin(),
    write: options.write,
    notWith: NOT_WITH,
    machine: isTimed,
    order: isTimed ? "time" : "file",
    time: options.filter?.time,
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
  const { event, comm, dso, symbol, ...numbers } = filter ?? {};
  if ((limit ?? symbols ?? unwind ?? symbol) !== undefined) return undefined;
  const words = sentWords({ event, comm, dso });
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
