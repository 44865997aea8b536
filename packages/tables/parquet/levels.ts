import { enlarge } from "@perfdata/format/bytes";

/** Minimum number of equal values that are written as a run. */
const RUN = 8;

/** Growing buffer for the bytes of a page. */
export class PageBytes {
  /** The buffer; bytes from {@link PageBytes.length} on are undefined. */
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(1 << 16);
  /** Number of bytes used. */
  length: number = 0;

  room(more: number): void {
    const needed = this.length + more;
    if (needed > this.bytes.length) this.bytes = enlarge(this.bytes, needed);
  }

  byte(value: number): void {
    this.room(1);
    this.bytes[this.length++] = value;
  }

  /** Appends a little-endian 32-bit number. */
  u32(value: number): void {
    this.room(4);
    for (let i = 0; i < 4; i++) this.bytes[this.length++] = value >>> 8 * i;
  }

  add(bytes: Uint8Array): void {
    this.room(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Appends a non-negative number, 7 bits per byte. */
  varint(value: number): void {
    let rest = value;
    while (rest >= 128) {
      this.byte(rest & 127 | 128);
      rest >>>= 7;
    }
    this.byte(rest);
  }

  /** Returns a view of the bytes appended so far. */
  view(): Uint8Array<ArrayBuffer> {
    return this.bytes.subarray(0, this.length);
  }
}

/** Returns the number of bits for values up to `most`. */
export function bitWidth(most: number): number {
  return most === 0 ? 0 : 32 - Math.clz32(most);
}

/**
 * Writes numbers in Parquet's hybrid encoding of runs and packed bits, which levels and dictionary codes
 * use.
 *
 * ```text
 * run:    varint (count << 1)        the value in whole bytes
 * packed: varint (groups << 1 | 1)   groups of 8 values, each in `width` bits, the lowest first
 * ```
 *
 * @param width Number of bits of a value; 0 if all values are 0.
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
    // Groups of 8 up to one that begins a run. Zeros pad the last group.
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
  // Pending bits: at most 7 and 24 more; wide values are split.
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
