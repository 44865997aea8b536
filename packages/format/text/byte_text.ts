import { byteAt, floatAt } from "../columns/elements.ts";
import { enlarge } from "../columns/enlarge.ts";
import {
  hexDigits,
  LITTLE_ENDIAN,
  OVERSHOOT,
  type Piece,
  putDecimal64,
  putHex,
  putSigned64,
} from "./text_bytes.ts";

const encoder = new TextEncoder();

/** Four spaces. */
const SPACES = 0x20202020;

/** Bytes of a pool's text that are copied at once. */
const POOL_STEP = 32;

/** Approximate size of a chunk. */
const CHUNK = 1 << 17;

/**
 * Short texts that are written often, stored in words for fast copying. A text's number is the
 * index of its length.
 */
export class TextPool {
  /**
   * The length of each text in bytes, then the text, padded to whole words. The length is negative
   * if the text is not ASCII: then words may be NaNs, whose bits may change.
   */
  words: Float64Array<ArrayBuffer> = new Float64Array(1 << 8);
  /** The words as bytes. */
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(this.words.buffer);
  #used = 0;

  /** Number of used words. */
  get used(): number {
    return this.#used;
  }

  /** Adds a text. Returns its index. */
  add(bytes: Uint8Array): number {
    const words = 1 + (bytes.length + 7 >> 3);
    if (this.#used + words + POOL_STEP / 8 > this.words.length) {
      this.words = enlarge(this.words, this.#used + words + POOL_STEP / 8);
      this.bytes = new Uint8Array(this.words.buffer);
    }
    const number = this.#used;
    let isAscii = true;
    for (let i = 0; i < bytes.length; i++) isAscii &&= byteAt(bytes, i) < 0x7f;
    this.words[number] = isAscii ? bytes.length : -bytes.length;
    this.bytes.set(bytes, (number + 1) * 8);
    this.#used += words;
    return number;
  }

  /** Removes all texts, and adds one with the number 0. */
  only(bytes: Uint8Array): void {
    this.#used = 0;
    this.add(bytes);
  }
}

/**
 * Text that is written as bytes, in chunks. The caller encodes repeated strings once.
 *
 * @example
 * ```ts
 * import { ByteText } from "@perfdata/format/bytes";
 * import { assertEquals } from "@std/assert";
 *
 * const text = new ByteText();
 * text.string("a ");
 * text.number(12);
 * assertEquals(new TextDecoder().decode(text.take()), "a 12");
 * ```
 */
export class ByteText {
  #bytes = new Uint8Array(CHUNK + (CHUNK >> 1));
  #view = new DataView(this.#bytes.buffer);
  /** Number of bytes. A caller that writes to the view of {@linkcode ByteText.reserve} sets it. */
  length: number = 0;

  /** Whether there is enough for a chunk. */
  get isFull(): boolean {
    return this.length >= CHUNK;
  }

  /** Appends bytes. */
  bytes(bytes: Uint8Array): void {
    this.part(bytes, 0, bytes.length);
  }

  /** Appends the bytes `[from, to)`. */
  part(bytes: Uint8Array, from: number, to: number): void {
    this.reserve(to - from);
    if (to - from > 48) this.#bytes.set(bytes.subarray(from, to), this.length);
    else for (let i = from, at = this.length; i < to; i++) this.#bytes[at++] = byteAt(bytes, i);
    this.length += to - from;
  }

  /** Appends a prepared text. */
  piece(text: Piece): void {
    this.length = text.put(this.reserve(text.length + OVERSHOOT), this.length);
  }

  /** Appends a text of a pool. */
  pooled({ words, bytes }: TextPool, number: number): void {
    const length = floatAt(words, number);
    if (length < 0) {
      const from = (number + 1) * 8;
      this.bytes(bytes.subarray(from, from - length));
      return;
    }
    const view = this.reserve(length + POOL_STEP);
    let at = this.length;
    const end = this.length = at + length;
    // Up to 31 bytes are written beyond the end, and overwritten later.
    for (let word = number + 1; at < end; word += 4, at += 32) {
      view.setFloat64(at, floatAt(words, word), LITTLE_ENDIAN);
      view.setFloat64(at + 8, floatAt(words, word + 1), LITTLE_ENDIAN);
      view.setFloat64(at + 16, floatAt(words, word + 2), LITTLE_ENDIAN);
      view.setFloat64(at + 24, floatAt(words, word + 3), LITTLE_ENDIAN);
    }
  }

