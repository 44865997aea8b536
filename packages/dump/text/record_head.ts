import { PERF_RECORD_SAMPLE, PERF_SAMPLE_CPU, PERF_SAMPLE_TIME } from "@perfdata/format/constants";
import { recordMisc, type SampleLayout } from "@perfdata/format/records";
import {
  type Piece,
  piece,
  putAscii,
  putDecimal,
  putDecimal64At,
  putPrefixedHex,
} from "@perfdata/format/bytes";
import type { SourceBytes } from "./field_text.ts";
import { putRawEvent } from "./raw_event.ts";
import { dumpRecordName } from "../records/perf_record_names.ts";

/** Number of cached texts; a power of two. */
const KEPT = 1 << 12;

/** Text shared by records with equal type and size and, for samples, equal `misc`. */
interface HeadText {
  readonly type: number;
  readonly size: number;
  readonly misc: number;
  /** Text after the offset: size, type, and the line before the bytes. */
  readonly head: Piece;
  /** Text after the second offset: size and name. */
  readonly name: Piece;
  /** `name` and the text after a sample's name. */
  readonly sample: Piece;
}

/** The record that is printed. The object is reused. */
export interface PrintedRecord {
  source: SourceBytes;
  /** Offset of the record. */
  start: number;
  /** Offset after the record. */
  end: number;
  /** File offset that is printed. */
  place: number;
}

/** Writes the start of a record: up to the name, for a sample up to its ids. */
export class RecordHead {
  /** `@perf.data `, which follows records' offsets. */
  readonly #file: string;
  readonly #hex: boolean;
  readonly #le: boolean;
  readonly #texts: (HeadText | undefined)[] = new Array(KEPT).fill(undefined);
  /** Union of all events' `sample_type`: fields of other events are printed with a default. */
  combinedType = 0;

  /**
   * @param file Name of the file in the text.
   * @param hex Whether bytes are printed.
   */
  constructor(file: string, hex: boolean, littleEndian: boolean) {
    this.#file = `@${file} `;
    this.#hex = hex;
    this.#le = littleEndian;
  }

  /**
   * Writes the start of a sample, up to its ids.
   *
   * @param explained Lines after its bytes, about the raw data.
   */
  putSample(
    out: DataView,
    p: number,
    record: PrintedRecord,
    { cpu, time }: SampleLayout,
    explained = "",
  ): number {
    const { source, start, end, place } = record;
    const { view } = source;
    const le = this.#le;
    const text = this.#textOf(view, start, end);
    const placeHi = place / 2 ** 32 | 0;
    const placeLo = place | 0;
    out.setUint8(p, 0x0a);
    const placeAt = p + 1;
    const placeEnd = putPrefixedHex(out, placeAt, placeHi, placeLo);
    p = text.head.put(out, placeEnd);
    if (this.#hex) p = putRawEvent(out, p, source.bytes, source.words, start, end);
    if (explained !== "") p = putAscii(out, p, explained);
    const cpuNumber = cpu < 0 ? -1 : view.getInt32(start + cpu, le);
    p = this.putMoment(out, p, cpuNumber, view, time < 0 ? -1 : start + time);
    // Repeat the offset.
    out.setFloat64(p, out.getFloat64(placeAt, true), true);
    out.setFloat64(p + 8, out.getFloat64(placeAt + 8, true), true);
    return text.sample.put(out, p + placeEnd - placeAt);
  }

  /** Writes `0x1a40@perf.data [0x38]: event: 9`, and the record's bytes. */
  putBytes(out: DataView, p: number, record: PrintedRecord): number {
    const { source, start, end, place } = record;
    out.setUint8(p, 0x0a);
    p = putPrefixedHex(out, p + 1, place / 2 ** 32 | 0, place | 0);
    p = this.#textOf(source.view, start, end).head.put(out, p);
    return this.#hex ? putRawEvent(out, p, source.bytes, source.words, start, end) : p;
  }

  /** Writes `0x1a40 [0x38]: PERF_RECORD_MMAP2`. */
  putName(out: DataView, p: number, { source, start, end, place }: PrintedRecord): number {
    p = putPrefixedHex(out, p, place / 2 ** 32 | 0, place | 0);
    return this.#textOf(source.view, start, end).name.put(out, p);
  }

  /**
   * Writes CPU and time, if any event has them.
   *
   * @param cpu Number of the CPU, or -1.
   * @param timeAt Offset of the time in `view`, or -1.
   */
  putMoment(out: DataView, p: number, cpu: number, view: DataView, timeAt: number): number {
    if (this.combinedType & PERF_SAMPLE_CPU) {
      p = putDecimal(out, p, cpu >>> 0);
      out.setUint8(p++, 0x20);
    }
    if (this.combinedType & PERF_SAMPLE_TIME) {
      p = timeAt < 0
        ? putAscii(out, p, "18446744073709551615")
        : putDecimal64At(out, p, view, timeAt, this.#le);
      out.setUint8(p++, 0x20);
    }
    return p;
  }

  #textOf(view: DataView, start: number, end: number): HeadText {
    const type = view.getInt32(start, this.#le);
    const size = end - start;
    const misc = type === PERF_RECORD_SAMPLE ? recordMisc(view, start, this.#le) : 0;
    // Most records have one of a few sizes, multiples of 8.
    const slot = (size ^ misc & 7 ^ type << 6) & KEPT - 1;
    const found = this.#texts[slot];
    if (found?.size === size && found.type === type && found.misc === misc) return found;
    const shownSize = `[0x${size.toString(16)}]:`;
    const bytes = this.#hex ? `.\n. ... raw event: size ${size} bytes\n` : "";
    const name = ` ${shownSize} PERF_RECORD_${dumpRecordName(type)}`;
    return this.#texts[slot] = {
      type,
      size,
      misc,
      head: piece(`${this.#file}${shownSize} event: ${type}\n${bytes}`),
      name: piece(name),
      sample: piece(`${name}(IP, 0x${misc.toString(16)}): `),
    };
  }
}
