import { intAt } from "@perfdata/format/bytes";

/** Number of rows after which a dictionary is kept or rejected. */
const TRIAL = 1 << 12;

/** A column as codes and a dictionary. */
export interface Coded {
  readonly codes: Int32Array;
  /** The distinct values, two words each. */
  readonly dictionary: Int32Array;
}

/**
 * Assigns a code to each distinct 64-bit number, in order of first occurrence.
 *
 * @param words Two words for each number.
 * @returns `undefined` if there are too many distinct numbers to save bytes.
 */
export function codedWords(words: Int32Array, count: number): Coded | undefined {
  const most = Math.max(64, count >>> 1);
  const codes = new Int32Array(count);
  let slots = new Int32Array(1 << 8).fill(-1);
  let dictionary = new Int32Array(1 << 8);
  let distinct = 0;
  let last = -1;
  for (let i = 0; i < count; i++) {
    const lo = intAt(words, 2 * i);
    const hi = intAt(words, 2 * i + 1);
    if (last >= 0 && dictionary[2 * last] === lo && dictionary[2 * last + 1] === hi) {
      codes[i] = last;
      continue;
    }
    const mask = slots.length - 1;
    let slot = hash(lo, hi) & mask;
    let code: number;
    for (;;) {
      code = intAt(slots, slot);
      if (code < 0 || dictionary[2 * code] === lo && dictionary[2 * code + 1] === hi) break;
      slot = slot + 1 & mask;
    }
    if (code < 0) {
      code = distinct++;
      if (distinct > most || i < TRIAL && i >= 256 && distinct > i - (i >>> 3)) return undefined;
      if (2 * code >= dictionary.length) {
        const larger: Int32Array<ArrayBuffer> = new Int32Array(2 * dictionary.length);
        larger.set(dictionary);
        dictionary = larger;
      }
      dictionary[2 * code] = lo;
      dictionary[2 * code + 1] = hi;
      slots[slot] = code;
      if (2 * distinct > slots.length) slots = rehashed(dictionary, distinct, 2 * slots.length);
    }
    codes[i] = last = code;
  }
  return { codes, dictionary: dictionary.subarray(0, 2 * distinct) };
}

function rehashed(dictionary: Int32Array, count: number, size: number): Int32Array<ArrayBuffer> {
  const slots = new Int32Array(size).fill(-1);
  for (let code = 0; code < count; code++) {
    let slot = hash(intAt(dictionary, 2 * code), intAt(dictionary, 2 * code + 1)) & size - 1;
    while (intAt(slots, slot) >= 0) slot = slot + 1 & size - 1;
    slots[slot] = code;
  }
  return slots;
}

function hash(lo: number, hi: number): number {
  let h = Math.imul(lo, 0x9e3779b1) ^ Math.imul(hi, 0x85ebca6b);
  h = Math.imul(h ^ h >>> 15, 0x2c1b3c6d);
  return h ^ h >>> 13;
}
