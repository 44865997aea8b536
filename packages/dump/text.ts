/**
 * Text written as bytes, through tables: no strings and no `bigint` in a loop over records.
 *
 * Each function writes at `p` and returns where it stopped. There has to be room.
 *
 * @module
 */

/** Byte order of the machine that this runs on. */
export const LITTLE_ENDIAN: boolean = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

// The tables are filled by plain loops: they are made each time that a tool starts.

/** `00` … `ff` as two ASCII bytes each, little-endian: the first digit is in the low byte. */
const HEX2 = new Uint16Array(256);
for (let b = 0; b < 256; b++) HEX2[b] = hexDigit(b >> 4) | hexDigit(b & 15) << 8;

/** `0000` … `ffff` as four ASCII bytes each. */
export const HEX4: Int32Array = hex4();
/** `0000` … `9999` as four ASCII bytes each. */
const DEC4 = dec4();

function hexDigit(n: number): number {
  return n < 10 ? 0x30 + n : 0x57 + n;
}

function hex4(): Int32Array {
  const table = new Int32Array(1 << 16);
  for (let high = 0, n = 0; high < 256; high++) {
    const two = HEX2[high] as number;
    for (let low = 0; low < 256; low++) table[n++] = two | (HEX2[low] as number) << 16;
  }
  return table;
}

function dec4(): Int32Array {
  const table = new Int32Array(10000);
  for (let high = 0, n = 0; high < 100; high++) {
    const two = 0x3030 + (high / 10 | 0) + (high % 10 << 8);
    for (let ten = 0; ten < 10; ten++) {
      for (let one = 0; one < 10; one++) table[n++] = two | (0x3030 + ten + (one << 8)) << 16;
    }
  }
  return table;
}

/** Where text is written: one buffer, seen as bytes and through a `DataView`. */
export interface TextBytes {
  /** The buffer. */
  readonly bytes: Uint8Array;
  /** The same buffer. */
  readonly view: DataView;
}

/** An unsigned number of two signed words; V8 compiles it once, whatever the sign of the lower one. */
export function uint64(hi: number, lo: number): number {
  return (hi >>> 0) * 2 ** 32 + lo + (lo < 0 ? 2 ** 32 : 0);
}

/** Room for the text of the longest record: its 64 KB are printed as bytes, and as addresses. */
export const RECORD_ROOM: number = 1 << 20;

/** Makes a buffer for text. */
export function textBytes(size: number): TextBytes {
  const bytes = new Uint8Array(size);
  return { bytes, view: new DataView(bytes.buffer) };
}

/** Whether there are no bytes beyond ASCII, and none that could be the bits of a NaN. */
export function isAscii(bytes: Uint8Array, from: number, length: number): boolean {
  for (let i = from; i < from + length; i++) if ((bytes[i] as number) >= 0x7f) return false;
  return true;
}

/** Writes bytes as they are. */
export function putBytes(out: TextBytes, p: number, from: Uint8Array): number {
  const { bytes } = out;
  // Short ones are copied faster by hand.
  if (from.length > 48) bytes.set(from, p);
  else for (let i = 0; i < from.length; i++) bytes[p + i] = from[i] as number;
  return p + from.length;
}

/** Writes the bytes of `from[start, …)` up to a NUL, or to `end`. */
export function putUntilNul(
  out: TextBytes,
  p: number,
  from: Uint8Array,
  start: number,
  end: number,
): number {
  const { bytes } = out;
  for (let i = start; i < end; i++) {
    const b = from[i] as number;
    if (b === 0) break;
    bytes[p++] = b;
  }
  return p;
}

/** Writes a text that has no characters beyond ASCII. */
export function putAscii(out: TextBytes, p: number, text: string): number {
  const { bytes } = out;
  for (let i = 0; i < text.length; i++) bytes[p + i] = text.charCodeAt(i);
  return p + text.length;
}

/** Writes a 64-bit word as 16 hexadecimal digits: `%016lx`. */
export function putHex16(out: TextBytes, p: number, hi: number, lo: number): number {
  const { view } = out;
  view.setInt32(p, HEX4[hi >>> 16] as number, true);
  view.setInt32(p + 4, HEX4[hi & 0xffff] as number, true);
  view.setInt32(p + 8, HEX4[lo >>> 16] as number, true);
  view.setInt32(p + 12, HEX4[lo & 0xffff] as number, true);
  return p + 16;
}

/** Writes two hexadecimal digits: `%02x` of a byte. */
export function putHex2(out: TextBytes, p: number, byte: number): number {
  out.view.setUint16(p, HEX2[byte & 255] as number, true);
  return p + 2;
}

