import type { SampleLayout } from "@perfdata/format";
import { LINE, putLeftHalf, putLines, putRightHalf } from "./raw_event.ts";
import { HEX4, putDecimal, putEight, type TextBytes, uint64 } from "./text.ts";

/** How many beginnings are at hand; a power of two. */
const KEPT = 1 << 8;
/** Longer samples are alike too seldom. */
const LONGEST = 256;
/** A beginning has room for a multiple of so many bytes, all of which are copied. */
const STEP = 256;
/** Places before this have four digits or fewer: there are few such records. */
const FIRST_PLACE = 0x1_0000;
/** The last eight digits of a time are written each time, and so are those of a place. */
const EIGHT_DIGITS = 1e8;

/** Where the parts of a beginning are in the text. */
export interface FrontPlaces {
  /** First byte: the newline before the place. */
  start: number;
  /** The first line of bytes. */
  hex: number;
  /** The first digit of the time. */
  time: number;
  /** The `0x` of the second place. */
  place: number;
}

/** A beginning. */
class Front {
  bytes = new Uint8Array(0);
  view = new DataView(this.bytes.buffer);
  length = 0;
  sizeAndMisc = 0;
  cpu = 0;
  /** The places with as many digits, of which those before the last eight are the same. */
  leastPlace = 0;
  mostPlace = -1;
  /**
   * Of the eight bytes that end with a place the first four: which of their bits are digits, and
   * what stands before those where the place is shorter, which is not the same both times.
   */
  placeMask = 0;
  firstPrefix = 0;
  secondPrefix = 0;
  /** Where those eight bytes are. */
  firstPlace = 0;
  secondPlace = 0;
  hex = 0;
  /** Where the last eight digits of the time are, and what the time is without them. */
  time = 0;
  timeBase = 0;
  leastTime = 0;
  mostTime = -1;
}

/**
 * The beginnings of the samples of an event: from the place up to the ids, bytes included. That of
 * one is copied from another of the same size and CPU, and what differs is written over it.
 */
export class SampleFronts {
  readonly #fronts: (Front | undefined)[] = new Array(KEPT).fill(undefined);
  readonly #time: number;

  /** @param layout That of the event, whose samples must have a time. */
  constructor(layout: SampleLayout) {
    this.#time = layout.time;
  }

