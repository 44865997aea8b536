import { byteAt, PerfDataError } from "@perfdata/format/bytes";

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;
/** Maximum number of bits in a varint; ten bytes have more. */
const NUMBER_BITS = 64;

/**
 * Reads the fields of a protobuf message one after the other, and checks that they are inside of
 * it.
 */
export class MessageReader {
  field = 0;
  /** Whether the field is a number; otherwise it is a text, a message or packed numbers. */
  isNumber = false;
  /** Lower half of the number. */
  low = 0;
  /** Upper half of the number. */
  high = 0;
  /** Offset of the text or message. */
  start = 0;
  /** Offset after its last byte. */
  end = 0;
  readonly #bytes: Uint8Array;
  readonly #limit: number;
  #at: number;

  /** Starts at the message in the bytes `from` to `to`. */
  constructor(bytes: Uint8Array, from = 0, to: number = bytes.length) {
    this.#bytes = bytes;
    this.#at = from;
    this.#limit = to;
  }

  /**
   * Reads a field; returns `false` at the end of the message. Skips fields of fixed size.
   *
   * @throws {PerfDataError} If the field exceeds the message, or is invalid.
   */
  next(): boolean {
    while (this.#at < this.#limit) {
      const offset = this.#at;
      this.#varint();
      const type = this.low & 7;
      this.field = this.low >>> 3;
      if (this.field === 0 || this.high !== 0) throw damaged(offset, "a field without a number");
      this.isNumber = type === VARINT;
      if (this.isNumber) {
        this.#varint();
        return true;
      }
      if (type !== BYTES && type !== FIXED64 && type !== FIXED32) {
        throw damaged(offset, `field ${this.field} is of wire type ${type}`);
      }
      if (type === BYTES) this.#varint();
      const size = type === FIXED64 ? 8 : type === FIXED32 ? 4 : this.number;
      if (size > this.#limit - this.#at) {
        throw damaged(offset, `field ${this.field} has ${size} bytes, its message fewer`);
      }
      this.start = this.#at;
      this.#at = this.end = this.start + size;
      if (type === BYTES) return true;
    }
    return false;
  }

  /** The number; from 2^53 on, rounded. */
  get number(): number {
    // deno-lint-ignore perfdata/halves -- sizes and ids, which are compared
    return this.high * 0x1_0000_0000 + this.low;
  }

  /** The number as a signed one. */
  get signed(): number {
    // deno-lint-ignore perfdata/halves -- values that are summed up
    return (this.high | 0) * 0x1_0000_0000 + this.low;
  }

  /** Calls `take` for each number of a repeated field, packed or not. */
  numbers(take: () => void): void {
    if (this.isNumber) return take();
    const next = this.#at;
    this.#at = this.start;
    while (this.#at < this.end) {
      this.#varint();
      take();
    }
    if (this.#at > this.end) throw damaged(this.start, "packed numbers exceed their field");
    this.#at = next;
  }

  #varint(): void {
    const offset = this.#at;
    let [low, high] = [0, 0];
    for (let shift = 0; shift < NUMBER_BITS; shift += 7) {
      if (this.#at >= this.#limit) throw damaged(offset, "a number is cut");
      const byte = byteAt(this.#bytes, this.#at++);
      const bits = byte & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high = bits >>> 4;
      } else high |= bits << shift - 32;
      if (byte < 0x80) {
        this.low = low >>> 0;
        this.high = high >>> 0;
        return;
      }
    }
    throw damaged(offset, "a number has more than 64 bits");
  }
}

function damaged(offset: number, message: string): PerfDataError {
  return new PerfDataError(`pprof: ${message}`, { offset });
}
