import {
  PERF_RECORD_SAMPLE,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_TIME,
  type SampleLayout,
} from "@perfdata/format";
import { putRawEvent } from "./raw_event.ts";
import type { FrontPlaces } from "./sample_front.ts";
import {
  type Piece,
  piece,
  putAscii,
  putDecimal,
  putPrefixedHex,
  type TextBytes,
  TimeText,
} from "./text.ts";

/** How many kinds of samples have their words at hand; a power of two. */
const KEPT_WORDS = 1 << 12;

/** What the samples of a size and `misc` have in common. */
interface SampleWords {
  readonly size: number;
  readonly misc: number;
  /** What follows the place: size, type, the line before the bytes. */
  readonly head: Piece;
  /** What follows the place for the second time: size and name. */
  readonly name: Piece;
}

/** Bytes that hold a sample, as `RecordBytes`, or memory that threads share. */
export interface SampleBytes {
  /** The bytes. */
  readonly bytes: Uint8Array;
  /** The same, for reads in either byte order. */
  readonly view: DataView;
  /** The same as 32-bit words of the machine's byte order. */
  readonly words: Int32Array;
}

/** Writes the beginnings of records: those of samples as far as their ids. */
export class SampleHead {
  /** `@perf.data `: what the places of records begin with. */
  readonly #file: string;
  readonly #hex: boolean;
  readonly #le: boolean;
  readonly #words: (SampleWords | undefined)[] = new Array(KEPT_WORDS).fill(undefined);
  readonly #times = new TimeText();
  /** The fields that any event has: samples of the others show something in their place. */
  combinedType = 0;
  /** Where the parts of the one that was written last are. */
  readonly places: FrontPlaces = { start: 0, hex: 0, time: 0, place: 0 };

  /**
   * @param file What the text calls the file.
   * @param hex Whether bytes are printed.
   */
  constructor(file: string, hex: boolean, littleEndian: boolean) {
    this.#file = `@${file} `;
    this.#hex = hex;
    this.#le = littleEndian;
  }

  /** What follows the place of a record: its size, its type, the line before its bytes. */
  textOf(type: number, size: number): string {
    return `${this.#file}[0x${size.toString(16)}]: event: ${type}\n${
      this.#hex ? `.\n. ... raw event: size ${size} bytes\n` : ""
    }`;
  }

  /** Writes a newline and `0x1a40`. */
  putPlace(out: TextBytes, p: number, place: number): number {
    out.view.setUint8(p, 0x0a);
    return putPrefixedHex(out, p + 1, place / 2 ** 32 | 0, place | 0);
  }

  /** Writes the beginning of a sample, up to its ids. */
  put(
    out: TextBytes,
    p: number,
    at: SampleBytes,
    start: number,
    end: number,
    place: number,
    layout: SampleLayout,
  ): number {
    const { view } = at;
    const le = this.#le;
    const places = this.places;
    places.start = p;
    const size = end - start;
    const misc = view.getUint16(start + 4, le);
    // Most samples are of a few sizes, which are multiples of 8.
    const slot = (size ^ misc & 7) & KEPT_WORDS - 1;
    let words = this.#words[slot];
    if (words === undefined || words.size !== size || words.misc !== misc) {
      words = this.#words[slot] = this.#wordsOf(size, misc);
    }
    p = places.hex = words.head.put(out, this.putPlace(out, p, place));
    if (this.#hex) p = putRawEvent(out, p, at.bytes, at.words, start, end);
    const cpu = layout.cpu < 0 ? -1 : view.getInt32(start + layout.cpu, le);
    p = this.putMoment(out, p, cpu, view, layout.time < 0 ? -1 : start + layout.time);
    places.place = p;
    return words.name.put(out, putPrefixedHex(out, p, place / 2 ** 32 | 0, place | 0));
  }

  /**
   * Writes CPU and time, as far as any event has them.
   *
   * @param cpu Its number, or -1.
   * @param timeAt Where the time is in `view`, or -1.
   */
  putMoment(out: TextBytes, p: number, cpu: number, view: DataView, timeAt: number): number {
    if (this.combinedType & PERF_SAMPLE_CPU) {
      p = putDecimal(out, p, cpu >>> 0);
      out.view.setUint8(p++, 0x20);
    }
    this.places.time = p;
    if (this.combinedType & PERF_SAMPLE_TIME) {
      p = timeAt < 0
        ? putAscii(out, p, "18446744073709551615")
        : this.#times.put(out, p, view, timeAt, this.#le);
      out.view.setUint8(p++, 0x20);
    }
    return p;
  }

  #wordsOf(size: number, misc: number): SampleWords {
    return {
      size,
      misc,
      head: piece(this.textOf(PERF_RECORD_SAMPLE, size)),
      name: piece(`${sizeText(size)}SAMPLE(IP, 0x${misc.toString(16)}): `),
    };
  }
}

/** What stands between the second place of a record and its name. */
export function sizeText(size: number): string {
  return ` [0x${size.toString(16)}]: PERF_RECORD_`;
}
