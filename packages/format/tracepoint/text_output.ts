import { ByteText } from "../text/byte_text.ts";

/** Maximum length of a sample's text. The raw data has at most 64 KB, which is printed at most twice. */
const MAX_TEXT = 1 << 20;

/** Text of one sample. Texts that would exceed the maximum length are left out. */
export class TextOutput {
  readonly #text = new ByteText();

  /** Number of bytes written. */
  get length(): number {
    return this.#text.length;
  }

  /** Whether the limit allows more bytes. */
  #allows(more: number): boolean {
    return this.#text.length + more + 32 <= MAX_TEXT;
  }

  bytes(bytes: Uint8Array): void {
    if (this.#allows(bytes.length)) this.#text.bytes(bytes);
  }

  /** Appends the bytes `[from, to)`. */
  part(bytes: Uint8Array, from: number, to: number): void {
    if (this.#allows(to - from)) this.#text.part(bytes, from, to);
  }

  string(text: string): void {
    if (this.#allows(text.length * 3)) this.#text.string(text);
  }

  spaces(count: number): void {
    if (count > 0 && this.#allows(count)) this.#text.spaces(count);
  }

  /** Appends an unsigned number in decimal. */
  decimal(hi: number, lo: number): void {
    if (this.#allows(24)) this.#text.decimal(hi, lo);
  }

  /** Appends a signed number in decimal. */
  signed(hi: number, lo: number): void {
    if (this.#allows(24)) this.#text.signed(hi, lo);
  }

  hex(hi: number, lo: number): void {
    if (this.#allows(24)) this.#text.hex(hi, lo);
  }

  /** Returns and clears the text; it is valid until more is appended. */
  take(): Uint8Array {
    return this.#text.lend();
  }
}
