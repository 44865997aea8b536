import { enlarge } from "@perfdata/format/bytes";

/** Field types in Thrift's compact protocol. */
const THRIFT = {
  TRUE: 1,
  FALSE: 2,
  I32: 5,
  I64: 6,
  BINARY: 8,
  LIST: 9,
  STRUCT: 12,
} as const;

const encoder = new TextEncoder();

/**
 * Writes structures in Thrift's compact protocol, which page headers and the footer of a Parquet
 * file use: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md.
 *
 * @example
 * ```ts
 * import { ThriftWriter } from "./thrift.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const out = new ThriftWriter();
 * out.i32(1, 2);
 * out.text(4, "ab");
 * out.stop();
 * assertEquals([...out.bytes()], [0x15, 4, 0x38, 2, 0x61, 0x62, 0]);
 * ```
 */
export class ThriftWriter {
  #bytes = new Uint8Array(256);
  #length = 0;
  #last = 0;
  readonly #outer: number[] = [];

  /** Returns a view of the bytes written. */
  bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
  }

  #byte(byte: number): void {
    if (this.#length === this.#bytes.length) this.#bytes = enlarge(this.#bytes, this.#length + 1);
    this.#bytes[this.#length++] = byte;
  }

  /** Writes a non-negative number, 7 bits per byte. */
  #varint(value: number): void {
    let rest = value;
    while (rest >= 128) {
      this.#byte(rest % 128 + 128);
      rest = Math.floor(rest / 128);
    }
    this.#byte(rest);
  }

  #field(id: number, type: number): void {
    const step = id - this.#last;
    if (step > 0 && step < 16) this.#byte(step << 4 | type);
    else {
      this.#byte(type);
      this.#varint(id * 2);
    }
    this.#last = id;
  }

  /** Writes a field with a number from 0 to 2^31 - 1. */
  i32(id: number, value: number): void {
    this.#field(id, THRIFT.I32);
    this.#varint(value * 2);
  }

  /** Writes a field with a number from 0 to 2^52. */
  i64(id: number, value: number): void {
    this.#field(id, THRIFT.I64);
    this.#varint(value * 2);
  }

  bool(id: number, value: boolean): void {
    this.#field(id, value ? THRIFT.TRUE : THRIFT.FALSE);
  }

  binary(id: number, bytes: Uint8Array): void {
    this.#field(id, THRIFT.BINARY);
    this.#binary(bytes);
  }

  #binary(bytes: Uint8Array): void {
    this.#varint(bytes.length);
    for (const byte of bytes) this.#byte(byte);
  }

  text(id: number, text: string): void {
    this.binary(id, encoder.encode(text));
  }

  #list(id: number, type: number, count: number): void {
    this.#field(id, THRIFT.LIST);
    if (count < 15) this.#byte(count << 4 | type);
    else {
      this.#byte(0xf0 | type);
      this.#varint(count);
    }
  }

  /** Writes a field with a list of numbers from 0 to 2^31 - 1. */
  i32s(id: number, values: readonly number[]): void {
    this.#list(id, THRIFT.I32, values.length);
    for (const value of values) this.#varint(value * 2);
  }

  /** Writes a field with a list of texts. */
  texts(id: number, values: readonly string[]): void {
    this.#list(id, THRIFT.BINARY, values.length);
    for (const value of values) this.#binary(encoder.encode(value));
  }

  /** Writes a field with a list of structures; `each` writes the fields of one. */
  structs<T>(id: number, values: readonly T[], each: (value: T) => void): void {
    this.#list(id, THRIFT.STRUCT, values.length);
    for (const value of values) this.#structure(() => each(value));
  }

  /** Writes a field with a structure; `fields` writes its fields. */
  struct(id: number, fields: () => void): void {
    this.#field(id, THRIFT.STRUCT);
    this.#structure(fields);
  }

  #structure(fields: () => void): void {
    this.#outer.push(this.#last);
    this.#last = 0;
    fields();
    this.stop();
    this.#last = this.#outer.pop() ?? 0;
  }

  /** Ends the outermost structure. */
  stop(): void {
    this.#byte(0);
  }
}