/** Writes four hexadecimal digits: `%04x` of what fits into 16 bits. */
export function putHex4(out: TextBytes, p: number, n: number): number {
  out.view.setInt32(p, HEX4[n & 0xffff] as number, true);
  return p + 4;
}

/**
 * Writes a 64-bit word in hexadecimal without leading zeros: `%lx`. Up to 16 bytes are written, of
 * which those behind the digits are meant to be overwritten.
 */
export function putHex(out: TextBytes, p: number, hi: number, lo: number): number {
  const { view } = out;
  // Shifted to the left as far as it goes, the digits come first.
  if (hi === 0) {
    const zeros = Math.clz32(lo | 1) & ~3;
    const word = lo << zeros;
    view.setInt32(p, HEX4[word >>> 16] as number, true);
    view.setInt32(p + 4, HEX4[word & 0xffff] as number, true);
    return p + 8 - (zeros >> 2);
  }
  const zeros = Math.clz32(hi) & ~3;
  if (zeros === 0) return putHex16(out, p, hi, lo);
  putHex16(out, p, hi << zeros | lo >>> (32 - zeros), lo << zeros);
  return p + 16 - (zeros >> 2);
}

/** Writes a 64-bit word with `0x` before it, and zero as `0`: `%#lx`. */
export function putPrefixedHex(out: TextBytes, p: number, hi: number, lo: number): number {
  if ((hi | lo) === 0) {
    out.view.setUint8(p, 0x30);
    return p + 1;
  }
  out.view.setUint16(p, 0x7830, true);
  return putHex(out, p + 2, hi, lo);
}

/** Writes an integer of at most 53 bits in decimal; a negative one with its sign. */
export function putDecimal(out: TextBytes, p: number, n: number): number {
  const { view } = out;
  if (n < 0) {
    view.setUint8(p++, 0x2d);
    n = -n;
  }
  if (n < 1e8) return putBelow1e8(view, p, n | 0);
  const high = Math.floor(n / 1e8);
  if (high < 1e8) {
    p = putBelow1e8(view, p, high | 0);
  } else {
    const top = Math.floor(high / 1e8);
    p = putEight(view, putBelow1e8(view, p, top | 0), high - top * 1e8 | 0);
  }
  return putEight(view, p, n - high * 1e8 | 0);
}

/** All eight digits of a number below 10^8. */
export function putEight(view: DataView, p: number, n: number): number {
  const high = n / 10000 | 0;
  view.setInt32(p, DEC4[high] as number, true);
  view.setInt32(p + 4, DEC4[n - high * 10000] as number, true);
  return p + 8;
}

function putBelow1e8(view: DataView, p: number, n: number): number {
  if (n >= 10000) {
    const high = n / 10000 | 0;
    const skip = high < 10 ? 3 : high < 100 ? 2 : high < 1000 ? 1 : 0;
    view.setInt32(p, (DEC4[high] as number) >>> 8 * skip, true);
    view.setInt32(p + 4 - skip, DEC4[n - high * 10000] as number, true);
    return p + 8 - skip;
  }
  // The digits without the leading zeros; what is written beyond is overwritten.
  const skip = n < 10 ? 3 : n < 100 ? 2 : n < 1000 ? 1 : 0;
  view.setInt32(p, (DEC4[n] as number) >>> 8 * skip, true);
  return p + 4 - skip;
}

/**
 * A piece of text that is written many times: as 64-bit words where it is ASCII, so that eight bytes
 * are one store. They go as float64, and ASCII is never the bits of a NaN, of which not all survive;
 * other bytes might be, and go as 32-bit words.
 */
export class Piece {
  readonly #wide: Float64Array;
  readonly #words: Int32Array;
  /** Its bytes. */
  readonly length: number;

  /** Takes the bytes of a text. */
  constructor(bytes: Uint8Array) {
    const isPlain = isAscii(bytes, 0, bytes.length);
    const padded = new Uint8Array(bytes.length + 7 & ~7);
    padded.set(bytes);
    this.#wide = new Float64Array(padded.buffer, 0, isPlain ? padded.length >> 3 : 0);
    this.#words = new Int32Array(padded.buffer, 0, isPlain ? 0 : padded.length >> 2);
    this.length = bytes.length;
  }

  /** Writes it; up to seven bytes behind it are written as well. */
  put(out: TextBytes, p: number): number {
    const { view } = out;
    // In the machine's byte order, in which the words were made.
    const wide = this.#wide;
    for (let i = 0; i < wide.length; i++) {
      view.setFloat64(p + 8 * i, wide[i] as number, LITTLE_ENDIAN);
    }
    const words = this.#words;
    for (let i = 0; i < words.length; i++) {
      view.setInt32(p + 4 * i, words[i] as number, LITTLE_ENDIAN);
    }
    return p + this.length;
  }
}

