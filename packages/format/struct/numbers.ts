import { NO_SCOPE } from "./condition.ts";
import { type Codec, type FixedCodec, hex } from "./codec.ts";

function integer(
  type: string,
  size: number,
  get: (v: DataView, at: number, le: boolean) => number,
  set: (v: DataView, at: number, value: number, le: boolean) => void,
): Codec<number> & { readonly size: number } {
  return {
    type,
    size,
    display: { as: "dec" },
    decode: (r) => get(r.view, r.take(size, type), r.littleEndian),
    encode(w, value) {
      const at = w.grow(size);
      set(w.view, at, value, w.littleEndian);
    },
  };
}

/** Unsigned 8-bit integer. */
export const u8: FixedCodec<number> = integer(
  "u8",
  1,
  (v, at) => v.getUint8(at),
  (v, at, value) => v.setUint8(at, value),
);
/** Unsigned 16-bit integer in the file's byte order. */
export const u16: FixedCodec<number> = integer(
  "u16",
  2,
  (v, at, le) => v.getUint16(at, le),
  (v, at, value, le) => v.setUint16(at, value, le),
);
/** Unsigned 32-bit integer in the file's byte order. */
export const u32: FixedCodec<number> = integer(
  "u32",
  4,
  (v, at, le) => v.getUint32(at, le),
  (v, at, value, le) => v.setUint32(at, value, le),
);
/** Signed 32-bit integer in the file's byte order. */
export const i32: FixedCodec<number> = integer(
  "s32",
  4,
  (v, at, le) => v.getInt32(at, le),
  (v, at, value, le) => v.setInt32(at, value, le),
);
/** Unsigned 64-bit integer in the file's byte order. */
export const u64: FixedCodec<bigint> = {
  type: "u64",
  size: 8,
  display: { as: "dec" },
  decode: (r) => r.view.getBigUint64(r.take(8, "u64"), r.littleEndian),
  encode(w, value) {
    const at = w.grow(8);
    w.view.setBigUint64(at, value, w.littleEndian);
  },
};
/** Signed 64-bit integer in the file's byte order. */
export const i64: FixedCodec<bigint> = {
  type: "s64",
  size: 8,
  display: { as: "dec" },
  decode: (r) => r.view.getBigInt64(r.take(8, "s64"), r.littleEndian),
  encode(w, value) {
    const at = w.grow(8);
    w.view.setBigInt64(at, value, w.littleEndian);
  },
};
/** IEEE 754 double in the file's byte order. A NaN is an error, since JavaScript does not preserve all of its bits. */
export const f64: FixedCodec<number> = {
  type: "double",
  size: 8,
  display: { as: "dec" },
  decode(r) {
    const value = r.view.getFloat64(r.take(8, "double"), r.littleEndian);
    if (Number.isNaN(value)) throw r.error("double: not a number");
    return value;
  },
  encode(w, value) {
    const at = w.grow(8);
    w.view.setFloat64(at, value, w.littleEndian);
  },
};
/** Unsigned 64-bit integer shown in hexadecimal. */
export const x64: FixedCodec<bigint> = hex(u64);
/** Unsigned 32-bit integer shown in hexadecimal. */
export const x32: FixedCodec<number> = hex(u32);
/** Unsigned 16-bit integer shown in hexadecimal. */
export const x16: FixedCodec<number> = hex(u16);

/** Value of a bit of a {@link bitfield}: a boolean for a one-bit flag, a number for a wider field. */
export type BitValue<W extends number> = W extends 1 ? boolean : number;

/** The TypeScript type of a {@link bitfield}. */
export type BitfieldValue<B extends Readonly<Record<string, number>>> =
  & { -readonly [K in keyof B]: BitValue<B[K]> }
  & { reserved?: bigint };

