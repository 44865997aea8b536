/**
 * Numbers and constant text written as bytes through tables: loops over records use no strings, no `bigint`,
 * and allocate nothing.
 *
 * Each function writes at `p` and returns the position after the text. The caller provides room: a
 * function may write up to {@link OVERSHOOT} bytes after the text, which are to be overwritten.
 * A 64-bit word is passed as two 32-bit halves, signed or unsigned.
 *
 * @module
 */

/** Maximum number of bytes that a function of this module writes after its text. */
export const OVERSHOOT = 8;

/** Whether this machine is little-endian. */
export const LITTLE_ENDIAN: boolean = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

// The tables are filled at each start of a tool, so the loops use no strings.

/** `00` … `ff` as two ASCII bytes each; the first digit is in the low byte. */
export const HEX2: Uint16Array<ArrayBuffer> = new Uint16Array(256);
for (let b = 0; b < 256; b++) HEX2[b] = hexDigit(b >> 4) | hexDigit(b & 15) << 8;

/** Returns the four hexadecimal digits of a 16-bit number as ASCII bytes, the first in the low byte. */
export function hex4(n: number): number {
  // A table of all 16-bit numbers would occupy too much of the CPU's cache.
  return (HEX2[n >>> 8] as number) | (HEX2[n & 0xff] as number) << 16;
}

/** `0000` … `9999` as four ASCII bytes each. */
export const DECIMAL4: Int32Array<ArrayBuffer> = new Int32Array(10_000);
for (let high = 0, n = 0; high < 100; high++) {
  const two = 0x3030 + (high / 10 | 0) + (high % 10 << 8);
  for (let ten = 0; ten < 10; ten++) {
    for (let one = 0; one < 10; one++) DECIMAL4[n++] = two | (0x3030 + ten + (one << 8)) << 16;
  }
}

function hexDigit(n: number): number {
  return n < 10 ? 0x30 + n : 0x57 + n;
}

/** Returns the number of hexadecimal digits of an unsigned 32-bit integer. */
export function hexDigits(n: number): number {
  return (35 - Math.clz32(n | 1)) >> 2;
}

/** Returns the number of decimal digits of an unsigned 32-bit integer. */
export function decimalDigits(n: number): number {
  if (n < 1e5) return n < 100 ? (n < 10 ? 1 : 2) : n < 1e3 ? 3 : n < 1e4 ? 4 : 5;
  return n < 1e7 ? (n < 1e6 ? 6 : 7) : n < 1e8 ? 8 : n < 1e9 ? 9 : 10;
}

/** Writes an ASCII text, without overshoot. */
export function putAscii(out: DataView, p: number, text: string): number {
  for (let i = 0; i < text.length; i++) out.setUint8(p + i, text.charCodeAt(i));
  return p + text.length;
}

/** Writes bytes unchanged, without overshoot. */
export function putBytes(out: DataView, p: number, from: Uint8Array): number {
  for (let i = 0; i < from.length; i++) out.setUint8(p + i, from[i] as number);
  return p + from.length;
}

/**
 * Writes the bytes of the name `from[start, …)` up to a NUL, or to `end`. A line feed in it is
 * written as `\\n`, so the output may be twice as long.
 */
export function putUntilNul(
  out: DataView,
  p: number,
  from: Uint8Array,
  start: number,
  end: number,
): number {
  for (let i = start; i < end; i++) {
    const byte = from[i] as number;
    if (byte === 0) break;
    if (byte === 0x0a) out.setUint8(p++, 0x5c);
    out.setUint8(p++, byte === 0x0a ? 0x6e : byte);
  }
  return p;
}

/** Writes a byte as two hexadecimal digits: `%02x`. */
export function putHex2(out: DataView, p: number, byte: number): number {
  out.setUint16(p, HEX2[byte & 0xff] as number, true);
  return p + 2;
}

/** Writes 16 bits as four hexadecimal digits: `%04x`. */
export function putHex4(out: DataView, p: number, n: number): number {
  out.setInt32(p, hex4(n & 0xffff), true);
  return p + 4;
}

/** Writes a 32-bit word as eight hexadecimal digits: `%08x`. */
export function putHex8(out: DataView, p: number, n: number): number {
  out.setInt32(p, hex4(n >>> 16), true);
  out.setInt32(p + 4, hex4(n & 0xffff), true);
  return p + 8;
}

