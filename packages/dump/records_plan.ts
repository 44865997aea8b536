import {
  type Codec,
  PERF_EVENT_HEADER_SIZE,
  PERF_RECORD_USER_TYPE_START,
  type RecordCodec,
  type RecordContext,
  type RecordDeclaration,
  type Trace,
  trailerEnd,
  type TrailerLayout,
} from "@perfdata/format";
import {
  putDecimal,
  putHex,
  putHexBytes,
  putPlainText,
  putSegment,
  putU64,
  type Segment,
  segment,
} from "./records_bytes.ts";
import type { RecordBytes } from "@perfdata/session/order";
import type { U64Style } from "./records_json.ts";

/** A codec of any records. */
// deno-lint-ignore no-explicit-any
export type AnyRecordCodec = RecordCodec<RecordDeclaration<string, any>>;

/**
 * The record types whose fields lie where their type and `misc` say, whatever they hold: plain
 * numbers, at most one text, and that at the end.
 */
const PLAIN: ReadonlySet<number> = new Set([
  1, // MMAP
  2, // LOST
  3, // COMM
  4, // EXIT
  5, // THROTTLE
  6, // UNTHROTTLE
  7, // FORK
  10, // MMAP2
  11, // AUX
  12, // ITRACE_START
  13, // LOST_SAMPLES
  14, // SWITCH
  15, // SWITCH_CPU_WIDE
  17, // KSYMBOL
  18, // BPF_EVENT
  19, // CGROUP
  21, // AUX_OUTPUT_HW_ID
  68, // FINISHED_ROUND
]);

type Kind = "u8" | "u16" | "u32" | "x16" | "x32" | "u64" | "x64" | "bytes" | "text";

/** A field of a plan: what leads to it, where it is, how it is written. */
interface Step {
  readonly before: Segment;
  readonly kind: Kind;
  /** Bytes from the start of the record, or from its end where negative. */
  readonly offset: number;
  readonly size: number;
}

function kindOf(codec: Codec<unknown>): Kind | undefined {
  const hex = codec.display.as === "hex";
  switch (codec.type) {
    case "u8":
      return hex ? undefined : "u8";
    case "u16":
      return hex ? "x16" : "u16";
    case "u32":
      return hex ? "x32" : "u32";
    case "u64":
      return hex ? "x64" : "u64";
    case "char[]":
      return "text";
    default:
      return codec.display.as === "bytes" && codec.size !== undefined &&
          codec.presence === undefined
        ? "bytes"
        : undefined;
  }
}

/** Collects the fields of a record's body, or finds that they are not plain. */
class PlainFields implements Trace {
  readonly fields: { name: string; codec: Codec<unknown>; from: number; to: number }[] = [];
  plain = true;
  #depth = 0;
  #inTrailer = false;

