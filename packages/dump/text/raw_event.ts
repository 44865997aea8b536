import { byteAt, floatAt, HEX2, intAt, LITTLE_ENDIAN, shortAt } from "@perfdata/format/bytes";

/** Length of a line: `.  0000:  xx … xx  ascii…` and a newline. */
const LINE = 76;

const SPACES = floatAt(new Float64Array(new Uint8Array(8).fill(0x20).buffer), 0);

/** For each byte a space, two digits, and a space that is overwritten. */
const SPACED = new Int32Array(256);
for (let b = 0; b < 256; b++) {
  SPACED[b] = 0x2000_0020 | (shortAt(HEX2, b) & 0xff) << 8 | (shortAt(HEX2, b) & 0xff00) << 8;
}
/** `.  0010:` for each line of a record of up to 64 KB, as eight bytes for a single store. */
const OFFSETS = offsets();

// Plain loops, since the tables are computed at each start.

function offsets(): Float64Array {
  const table = new Float64Array(1 << 12);
  const halves = new Int32Array(table.buffer);
  for (let n = 0; n < 1 << 12; n++) {
    const high = shortAt(HEX2, n >> 4);
    const low = shortAt(HEX2, (n & 15) << 4);
    halves[2 * n] = 0x20202e | (high & 0xff) << 24;
    halves[2 * n + 1] = high >> 8 | low << 8 | 0x3a000000;
  }
  return table;
}

/**
 * Writes a record's bytes as in `perf report -D`, 16 bytes per line with their offset in
 * hexadecimal, and an empty line. The caller writes the line before them.
 *
 * @param words The bytes as 32-bit words of the machine's byte order.
 */
export function putRawEvent(
  out: DataView,
  p: number,
  bytes: Uint8Array,
  words: Int32Array,
  start: number,
  end: number,
): number {
  const whole = end - (end - start & 15);
  if ((start & 3) !== 0 || !LITTLE_ENDIAN) {
    p = putLinesByByte(out, p, bytes, start, start, end);
  } else if (end - whole === 8 && end + 8 <= bytes.length) {
    // Most records end with half a line: a whole line is written, and half of it is blanked.
    p = putLines(out, p, words, start >> 2, (end + 8) >> 2, 0);
    out.setFloat64(p - 43, SPACES, true);
    out.setFloat64(p - 35, SPACES, true);
    out.setFloat64(p - 27, SPACES, true);
    out.setFloat64(p - 9, SPACES, true);
  } else {
    p = putLines(out, p, words, start >> 2, whole >> 2, 0);
    if (whole < end) p = putLinesByByte(out, p, bytes, start, whole, end);
  }
  out.setUint8(p, 0x0a);
  return p + 1;
}

/**
 * The hot loop of a dump: four words in, 76 bytes out.
 *
 * @param from Index of the first word.
 * @param to Index after the last word, a multiple of four words later.
 * @param line Index of the first line.
 */
function putLines(
  out: DataView,
  p: number,
  words: Int32Array,
  from: number,
  to: number,
  line: number,
): number {
  for (let at = from; at < to; at += 4, line++, p += LINE) {
    out.setFloat64(p, floatAt(OFFSETS, line), true);
    out.setUint8(p + 8, 0x20);
    const a = intAt(words, at);
    const b = intAt(words, at + 1);
    const c = intAt(words, at + 2);
    const d = intAt(words, at + 3);
    out.setInt32(p + 9, intAt(SPACED, a & 0xff), true);
    out.setInt32(p + 12, intAt(SPACED, a >>> 8 & 0xff), true);
    out.setInt32(p + 15, intAt(SPACED, a >>> 16 & 0xff), true);
    out.setInt32(p + 18, intAt(SPACED, a >>> 24), true);
    out.setInt32(p + 21, intAt(SPACED, b & 0xff), true);
    out.setInt32(p + 24, intAt(SPACED, b >>> 8 & 0xff), true);
    out.setInt32(p + 27, intAt(SPACED, b >>> 16 & 0xff), true);
    out.setInt32(p + 30, intAt(SPACED, b >>> 24), true);
    out.setInt32(p + 33, intAt(SPACED, c & 0xff), true);
    out.setInt32(p + 36, intAt(SPACED, c >>> 8 & 0xff), true);
    out.setInt32(p + 39, intAt(SPACED, c >>> 16 & 0xff), true);
    out.setInt32(p + 42, intAt(SPACED, c >>> 24), true);
    out.setInt32(p + 45, intAt(SPACED, d & 0xff), true);
    out.setInt32(p + 48, intAt(SPACED, d >>> 8 & 0xff), true);
    out.setInt32(p + 51, intAt(SPACED, d >>> 16 & 0xff), true);
    out.setInt32(p + 54, intAt(SPACED, d >>> 24), true);
    out.setUint8(p + 58, 0x20);
    out.setInt32(p + 59, shown(a), true);
    out.setInt32(p + 63, shown(b), true);
    out.setInt32(p + 67, shown(c), true);
    out.setInt32(p + 71, shown(d), true);
    out.setUint8(p + 75, 0x0a);
  }
  return p;
}

/** Converts four bytes at once: 0x20…0x7e stay, others become dots. */
function shown(w: number): number {
  const low = w & 0x7f7f7f7f;
  const is = (low + 0x60606060) & ~(low + 0x01010101) & ~w & 0x80808080;
  const mask = Math.imul(is >>> 7, 255);
  return w & mask | 0x2e2e2e2e & ~mask;
}

/** Writes unaligned bytes, and the last line, which may be short. */
function putLinesByByte(
  out: DataView,
  p: number,
  bytes: Uint8Array,
  start: number,
  from: number,
  end: number,
): number {
  for (let at = from; at < end; at += 16, p += LINE) {
    out.setFloat64(p, floatAt(OFFSETS, (at - start) >> 4), true);
    out.setUint8(p + 8, 0x20);
    for (let i = 9; i < 75; i++) out.setUint8(p + i, 0x20);
    for (let i = 0; i < 16 && at + i < end; i++) {
      const b = byteAt(bytes, at + i);
      // The store's fourth byte is a space, or is overwritten.
      out.setInt32(p + 9 + 3 * i, intAt(SPACED, b), true);
      out.setUint8(p + 59 + i, b >= 0x20 && b < 0x7f ? b : 0x2e);
    }
    out.setUint8(p + 75, 0x0a);
  }
  return p;
}
