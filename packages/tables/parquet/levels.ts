import { enlarge } from "@perfdata/format/enlarge";

/** Minimum number of equal values that are written as a run. */
const RUN = 8;

/**
 * Bytes of a page that grow.
 */
export class PageBytes {
  /** The bytes; those after {@link PageBytes.length} mean nothing. */
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(1 << 16);
  /** How many are used. */
  length: number = 0;

  /** Makes room for this many more. */
  room(more: number): void {
    const needed = this.length + more;
    if (needed > this.bytes.length) this.bytes = enlarge(this.bytes, needed);
  }

  /** Adds a byte. */
  byte(value: number): void {
    this.room(1);
    this.bytes[this.length++] = value;
  }

  /** Adds a little-endian 32-bit number. */
  u32(value: number): void {
    this.room(4);
    for (let i = 0; i < 4; i++) this.bytes[this.length++] = value >>> 8 * i;
  }

  /** Adds bytes. */
  add(bytes: Uint8Array): void {
    this.room(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Adds a number that is not negative, 7 bits a byte. */
  varint(value: number): void {
    let rest = value;
    while (rest >= 128) {
      this.byte(rest & 127 | 128);
      rest >>>= 7;
    }
    this.byte(rest);
  }

  /** What was added: a view. */
  view(): Uint8Array<ArrayBuffer> {
    return this.bytes.subarray(0, this.length);
  }
}

/** Bits that values up to `most` need. */
export function bitWidth(most: number): number {
  return most === 0 ? 0 : 32 - Math.clz32(most);
}

/**
 * Writes numbers in Parquet's hybrid of runs and packed bits: what levels and the codes of dictionaries are
 * written in.
 *
 * ```text
 * run:    varint (count << 1)        the value in whole bytes
 * packed: varint (groups << 1 | 1)   groups of 8 values, each in `width` bits, the lowest first
 * ```
 *
 * @param width Bits of a value; 0 if all are 0.
 *
 * @example
 * ```ts
 * import { PageBytes, putHybrid } from "./levels.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const out = new PageBytes();
 * putHybrid(out, Int32Array.of(1, 1, 1, 1, 1, 1, 1, 1, 1), 0, 9, 1);
 * assertEquals([...out.view()], [9 << 1, 1]);
 * ```
 */
export function putHybrid(
  out: PageBytes,
  values: Int32Array | Uint8Array,
  from: number,
  to: number,
  width: number,
): void {
  let at = from;
  while (at < to) {
    let end = at + 1;
    while (end < to && values[end] === values[at]) end++;
    if (end - at >= RUN) {
      putRun(out, values[at] as number, end - at, width);
      at = end;
      continue;
    }
    // Groups of 8 up to one that begins a run. What follows the last value is 0.
    let stop = at + 8;
    while (stop < to && !isRun(values, stop, to)) stop += 8;
    putPacked(out, values, at, Math.min(stop, to), width);
    at = stop;
  }
}

function isRun(values: Int32Array | Uint8Array, at: number, to: number): boolean {
  if (at + RUN > to) return false;
  for (let i = at + 1; i < at + RUN; i++) if (values[i] !== values[at]) return false;
  return true;
}

function putRun(out: PageBytes, value: number, count: number, width: number): void {
  out.varint(count * 2);
  for (let bit = 0; bit < width; bit += 8) out.byte(value >>> bit);
}

function putPacked(
  out: PageBytes,
  values: Int32Array | Uint8Array,
  from: number,
  to: number,
  width: number,
): void {
  const groups = Math.ceil((to - from) / 8);
  out.varint(groups * 2 + 1);
  const size = groups * width;
  out.room(size);
  const { bytes } = out;
  const end = out.length + size;
  let p = out.length;
  // Bits that wait, at most 7 + 24, and the upper ones of a wide value after those.
  let waiting = 0;
  let count = 0;
  for (let i = from; i < to; i++) {
    let value = values[i] as number;
    let left = width;
    while (left > 0) {
      const step = left > 24 ? 24 : left;
      waiting |= (value & (1 << step) - 1) << count;
      count += step;
      value >>>= step;
      left -= step;
      while (count >= 8) {
        bytes[p++] = waiting;
        waiting >>>= 8;
        count -= 8;
      }
    }
  }
  if (count > 0) bytes[p++] = waiting;
  bytes.fill(0, p, end);
  out.length = end;
}
