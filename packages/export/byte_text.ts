const encoder = new TextEncoder();

/** What one chunk holds, about. */
const CHUNK = 1 << 16;

/**
 * Text that is written as bytes, in chunks: strings that repeat are encoded once by the caller.
 *
 * @example
 * ```ts
 * import { ByteText } from "@perfdata/export";
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
  #length = 0;

  /** Whether there is enough to hand on. */
  get isFull(): boolean {
    return this.#length >= CHUNK;
  }

  /** Adds bytes. */
  bytes(bytes: Uint8Array): void {
    const at = this.#length;
    this.#reserve(bytes.length);
    if (bytes.length > 48) this.#bytes.set(bytes, at);
    else for (let i = 0; i < bytes.length; i++) this.#bytes[at + i] = bytes[i] as number;
    this.#length = at + bytes.length;
  }

  /** Adds one byte. */
  byte(byte: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = byte;
  }

  /** Adds text. */
  string(text: string): void {
    this.#reserve(text.length * 3);
    this.#length += encoder.encodeInto(text, this.#bytes.subarray(this.#length)).written;
  }

  /** Adds a number as JSON has it; whole numbers below 2³¹ without a string in between. */
  number(value: number): void {
    if (!(value >= 0 && value < 2147483648 && value === Math.floor(value))) {
      this.string(String(value));
      return;
    }
    this.#reserve(10);
    let digits = 1;
    for (let power = 10; power <= value; power *= 10) digits++;
    let at = this.#length += digits;
    let rest = value;
    do {
      const next = rest / 10 | 0;
      this.#bytes[--at] = 0x30 + rest - next * 10;
      rest = next;
    } while (rest > 0);
  }

  /** Takes what is there; the text is empty then. */
  take(): Uint8Array<ArrayBuffer> {
    const taken = this.#bytes.slice(0, this.#length);
    this.#length = 0;
    return taken;
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length + more));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}

/** Encodes each of some strings. */
export function encodeAll(texts: readonly string[]): Uint8Array[] {
  return texts.map((text) => encoder.encode(text));
}

/**
 * Packs what a format writes with gzip.
 *
 * @example
 * ```ts
 * import { gzipped } from "@perfdata/export";
 * import { assertEquals } from "@std/assert";
 *
 * const packed = await Array.fromAsync(gzipped([new TextEncoder().encode("text")]));
 * assertEquals([...packed[0]!.subarray(0, 2)], [0x1f, 0x8b]);
 * ```
 */
export async function* gzipped(
  chunks: Iterable<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<Uint8Array, void, void> {
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
