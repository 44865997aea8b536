import { byteAt, floatAt } from "@perfdata/format/elements";
import {
  hexDigits,
  LITTLE_ENDIAN,
  OVERSHOOT,
  type Piece,
  putDecimal64,
  putHex,
} from "@perfdata/format/text-bytes";
import { enlarge } from "@perfdata/format/enlarge";

const encoder = new TextEncoder();

/** Four spaces. */
const SPACES = 0x20202020;

/** Bytes of a text of a pool that are copied at once. */
const POOL_STEP = 32;

/** What one chunk holds, about. */
const CHUNK = 1 << 17;

/**
 * Short texts that are written again and again: kept in words, so that they are copied quickly. They
 * go by a number, the place of their length; a text is one place in memory.
 */
export class TextPool {
  /**
   * The length of each text in bytes, then the text, filled up to a whole word. The length is negative
   * where the text is not ASCII: its words may be NaNs, of whose bits not all survive.
   */
  words: Float64Array<ArrayBuffer> = new Float64Array(1 << 8);
  /** The same. */
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(this.words.buffer);
  #used = 0;

  /** Words that are used. */
  get used(): number {
    return this.#used;
  }

  /** Adds a text; returns its number. */
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

  /** Forgets all texts, and adds one, whose number is 0. */
  only(bytes: Uint8Array): void {
    this.#used = 0;
    this.add(bytes);
  }
}

/**
 * Text that is written as bytes, in chunks: strings that repeat are encoded once by the caller.
 *
 * @example
 * ```ts
 * import { ByteText } from "@perfdata/export/byte-text";
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
  /** How many bytes there are. Who writes into the view of {@linkcode ByteText.reserve} sets it. */
  length: number = 0;

  /** Whether there is enough to hand on. */
  get isFull(): boolean {
    return this.length >= CHUNK;
  }

  /** Adds bytes. */
  bytes(bytes: Uint8Array): void {
    const at = this.length;
    this.reserve(bytes.length);
    if (bytes.length > 48) this.#bytes.set(bytes, at);
    else for (let i = 0; i < bytes.length; i++) this.#bytes[at + i] = byteAt(bytes, i);
    this.length = at + bytes.length;
  }

  /** Adds a text that is written many times. */
  piece(text: Piece): void {
    this.length = text.put(this.reserve(text.length + OVERSHOOT), this.length);
  }

  /** Adds a text of a pool. */
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
    // Up to 31 bytes beyond the end are written, and overwritten by what follows.
    for (let word = number + 1; at < end; word += 4, at += 32) {
      view.setFloat64(at, floatAt(words, word), LITTLE_ENDIAN);
      view.setFloat64(at + 8, floatAt(words, word + 1), LITTLE_ENDIAN);
      view.setFloat64(at + 16, floatAt(words, word + 2), LITTLE_ENDIAN);
      view.setFloat64(at + 24, floatAt(words, word + 3), LITTLE_ENDIAN);
    }
  }

  /** Adds one byte. */
  byte(byte: number): void {
    this.reserve(1);
    this.#bytes[this.length++] = byte;
  }

  /** Adds text. */
  string(text: string): void {
    this.reserve(text.length * 3);
    this.length += encoder.encodeInto(text, this.#bytes.subarray(this.length)).written;
  }

  /** Adds a number as JSON has it; whole numbers below 2³¹ without a string in between. */
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

  /** Adds a 64-bit word in decimal with spaces before it, up to `width` characters. */
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

  /** Adds a 64-bit word in hexadecimal without leading zeros. */
  hex(hi: number, lo: number): void {
    this.reserve(16);
    this.length = putHex(this.#view, this.length, hi, lo);
  }

  /** Adds a whole number below 2³¹ with zeros before it: `width` digits. */
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

  /** Adds a 64-bit word in hexadecimal, with spaces before it up to 16 characters. */
  hex16(hi: number, lo: number): void {
    this.reserve(16);
    const view = this.#view;
    const from = this.length;
    const digits = hi === 0 ? hexDigits(lo) : 8 + hexDigits(hi);
    for (let at = from; at < from + 16 - digits; at += 4) view.setInt32(at, SPACES);
    putHex(view, from + 16 - digits, hi, lo);
    this.length = from + 16;
  }

  /** Takes what is there, for whoever gets it to keep; the text is empty then. */
  take(): Uint8Array<ArrayBuffer> {
    return this.lend().slice();
  }

  /** Hands out what is there for as long as nothing is added; the text is empty then. */
  lend(): Uint8Array<ArrayBuffer> {
    const taken = this.#bytes.subarray(0, this.length);
    this.length = 0;
    return taken;
  }

  /**
   * Makes room for more, and for what {@linkcode TextPool} and numbers write beyond their end.
   *
   * @returns All bytes; those that are there end at `length`.
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

/** Encodes each of some strings. */
export function encodeAll(texts: readonly string[]): Uint8Array<ArrayBuffer>[] {
  return texts.map((text) => encoder.encode(text));
}

/**
 * Packs what a format writes with gzip.
 *
 * @example
 * ```ts
 * import { gzipped } from "@perfdata/export/byte-text";
 * import { assertEquals } from "@std/assert";
 *
 * const packed = await Array.fromAsync(gzipped([new TextEncoder().encode("text")]));
 * assertEquals([...packed[0]!.subarray(0, 2)], [0x1f, 0x8b]);
 * ```
 */
export async function* gzipped(
  chunks: Iterable<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, void> {
  const iterator = chunks[Symbol.iterator]();
  const source = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller): void {
      const { done, value } = iterator.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
  const reader = source.pipeThrough(new CompressionStream("gzip")).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}
