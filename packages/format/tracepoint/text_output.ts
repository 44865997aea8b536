import { enlarge } from "../columns/enlarge.ts";
import { putBytes, putDecimal64, putHex, putSigned64 } from "../text/text_bytes.ts";

/** Maximum length of the text of a sample: its raw data has at most 64 KB, and is printed once or twice. */
const MAX_TEXT = 1 << 20;

const encoder = new TextEncoder();

/** Text that is made as bytes; what is too long is cut. */
export class TextOutput {
  #bytes = new Uint8Array(1 << 12);
  #view = new DataView(this.#bytes.buffer);
  /** Bytes that were written. */
  length: number = 0;

  /** Whether there is room for more; makes it. */
  #room(more: number): boolean {
    const needed = this.length + more + 32;
    if (needed > MAX_TEXT) return false;
    if (needed > this.#bytes.length) {
      this.#bytes = enlarge(this.#bytes, needed);
      this.#view = new DataView(this.#bytes.buffer);
    }
    return true;
  }

  /** Adds bytes. */
  bytes(bytes: Uint8Array): void {
    if (this.#room(bytes.length)) this.length = putBytes(this.#view, this.length, bytes);
  }

  /** Adds the bytes `[from, to)`. */
  part(bytes: Uint8Array, from: number, to: number): void {
    if (!this.#room(to - from)) return;
    for (let i = from; i < to; i++) this.#bytes[this.length++] = bytes[i] as number;
  }

  /** Adds text. */
  string(text: string): void {
    if (!this.#room(text.length * 3)) return;
    const from = this.length;
    // Most are short and ASCII: a call of the encoder takes longer than they do.
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

  /** Adds spaces. */
  spaces(count: number): void {
    if (count <= 0 || !this.#room(count)) return;
    this.#bytes.fill(0x20, this.length, this.length += count);
  }

  /** Adds an unsigned number in decimal. */
  decimal(hi: number, lo: number): void {
    if (this.#room(24)) this.length = putDecimal64(this.#view, this.length, hi, lo);
  }

  /** Adds a signed number in decimal. */
  signed(hi: number, lo: number): void {
    if (this.#room(24)) this.length = putSigned64(this.#view, this.length, hi, lo);
  }

  /** Adds a number in hexadecimal. */
  hex(hi: number, lo: number): void {
    if (this.#room(24)) this.length = putHex(this.#view, this.length, hi, lo);
  }

  /** Takes what is there, valid until more is added; it is empty then. */
  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.length);
    this.length = 0;
    return taken;
  }
}
