/**
 * Shared by the tests of this directory, and not exported: records with bytes written by hand.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { type Codec, RecordCodec, type RecordDeclaration } from "@perfdata/format/records";
import type { Trace } from "@perfdata/format/bytes";

/** Builder for fields in both byte orders. */
export class Layout {
  readonly #fields: ((littleEndian: boolean) => number[])[] = [];

  /** Appends integers of `size` bytes; -1 has all bits set. */
  int(size: number, ...values: (number | bigint)[]): this {
    for (const value of values) {
      const bytes = Array.from(
        { length: size },
        (_, i) => Number(BigInt.asUintN(64, BigInt(value)) >> BigInt(8 * i) & 0xffn),
      );
      this.#fields.push((littleEndian) => littleEndian ? bytes : bytes.toReversed());
    }
    return this;
  }
  /** Appends integers of 8 bits. */
  u8(...values: number[]): this {
    return this.int(1, ...values);
  }
  /** Appends integers of 16 bits. */
  u16(...values: number[]): this {
    return this.int(2, ...values);
  }
  /** Appends integers of 32 bits. */
  u32(...values: number[]): this {
    return this.int(4, ...values);
  }
  /** Appends integers of 64 bits. */
  u64(...values: (number | bigint)[]): this {
    return this.int(8, ...values);
  }
  /** Appends text padded with zeros to `size` bytes. */
  text(text: string, size: number): this {
    const bytes = [...new TextEncoder().encode(text)];
    this.#fields.push(() => [...bytes, ...new Array(size - bytes.length).fill(0)]);
    return this;
  }
  /** Appends bytes in disk order, given in hexadecimal for each byte order. */
  hex(littleEndian: string, bigEndian: string = littleEndian): this {
    this.#fields.push((little) =>
      (little ? littleEndian : bigEndian).split(" ").map((byte) => parseInt(byte, 16))
    );
    return this;
  }
  bytes(littleEndian: boolean): Uint8Array {
    return Uint8Array.from(this.#fields.flatMap((field) => field(littleEndian)));
  }
}

export function layout(): Layout {
  return new Layout();
}

export interface Expected {
  /** `misc` of the record header; 0 by default. */
  misc?: number;
  body: unknown;
  /** Bytes after the declared fields. */
  tail?: Uint8Array;
}

/** Returns a record: a header and the body. */
export function recordBytes(
  type: number,
  misc: number,
  body: Layout,
  littleEndian: boolean,
): Uint8Array {
  const bytes = body.bytes(littleEndian);
  const header = layout().u32(type).u16(misc, bytes.length + 8).bytes(littleEndian);
  return Uint8Array.from([...header, ...bytes]);
}

/**
 * Checks that the record decodes to the expected value and encodes to the same bytes.
 *
 * @param byteOrders Whether little-endian; by default, both byte orders.
 */
export function check<N extends string, T>(
  declaration: RecordDeclaration<N, T>,
  body: Layout,
  expected: Expected,
  byteOrders: readonly boolean[] = [true, false],
): void {
  const codec = new RecordCodec([declaration as RecordDeclaration<string, unknown>]);
  const misc = expected.misc ?? 0;
  for (const littleEndian of byteOrders) {
    const bytes = recordBytes(declaration.type, misc, body, littleEndian);
    const decoded = codec.decode(bytes, { littleEndian });
    assertEquals(
      decoded,
      {
        type: declaration.type,
        name: declaration.name,
        misc,
        body: expected.body,
        ...(expected.tail === undefined ? {} : { tail: expected.tail }),
      } as typeof decoded,
    );
    assertEquals(codec.encode(decoded, { littleEndian }), bytes as Uint8Array<ArrayBuffer>);
  }
}

/** Fields of a record with the hexdump's names for them, innermost fields only. */
export function fieldNames<N extends string, T>(
  declaration: RecordDeclaration<N, T>,
  body: Layout,
  littleEndian = true,
): string[] {
  const names: string[] = [];
  const open: { name: string; inner: boolean }[] = [];
  const trace: Trace = {
    begin(name: string, _codec: Codec<unknown>) {
      for (const field of open) field.inner = true;
      open.push({ name, inner: false });
    },
    end() {
      const path = open.map(({ name }) => name).join(".");
      if (open.pop()?.inner === false) names.push(path);
    },
  };
  const bytes = recordBytes(declaration.type, 0, body, littleEndian);
  new RecordCodec([declaration as RecordDeclaration<string, unknown>])
    .decode(bytes, { littleEndian, trace });
  assertEquals(open, []);
  return names;
}
