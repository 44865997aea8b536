/**
 * Numbers and fixed text as bytes, for loops over many records: no strings, no `bigint`, nothing
 * allocated. Each function stores at `pos` and returns where the next byte goes; it may store up to
 * 8 bytes beyond that, which the next store overwrites.
 *
 * @module
 */

// Bytes are packed into words, the first into the lowest.
/** Two hexadecimal digits of 0–255. */
const HEX2 = new Int32Array(256);
/** Four decimal digits of 0–9999. */
const DECIMAL4 = new Int32Array(10_000);
for (let n = 0; n < 256; n++) {
  const digit = (value: number) => value < 10 ? 0x30 + value : 0x57 + value;
  HEX2[n] = digit(n >> 4) | digit(n & 15) << 8;
}
for (let n = 0; n < 10_000; n++) {
  const high = (n / 100) | 0;
  const low = n - 100 * high;
  const tens = (high / 10) | 0;
  const ones = (low / 10) | 0;
  DECIMAL4[n] = 0x30303030 + tens + ((high - 10 * tens) << 8) + (ones << 16) +
    ((low - 10 * ones) << 24);
}

/** The four hexadecimal digits of 0–0xffff, the first in the lowest byte. */
export function hex4(n: number): number {
  return (HEX2[n >>> 8] as number) | (HEX2[n & 0xff] as number) << 16;
}

/**
 * Fixed ASCII text, as doubles: one store for 8 bytes. The bytes of ASCII text are never those of a
 * NaN, which is the one kind of double that is not stored as it is.
 */
export interface Segment {
  /** The text, zero-padded to a multiple of 8 bytes. */
  readonly words: Float64Array;
  /** Bytes of text. */
  readonly length: number;
}

/** Prepares text; what is not ASCII has to be escaped before. */
export function segment(text: string): Segment {
  const bytes = new Uint8Array(Math.max(8, (text.length + 7) & ~7));
  new TextEncoder().encodeInto(text, bytes);
  const view = new DataView(bytes.buffer);
  const words = Float64Array.from(
    { length: bytes.length >> 3 },
    (_, i) => view.getFloat64(8 * i, true),
  );
  return { words, length: text.length };
}

/** Stores fixed text. */
export function putSegment(view: DataView, pos: number, text: Segment): number {
  const { words, length } = text;
  view.setFloat64(pos, words[0] as number, true);
  // Most texts are short: no loop for them.
  if (length > 8) {
    view.setFloat64(pos + 8, words[1] as number, true);
    if (length > 16) {
      view.setFloat64(pos + 16, words[2] as number, true);
      for (let i = 24; i < length; i += 8) {
        view.setFloat64(pos + i, words[i >> 3] as number, true);
      }
    }
  }
  return pos + length;
}

/** Stores exactly four digits. */
export function putDecimal4(view: DataView, pos: number, n: number): number {
  view.setInt32(pos, DECIMAL4[n] as number, true);
  return pos + 4;
}

function putUpTo4(view: DataView, pos: number, n: number): number {
  const length = n < 100 ? (n < 10 ? 1 : 2) : n < 1000 ? 3 : 4;
  view.setInt32(pos, (DECIMAL4[n] as number) >>> (32 - 8 * length), true);
  return pos + length;
}

/** Stores an integer from 0 to 2^53 in decimal. */
export function putDecimal(view: DataView, pos: number, n: number): number {
  if (n < 1e4) return putUpTo4(view, pos, n);
  if (n < 1e8) {
    const high = (n / 1e4) | 0;
    const at = putUpTo4(view, pos, high);
    view.setInt32(at, DECIMAL4[n - Math.imul(high, 1e4)] as number, true);
    return at + 4;
  }
  const high = Math.floor(n / 1e8);
  return putDecimal8(view, putDecimal(view, pos, high), n - high * 1e8);
}

/** Stores exactly eight digits. */
export function putDecimal8(view: DataView, pos: number, n: number): number {
  const high = (n / 1e4) | 0;
  view.setInt32(pos, DECIMAL4[high] as number, true);
  view.setInt32(pos + 4, DECIMAL4[n - Math.imul(high, 1e4)] as number, true);
  return pos + 8;
}

