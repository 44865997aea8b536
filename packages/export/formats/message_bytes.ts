import { enlarge } from "@perfdata/format/bytes";

/** Approximate size of a chunk. */
const CHUNK = 1 << 19;
const encoder = new TextEncoder();
/** Size of the longest number. */
const LONGEST = 10;

/**
 * Protocol buffer messages, written in place (protobuf.dev/programming-guides/encoding), for files
 * with millions of them, where objects for each would take most of the time.
 *
 * @example
 * ```ts
 * import { MessageBytes } from "@perfdata/export";
 * import { assertEquals } from "@std/assert";
 *
 * const bytes = new MessageBytes();
 * const message = bytes.open(2);
 * bytes.field(1, 300);
 * bytes.close(message);
 * assertEquals([...bytes.take()], [0x12, 3, 0x08, 0xac, 0x02]);
 * ```
 */
export class MessageBytes {
  #bytes = new Uint8Array(CHUNK + (CHUNK >> 1));
  #length = 0;

  /** Whether there is enough for a chunk. */
  get isFull(): boolean {
    return this.#length >= CHUNK;
  }

  /** Appends a whole number from −2⁶³ to 2⁶⁴ as an element of a packed field. */
  number(value: number): void {
    if (value < 0) return this.#big(BigInt(value));
    if (this.#length + LONGEST > this.#bytes.length) {
      this.#bytes = enlarge(this.#bytes, this.#length + LONGEST);
    }
    const bytes = this.#bytes;
    let at = this.#length;
    let rest = value;
    while (rest >= 2 ** 31) {
      const more = Math.floor(rest / 128);
      bytes[at++] = rest - more * 128 | 128;
      rest = more;
    }
    let low = rest | 0;
    while (low > 127) {
      bytes[at++] = low & 127 | 128;
      low >>= 7;
    }
    bytes[at++] = low;
    this.#length = at;
  }

  /** Appends a number field, unless it has the default 0. */
  field(field: number, value: number): void {
    if (value === 0) return;
    this.number(field << 3);
    this.number(value);
  }

  /** Appends a number field, even if it is 0. */
  present(field: number, value: number | bigint): void {
    this.number(field << 3);
    if (typeof value === "number") return this.number(value);
    this.#big(value);
  }

  #big(value: bigint): void {
    const first = this.#length;
    // Reserve the longest size, and return the rest afterwards.
    for (let i = 0; i < LONGEST; i++) this.number(0);
    let at = first;
    let rest = BigInt.asUintN(64, value);
    for (; rest > 127n; rest >>= 7n) this.#bytes[at++] = Number(rest & 127n) | 128;
    this.#bytes[at++] = Number(rest);
    this.#length = at;
  }

  /** Appends a text field. */
  text(field: number, text: string): void {
    this.bytes(field, encoder.encode(text));
  }

  /** Appends a bytes field. */
  bytes(field: number, value: Uint8Array): void {
    this.number(field << 3 | 2);
    this.number(value.length);
    const end = this.#length + value.length;
    if (end > this.#bytes.length) this.#bytes = enlarge(this.#bytes, end);
    this.#bytes.set(value, this.#length);
    this.#length = end;
  }

  /** Begins a message or packed field. Returns the argument of {@linkcode close}. */
  open(field: number): number {
    this.number(field << 3 | 2);
    // Room for the size of a short message.
    this.number(0);
    return this.#length;
  }

  /** Ends the message that was begun last. */
  close(start: number): void {
    const end = this.#length;
    const size = end - start;
    let more = 0;
    for (let rest = size >> 7; rest > 0; rest >>= 7) more++;
    if (more > 0) {
      if (end + more > this.#bytes.length) this.#bytes = enlarge(this.#bytes, end + more);
      this.#bytes.copyWithin(start + more, start, end);
    }
    this.#length = start - 1;
    this.number(size);
    this.#length = end + more;
  }

  /** Returns a copy of the bytes, and clears them. */
  take(): Uint8Array<ArrayBuffer> {
    const taken = this.#bytes.slice(0, this.#length);
    this.#length = 0;
    return taken;
  }
}
