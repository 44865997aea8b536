import { byteAt } from "@perfdata/format/bytes";

/**
 * Hash of content: the first eight bytes of MurmurHash3_x86_128 of 16 bytes, as two words. The last result is in
 * {@linkcode ContentHash.lo} and {@linkcode ContentHash.hi}.
 *
 * Ids in tables are such hashes, so that tables of a million recordings can be
 * joined without renumbering. With 100 million different frames, the chance that any two of them have
 * the same id is 1 in 4,000.
 *
 * @example
 * ```ts
 * import { ContentHash } from "@perfdata/tables";
 * import { assertEquals } from "@std/assert";
 *
 * const hash = new ContentHash();
 * hash.block(1, 0, 2, 0, 7);
 * const { lo, hi } = hash;
 * hash.block(1, 0, 2, 0, 7);
 * assertEquals([hash.lo, hash.hi], [lo, hi]);
 * ```
 */
export class ContentHash {
  /** Lower word of the result. */
  lo: number = 0;
  /** Upper word of the result. */
  hi: number = 0;

  /** Hashes four words. */
  block(a: number, b: number, c: number, d: number, seed: number): void {
    let [h1, h2, h3, h4] = [seed, seed, seed, seed];
    h1 ^= Math.imul(rotated(Math.imul(a, C1), 15), C2);
    h1 = Math.imul(rotated(h1, 19) + h2 | 0, 5) + 0x561ccd1b | 0;
    h2 ^= Math.imul(rotated(Math.imul(b, C2), 16), C3);
    h2 = Math.imul(rotated(h2, 17) + h3 | 0, 5) + 0x0bcaa747 | 0;
    h3 ^= Math.imul(rotated(Math.imul(c, C3), 17), C4);
    h3 = Math.imul(rotated(h3, 15) + h4 | 0, 5) + 0x96cd1c35 | 0;
    h4 ^= Math.imul(rotated(Math.imul(d, C4), 18), C1);
    h4 = Math.imul(rotated(h4, 13) + h1 | 0, 5) + 0x32ac3b17 | 0;
    this.#finish(h1, h2, h3, h4, 16);
  }

  #finish(h1: number, h2: number, h3: number, h4: number, length: number): void {
    h1 ^= length;
    h2 ^= length;
    h3 ^= length;
    h4 ^= length;
    h1 = h1 + h2 + h3 + h4 | 0;
    h2 = mixed(h2 + h1 | 0);
    h3 = mixed(h3 + h1 | 0);
    h4 = mixed(h4 + h1 | 0);
    h1 = mixed(h1);
    h1 = h1 + h2 + h3 + h4 | 0;
    this.lo = h1;
    this.hi = h2 + h1 | 0;
  }

  /**
   * Hashes any number of bytes, 8 at a time, padded with zeros. Each 8 bytes are hashed with the result of those
   * before; the first 8 with the number of bytes.
   */
  bytes(bytes: Uint8Array, start: number, end: number, seed: number): void {
    let [lo, hi] = [end - start, 0];
    for (let at = start; at < end; at += 8) {
      this.block(lo, hi, wordAt(bytes, at, end), wordAt(bytes, at + 4, end), seed);
      lo = this.lo;
      hi = this.hi;
    }
    if (start === end) this.block(0, 0, 0, 0, seed);
  }

  /** Hashes a text. */
  text(text: string, seed: number): void {
    const bytes = encoder.encode(text);
    this.bytes(bytes, 0, bytes.length, seed);
  }
}

/** Seeds by kind of hashed object, so that objects of different kinds have different ids. */
export const SEED = { OBJECT: 1, FRAME: 2, STACK: 3, RECORDING: 4, INLINED: 5 } as const;

const encoder = new TextEncoder();
const C1 = 0x239b961b;
const C2 = 0xab0e9789;
const C3 = 0x38b34ae5;
const C4 = 0xa1e38b93;

function wordAt(bytes: Uint8Array, at: number, end: number): number {
  if (at + 4 <= end) {
    return byteAt(bytes, at) | byteAt(bytes, at + 1) << 8 |
      byteAt(bytes, at + 2) << 16 | byteAt(bytes, at + 3) << 24;
  }
  let word = 0;
  for (let i = at; i < end; i++) word |= byteAt(bytes, i) << 8 * (i - at);
  return word;
}

function rotated(value: number, by: number): number {
  return value << by | value >>> 32 - by;
}

function mixed(value: number): number {
  let h = value;
  h = Math.imul(h ^ h >>> 16, 0x85ebca6b);
  h = Math.imul(h ^ h >>> 13, 0xc2b2ae35);
  return h ^ h >>> 16;
}
