import type { TextBytes } from "./text.ts";

/** Bytes of a line: `.  0000:  xx … xx  ascii…` and a newline, always the same. */
const LINE = 76;

const DIGITS = "0123456789abcdef";
const ascii = (text: string): number =>
  text.charCodeAt(0) | text.charCodeAt(1) << 8 | text.charCodeAt(2) << 16;
/** Space and two digits: 24 bits a byte. Two of them and a half make three stores of four bytes. */
const SPACED = Int32Array.from(
  { length: 256 },
  (_, b) => ascii(` ${DIGITS[b >> 4]}${DIGITS[b & 15]}`),
);
/** `.  0010:` for each line of a record of at most 64 KB, as eight bytes for a single store. */
const OFFSETS = Float64Array.from({ length: 65536 >> 4 }, (_, n) => {
  const bytes = new TextEncoder().encode(`.  ${(n << 4).toString(16).padStart(4, "0")}:`);
  return new DataView(bytes.buffer).getFloat64(0, true);
});

/**
 * Writes the bytes of a record as `perf report -D` shows them, 16 bytes a line with their offset in
 * hexadecimal, and an empty line. The line before them, which tells their number, is the caller's.
 *
 * @param words The bytes as 32-bit words of the machine's byte order.
 */
export function putRawEvent(
  out: TextBytes,
  p: number,
  bytes: Uint8Array,
  words: Int32Array,
  start: number,
  end: number,
): number {
  const whole = end - (end - start & 15);
  const { view } = out;
  if ((start & 3) !== 0 || !LITTLE_ENDIAN) {
    p = putLinesByByte(out, p, bytes, start, start, end);
  } else if (end - whole === 8 && end + 8 <= bytes.length) {
    // Most records end with half a line: it is written whole, and half of it is wiped.
    p = putLines(view, p, words, start, end + 8);
    for (let q = p - 43; q < p - 19; q += 4) view.setInt32(q, 0x20202020, true);
    view.setInt32(p - 9, 0x20202020, true);
    view.setInt32(p - 5, 0x20202020, true);
  } else {
    p = putLines(view, p, words, start, whole);
    if (whole < end) p = putLinesByByte(out, p, bytes, start, whole, end);
  }
  view.setUint8(p, 0x0a);
  return p + 1;
}

const LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** The loop in which a dump spends its time: four words in, 76 bytes out. */
function putLines(
  view: DataView,
  p: number,
  words: Int32Array,
  start: number,
  end: number,
): number {
  const last = end >> 2;
  for (let at = start >> 2, offset = 0; at < last; at += 4, offset++, p += LINE) {
    view.setFloat64(p, OFFSETS[offset] as number, true);
    view.setUint8(p + 8, 0x20);
    for (let k = 0; k < 4; k++) {
      const w = words[at + k] as number;
      const b1 = SPACED[w >>> 8 & 255] as number;
      const b2 = SPACED[w >>> 16 & 255] as number;
      const q = p + 9 + 12 * k;
      view.setInt32(q, (SPACED[w & 255] as number) | b1 << 24, true);
      view.setInt32(q + 4, b1 >>> 8 | b2 << 16, true);
      view.setInt32(q + 8, b2 >>> 16 | (SPACED[w >>> 24] as number) << 8, true);
      // Four bytes at once: those in 0x20…0x7e stay, the others become dots.
      const low = w & 0x7f7f7f7f;
      const shown = (low + 0x60606060) & ~(low + 0x01010101) & ~w & 0x80808080;
      const mask = Math.imul(shown >>> 7, 255);
      view.setInt32(p + 59 + 4 * k, w & mask | 0x2e2e2e2e & ~mask, true);
    }
    view.setUint16(p + 57, 0x2020, true);
    view.setUint8(p + 75, 0x0a);
  }
  return p;
}

/** The same for bytes that are not aligned, and for the last line, which may be short. */
function putLinesByByte(
  out: TextBytes,
  p: number,
  bytes: Uint8Array,
  start: number,
  from: number,
  end: number,
): number {
  const { bytes: to, view } = out;
  for (let at = from; at < end; at += 16, p += LINE) {
    view.setFloat64(p, OFFSETS[(at - start) >> 4] as number, true);
    view.setUint8(p + 8, 0x20);
    to.fill(0x20, p + 9, p + 75);
    for (let i = 0; i < 16 && at + i < end; i++) {
      const b = bytes[at + i] as number;
      // The fourth byte that is written is a space, or overwritten.
      view.setInt32(p + 9 + 3 * i, (SPACED[b] as number) | 0x20000000, true);
      to[p + 59 + i] = b >= 0x20 && b < 0x7f ? b : 0x2e;
    }
    to[p + 75] = 0x0a;
  }
  return p;
}