/**
 * Copies text, eight bytes at a time and so up to seven more than asked for. There must be no bits
 * of a NaN in it, as in ASCII there never are: not all of them survive.
 *
 * @param from The text as 64-bit words of the machine's byte order.
 * @param first The first word.
 * @param length Bytes.
 */
export function copyWide(
  out: TextBytes,
  p: number,
  from: Float64Array,
  first: number,
  length: number,
): void {
  const { view } = out;
  for (let i = 0, k = first; i < length; i += 8, k++) {
    view.setFloat64(p + i, from[k] as number, LITTLE_ENDIAN);
  }
}

/** A piece of text that is written many times. */
export function piece(text: string): Piece {
  return new Piece(new TextEncoder().encode(text));
}

/** Writes an unsigned 64-bit word in decimal: `%lu`. */
export function putDecimal64(out: TextBytes, p: number, hi: number, lo: number): number {
  if (hi < 0x20_0000) return putDecimal(out, p, hi * 2 ** 32 + lo);
  // Long division by a million: each step stays exact in a double.
  const top = Math.floor(hi / 1e6);
  const rest = (hi - top * 1e6) * 2 ** 32 + lo;
  const bottom = Math.floor(rest / 1e6);
  const six = rest - bottom * 1e6;
  p = putDecimal(out, p, top * 2 ** 32 + bottom);
  const two = six / 10000 | 0;
  out.view.setUint16(p, (DEC4[two] as number) >>> 16, true);
  out.view.setInt32(p + 2, DEC4[six - two * 10000] as number, true);
  return p + 6;
}

/** Writes a signed 64-bit word in decimal: `%ld`. */
export function putSigned64(out: TextBytes, p: number, hi: number, lo: number): number {
  if (hi < 0x8000_0000) return putDecimal64(out, p, hi, lo);
  out.bytes[p] = 0x2d;
  const low = (~lo + 1) >>> 0;
  const high = (~hi + (low === 0 ? 1 : 0)) >>> 0;
  return putDecimal64(out, p + 1, high, low);
}

/** {@link putHex16} of the 64-bit word at `at` of a record. */
export function putHex16At(
  out: TextBytes,
  p: number,
  from: DataView,
  at: number,
  le: boolean,
): number {
  // Values that do not fit into 31 bits cost an allocation where a call is not inlined: hence the
  // variants that read what they write.
  const { view } = out;
  const hi = from.getInt32(le ? at + 4 : at, le);
  const lo = from.getInt32(le ? at : at + 4, le);
  view.setInt32(p, HEX4[hi >>> 16] as number, true);
  view.setInt32(p + 4, HEX4[hi & 0xffff] as number, true);
  view.setInt32(p + 8, HEX4[lo >>> 16] as number, true);
  view.setInt32(p + 12, HEX4[lo & 0xffff] as number, true);
  return p + 16;
}

/** {@link putPrefixedHex} of the 64-bit word at `at` of a record. */
export function putPrefixedHexAt(
  out: TextBytes,
  p: number,
  from: DataView,
  at: number,
  le: boolean,
): number {
  const { view } = out;
  const hi = from.getInt32(le ? at + 4 : at, le);
  const lo = from.getInt32(le ? at : at + 4, le);
  if ((hi | lo) === 0) {
    view.setUint8(p, 0x30);
    return p + 1;
  }
  view.setUint16(p, 0x7830, true);
  let first = hi;
  let second = lo;
  let skip = Math.clz32(hi) & ~3;
  if (skip === 32) {
    skip = Math.clz32(lo) & ~3;
    first = lo << skip;
    second = 0;
    skip += 32;
  } else if (skip > 0) {
    first = hi << skip | lo >>> (32 - skip);
    second = lo << skip;
  }
  view.setInt32(p + 2, HEX4[first >>> 16] as number, true);
  view.setInt32(p + 6, HEX4[first & 0xffff] as number, true);
  view.setInt32(p + 10, HEX4[second >>> 16] as number, true);
  view.setInt32(p + 14, HEX4[second & 0xffff] as number, true);
  return p + 18 - (skip >> 2);
}