  /**
   * Writes the beginning of a sample like one that was kept.
   *
   * @param words The record's bytes as little-endian words; it starts at word `first`.
   * @param cpu The CPU that is printed, or 0 where none is.
   * @param place File offset that is printed.
   * @returns Where it stopped, or -1 where there is none like it.
   */
  put(
    out: TextBytes,
    p: number,
    words: Int32Array,
    first: number,
    cpu: number,
    place: number,
  ): number {
    const sizeAndMisc = words[first + 1] as number;
    const front = this.#fronts[slotOf(sizeAndMisc, cpu)];
    const timeAt = first + (this.#time >> 2);
    const time = uint64(words[timeAt + 1] as number, words[timeAt] as number);
    if (
      front === undefined || front.sizeAndMisc !== sizeAndMisc || front.cpu !== cpu ||
      place < front.leastPlace || place > front.mostPlace ||
      time < front.leastTime || time > front.mostTime
    ) return -1;
    let low = time - front.timeBase;
    if (low < 0 || low >= EIGHT_DIGITS) {
      low = time % EIGHT_DIGITS;
      front.timeBase = time - low;
      putDecimal(front, front.time - digitsOf(front.timeBase) + 8, front.timeBase);
    }
    out.bytes.set(front.bytes, p);
    const { view } = out;
    const lowPlace = HEX4[place & 0xffff] as number;
    const highPlace = (HEX4[place >>> 16] as number) & front.placeMask;
    const firstPlace = p + front.firstPlace;
    view.setInt32(firstPlace, highPlace | front.firstPrefix, true);
    view.setInt32(firstPlace + 4, lowPlace, true);
    const secondPlace = p + front.secondPlace;
    view.setInt32(secondPlace, highPlace | front.secondPrefix, true);
    view.setInt32(secondPlace + 4, lowPlace, true);
    putEight(view, p + front.time, low | 0);
    // The bytes: all but the header.
    const hex = p + front.hex;
    putRightHalf(view, hex, words[first + 2] as number, words[first + 3] as number);
    const end = sizeAndMisc >>> 18;
    const whole = end & ~3;
    if (whole > 4) putLines(view, hex + LINE, words, first + 4, first + whole, 1);
    if (whole < end && whole > 0) {
      const last = first + whole;
      const line = hex + LINE * (whole >> 2);
      putLeftHalf(view, line, words[last] as number, words[last + 1] as number);
    }
    return p + front.length;
  }

  /**
   * Keeps the beginning of a sample that was written in another way; the arguments are those of
   * {@link SampleFronts.put}.
   *
   * @param places Where its parts are in `out`.
   * @param end First byte behind it.
   */
  keep(
    out: TextBytes,
    words: Int32Array,
    first: number,
    cpu: number,
    place: number,
    places: FrontPlaces,
    end: number,
  ): void {
    const { start, hex, time: timeAt, place: secondAt } = places;
    const sizeAndMisc = words[first + 1] as number;
    const size = sizeAndMisc >>> 16;
    if (size > LONGEST || size % 8 !== 0 || place < FIRST_PLACE) return;
    const word = first + (this.#time >> 2);
    const time = uint64(words[word + 1] as number, words[word] as number);
    if (time < EIGHT_DIGITS || time >= 1e15) return;
    const front = this.#fronts[slotOf(sizeAndMisc, cpu)] ??= new Front();
    front.length = end - start;
    if (front.bytes.length < front.length) {
      front.bytes = new Uint8Array(Math.ceil(front.length / STEP) * STEP);
      front.view = new DataView(front.bytes.buffer);
    }
    front.bytes.set(out.bytes.subarray(start, end));
    front.sizeAndMisc = sizeAndMisc;
    front.cpu = cpu;
    // At least five digits: the last eight bytes begin at the newline, or behind it.
    const high = Math.floor(place / 2 ** 32);
    const digits = high === 0 ? 8 - (Math.clz32(place) >>> 2) : 16 - (Math.clz32(high) >>> 2);
    const missing = Math.max(8 - digits, 0);
    front.placeMask = -1 << 8 * missing;
    front.leastPlace = high === 0 ? 1 << 4 * (digits - 1) >>> 0 : high * 2 ** 32;
    front.mostPlace = high * 2 ** 32 + (-1 >>> 4 * missing);
    front.firstPlace = 3 + digits - 8;
    front.secondPlace = secondAt - start + 2 + digits - 8;
    front.firstPrefix = front.view.getInt32(front.firstPlace, true) & ~front.placeMask;
    front.secondPrefix = front.view.getInt32(front.secondPlace, true) & ~front.placeMask;
    front.hex = hex - start;
    const timeDigits = digitsOf(time);
    front.time = timeAt - start + timeDigits - 8;
    front.timeBase = time - time % EIGHT_DIGITS;
    front.leastTime = POWERS[timeDigits - 1] as number;
    front.mostTime = (POWERS[timeDigits] as number) - 1;
  }
}

function slotOf(sizeAndMisc: number, cpu: number): number {
  return (sizeAndMisc >>> 19 ^ sizeAndMisc << 5 ^ cpu << 3) & KEPT - 1;
}

/** Powers of ten. */
const POWERS = Array.from({ length: 17 }, (_, i) => Number(`1e${i}`));

/** How many decimal digits a number has. */
function digitsOf(n: number): number {
  let digits = 1;
  while (n >= (POWERS[digits] as number)) digits++;
  return digits;
}
