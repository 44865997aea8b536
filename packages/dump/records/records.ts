import type { Diagnostics, PerfDataReader } from "@perfdata/format";
import type { Engine, EngineOptions } from "@perfdata/session/engine";
import type { U64Style } from "./records_json.ts";
import type { RecordsFilter } from "./records_choice.ts";
import type { RecordSymbols } from "./records_symbols.ts";
import { RecordsText } from "./records_text.ts";

export type { U64Style } from "./records_json.ts";

export type { RecordsFilter, RecordSymbols };

/** A row of CSV with its line end, as RFC 4180 quotes it. */
export type CsvLine = (cells: readonly string[]) => string;

/** Which records are written, and how. */
export interface RecordsOptions {
  /** `ndjson`: one JSON object a line, the default; `csv`: rows of {@link CSV_COLUMNS}. */
  readonly format?: "ndjson" | "csv";
  /** Makes rows of CSV, which needs it; such as `(row) => stringify([row], { headers: false })` of @std/csv. */
  readonly csvLine?: CsvLine;
  /** How 64-bit values that are not addresses are written; exact JSON integers by default. */
  readonly u64?: U64Style;
  /** Names of the record types that are written, without `PERF_RECORD_`; all by default. */
  readonly types?: ReadonlySet<string>;
  /** File offset of the first record that is written. */
  readonly from?: number;
  /** Selects records by their fields; all by default. */
  readonly filter?: RecordsFilter;
  /** How many records are written at most. */
  readonly limit?: number;
  /**
   * `file`, the default: the order of the file. `time`: as perf delivers them, which needs memory for
   * the records between FINISHED_ROUND records.
   */
  readonly order?: "file" | "time";
  /**
   * Whether the records inside of COMPRESSED ones are written in their place; true by default, and
   * always so in order of time.
   */
  readonly inflate?: boolean;
  /**
   * Symbols of the recording: lines of samples have those of their addresses. The records come in
   * the order of time then, since what is mapped where has to be known.
   */
  readonly symbols?: RecordSymbols;
  /**
   * Finds the code of objects: `callchain` of samples is their whole stack then, unwound where a copy
   * of it was recorded, joined where its user part is elsewhere. The records come in the order of time.
   */
  readonly unwind?: EngineOptions["unwind"];
  /** As for `runEngine`: with `symbols`, so that generated code has the names of its time. */
  readonly jit?: EngineOptions["jit"];
  /** As for `runEngine`. */
  readonly stitchLbr?: boolean;
  /**
   * Receives what is wrong apart from the records: the names of the events cannot be read, and they are
   * called by their types. Without it that throws.
   */
  readonly diagnostics?: Diagnostics;
  /** Called with the bytes that were read since the call before. */
  readonly progress?: (bytes: number) => void;
}

/**
 * Writes the records of a file as text, one line each: JSON objects or rows of CSV. The schema is in
 * `docs/records.md`.
 *
 * Samples, but those with branch stacks or weights in parts, and other records of plain fields are
 * written without being decoded.
 *
 * @param reader The file or stream.
 * @param write Takes blocks of whole lines, some 256 KB each, and from a stream as soon as there are
 * any. A block is overwritten after the call.
 * @param options Which records, in which order, and how they are written.
 * @returns What was found on the way: how unwinding went.
 * @throws {PerfDataError} In strict mode, if the data is damaged.
 * @throws {TypeError} If a filter by function has no symbols, or CSV no `csvLine`.
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
