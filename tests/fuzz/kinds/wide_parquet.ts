/**
 * Parquet files in which each number in a header takes ten bytes, so that any value fits, and in
 * which pages are not compressed. Numbers in headers are located by Thrift's compact protocol:
 * https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md.
 */
import { zstdDecompressSync } from "node:zlib";
import { type Field, Laid } from "./kind.ts";

const [TRUE, BYTE, DOUBLE, BINARY, LIST, SET, STRUCT] = [1, 3, 7, 8, 9, 10, 12] as const;
/** Size of the longest number. */
const WIDTH = 10;

/** A structure by field number. Numbers are as encoded: signed ones in zigzag. */
type Struct = Map<number, { readonly type: number; value: Value }>;
type Value = bigint | Uint8Array | Struct | { readonly type: number; readonly items: Value[] };

class Reader {
  at: number;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  #byte(): number {
    const byte = this.#bytes[this.at++];
    if (byte === undefined) throw new RangeError("a structure of Thrift is cut");
    return byte;
  }

  #varint(): bigint {
    let value = 0n;
    for (let shift = 0n;; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }

  #some(size: number): Uint8Array {
    return this.#bytes.slice(this.at, this.at += size);
  }

  #value(type: number): Value {
    if (type === BYTE) return BigInt(this.#byte());
    if (type === DOUBLE) return this.#some(8);
    if (type === BINARY) return this.#some(Number(this.#varint()));
    if (type === STRUCT) return this.struct();
    if (type !== LIST && type !== SET) return this.#varint();
    const head = this.#byte();
    const count = head >> 4 === 15 ? Number(this.#varint()) : head >> 4;
    return {
      type: head & 15,
      items: Array.from({ length: count }, () => this.#value(head & 15)),
    };
  }

  struct(): Struct {
    const fields: Struct = new Map();
    for (let id = 0;;) {
      const head = this.#byte();
      if (head === 0) return fields;
      id = head >> 4 === 0 ? Number(this.#varint() >> 1n) : id + (head >> 4);
      const type = head & 15;
      fields.set(id, { type, value: type <= TRUE + 1 ? BigInt(type) : this.#value(type) });
    }
  }
}

function put(out: Laid, type: number, value: Value): void {
  if (typeof value === "bigint") {
    if (type === BYTE) out.int(1, value);
    else out.varints(WIDTH, value);
  } else if (value instanceof Uint8Array) {
    if (type === BINARY) out.varints(WIDTH, value.length);
    out.raw(value);
  } else if (value instanceof Map) {
    for (const [id, field] of value) {
      out.int(1, field.type).varints(1, id * 2);
      if (field.type > TRUE + 1) put(out, field.type, field.value);
    }
    out.raw([0]);
  } else {
    out.int(1, 0xf0 | value.type).varints(WIDTH, value.items.length);
    for (const item of value.items) put(out, value.type, item);
  }
}

/** A required member of a structure. */
function of(struct: Value, ...ids: readonly number[]): Value {
  let found = struct;
  for (const id of ids) {
    const value = found instanceof Map ? found.get(id)?.value : undefined;
    if (value === undefined) throw new RangeError(`no field ${id}`);
    found = value;
  }
  return found;
}

const items = (value: Value): Value[] =>
  value instanceof Map || value instanceof Uint8Array || typeof value === "bigint"
    ? []
    : value.items;
/** Zigzag encoding of a signed number, and its inverse. */
const zigzag = (value: number): bigint => BigInt(value) * 2n;
const plain = (value: Value): number => Number(value as bigint) / 2;

function set(struct: Value, id: number, value: bigint): void {
  const field = struct instanceof Map ? struct.get(id) : undefined;
  if (field !== undefined) field.value = value;
}

// Field numbers in
// https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift.
const GROUPS = 4,
  CHUNKS = 1,
  METADATA = 3,
  CODEC = 4,
  PACKED_SIZE = 7,
  DATA_AT = 9,
  DICTIONARY_AT = 11;
const PAGE_SIZE = 2, PAGE_PACKED_SIZE = 3, DATA_HEADER = 5, PAGE_VALUES = 1, CHUNK_VALUES = 5;
const UNCOMPRESSED = 0n;

/** A file of our writer with wide numbers and plain pages, and the positions of its numbers. */
export function wideParquet(file: Uint8Array): { bytes: Uint8Array; fields: Field[] } {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const footer = new Reader(file, file.length - 8 - view.getUint32(file.length - 8, true)).struct();
  const out = new Laid().raw(file.subarray(0, 4));
  for (const group of items(of(footer, GROUPS))) {
    for (const chunk of items(of(group, CHUNKS))) {
      const about = of(chunk, METADATA);
      const isPacked = of(about, CODEC) !== UNCOMPRESSED;
      const hasDictionary = about instanceof Map && about.has(DICTIONARY_AT);
      const start = out.length;
      let at = plain(of(about, hasDictionary ? DICTIONARY_AT : DATA_AT));
      let left = plain(of(about, CHUNK_VALUES));
      for (let isDictionary = hasDictionary; left > 0 || isDictionary; isDictionary = false) {
        const reader = new Reader(file, at);
        const head = reader.struct();
        const packed = file.subarray(reader.at, at = reader.at + plain(of(head, PAGE_PACKED_SIZE)));
        const page = isPacked ? new Uint8Array(zstdDecompressSync(packed)) : packed;
        set(head, PAGE_SIZE, zigzag(page.length));
        set(head, PAGE_PACKED_SIZE, zigzag(page.length));
        if (!isDictionary) {
          left -= plain(of(head, DATA_HEADER, PAGE_VALUES));
          set(about, DATA_AT, zigzag(out.length));
        }
        put(out, STRUCT, head);
        // Lengths of levels and texts, widths of codes: the first ones in a page determine the
        // rest.
        for (const [i, byte] of page.entries()) out.int(1, byte, i < 16);
      }
      if (hasDictionary) set(about, DICTIONARY_AT, zigzag(start));
      set(about, CODEC, UNCOMPRESSED);
      set(about, PACKED_SIZE, zigzag(out.length - start));
      set(chunk, 2, zigzag(start));
    }
  }
  const start = out.length;
  put(out, STRUCT, footer);
  out.int(4, out.length - start).raw(file.subarray(-4));
  return { bytes: out.bytes, fields: out.fields };
}
