import { enlarge } from "../columns/enlarge.ts";
import { putBytes, putDecimal64, putHex, putSigned64 } from "../text/text_bytes.ts";

/** Maximum length of a sample's text. The raw data has at most 64 KB, which is printed at most twice. */
const MAX_TEXT = 1 << 20;

const encoder = new TextEncoder();

/** Text collected as bytes, cut at the maximum length. */
export class TextOutput {
  #bytes = new Uint8Array(1 << 12);
  #view = new DataView(this.#bytes.buffer);
  /** Number of bytes written. */
  length: number = 0;

  /** Makes room for more bytes; returns whether the limit allows them. */
  #room(more: number): boolean {
    const needed = this.length + more + 32;
    if (needed > MAX_TEXT) return false;
    if (needed > this.#bytes.length) {
      this.#bytes = enlarge(this.#bytes, needed);
      this.#view = new DataView(this.#bytes.buffer);
    }
    return true;
  }

  bytes(bytes: Uint8Array): void {
    if (this.#room(bytes.length)) this.length = putBytes(this.#view, this.length, bytes);
  }

  /** Appends the bytes `[from, to)`. */
  part(bytes: Uint8Array, from: number, to: number): void {
    if (!this.#room(to - from)) return;
    for (let i = from; i < to; i++) this.#bytes[this.length++] = bytes[i] as number;
  }

  string(text: string): void {
    if (!this.#room(text.length * 3)) return;
    const from = this.length;
    // Most texts are short ASCII, for which a call of the encoder is slower than this loop.
    for (let i = 0; i < text.length && text.length < 48; i++) {
      const code = text.charCodeAt(i);
      if (code > 0x7f) break;
      this.#bytes[from + i] = code;
      if (i + 1 === text.length) {
        this.length = from + text.length;
        return;
      }
    }
    this.length += encoder.encodeInto(text, this.#bytes.subarray(this.length)).written;
  }

  spaces(count: number): void {
    if (count <= 0 || !this.#room(count)) return;
    this.#bytes.fill(0x20, this.length, this.length += count);
  }

  /** Appends an unsigned number in decimal. */
  decimal(hi: number, lo: number): void {
    if (this.#room(24)) this.length = putDecimal64(this.#view, this.length, hi, lo);
  }

  /** Appends a signed number in decimal. */
  signed(hi: number, lo: number): void {
    if (this.#room(24)) this.length = putSigned64(this.#view, this.length, hi, lo);
  }

  hex(hi: number, lo: number): void {
    if (this.#room(24)) this.length = putHex(this.#view, this.length, hi, lo);
  }

  /** Returns and clears the text; it is valid until more is appended. */
  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.length);
    this.length = 0;
    return taken;
  }
}