  begin(name: string, codec: Codec<unknown>, offset: number): void {
    if (this.#depth === 0) {
      this.#inTrailer = name === "sample_id";
      if (name === "tail") this.plain = false;
      if (!this.#inTrailer) this.fields.push({ name, codec, from: offset, to: offset });
    } else if (!this.#inTrailer) {
      this.plain = false;
    }
    this.#depth++;
  }

  end(offset: number): void {
    this.#depth--;
    const last = this.fields.at(-1);
    if (this.#depth === 0 && !this.#inTrailer && last !== undefined) last.to = offset;
  }
}

/**
 * Writes the lines of the records of one type, `misc` and event without decoding each: where the
 * fields are is learned from the declaration by decoding the first.
 */
export class RecordPlan {
  readonly #steps: readonly Step[];
  readonly #start: Segment;
  readonly #end: Segment;
  readonly #fixedEnd: number;
  readonly #trailerSize: number;
  readonly #cpuReserved: number;
  readonly #hasText: boolean;

  private constructor(
    name: string,
    misc: number,
    trailer: TrailerLayout | undefined,
    fields: PlainFields["fields"],
    u64: U64Style,
  ) {
    const quote = u64 === "string" ? '"' : "";
    const steps: Step[] = [];
    let text = `,"misc":"0x${misc.toString(16)}"`;
    const add = (key: string, kind: Kind, offset: number, size: number) => {
      const open = kind === "u64"
        ? quote
        : kind.startsWith("x")
        ? '"0x'
        : kind === "bytes" || kind === "text"
        ? '"'
        : "";
      steps.push({ before: segment(`${text}${key}${open}`), kind, offset, size });
      text = kind === "u64" ? quote : open === "" ? "" : '"';
    };
    const trailing = (key: string, kind: Kind, offset: number | undefined) => {
      if (offset !== undefined && offset !== 0) add(`,"${key}":`, kind, offset, 0);
    };
    trailing("pid", "u32", trailer?.pid);
    trailing("tid", "u32", trailer?.pid && trailer.pid + 4);
    trailing("cpu", "u32", trailer?.cpu);
    trailing("time", "u64", trailer?.time);
    trailing("id", "u64", trailer?.id);
    trailing("stream_id", "u64", trailer?.stream_id);
    trailing("identifier", "u64", trailer?.identifier);
    text += ',"body":{';
    let separator = "";
    this.#fixedEnd = PERF_EVENT_HEADER_SIZE;
    this.#hasText = false;
    for (const { name, codec, from, to } of fields) {
      const kind = kindOf(codec) as Kind;
      add(`${separator}"${name}":`, kind, from, to - from);
      separator = ",";
      if (kind === "text") this.#hasText = true;
      else this.#fixedEnd = to;
    }
    this.#start = segment(`{"type":"${name}","offset":`);
    this.#end = segment(`${text}}}\n`);
    this.#steps = steps;
    this.#trailerSize = trailer?.size ?? 0;
    this.#cpuReserved = trailer === undefined || trailer.cpu === 0 ? 0 : trailer.cpu + 4;
  }

  /** A plan for records such as this one, or `undefined` where they need to be decoded each. */
  static for(
    codec: AnyRecordCodec,
    bytes: Uint8Array,
    context: RecordContext,
    u64: U64Style,
  ): RecordPlan | undefined {
    const trace = new PlainFields();
    const record = codec.decode(bytes, { ...context, trace });
    if ("raw" in record || !PLAIN.has(record.type) || !trace.plain) return undefined;
    const fields = trace.fields.filter(({ from, to }) => to > from);
    const plain = fields.every(({ codec }, i) => {
      const kind = kindOf(codec);
      return kind !== undefined && (kind !== "text" || i === fields.length - 1);
    });
    if (!plain) return undefined;
    const trailer = record.type < PERF_RECORD_USER_TYPE_START
      ? context.event?.layout.trailer
      : undefined;
    return new RecordPlan(record.name, record.misc, trailer, fields, u64);
  }

  /** Most bytes that the line of a record of `size` bytes takes. */
  bound(size: number): number {
    return 1024 + 64 * this.#steps.length + size * 3;
  }

  /**
   * Writes the line of a little-endian record.
   *
   * @param at The bytes that hold it, in `[start, end)`.
   * @param offset Its file offset.
   * @param bytes Where to write.
   * @param out The same.
   * @returns -1 where the record holds more than plain fields.
   */
  write(
    at: RecordBytes,
    start: number,
    end: number,
    offset: number,
    bytes: Uint8Array,
    out: DataView,
    from: number,
  ): number {
    const { view } = at;
    const bodyEnd = end - this.#trailerSize;
    const fixedEnd = start + this.#fixedEnd;
    // What has bytes after its trailer is written in full.
    if (this.#trailerSize > 0 && trailerEnd(start, end) !== end) return -1;
    if (this.#hasText ? bodyEnd <= fixedEnd : bodyEnd !== fixedEnd) return -1;
    if (this.#cpuReserved !== 0 && view.getInt32(end + this.#cpuReserved, true) !== 0) return -1;
    let pos = putSegment(out, from, this.#start);
    pos = putDecimal(out, pos, offset);
    const steps = this.#steps;
    for (let s = 0; s < steps.length; s++) {
      const { before, kind, offset: field, size } = steps[s] as Step;
      const place = (field < 0 ? end : start) + field;
      pos = putSegment(out, pos, before);
      switch (kind) {
        case "u8":
          pos = putDecimal(out, pos, view.getUint8(place));
          break;
        case "u16":
          pos = putDecimal(out, pos, view.getUint16(place, true));
          break;
        case "u32":
          pos = putDecimal(out, pos, view.getUint32(place, true));
          break;
        case "u64":
          pos = putU64(out, pos, view.getInt32(place + 4, true), view.getInt32(place, true));
          break;
        case "x16":
          pos = putHex(out, pos, 0, view.getUint16(place, true));
          break;
        case "x32":
          pos = putHex(out, pos, 0, view.getInt32(place, true));
          break;
        case "x64":
          pos = putHex(out, pos, view.getInt32(place + 4, true), view.getInt32(place, true));
          break;
        case "bytes":
          pos = putHexBytes(out, pos, at.bytes, place, place + size);
          break;
        case "text":
          pos = putPlainText(bytes, pos, at.bytes, place, bodyEnd);
          if (pos < 0) return -1;
          break;
      }
    }
    return putSegment(out, pos, this.#end);
  }
}
