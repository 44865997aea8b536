import { byteAt, intAt } from "@perfdata/format/bytes";

/** Minimum and maximum, each as the bytes of a value. */
export interface Bounds {
  readonly min: Uint8Array;
  readonly max: Uint8Array;
}

/** Maximum length of a text in statistics. A reader needs no more to skip a group. */
const MOST_OF_A_BOUND = 64;

/** Writes the low 32 bits of a number, little-endian. Returns the position after them. */
export function putWord(bytes: Uint8Array, p: number, word: number): number {
  bytes[p] = word;
  bytes[p + 1] = word >>> 8;
  bytes[p + 2] = word >>> 16;
  bytes[p + 3] = word >>> 24;
  return p + 4;
}

function wordBytes(lo: number, hi: number): Uint8Array {
  const bytes = new Uint8Array(8);
  putWord(bytes, putWord(bytes, 0, lo), hi);
  return bytes;
}

/** Minimum and maximum of signed 64-bit numbers. */
class WordBounds {
  #minLo = 0;
  #minHi = 0;
  #maxLo = 0;
  #maxHi = 0;
  #hasValue = false;

  add(lo: number, hi: number): void {
    const low = lo >>> 0;
    if (!this.#hasValue || hi < this.#minHi || hi === this.#minHi && low < this.#minLo) {
      this.#minHi = hi;
      this.#minLo = low;
    }
    if (!this.#hasValue || hi > this.#maxHi || hi === this.#maxHi && low > this.#maxLo) {
      this.#maxHi = hi;
      this.#maxLo = low;
    }
    this.#hasValue = true;
  }

  bounds(): Bounds | undefined {
    if (!this.#hasValue) return undefined;
    return {
      min: wordBytes(this.#minLo, this.#minHi),
      max: wordBytes(this.#maxLo, this.#maxHi),
    };
  }
}

/** Returns the bounds of the signed 64-bit numbers of rows with a value. */
export function wordBounds(
  words: Int32Array,
  count: number,
  valid: Uint8Array | undefined,
): Bounds | undefined {
  const all = new WordBounds();
  for (let i = 0; i < count; i++) {
    if (valid !== undefined && valid[i] === 0) continue;
    all.add(intAt(words, 2 * i), intAt(words, 2 * i + 1));
  }
  return all.bounds();
}

/** Returns the bounds of the signed 64-bit numbers that codes of a dictionary name. */
export function codedBounds(codes: Int32Array, dictionary: Int32Array): Bounds | undefined {
  const all = new WordBounds();
  const isUsed = new Uint8Array(dictionary.length / 2);
  for (const code of codes) isUsed[code] = 1;
  for (let code = 0; code < isUsed.length; code++) {
    if (isUsed[code] === 0) continue;
    all.add(intAt(dictionary, 2 * code), intAt(dictionary, 2 * code + 1));
  }
  return all.bounds();
}

/** Returns the bounds of the signed 32-bit numbers of rows with a value. */
export function intBounds(
  ints: Int32Array,
  count: number,
  valid: Uint8Array | undefined,
): Bounds | undefined {
  let [min, max] = [Infinity, -Infinity];
  for (let i = 0; i < count; i++) {
    if (valid !== undefined && valid[i] === 0) continue;
    const value = intAt(ints, i);
    if (value < min) min = value;
    if (value > max) max = value;
  }
  if (min > max) return undefined;
  const bytes = (value: number): Uint8Array => {
    const four = new Uint8Array(4);
    putWord(four, 0, value);
    return four;
  };
  return { min: bytes(min), max: bytes(max) };
}

/** Returns the bounds of texts in byte order; `undefined` for long texts, which would have to be cut. */
export function textBounds(texts: readonly Uint8Array[], codes: Int32Array): Bounds | undefined {
  const isUsed = new Uint8Array(texts.length);
  for (const code of codes) isUsed[code] = 1;
  let min: Uint8Array | undefined;
  let max: Uint8Array | undefined;
  for (const [code, text] of texts.entries()) {
    if (isUsed[code] === 0) continue;
    if (min === undefined || isLess(text, min)) min = text;
    if (max === undefined || isLess(max, text)) max = text;
  }
  if (min === undefined || max === undefined) return undefined;
  return Math.max(min.length, max.length) > MOST_OF_A_BOUND ? undefined : { min, max };
}

function isLess(a: Uint8Array, b: Uint8Array): boolean {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    if (a[i] !== b[i]) return byteAt(a, i) < byteAt(b, i);
  }
  return a.length < b.length;
}