/** Writes a 64-bit word as 16 hexadecimal digits: `%016lx`. */
export function putHex16(out: DataView, p: number, hi: number, lo: number): number {
  out.setInt32(p, hex4(hi >>> 16), true);
  out.setInt32(p + 4, hex4(hi & 0xffff), true);
  out.setInt32(p + 8, hex4(lo >>> 16), true);
  out.setInt32(p + 12, hex4(lo & 0xffff), true);
  return p + 16;
}

/** Writes a 64-bit word in hexadecimal: `%lx`. Texts of at least four digits have no overshoot. */
export function putHex(out: DataView, p: number, hi: number, lo: number): number {
  return hi === 0 ? putHexUpTo8(out, p, lo) : putHex8(out, putHexUpTo8(out, p, hi), lo);
}

function putHexUpTo8(out: DataView, p: number, n: number): number {
  const digits = hexDigits(n);
  if (digits <= 4) {
    out.setInt32(p, hex4(n) >>> (32 - 8 * digits), true);
    return p + digits;
  }
  const first = digits - 4;
  out.setInt32(p, hex4(n >>> 16) >>> (32 - 8 * first), true);
  out.setInt32(p + first, hex4(n & 0xffff), true);
  return p + digits;
}

/** Writes a 64-bit word with `0x` before it, and zero as `0`: `%#lx`. */
export function putPrefixedHex(out: DataView, p: number, hi: number, lo: number): number {
  if ((hi | lo) === 0) {
    out.setUint8(p, 0x30);
    return p + 1;
  }
  out.setUint16(p, 0x7830, true);
  return putHex(out, p + 2, hi, lo);
}

/** Writes the bytes `[from, to)` as two hexadecimal digits each. */
export function putHexBytes(
  out: DataView,
  p: number,
  bytes: Uint8Array,
  from: number,
  to: number,
): number {
  let i = from;
  for (; i + 1 < to; i += 2, p += 4) {
    const second = HEX2[bytes[i + 1] as number] as number;
    out.setInt32(p, (HEX2[bytes[i] as number] as number) | second << 16, true);
  }
  return i < to ? putHex2(out, p, bytes[i] as number) : p;
}

/** Writes a number below 10^4 with all four digits. */
export function putDecimal4(out: DataView, p: number, n: number): number {
  out.setInt32(p, DECIMAL4[n] as number, true);
  return p + 4;
}

/** Writes a number below 10^8 with all eight digits. */
export function putDecimal8(out: DataView, p: number, n: number): number {
  const high = n / 10000 | 0;
  out.setInt32(p, DECIMAL4[high] as number, true);
  out.setInt32(p + 4, DECIMAL4[n - high * 10000] as number, true);
  return p + 8;
}

/** Writes a number below 10^4 without leading zeros. */
function putUpTo4(out: DataView, p: number, n: number): number {
  const skip = n < 10 ? 3 : n < 100 ? 2 : n < 1000 ? 1 : 0;
  out.setInt32(p, (DECIMAL4[n] as number) >>> 8 * skip, true);
  return p + 4 - skip;
}

function putUpTo8(out: DataView, p: number, n: number): number {
  if (n < 10000) return putUpTo4(out, p, n);
  const high = n / 10000 | 0;
  return putDecimal4(out, putUpTo4(out, p, high), n - high * 10000);
}

/** Writes an integer of at most 53 bits in decimal, with a sign if it is negative. */
export function putDecimal(out: DataView, p: number, n: number): number {
  if (n < 0) {
    out.setUint8(p++, 0x2d);
    n = -n;
  }
  if (n < 1e8) return putUpTo8(out, p, n | 0);
  const high = Math.floor(n / 1e8);
  if (high < 1e8) {
    p = putUpTo8(out, p, high | 0);
  } else {
    const top = Math.floor(high / 1e8);
    p = putDecimal8(out, putUpTo8(out, p, top | 0), high - top * 1e8 | 0);
  }
  return putDecimal8(out, p, n - high * 1e8 | 0);
}

/** Writes an unsigned 64-bit word in decimal: `%lu`. */
export function putDecimal64(out: DataView, p: number, hi: number, lo: number): number {
  const high = hi >>> 0;
  const low = lo >>> 0;
  if (high < 0x20_0000) return putDecimal(out, p, high * 2 ** 32 + low);
  // Long division by a million: each step stays exact in a double.
  const top = Math.floor(high / 1e6);
  const rest = (high - top * 1e6) * 2 ** 32 + low;
  const bottom = Math.floor(rest / 1e6);
  const six = rest - bottom * 1e6;
  p = putDecimal(out, p, top * 2 ** 32 + bottom);
  const two = six / 10000 | 0;
  out.setUint16(p, (DECIMAL4[two] as number) >>> 16, true);
  return putDecimal4(out, p + 2, six - two * 10000);
}