/** Stores the unsigned 64-bit integer of two halves in decimal. */
export function putU64(view: DataView, pos: number, high: number, low: number): number {
  if (high === 0) return putDecimal(view, pos, low >>> 0);
  if (high > 0 && high < 0x20_0000) {
    return putDecimal(view, pos, high * 0x1_0000_0000 + (low >>> 0));
  }
  // Long division by 10^8 in steps of 16 bits, each of which is exact in a double.
  const top = high >>> 0;
  const q0 = Math.floor(top / 1e8);
  const t1 = (top - q0 * 1e8) * 0x10000 + (low >>> 16);
  const q1 = Math.floor(t1 / 1e8);
  const t2 = (t1 - q1 * 1e8) * 0x10000 + (low & 0xffff);
  const q2 = Math.floor(t2 / 1e8);
  const rest = t2 - q2 * 1e8;
  const quotient = q0 * 0x1_0000_0000 + q1 * 0x10000 + q2;
  return putDecimal8(view, putDecimal(view, pos, quotient), rest);
}

/** How many hexadecimal digits an unsigned 32-bit integer has. */
export function hexDigits(n: number): number {
  return (35 - Math.clz32(n | 1)) >> 2;
}

/** How many decimal digits an unsigned 32-bit integer has. */
export function decimalDigits(n: number): number {
  if (n < 1e5) return n < 100 ? (n < 10 ? 1 : 2) : n < 1e3 ? 3 : n < 1e4 ? 4 : 5;
  return n < 1e7 ? (n < 1e6 ? 6 : 7) : n < 1e8 ? 8 : n < 1e9 ? 9 : 10;
}

/** Stores the last `digits` decimal digits of a positive integer, and nothing beyond them. */
export function putDigits(view: DataView, pos: number, n: number, digits: number): void {
  let rest = n;
  for (let i = digits - 1; i >= 0; i--) {
    const next = Math.floor(rest / 10);
    view.setUint8(pos + i, 0x30 + rest - 10 * next);
    rest = next;
  }
}

/** Stores an unsigned 32-bit integer in eight hexadecimal digits. */
export function putHex8(view: DataView, pos: number, n: number): number {
  view.setInt32(pos, hex4(n >>> 16), true);
  view.setInt32(pos + 4, hex4(n & 0xffff), true);
  return pos + 8;
}

/** Stores an unsigned 32-bit integer in as few hexadecimal digits as it has. */
export function putHex32(view: DataView, pos: number, n: number): number {
  const digits = hexDigits(n);
  if (digits > 4) {
    const length = digits - 4;
    view.setInt32(pos, hex4(n >>> 16) >>> (32 - 8 * length), true);
    view.setInt32(pos + length, hex4(n & 0xffff), true);
    return pos + digits;
  }
  view.setInt32(pos, hex4(n & 0xffff) >>> (32 - 8 * digits), true);
  return pos + digits;
}

/** Stores the unsigned 64-bit integer of two halves in as few hexadecimal digits as it has. */
export function putHex(view: DataView, pos: number, high: number, low: number): number {
  if (high === 0) return putHex32(view, pos, low);
  return putHex8(view, putHex32(view, pos, high), low);
}

/** Stores bytes as two hexadecimal digits each. */
export function putHexBytes(
  view: DataView,
  pos: number,
  bytes: Uint8Array,
  from: number,
  to: number,
): number {
  let at = pos;
  let i = from;
  for (; i + 1 < to; i += 2) {
    const low = HEX2[bytes[i + 1] as number] as number;
    view.setInt32(at, (HEX2[bytes[i] as number] as number) | low << 16, true);
    at += 4;
  }
  if (i < to) {
    view.setInt32(at, HEX2[bytes[i] as number] as number, true);
    at += 2;
  }
  return at;
}

/**
 * Stores text up to its NUL, where it needs no escape in JSON.
 *
 * @returns -1 where it does: quotes, backslashes, control characters, bytes that are not ASCII.
 */
export function putPlainText(
  out: Uint8Array,
  pos: number,
  bytes: Uint8Array,
  from: number,
  to: number,
): number {
  let at = pos;
  for (let i = from; i < to; i++) {
    const byte = bytes[i] as number;
    if (byte === 0) {
      // A NUL and zeros to a multiple of 8; other padding is shown, and that by the general way.
      if (to - i !== 8 - ((i - from) & 7)) return -1;
      for (let j = i + 1; j < to; j++) if (bytes[j] !== 0) return -1;
      return at;
    }
    if (byte < 0x20 || byte > 0x7e || byte === 0x22 || byte === 0x5c) return -1;
    out[at++] = byte;
  }
  return -1;
}
