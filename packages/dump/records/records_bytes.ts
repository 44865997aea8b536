import { byteAt } from "@perfdata/format/bytes";

/** Size of a block of text. */
export const BLOCK: number = 1 << 18;

/**
 * Writes text up to its NUL, unless it needs JSON escapes.
 *
 * @param unit The size of `[from, to)` is a multiple of this.
 * @returns -1 if the text needs escapes: quotes, backslashes, control characters, or bytes that are
 * not ASCII.
 */
export function putPlainText(
  out: DataView,
  pos: number,
  bytes: Uint8Array,
  from: number,
  to: number,
  unit: number,
): number {
  let at = pos;
  for (let i = from; i < to; i++) {
    const byte = byteAt(bytes, i);
    if (byte === 0) {
      // Padding must be NULs up to a multiple of `unit`. Other padding is shown, by the general
      // way.
      if (to - i !== unit - (i - from) % unit) return -1;
      for (let j = i + 1; j < to; j++) if (bytes[j] !== 0) return -1;
      return at;
    }
    if (byte < 0x20 || byte > 0x7e || byte === 0x22 || byte === 0x5c) return -1;
    out.setUint8(at++, byte);
  }
  return -1;
}