/** Returns the whole seconds of a time in nanoseconds. */
export function wholeSeconds(hi: number, lo: number): number {
  // The quotient of doubles is off by at most one, since a second exceeds their rounding error.
  const near = Math.floor(((hi >>> 0) * 2 ** 32 + (lo >>> 0)) / 1e9);
  const rest = restOfSeconds(lo, near);
  return rest < 1e9 ? near : rest < 2e9 ? near + 1 : near - 1;
}

/** Returns the nanoseconds of a time beyond its whole seconds. They are below 2^32, so the lower halves suffice. */
export function restOfSeconds(lo: number, seconds: number): number {
  return lo - Math.imul(seconds % 2 ** 32 | 0, 1e9) >>> 0;
}

/** Writes a signed 64-bit word in decimal: `%ld`. */
export function putSigned64(out: DataView, p: number, hi: number, lo: number): number {
  if ((hi | 0) >= 0) return putDecimal64(out, p, hi, lo);
  out.setUint8(p, 0x2d);
  const low = (~lo + 1) >>> 0;
  return putDecimal64(out, p + 1, ~hi + (low === 0 ? 1 : 0), low);
}

/** Writes the 64-bit word at `at` of `from` like {@link putHex16}. */
export function putHex16At(
  out: DataView,
  p: number,
  from: DataView,
  at: number,
  le: boolean,
): number {
  return putHex16(out, p, from.getInt32(le ? at + 4 : at, le), from.getInt32(le ? at : at + 4, le));
}

/** Writes the 64-bit word at `at` of `from` like {@link putPrefixedHex}. */
export function putPrefixedHexAt(
  out: DataView,
  p: number,
  from: DataView,
  at: number,
  le: boolean,
): number {
  const hi = from.getInt32(le ? at + 4 : at, le);
  return putPrefixedHex(out, p, hi, from.getInt32(le ? at : at + 4, le));
}

/** Writes the 64-bit word at `at` of `from` like {@link putDecimal64}. */
export function putDecimal64At(
  out: DataView,
  p: number,
  from: DataView,
  at: number,
  le: boolean,
): number {
  const hi = from.getInt32(le ? at + 4 : at, le);
  return putDecimal64(out, p, hi, from.getInt32(le ? at : at + 4, le));
}

/**
 * A text that is written many times. ASCII text is written in stores of eight bytes, as float64; ASCII is
 * never a NaN, whose bits are not all preserved. Other text is written byte by byte.
 *
 * @example
 * ```ts
 * import { piece, putDecimal } from "@perfdata/format/bytes";
 * import { assertEquals } from "@std/assert";
 *
 * const bytes = new Uint8Array(64);
 * const out = new DataView(bytes.buffer);
 * const end = putDecimal(out, piece("pid: ").put(out, 0), 4711);
 * assertEquals(new TextDecoder().decode(bytes.subarray(0, end)), "pid: 4711");
 * ```
 */
export class Piece {
  /** Length in bytes. */
  readonly length: number;
  readonly #wide: Float64Array;
  readonly #bytes: Uint8Array | undefined;

  /** Prepares the bytes of a text. */
  constructor(bytes: Uint8Array) {
    this.length = bytes.length;
    const padded = new Uint8Array(Math.max(8, bytes.length + 7 & ~7));
    padded.set(bytes);
    this.#wide = new Float64Array(padded.buffer);
    this.#bytes = bytes.every((byte) => byte < 0x7f) ? undefined : padded.subarray(0, this.length);
  }

  /** Writes the text; returns the position after it. */
  put(out: DataView, p: number): number {
    const { length } = this;
    if (this.#bytes !== undefined) return putBytes(out, p, this.#bytes);
    // The stores use this machine's byte order, like the words. Most texts fit into one or two.
    const wide = this.#wide;
    out.setFloat64(p, wide[0] as number, LITTLE_ENDIAN);
    if (length > 8) {
      out.setFloat64(p + 8, wide[1] as number, LITTLE_ENDIAN);
      for (let i = 16; i < length; i += 8) {
        out.setFloat64(p + i, wide[i >> 3] as number, LITTLE_ENDIAN);
      }
    }
    return p + length;
  }
}

const encoder = new TextEncoder();

/** Prepares a text that is written many times. */
export function piece(text: string): Piece {
  return new Piece(encoder.encode(text));
}