/** {@link putDecimal64} of the 64-bit word at `at` of a record. */
export function putDecimal64At(
  out: TextBytes,
  p: number,
  from: DataView,
  at: number,
  le: boolean,
): number {
  const hi = from.getUint32(le ? at + 4 : at, le);
  const lo = from.getUint32(le ? at : at + 4, le);
  if (hi >= 0x200000) return putDecimal64(out, p, hi, lo);
  const n = hi * 2 ** 32 + lo;
  const { view } = out;
  if (n < 1e8) return putBelow1e8(view, p, n | 0);
  const high = Math.floor(n / 1e8);
  const low = n - high * 1e8 | 0;
  if (high >= 1e8) return putDecimal64(out, p, hi, lo);
  p = putBelow1e8(view, p, high | 0);
  const middle = low / 10000 | 0;
  view.setInt32(p, DEC4[middle] as number, true);
  view.setInt32(p + 4, DEC4[low - middle * 10000] as number, true);
  return p + 8;
}

/**
 * Writes times: {@link putDecimal64At} of numbers that are mostly close to the one before, so that
 * their first digits are known.
 */
export class TimeText {
  /** The first digits stand for so much: a multiple of 10^8. */
  #base = -1e8;
  readonly #digits: TextBytes;
  #first = 0;
  #length = 0;

  /** Has seen no time so far. */
  constructor() {
    const bytes = new Uint8Array(24);
    this.#digits = { bytes, view: new DataView(bytes.buffer) };
  }

  /** Writes the 64-bit word at `at` of a record in decimal. */
  put(out: TextBytes, p: number, from: DataView, at: number, le: boolean): number {
    const hi = from.getUint32(le ? at + 4 : at, le);
    const n = hi * 2 ** 32 + from.getUint32(le ? at : at + 4, le);
    let low = n - this.#base;
    if (hi >= 0x20_0000 || low < 0 || low >= 1e8) {
      // There are no first digits, or they may not fit into eight bytes.
      if (hi >= 0x20_0000 || n < 1e8) return putDecimal64At(out, p, from, at, le);
      low = n % 1e8;
      this.#base = n - low;
      this.#length = putDecimal(this.#digits, 0, this.#base / 1e8);
      this.#first = this.#digits.view.getFloat64(0, true);
    }
    const { view } = out;
    view.setFloat64(p, this.#first, true);
    return putEight(view, p + this.#length, low | 0);
  }
}

/** Writes `..... %2d: `, the beginning of a line of a list. */
export function putIndex(out: TextBytes, p: number, i: number): number {
  const { view } = out;
  if (i < 100) {
    view.setFloat64(p, INDEX[i] as number, true);
    view.setUint16(p + 8, 0x203a, true);
    return p + 10;
  }
  view.setInt32(p, 0x2e2e2e2e, true);
  view.setUint16(p + 4, 0x202e, true);
  p = putDecimal(out, p + 6, i);
  view.setUint16(p, 0x203a, true);
  return p + 2;
}

/** `..... %2d` as eight bytes, for a single store: ASCII is never the bits of a NaN. */
const INDEX = new Float64Array(100);
{
  const view = new DataView(new ArrayBuffer(8));
  view.setInt32(0, 0x2e2e2e2e, true);
  for (let i = 0; i < 100; i++) {
    view.setInt32(4, 0x202e | ((DEC4[i] as number) >>> 16) << 16, true);
    if (i < 10) view.setUint8(6, 0x20);
    INDEX[i] = view.getFloat64(0, true);
  }
}

/** Writes `n` addresses of a record, a line each: `.....  0: ffffffff81000000`. */
export function putAddressLines(
  out: TextBytes,
  p: number,
  from: DataView,
  at: number,
  n: number,
  le: boolean,
): number {
  // putIndex and putHex16At, written out: this is where a dump of deep call chains spends its time.
  const { view } = out;
  const highAt = le ? 4 : 0;
  const lowAt = 4 - highAt;
  const short = n < 100 ? n : 100;
  for (let i = 0; i < short; i++, at += 8, p += 27) {
    const hi = from.getInt32(at + highAt, le);
    const lo = from.getInt32(at + lowAt, le);
    view.setFloat64(p, INDEX[i] as number, true);
    view.setUint16(p + 8, 0x203a, true);
    view.setInt32(p + 10, HEX4[hi >>> 16] as number, true);
    view.setInt32(p + 14, HEX4[hi & 0xffff] as number, true);
    view.setInt32(p + 18, HEX4[lo >>> 16] as number, true);
    view.setInt32(p + 22, HEX4[lo & 0xffff] as number, true);
    view.setUint8(p + 26, 0x0a);
  }
  for (let i = short; i < n; i++, at += 8) {
    p = putHex16At(out, putIndex(out, p, i), from, at, le);
    view.setUint8(p++, 0x0a);
  }
  return p;
}
