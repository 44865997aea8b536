import { byteAt } from "@perfdata/format/elements";

/** Bytes of text that are handed out at once. */
export const BLOCK: number = 1 << 18;

/** Text that grows in one buffer. */
export class TextBuffer {
  /** What holds it. */
  bytes: Uint8Array<ArrayBuffer>;
  /** The same. */
  view: DataView;
  /** Bytes that are written. */
  length = 0;
  readonly #encoder = new TextEncoder();

  /** @param size Bytes that there is room for at first. */
  constructor(size: number = 2 * BLOCK) {
    this.bytes = new Uint8Array(size);
    this.view = new DataView(this.bytes.buffer);
  }

  /** Makes room for `size` more bytes, and the 8 that a store may go beyond. */
  reserve(size: number): void {
    const need = this.length + size + 8;
    if (need <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(need, 2 * this.bytes.length));
    larger.set(this.bytes.subarray(0, this.length));
    this.bytes = larger;
    this.view = new DataView(larger.buffer);
  }

  /** Writes a text. */
  append(text: string): void {
    this.reserve(3 * text.length);
    const { written } = this.#encoder.encodeInto(text, this.bytes.subarray(this.length));
    this.length = (this.length + written) | 0;
  }

  /** Writes a part of other bytes. */
  copy(bytes: Uint8Array, from: number, to: number): void {
    this.reserve(to - from);
    this.bytes.set(bytes.subarray(from, to), this.length);
    this.length += to - from;
  }
}

/**
 * Stores text up to its NUL, where it needs no escape in JSON.
 *
 * @param unit The bytes from `from` to `to` are a multiple of this.
 * @returns -1 where it does: quotes, backslashes, control characters, bytes that are not ASCII.
 */
export function putPlainText(
  out: DataView,
  pos: number,
  bytes: Uint8Array,
  from: number,
  to: number,
  unit: number,
): number {
  let at = pos;
  for (let i = from; i < to; i++) {
    const byte = byteAt(bytes, i);
    if (byte === 0) {
      // A NUL and zeros to a multiple of `unit`; other padding is shown, and that by the general way.
      if (to - i !== unit - (i - from) % unit) return -1;
      for (let j = i + 1; j < to; j++) if (bytes[j] !== 0) return -1;
      return at;
    }
    if (byte < 0x20 || byte > 0x7e || byte === 0x22 || byte === 0x5c) return -1;
    out.setUint8(at++, byte);
  }
  return -1;
}