  /** Appends one byte. */
  byte(byte: number): void {
    this.reserve(1);
    this.#bytes[this.length++] = byte;
  }

  /** Appends text. */
  string(text: string): void {
    this.reserve(text.length * 3);
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

  /** Appends a number in JSON format; integers below 2³¹ without creating a string. */
  number(value: number): void {
    if (!(value >= 0 && value < 2147483648 && value === Math.floor(value))) {
      this.string(String(value));
      return;
    }
    this.reserve(10);
    let digits = 1;
    for (let power = 10; power <= value; power *= 10) digits++;
    let at = this.length += digits;
    let rest = value;
    do {
      const next = rest / 10 | 0;
      this.#bytes[--at] = 0x30 + rest - next * 10;
      rest = next;
    } while (rest > 0);
  }

  /** Appends a 64-bit word in decimal, padded with spaces to `width` characters. */
  padded64(hi: number, lo: number, width: number): void {
    const from = this.length;
    const view = this.reserve(width + 20);
    const end = putDecimal64(view, from, hi, lo);
    const spaces = width - (end - from);
    this.length = end + Math.max(0, spaces);
    if (spaces <= 0) return;
    this.#bytes.copyWithin(from + spaces, from, end);
    this.#bytes.fill(0x20, from, from + spaces);
  }

  /** Appends spaces. */
  spaces(count: number): void {
    this.reserve(count);
    this.#bytes.fill(0x20, this.length, this.length += count);
  }

  /** Appends an unsigned 64-bit word in decimal. */
  decimal(hi: number, lo: number): void {
    this.length = putDecimal64(this.reserve(24), this.length, hi, lo);
  }

  /** Appends a signed 64-bit word in decimal. */
  signed(hi: number, lo: number): void {
    this.length = putSigned64(this.reserve(24), this.length, hi, lo);
  }

  /** Appends a 64-bit word in hexadecimal without leading zeros. */
  hex(hi: number, lo: number): void {
    this.reserve(16);
    this.length = putHex(this.#view, this.length, hi, lo);
  }

  /** Appends an integer below 2³¹ with leading zeros, `width` digits. */
  zeros(value: number, width: number): void {
    this.reserve(width);
    let rest = value;
    for (let at = this.length + width - 1; at >= this.length; at--) {
      const next = rest / 10 | 0;
      this.#bytes[at] = 0x30 + rest - next * 10;
      rest = next;
    }
    this.length += width;
  }

  /** Appends a 64-bit word in hexadecimal, padded with spaces to 16 characters. */
  hex16(hi: number, lo: number): void {
    this.reserve(16);
    const view = this.#view;
    const from = this.length;
    const digits = hi === 0 ? hexDigits(lo) : 8 + hexDigits(hi);
    for (let at = from; at < from + 16 - digits; at += 4) view.setInt32(at, SPACES);
    putHex(view, from + 16 - digits, hi, lo);
    this.length = from + 16;
  }

  /** Returns a copy of the text, and clears it. */
  take(): Uint8Array<ArrayBuffer> {
    return this.lend().slice();
  }

  /** Returns the text without copying, valid until the next append, and clears it. */
  lend(): Uint8Array<ArrayBuffer> {
    const taken = this.#bytes.subarray(0, this.length);
    this.length = 0;
    return taken;
  }

  /**
   * Makes room for more bytes, and for those that {@linkcode TextPool} and numbers write beyond
   * their end.
   *
   * @returns A view of all bytes; the text ends at `length`.
   */
  reserve(more: number): DataView<ArrayBuffer> {
    const need = this.length + more + OVERSHOOT;
    if (need > this.#bytes.length) {
      this.#bytes = enlarge(this.#bytes, need);
      this.#view = new DataView(this.#bytes.buffer);
    }
    return this.#view;
  }
}
