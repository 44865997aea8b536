import type { Diagnostics } from "@perfdata/format/bytes";
import type { PerfDataReader } from "@perfdata/format/records";
import type { Engine, EngineOptions } from "@perfdata/session";
import type { TextThreads } from "@perfdata/session/workers";
import type { U64Style } from "./records_json.ts";
import type { RecordsFilter } from "./records_choice.ts";
import type { RecordSymbols } from "./records_symbols.ts";
import { RecordsText } from "./records_text.ts";

export type { U64Style } from "./records_json.ts";

export type { RecordsFilter, RecordSymbols };

/** Selection and format of the records. */
export interface RecordsOptions {
  /** `ndjson` (the default): one JSON object per line; `csv`: rows of {@link CSV_COLUMNS}. */
  readonly format?: "ndjson" | "csv";
  /** Format of 64-bit values other than addresses; exact JSON integers by default. */
  readonly u64?: U64Style;
  /** Names of the selected record types, without `PERF_RECORD_`; all by default. */
  readonly types?: ReadonlySet<string>;
  /** File offset of the first record. */
  readonly from?: number;
  /** Selects records by their fields; all by default. */
  readonly filter?: RecordsFilter;
  /** Limit of the number of records. */
  readonly limit?: number;
  /**
   * `file` (the default): file order. `time`: perf's order, which stores the records between
   * FINISHED_ROUND records in memory.
   */
  readonly order?: "file" | "time";
  /**
   * Whether a tracepoint's samples get a member `fields`, an object with the fields of the tracepoint
   * (see `TracepointFields`). Requires that its format is recorded.
   */
  readonly fields?: boolean;
  /**
   * Whether records in COMPRESSED records are written in their place; default true, and always true
   * in time order.
   */
  readonly inflate?: boolean;
  /**
   * Symbols of the recording, added to the addresses in samples. Records are then in time order,
   * since mappings depend on it.
   */
  readonly symbols?: RecordSymbols;
  /**
   * Finds the code of objects for unwinding. `callchain` of samples is then the whole stack:
   * unwound from a stack copy, or joined with its deferred user part. Records are then in time
   * order.
   */
  readonly unwind?: EngineOptions["unwind"];
  /** As in `runEngine`. With `symbols`, it gives JIT-compiled code the names of its time. */
  readonly jit?: EngineOptions["jit"];
  /** As in `runEngine`. */
  readonly stitchLbr?: boolean;
  /**
   * Receives errors of unreadable event names; events are then named by type. Without it, such an
   * error is thrown.
   */
  readonly diagnostics?: Diagnostics;
  /** Called with the number of bytes read since the last call. */
  readonly progress?: (bytes: number) => void;
}

/** Options of {@linkcode recordsFile}. */
export interface RecordsFileOptions extends RecordsOptions {
  /** Path of the recording, which each thread opens. */
  readonly path: string;
  /** Receives blocks of whole lines, which are only valid during the call. */
  readonly write: (block: Uint8Array) => void;
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

/**
 * Writes the records of a file as text, one line each: JSON objects or CSV rows. The schema is in
 * `docs/records.md`.
 *
 * Records of plain fields and most samples are written without being decoded; samples with branch
 * stacks or weights in parts are decoded.
 *
 * @param reader The file or stream.
 * @param write Receives blocks of whole lines, some 256 KB each; from a stream, as soon as lines
 * are available. A block is overwritten after the call.
 * @param options Selection, order and format.
 * @returns Statistics, such as those of unwinding.
 * @throws {PerfDataError} In strict mode, if the data is damaged.
 * @throws {TypeError} If a filter by function has no symbols.
 *
 * @example
 * ```ts
 * import { writeRecords } from "@perfdata/dump";
 * import { bytesSource, KERNEL_RECORDS, memorySink, PerfDataReader, PerfDataWriter,
 *   RecordCodec } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const sink = memorySink();
 * const writer = await PerfDataWriter.pipe(sink);
 * await writer.write(new RecordCodec(KERNEL_RECORDS).encode({
 *   type: 3,
 *   name: "COMM",
 *   misc: 0x2000,
 *   body: { pid: 7, tid: 7, comm: "true" },
 * }));
 * const reader = await PerfDataReader.open(bytesSource(sink.bytes()));
 * let text = "";
 * await writeRecords(reader, (block) => text += new TextDecoder().decode(block));
 * assertEquals(
 *   text,
 *   '{"type":"COMM","offset":16,"misc":"0x2000","body":{"pid":7,"tid":7,"comm":"true"}}\n',
 * );
 * ```
 */
export async function writeRecords(
  reader: PerfDataReader,
  write: (block: Uint8Array) => void,
  options: RecordsOptions = {},
): Promise<Engine> {
  return await new RecordsText(reader, write, options).run();
}

/**
 * Writes the text of {@linkcode writeRecords} with up to `threads.jobs` threads: the file is scanned once,
 * then each thread writes some windows. The text does not depend on the number of threads.
 *
 * A single thread is used for `limit`, symbols, functions, whole stacks, pipes and compressed
 * records.
 *
 * @param reader The file. Its damage is reported once, by this reader.
 * @throws {PerfDataError} In strict mode, if the file is damaged.
 */
export async function recordsFile(
  reader: PerfDataReader,
  options: RecordsFileOptions,
  threads: TextThreads,
): Promise<WrittenRecords> {
  if (threads.jobs > 1 || options.filter?.time !== undefined) {
    // Loaded on demand: small files have no windows.
    const { recordsByWindows } = await import("./records_parallel.ts");
    const written = await recordsByWindows(reader, options, threads);
    if (written !== undefined) return written;
  }
  const text = new RecordsText(reader, options.write, options);
  return { engine: await text.run(), count: text.count, cut: text.cut };
}
