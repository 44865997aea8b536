import { PERF_RECORD_SAMPLE } from "@perfdata/format/record-types";
import { PERF_SAMPLE_CPU, PERF_SAMPLE_TIME } from "@perfdata/format/perf-event";
import { type SampleLayout } from "@perfdata/format/sample-layout";
import {
  type Piece,
  piece,
  putAscii,
  putDecimal,
  putDecimal64At,
  putPrefixedHex,
} from "@perfdata/format/text-bytes";
import type { SourceBytes } from "./field_text.ts";
import { putRawEvent } from "./raw_event.ts";
import { dumpRecordName } from "../records/perf_record_names.ts";
import { recordMisc } from "@perfdata/format/record-header";

/** Number of kinds of records with cached text; a power of two. */
const KEPT = 1 << 12;

/** Common text of records of the same type and size and, for samples, the same `misc`. */
interface HeadText {
  readonly type: number;
  readonly size: number;
  readonly misc: number;
  /** Text after the offset: size, type, the line before the bytes. */
  readonly head: Piece;
  /** Text after the second offset: size and name. */
  readonly name: Piece;
  /** The same with what follows the name of a sample. */
  readonly sample: Piece;
}

/** A record that is printed: one object, which the next record fills again. */
export interface PrintedRecord {
  /** What its bytes are in. */
  source: SourceBytes;
  /** Where they begin. */
  start: number;
  /** Where they end. */
  end: number;
  /** File offset that is printed. */
  place: number;
}

/** Writes the beginnings of records: up to the name, of samples up to their ids. */
export class RecordHead {
  /** `@perf.data `: what the places of records begin with. */
  readonly #file: string;
  readonly #hex: boolean;
  readonly #le: boolean;
  readonly #texts: (HeadText | undefined)[] = new Array(KEPT).fill(undefined);
  /** The fields that any event has: records of the others show something in their place. */
  combinedType = 0;

  /**
   * @param file What the text calls the file.
   * @param hex Whether bytes are printed.
   */
  constructor(file: string, hex: boolean, littleEndian: boolean) {
    this.#file = `@${file} `;
    this.#hex = hex;
    this.#le = littleEndian;
  }

  /**
   * Writes the beginning of a sample, up to its ids.
   *
   * @param explained Lines after its bytes, which say what raw data are.
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
    // The place again.
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
   * Writes CPU and time, as far as any event has them.
   *
   * @param cpu Its number, or -1.
   * @param timeAt Where the time is in `view`, or -1.
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
    // Most records are of a few sizes, which are multiples of 8.
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