/**
 * A C bit-field in a 64-bit word: `bits` maps names to widths, lowest bit first.
 *
 * One-bit fields are booleans, wider ones numbers. If unnamed bits are set, they are kept in
 * `reserved`. On a big-endian machine, the compiler allocates bit-fields from the
 * highest bit down, so the word of a big-endian file is mirrored field by field.
 *
 * @example
 * ```ts
 * import { bitfield, decode } from "@perfdata/format/records";
 * import { assertEquals } from "@std/assert";
 *
 * const bits = bitfield("flags", { mispred: 1, predicted: 1, cycles: 16 });
 * const le = Uint8Array.of(0b0000_0110, 0, 0, 0, 0, 0, 0, 0);
 * assertEquals(decode(bits, le).value, { mispred: false, predicted: true, cycles: 1 });
 * const be = Uint8Array.of(0b0100_0000, 0, 0b0100_0000, 0, 0, 0, 0, 0);
 * assertEquals(decode(bits, be, { littleEndian: false }).value.cycles, 1);
 * ```
 */
export function bitfield<const B extends Readonly<Record<string, number>>>(
  type: string,
  bits: B,
): FixedCodec<BitfieldValue<B>> & { readonly bits: B } {
  const names = Object.keys(bits);
  const widths = names.map((name) => bits[name] as number);
  const used = widths.reduce((sum, width) => sum + width, 0);
  const left = 64 - used;
  if (left < 0) throw new RangeError(`${type}: ${used} bits do not fit into 64`);
  return {
    type,
    size: 8,
    display: { as: "struct" },
    bits,
    decode(r) {
      const word = r.view.getBigUint64(r.take(8, type), r.littleEndian);
      const value: Record<string, boolean | number | bigint> = {};
      let at = 0;
      for (let i = 0; i < names.length; i++) {
        const width = widths[i] as number;
        const shift = r.littleEndian ? at : 64 - at - width;
        const part = Number((word >> BigInt(shift)) & ((1n << BigInt(width)) - 1n));
        value[names[i] as string] = width === 1 ? part === 1 : part;
        at += width;
      }
      const rest = r.littleEndian ? word >> BigInt(at) : word & ((1n << BigInt(left)) - 1n);
      if (rest !== 0n) value["reserved"] = rest;
      return value as BitfieldValue<B>;
    },
    encode(w, value) {
      const fields = value as Record<string, boolean | number | bigint | undefined>;
      let word = 0n;
      let at = 0;
      for (let i = 0; i < names.length; i++) {
        const width = widths[i] as number;
        const part = BigInt.asUintN(width, BigInt(Number(fields[names[i] as string] ?? 0)));
        word |= part << BigInt(w.littleEndian ? at : 64 - at - width);
        at += width;
      }
      const rest = BigInt.asUintN(left, fields["reserved"] as bigint | undefined ?? 0n);
      word |= w.littleEndian ? rest << BigInt(at) : rest;
      u64.encode(w, BigInt.asUintN(64, word), NO_SCOPE);
    },
  };
}

/**
 * Numbers that share a 64-bit word, lowest bits first in either byte order: a union of a u64 and a
 * structure that the kernel mirrors on big-endian machines, or numbers packed by shifts.
 *
 * @param type Name in the kernel's headers.
 * @param widths Widths of the numbers in bits, by name; 64 in total.
 *
 * @example
 * ```ts
 * import { decode, parts64 } from "@perfdata/format/records";
 * import { assertEquals } from "@std/assert";
 *
 * const pair = parts64("pair", { low: 32, high: 32 });
 * const { value } = decode(pair, Uint8Array.of(0, 0, 0, 2, 0, 0, 0, 1), { littleEndian: false });
 * assertEquals(value, { low: 1, high: 2 });
 * ```
 */
export function parts64<const B extends Readonly<Record<string, number>>>(
  type: string,
  widths: B,
): FixedCodec<{ -readonly [K in keyof B]: number }> {
  const names = Object.keys(widths);
  return {
    type,
    size: 8,
    display: { as: "struct" },
    decode(r, scope) {
      let word = u64.decode(r, scope);
      const value: Record<string, number> = {};
      for (const name of names) {
        const width = BigInt(widths[name] as number);
        value[name] = Number(BigInt.asUintN(Number(width), word));
        word >>= width;
      }
      return value as { -readonly [K in keyof B]: number };
    },
    encode(w, value, scope) {
      let word = 0n;
      let at = 0n;
      for (const name of names) {
        word |= BigInt(value[name as keyof B]) << at;
        at += BigInt(widths[name] as number);
      }
      u64.encode(w, word, scope);
    },
  };
}
