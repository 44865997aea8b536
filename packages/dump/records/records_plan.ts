import {
  PERF_EVENT_HEADER_SIZE,
  PERF_RECORD_AUX,
  PERF_RECORD_AUX_OUTPUT_HW_ID,
  PERF_RECORD_BPF_EVENT,
  PERF_RECORD_CGROUP,
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_FORK,
  PERF_RECORD_ITRACE_START,
  PERF_RECORD_KSYMBOL,
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
  PERF_RECORD_THROTTLE,
  PERF_RECORD_UNTHROTTLE,
  PERF_RECORD_USER_TYPE_START,
} from "@perfdata/format/record-types";
import { type RecordCodec, type RecordContext } from "@perfdata/format";
import { type RecordDeclaration, trailerEnd } from "@perfdata/format/record";
import { type TrailerLayout } from "@perfdata/format/sample-layout";
import { type Piece, piece, putDecimal } from "@perfdata/format/text-bytes";
import type { RecordBytes } from "@perfdata/session/run";
import {
  type BodyField,
  BodyFields,
  type FieldFormat,
  type FieldStep,
  putStep,
} from "../text/field_text.ts";
import { putPlainText } from "./records_bytes.ts";
import { type LineStyle, LineText } from "./line_text.ts";

/** A codec of any records. */
// deno-lint-ignore no-explicit-any
export type AnyRecordCodec = RecordCodec<RecordDeclaration<string, any>>;

/**
 * The record types whose fields lie where their type and `misc` say, whatever they hold: plain
 * numbers, at most one text, and that at the end.
 */
const PLAIN: ReadonlySet<number> = new Set([
  PERF_RECORD_MMAP,
  PERF_RECORD_LOST,
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_THROTTLE,
  PERF_RECORD_UNTHROTTLE,
  PERF_RECORD_FORK,
  PERF_RECORD_MMAP2,
  PERF_RECORD_AUX,
  PERF_RECORD_ITRACE_START,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
  PERF_RECORD_KSYMBOL,
  PERF_RECORD_BPF_EVENT,
  PERF_RECORD_CGROUP,
  PERF_RECORD_AUX_OUTPUT_HW_ID,
  PERF_RECORD_FINISHED_ROUND,
]);

/** How a field is written in JSON; `undefined` where it needs more than a step. */
function formatOf({ codec }: BodyField): FieldFormat | undefined {
  switch (codec.type) {
    case "u8":
    case "u16":
    case "u32":
    case "u64":
      return codec.display.as === "hex" ? "x" : "u";
    case "s32":
      return "d";
    case "char[]":
      return "text";
    default:
      return codec.display.as === "bytes" && codec.size !== undefined &&
          codec.presence === undefined
        ? "bytes"
        : undefined;
  }
}

/**
 * Writes the lines of the records of one type, `misc` and event without decoding each: where the
 * fields are is learned from the declaration by decoding the first.
 */
export class RecordPlan {
  readonly #steps: readonly FieldStep[];
  /** Writes what leads to the text at the end of the record, where there is one. */
  readonly #text: FieldStep | undefined;
  readonly #start: Piece;
  readonly #end: Piece;
  readonly #fixedEnd: number;
  readonly #trailerSize: number;
  readonly #cpuReserved: number;

  private constructor(
    name: string,
    misc: number,
    trailer: TrailerLayout | undefined,
    fields: readonly BodyField[],
    style: LineStyle,
  ) {
    const line = new LineText(style);
    const steps: FieldStep[] = [];
    this.#start = piece(line.member("type").constant(`"${name}"`).member("offset").take());
    line.member("misc").constant(`"0x${misc.toString(16)}"`);
    const trailing = (
      key: string,
      size: number,
      offset: number | undefined,
      format: FieldFormat = "u",
    ) => {
      if (offset === undefined || offset === 0) return;
      steps.push(line.member(key).step(format, { offset, size }));
    };
    trailing("pid", 4, trailer?.pid, "d");
    trailing("tid", 4, trailer?.tid, "d");
    trailing("cpu", 4, trailer?.cpu);
    trailing("time", 8, trailer?.time);
    trailing("id", 8, trailer?.id);
    trailing("stream_id", 8, trailer?.stream_id);
    trailing("identifier", 8, trailer?.identifier);
    line.member("body").text("{");
    fields.forEach((field, i) => {
      line.text(`${i === 0 ? "" : ","}"${field.name}":`);
      steps.push(line.step(formatOf(field) as FieldFormat, field));
    });
    const last = fields.at(-1);
    const hasText = last !== undefined && formatOf(last) === "text";
    this.#text = hasText ? steps.pop() : undefined;
    this.#fixedEnd = last === undefined
      ? PERF_EVENT_HEADER_SIZE
      : last.offset + (hasText ? 0 : last.size);
    this.#end = piece(line.text("}").end());
    this.#steps = steps;
    this.#trailerSize = trailer?.size ?? 0;
    this.#cpuReserved = trailer === undefined || trailer.cpu === 0 ? 0 : trailer.cpu + 4;
  }

  /** A plan for records such as this one, or `undefined` where they need to be decoded each. */
  static for(
    codec: AnyRecordCodec,
    bytes: Uint8Array,
    context: RecordContext,
    style: LineStyle,
  ): RecordPlan | undefined {
    const trace = new BodyFields();
    const record = codec.decode(bytes, { ...context, trace });
    if ("raw" in record || !PLAIN.has(record.type) || trace.isNested) return undefined;
    const fields = trace.fields.filter(({ size }) => size > 0);
    const plain = fields.every((field, i) => {
      const format = formatOf(field);
      return format !== undefined && (format !== "text" || i === fields.length - 1);
    });
    if (!plain) return undefined;
    const trailer = record.type < PERF_RECORD_USER_TYPE_START
      ? context.event?.layout.trailer
      : undefined;
    return new RecordPlan(record.name, record.misc, trailer, fields, style);
  }

  /** Most bytes that the line of a record of `size` bytes takes. */
  bound(size: number): number {
    return 1024 + 64 * this.#steps.length + size * 3;
  }

  /**
   * Writes the line of a record.
   *
   * @param at The bytes that hold it, in `[start, end)`.
   * @param offset Its file offset.
   * @param le Its byte order.
   * @returns -1 where the record holds more than plain fields.
   */
  write(
    out: DataView,
    from: number,
    at: RecordBytes,
    start: number,
    end: number,
    offset: number,
    le: boolean,
  ): number {
    const bodyEnd = end - this.#trailerSize;
    const fixedEnd = start + this.#fixedEnd;
    const text = this.#text;
    // What has bytes after its trailer is written in full.
    if (this.#trailerSize > 0 && trailerEnd(start, end) !== end) return -1;
    if (text === undefined ? bodyEnd !== fixedEnd : bodyEnd <= fixedEnd) return -1;
    if (this.#cpuReserved !== 0 && at.view.getInt32(end + this.#cpuReserved, le) !== 0) return -1;
    let pos = putDecimal(out, this.#start.put(out, from), offset);
    const steps = this.#steps;
    for (let s = 0; s < steps.length; s++) {
      pos = putStep(out, pos, steps[s] as FieldStep, at, start, end, le);
    }
    if (text !== undefined) {
      pos = putPlainText(out, text.before.put(out, pos), at.bytes, start + text.offset, bodyEnd);
      if (pos < 0) return -1;
    }
    return this.#end.put(out, pos);
  }
}
