const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/** Start of the range for undecodable bytes: byte `b` becomes `U+DC00 + b`. */
const ESCAPE = 0xdc00;

/**
 * Decodes bytes as UTF-8 without loss.
 *
 * The kernel's names and paths are bytes, not text. A byte outside of valid UTF-8 becomes
 * the lone surrogate `U+DC00 + byte`, which {@link encodeText} converts back, so that
 * `encodeText(decodeText(bytes))` is `bytes` for all input.
 *
 * @example
 * ```ts
 * import { decodeText, encodeText } from "@perfdata/format/bytes";
 * import { assertEquals } from "@std/assert";
 *
 * const bytes = Uint8Array.of(0x6c, 0xff, 0x73);
 * assertEquals(decodeText(bytes), "l\udcffs");
 * assertEquals(encodeText("l\udcffs"), bytes);
 * ```
 */
export function decodeText(bytes: Uint8Array): string {
  let ascii = true;
  for (let i = 0; i < bytes.length; i++) {
    if ((bytes[i] as number) >= 0x80) {
      ascii = false;
      break;
    }
  }
  if (ascii && bytes.length < 64) {
    let text = "";
    for (let i = 0; i < bytes.length; i++) text += String.fromCharCode(bytes[i] as number);
    return text;
  }
  try {
    return strict.decode(bytes);
  } catch {
    return decodeEscaped(bytes);
  }
}

/** Returns the length of the valid UTF-8 sequence at `at`, or 0. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] as number;
  const length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (length === 0 || lead > 0xf4 || at + length > bytes.length) return 0;
  for (let i = 1; i < length; i++) {
    if (((bytes[at + i] as number) & 0xc0) !== 0x80) return 0;
  }
  const second = length > 1 ? bytes[at + 1] as number : 0;
  const overlong = (lead === 0xe0 && second < 0xa0) || (lead === 0xf0 && second < 0x90);
  const outside = (lead === 0xed && second >= 0xa0) || (lead === 0xf4 && second >= 0x90);
  return overlong || outside ? 0 : length;
}

function decodeEscaped(bytes: Uint8Array): string {
  let text = "";
  let from = 0;
  let at = 0;
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at);
    if (length > 0) {
      at += length;
      continue;
    }
    text += strict.decode(bytes.subarray(from, at));
    text += String.fromCharCode(ESCAPE + (bytes[at] as number));
    from = ++at;
  }
  return text + strict.decode(bytes.subarray(from));
}

/**
 * Encodes a string as UTF-8; a lone surrogate from {@link decodeText} becomes its byte again.
 *
 * @example
 * ```ts
 * import { encodeText } from "@perfdata/format/bytes";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(encodeText("cpu"), Uint8Array.of(0x63, 0x70, 0x75));
 * ```
 */
export function encodeText(text: string): Uint8Array {
  if (!/[\ud800-\udfff]/.test(text)) return encoder.encode(text);
  const out = new Uint8Array(3 * text.length);
  let at = 0;
  let from = 0;
  // An escaped byte is a low surrogate without a high one before it. The text between two of them is plain.
  for (const { 0: escape, index } of text.matchAll(/(?<![\ud800-\udbff])[\udc80-\udcff]/g)) {
    if (index > from) at += encoder.encodeInto(text.slice(from, index), out.subarray(at)).written;
    out[at++] = escape.charCodeAt(0) - ESCAPE;
    from = index + 1;
  }
  at += encoder.encodeInto(text.slice(from), out.subarray(at)).written;
  return out.slice(0, at);
}
