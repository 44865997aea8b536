import type { Diagnostics, PerfDataReader } from "@perfdata/format";
import { runEngine } from "@perfdata/session/engine";
import type { OrderStats } from "@perfdata/session/order";
import type { BundlePlaceSymbols } from "@perfdata/session/symbols";
import { readBefore } from "./text/before.ts";
import { DumpConsumer } from "./dump_consumer.ts";
import type { RecordFilter } from "./records/record_filter.ts";

/** Which records to dump, and how. */
export interface DumpOptions extends RecordFilter {
  /** Name of the file in the text. */
  readonly path: string;
  /** Receives the text. The bytes are valid during the call only. */
  readonly write: (text: Uint8Array) => void;
  /** Order of the records; by time, as perf does, unless `file` is asked for. */
  readonly order?: "time" | "file";
  /**
   * File offset of a byte of the first record. What comes before that record is not known then.
   */
  readonly from?: number;
  /** Stop after this many records. */
  readonly limit?: number;
  /** Whether to print the bytes of records; true by default. */
  readonly hex?: boolean;
  /** Whether to print AUX data; true by default. */
  readonly aux?: boolean;
  /** Whether packets of AUX data have their offset in the file in place of that in their data. */
  readonly fileOffsets?: boolean;
  /** Symbols of the recording, which are printed with the addresses of samples. */
  readonly symbols?: BundlePlaceSymbols;
  /** Called with the bytes that were read since the call before. */
  readonly progress?: (bytes: number) => void;
  /** Receives errors in the features from which names come; the text continues without these. */
  readonly diagnostics?: Diagnostics;
}

/** Findings of a dump, besides its text. */
export interface DumpStats extends OrderStats {
  /** Records that were printed. */
  printed: number;
  /** Records of events whose id the file does not name: only their bytes are printed. */
  unknownEvents: number;
  /** Samples whose lengths do not fit: only their bytes are printed. */
  badSamples: number;
  /** AUXTRACE records whose data was not printed since its format is not known here. */
  undecodedAux: number;
  /** AUXTRACE records that were left out because times were chosen: their data has none. */
  untimedAux: number;
  /** File offset of the first record that was looked at, where `from` is inside of it. */
  from: number | undefined;
}

/**
 * Writes what `perf report -D` prints for a file, byte for byte: each record with its place, its
 * bytes and its fields, in order of time, and statistics at the end.
 *
 * Where the two differ on purpose is listed in `docs/dump.md`. Memory does not grow with the file.
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
    // What cannot be read of the features is missing from the text; the reader reports the rest.
    diagnostics: diagnostics ?? (() => {}),
  });
  consumer.statistics(engine.eventNames);
  return { ...engine.order, ...consumer.stats, from: start === from ? undefined : start };
}
