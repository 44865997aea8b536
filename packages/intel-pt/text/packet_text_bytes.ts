// Writes text into a byte array. Constant text is stored eight bytes at a time, as the float64 with the
// same bits; ASCII bytes are never the bits of a NaN, so none are lost. Stores may run past the end of
// the text; the next one overwrites the excess.

/** Bytes that a store may write after the text it is for. */
export const OVERSHOOT = 24;

/** Three hexadecimal digits as the low 24 bits of a number, for each number below 4096. */
export const HEX3: Uint32Array = new Uint32Array(4096);
for (let value = 0; value < 4096; value++) {
  const text = value.toString(16).padStart(3, "0");
  HEX3[value] = text.charCodeAt(0) | text.charCodeAt(1) << 8 | text.charCodeAt(2) << 16;
}

/** The bytes of an ASCII text, as numbers to store with `setFloat64(…, true)`. */
export function float64sOf(text: string): number[] {
  const bytes = new Uint8Array(Math.ceil(text.length / 8) * 8).fill(0x20);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const view = new DataView(bytes.buffer);
  return Array.from({ length: bytes.length / 8 }, (_, i) => view.getFloat64(8 * i, true));
}

/** Writes the text of a stream piece by piece, as {@linkcode PerfText} and {@linkcode PtdumpText} do. */
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
 * All of the text of a buffer.
 *
 * @param room What `write` needs after the position that it writes at.
 * @param perByte Bytes of text for a byte of input, about.
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
