// Writes text to a byte array. Constant text is stored eight bytes at a time, as the float64 with the
// same bits. ASCII is never a NaN, so no bits are lost. Stores may exceed the
// text; the next store overwrites the excess.

/** Maximum number of bytes that a store writes after its text. */
export const OVERSHOOT = 24;

/** Three hexadecimal digits as the low 24 bits of a number, for each number below 4096. */
export const HEX3: Uint32Array = new Uint32Array(4096);
for (let value = 0; value < 4096; value++) {
  const text = value.toString(16).padStart(3, "0");
  HEX3[value] = text.charCodeAt(0) | text.charCodeAt(1) << 8 | text.charCodeAt(2) << 16;
}

/** Returns the bytes of an ASCII text as numbers to store with `setFloat64(…, true)`. */
export function float64sOf(text: string): number[] {
  const bytes = new Uint8Array(Math.ceil(text.length / 8) * 8).fill(0x20);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const view = new DataView(bytes.buffer);
  return Array.from({ length: bytes.length / 8 }, (_, i) => view.getFloat64(8 * i, true));
}

/** Writer of a stream's text in pieces: {@linkcode PerfText} and {@linkcode PtdumpText}. */
export interface StreamText {
  readonly consumed: number;
  write(
    input: Uint8Array,
    from: number,
    to: number,
    last: boolean,
    out: Uint8Array,
    at: number,
  ): number;
}

/**
 * Returns the text of a whole buffer.
 *
 * @param room Number of bytes that `write` needs after its output position.
 * @param perByte Approximate number of bytes of text per byte of input.
 */
export function wholeText(
  text: StreamText,
  bytes: Uint8Array,
  room: number,
  perByte: number,
): Uint8Array<ArrayBuffer> {
  let out = new Uint8Array(room + perByte * bytes.length);
  let at = 0;
  for (let from = 0; from < bytes.length; from += text.consumed) {
    if (out.length - at < room) {
      const larger = new Uint8Array(2 * out.length);
      larger.set(out);
      out = larger;
    }
    at = text.write(bytes, from, bytes.length, true, out, at);
  }
  return out.subarray(0, at);
}
