/** Value of a hex digit by character code; −1 for other characters. */
export const HEX_DIGITS: Int8Array = new Int8Array(256).fill(-1);
for (let i = 0; i < 10; i++) HEX_DIGITS[0x30 + i] = i;
for (let i = 0; i < 6; i++) HEX_DIGITS[0x41 + i] = HEX_DIGITS[0x61 + i] = 10 + i;

/** Parses hex fields of text without creating strings. */
export class HexField {
  /** Upper 32 bits of the last field. */
  hi = 0;
  /** Lower 32 bits of the last field. */
  lo = 0;

  /**
   * Parses hex digits, with or without `0x`.
   *
   * @returns the offset after them, or −1 if there are none, or more than 16
   */
  read(bytes: Uint8Array, start: number, end: number): number {
    let at = start;
    if (bytes[at] === 0x30 && ((bytes[at + 1] ?? 0) | 0x20) === 0x78 && at + 1 < end) at += 2;
    const first = at;
    let hi = 0;
    let lo = 0;
    while (at < end) {
      const digit = HEX_DIGITS[bytes[at] ?? 0] ?? -1;
      if (digit < 0) break;
      hi = (hi << 4) | (lo >>> 28);
      lo = (lo << 4) | digit;
      at++;
    }
    this.hi = hi >>> 0;
    this.lo = lo >>> 0;
    return at > first && at - first <= 16 ? at : -1;
  }
}
