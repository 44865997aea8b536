import type { Diagnostics } from "@perfdata/format/bytes";
import type { PerfDataReader } from "@perfdata/format/records";
import { type OrderStats, runEngine } from "@perfdata/session";
import type { BundlePlaceSymbols } from "@perfdata/session/symbols";
import type { TextThreads } from "@perfdata/session/workers";
import { readBefore } from "./text/before.ts";
import { DumpConsumer } from "./dump_consumer.ts";
import type { RecordFilter } from "./records/record_filter.ts";

/** Selection and format of a dump. */
export interface DumpOptions extends RecordFilter {
  /** Name of the file in the text. */
  readonly path: string;
  /** Receives the text. The bytes are only valid during the call. */
  readonly write: (text: Uint8Array) => void;
  /** Order of the records: `time` (the default), as in perf, or `file`. */
  readonly order?: "time" | "file";
  /** File offset of a byte in the first record. State from earlier records is unknown. */
  readonly from?: number;
  /** Stop after this many records. */
  readonly limit?: number;
  /** Whether to print the bytes of records; default true. */
  readonly hex?: boolean;
  /** Whether to print AUX data; default true. */
  readonly aux?: boolean;
  /** Whether packets of AUX data have their file offset instead of the offset in the data. */
  readonly fileOffsets?: boolean;
  /** Symbols of the recording, printed for the addresses of samples. */
  readonly symbols?: BundlePlaceSymbols;
  /** Called with the number of bytes read since the last call. */
  readonly progress?: (bytes: number) => void;
  /** Receives errors in the features with names. The text is written without these names. */
  readonly diagnostics?: Diagnostics;
}

/** Counts of a dump. */
export interface DumpStats extends OrderStats {
  /** Number of printed records. */
  printed: number;
  /** Records with an unknown event id: only their bytes were printed. */
  unknownEvents: number;
  /** Samples with inconsistent lengths: only their bytes were printed. */
  badSamples: number;
  /** AUXTRACE records whose data was not printed because its format is unknown. */
  undecodedAux: number;
  /** AUXTRACE records that were skipped because of the time filter: their data has no time. */
  untimedAux: number;
  /** File offset of the first record, if `from` is inside of it. */
  from: number | undefined;
}

/**
 * Writes the text of `perf report -D` for a file, byte for byte: each record with its offset, bytes
 * and fields, in time order, and statistics at the end.
 *
 * `docs/dump.md` lists the intended differences. Memory does not grow with the file.
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { dump } from "@perfdata/dump";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(24);
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe.set([16], 8);
 * pipe.set([68, 0, 0, 0, 0, 0, 8, 0], 16);
 * let text = "";
 * await dump(await PerfDataReader.open(bytesSource(pipe)), {
 *   path: "perf.data",
 *   write: (bytes) => void (text += new TextDecoder().decode(bytes)),
 *   hex: false,
 * });
 * assertEquals(text.split("\n").slice(3, 5), [
 *   "0@pipe [0x8]: event: 68",
 *   "-1 -1 0 [0x8]: PERF_RECORD_FINISHED_ROUND",
 * ]);
 * ```
 */
export async function dump(reader: PerfDataReader, options: DumpOptions): Promise<DumpStats> {
  const { order, from, progress, diagnostics } = options;
  const consumer = new DumpConsumer(reader, options);
  const before = from === undefined ? undefined : await readBefore(reader, from);
  const start = before?.start;
  if (before !== undefined) consumer.auxtraceType = before.auxtraceType;
  const engine = await runEngine(reader, [consumer], {
    order,
    from: start,
    progress,
    // Names in unreadable features are missing from the text; the reader reports the rest.
    diagnostics: diagnostics ?? (() => {}),
  });
  consumer.statistics(engine.eventNames);
  return { ...engine.order, ...consumer.stats, from: start === from ? undefined : start };
}

/**
 * Writes the text of {@linkcode dump}, with up to `threads.jobs` threads.
 *
 * The file is scanned once for time windows and changes of the machine; then each thread writes
 * some windows. A single thread is used for symbols, counters, AUX data, pipes and compressed
 * records. The text does not depend on the number of threads.
 *
 * @param reader The file. Its damage is reported once, by this reader.
 * @param options `path` is the path of the same file, which each thread opens.
 * @throws {PerfDataError} In strict mode, if the file is damaged.
 */
export async function dumpFile(
  reader: PerfDataReader,
  options: DumpOptions,
  threads: TextThreads,
): Promise<DumpStats> {
  if (threads.jobs === 1 && options.time === undefined) return await dump(reader, options);
  // Loaded on demand: small files have no windows.
  const { dumpByWindows } = await import("./parallel.ts");
  return await dumpByWindows(reader, options, threads) ?? await dump(reader, options);
}
