import { ByteReader, ByteWriter, type Residue, type StructContext, type Trace } from "./cursor.ts";
import { decodeText, encodeText } from "./text.ts";

/** How a value wants to be shown: in the hexdump, as JSON, in the reference documentation. */
export interface Display {
  /** `dec` where nothing else is said. */
  readonly as: "dec" | "hex" | "flags" | "enum" | "text" | "bytes" | "struct" | "array";
  /** Names of the values of an `enum`, or of the bits of `flags` (keyed by the mask). */
  readonly names?: Readonly<Record<number, string>>;
}

/**
 * One declaration of an on-disk value: it decodes, encodes and describes itself.
 *
 * @typeParam T The TypeScript type of the decoded value.
 */
export interface Codec<T> {
  /** The type's name as C would write it: `u64`, `char[16]`, `perf_event_attr`. */
  readonly type: string;
  /** Size in bytes where it does not depend on the data. */
  readonly size?: number;
  /** How to show a value. */
  readonly display: Display;
  /** What the field means, for the reference documentation. */
  readonly doc?: string;
  /** The parts of a structure, or the element of an array. */
  readonly parts?: Readonly<Record<string, Codec<unknown>>>;
  /** What a value may look like, where that depends on the data. */
  readonly alternatives?: readonly Codec<unknown>[];
  /** `hidden` fields do not appear in the value, `optional` ones may be missing from it. */
  readonly presence?: "hidden" | "optional";
  /** Reads one value; throws a `PerfDataError` where the bytes do not hold one. */
  decode(r: ByteReader, scope: Scope): T;
  /** Writes one value. */
  encode(w: ByteWriter, value: T, scope: Scope): void;
}

/** The fields of the innermost structure that are decoded so far (or that are being encoded). */
export type Scope = Readonly<Record<string, unknown>>;

/** A codec for a field that may be missing from the value. */
export interface OptionalCodec<T> extends Codec<T | undefined> {
  /** Marks the field as optional in the derived type. */
  readonly presence: "optional";
}

/** A codec for a field that the value does not show, since it follows from the other fields. */
export interface HiddenCodec extends Codec<unknown> {
  /** Marks the field as left out of the derived type. */
  readonly presence: "hidden";
}

/** The TypeScript type that a codec decodes to. */
export type Value<C> = C extends Codec<infer T> ? T : never;

/** Named fields in the order in which they lie on disk. */
// deno-lint-ignore no-explicit-any
export type Fields = Readonly<Record<string, Codec<any>>>;

/** Flattens an intersection of object types for display. */
export type Simplify<T> = { [K in keyof T]: T[K] };
/** The names of the fields of a structure that hold text. */
export type TextKeys<F extends Fields> = {
  [K in keyof F]: Value<F[K]> extends string | readonly string[] ? K : never;
}[keyof F];

/** The TypeScript type that a structure of these fields decodes to. */
export type StructValue<F extends Fields> = Simplify<
  & {
    [
      K in keyof F as F[K] extends HiddenCodec ? never
        : F[K] extends OptionalCodec<unknown> ? never
        : K
    ]: Value<F[K]>;
  }
  & {
    [K in keyof F as F[K] extends OptionalCodec<unknown> ? K : never]?: Exclude<
      Value<F[K]>,
      undefined
    >;
  }
  & {
    // Bytes after a text's end where they are not the usual zeros; kept so that nothing is lost.
    [K in TextKeys<F> as `${string & K}_pad`]?: Residue;
  }
>;

/** A structure: a codec that knows its fields. */
export interface StructCodec<F extends Fields> extends Codec<StructValue<F>> {
  /** The fields in disk order. */
  readonly parts: F;
}

const EMPTY_SCOPE: Scope = Object.freeze({});

function decodeField<T>(r: ByteReader, name: string, codec: Codec<T>, scope: Scope): T {
  const trace = r.trace;
  if (trace === undefined) return codec.decode(r, scope);
  trace.begin(name, codec as Codec<unknown>, r.pos);
  const value = codec.decode(r, scope);
  trace.end(r.pos, value);
  return value;
}

/**
 * Declares a structure from its fields, in disk order and without implicit padding.
 *
 * @param type The structure's name in the kernel's or perf's headers.
 * @param fields The fields, each a codec.
 *
 * @example
 * ```ts
 * import { decode, encode, struct, u32, u64 } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const fork = struct("perf_record_fork", { pid: u32, ppid: u32, time: u64 });
 * const bytes = encode(fork, { pid: 2, ppid: 1, time: 7n });
 * assertEquals(bytes, Uint8Array.of(2, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0));
 * assertEquals(decode(fork, bytes).value, { pid: 2, ppid: 1, time: 7n });
 * ```
 */
export function struct<const F extends Fields>(type: string, fields: F): StructCodec<F> {
  const names = Object.keys(fields);
  const codecs = names.map((name) => fields[name] as Codec<unknown>);
  let size: number | undefined = 0;
  for (const codec of codecs) {
    size = size === undefined || codec.size === undefined || codec.presence === "optional"
      ? undefined
      : size + codec.size;
  }
  return {
    type,
    ...(size === undefined ? {} : { size }),
    display: { as: "struct" },
    parts: fields,
    decode(r) {
      const scope: Record<string, unknown> = {};
      const value: Record<string, unknown> = {};
      for (let i = 0; i < codecs.length; i++) {
        const codec = codecs[i] as Codec<unknown>;
        const name = names[i] as string;
        const part = decodeField(r, name, codec, scope);
        scope[name] = part;
        const residue = r.takeResidue();
        if (codec.presence === "hidden") {
          if (residue !== undefined) throw r.error(`${type}.${name}: bytes outside of the value`);
          continue;
        }
        if (part !== undefined || codec.presence !== "optional") value[name] = part;
        if (residue !== undefined) value[`${name}_pad`] = residue;
      }
      return value as StructValue<F>;
    },
    encode(w, value) {
      const scope = value as Record<string, unknown>;
      for (let i = 0; i < codecs.length; i++) {
        const name = names[i] as string;
        w.residue = scope[`${name}_pad`] as Residue | undefined;
        (codecs[i] as Codec<unknown>).encode(w, scope[name], scope);
        w.residue = undefined;
      }
    },
  };
}

/** The same codec with a sentence for the reference documentation. */
export function doc<C extends Codec<unknown>>(text: string, codec: C): C {
  return { ...codec, doc: text };
}

/** The same codec, shown in another way. */
export function shown<C extends Codec<unknown>>(codec: C, display: Display): C {
  return { ...codec, display };
}

/** A number shown in hexadecimal: an address, a mask, a raw configuration value. */
export function hex<C extends Codec<unknown>>(codec: C): C {
  return shown(codec, { as: "hex" });
}

/** A number whose bits have names; `names` is keyed by the bit's mask. */
export function flags<C extends Codec<number> | Codec<bigint>>(
  codec: C,
  names: Readonly<Record<number, string>>,
): C {
  return { ...codec, display: { as: "flags", names } };
}

/** A number whose values have names. */
export function enumeration<C extends Codec<number> | Codec<bigint>>(
  codec: C,
  names: Readonly<Record<number, string>>,
): C {
  return { ...codec, display: { as: "enum", names } };
}

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

/** A codec whose size is the same for all values. */
export type FixedCodec<T> = Codec<T> & { readonly size: number };

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
/** IEEE 754 double in the file's byte order. A NaN's payload is not kept by JavaScript engines. */
export const f64: FixedCodec<number> = {
  type: "double",
  size: 8,
  display: { as: "dec" },
  decode: (r) => r.view.getFloat64(r.take(8, "double"), r.littleEndian),
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

/** A bit of a {@link bitfield}: a one-bit flag is a boolean, a wider field a number. */
export type BitValue<W extends number> = W extends 1 ? boolean : number;

/** The TypeScript type of a {@link bitfield}. */
export type BitfieldValue<B extends Readonly<Record<string, number>>> =
  & { -readonly [K in keyof B]: BitValue<B[K]> }
  & { reserved?: bigint };

/**
 * A C bit-field in a 64-bit word: `bits` gives each name its width, lowest bit first.
 *
 * One-bit fields are booleans, wider ones numbers. Bits beyond the named ones are kept in
 * `reserved` where any is set. On a big-endian machine the compiler allocates bit-fields from the
 * highest bit down, so the word of a big-endian file is mirrored field by field.
 *
 * @example
 * ```ts
 * import { bitfield, decode } from "@perfdata/format";
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
      u64.encode(w, BigInt.asUintN(64, word), EMPTY_SCOPE);
    },
  };
}

/** How many: a constant, all that fits, or what a field before it said. */
export type Count = number | "rest" | ((scope: Scope) => number);

function countOf(count: Count, r: ByteReader, elementSize: number, scope: Scope): number {
  if (typeof count === "number") return count;
  if (count === "rest") return Math.floor(r.left / elementSize);
  return count(scope);
}

/** Bytes as they are: `count` of them. The value is a copy of its own. */
export function bytes(count: Count): Codec<Uint8Array> {
  return {
    type: typeof count === "number" ? `u8[${count}]` : "u8[]",
    ...(typeof count === "number" ? { size: count } : {}),
    display: { as: "bytes" },
    decode(r, scope) {
      const at = r.take(countOf(count, r, 1, scope), "bytes");
      return r.bytes.slice(at, r.pos);
    },
    encode(w, value) {
      w.put(value);
    },
  };
}

/**
 * Bytes that are zero by convention. They appear in the value only where they are not.
 */
export function reserved(count: number | ((scope: Scope) => number)): OptionalCodec<Uint8Array> {
  const fixed = typeof count === "number";
  return {
    type: fixed ? `u8[${count}]` : "u8[]",
    ...(fixed ? { size: count } : {}),
    display: { as: "bytes" },
    presence: "optional",
    decode(r, scope) {
      const at = r.take(fixed ? count : count(scope), "reserved bytes");
      const found = r.bytes.slice(at, r.pos);
      return found.some((byte) => byte !== 0) ? found : undefined;
    },
    encode(w, value, scope) {
      if (value === undefined) w.grow(fixed ? count : count(scope));
      else w.put(value);
    },
  };
}

/**
 * Zeros up to the next multiple of 8 bytes, as they end a record whose last field has any length.
 * They appear in the value only where they are not zeros, or fewer: what a record's writer did not
 * pad has an empty array here.
 *
 * The position counts from the start of the bytes that are decoded: of the record, or of its body.
 */
export const padding: OptionalCodec<Uint8Array> = {
  type: "u8[]",
  display: { as: "bytes" },
  presence: "optional",
  decode(r) {
    const gap = -r.pos & 7;
    const at = r.take(Math.min(gap, r.left), "padding");
    const found = r.bytes.slice(at, r.pos);
    return found.length < gap || found.some((byte) => byte !== 0) ? found : undefined;
  },
  encode(w, value) {
    if (value === undefined) w.grow(-w.length & 7);
    else w.put(value);
  },
};

/**
 * Elements one after the other.
 *
 * @param element What repeats.
 * @param count How many; {@link counter} declares a length field that goes with it.
 */
export function array<T>(element: Codec<T>, count: Count): Codec<T[]> {
  const least = Math.max(1, element.size ?? 1);
  return {
    type: `${element.type}[${typeof count === "number" ? count : ""}]`,
    ...(typeof count === "number" && element.size !== undefined
      ? { size: count * element.size }
      : {}),
    display: { as: "array" },
    parts: { element: element as Codec<unknown> },
    decode(r, scope) {
      const n = countOf(count, r, least, scope);
      // Checked before anything is allocated: a length that lies must not cost memory.
      if (n * least > r.left) {
        throw r.error(`${element.type}[${n}]: ${r.left} bytes left, expected ${n * least}`);
      }
      const value: T[] = new Array(n);
      let residues: Map<number, Residue> | undefined;
      for (let i = 0; i < n; i++) {
        value[i] = r.trace === undefined
          ? element.decode(r, scope)
          : decodeField(r, `[${i}]`, element, scope);
        const residue = r.takeResidue();
        if (residue !== undefined) (residues ??= new Map()).set(i, residue);
      }
      r.residue = residues;
      return value;
    },
    encode(w, value, scope) {
      const residues = w.takeResidue() as ReadonlyMap<number, Residue> | undefined;
      for (let i = 0; i < value.length; i++) {
        w.residue = residues?.get(i);
        element.encode(w, value[i] as T, scope);
      }
      w.residue = undefined;
    },
  };
}

/**
 * Elements one after the other up to the end of the region. What is shorter than `least` is left.
 *
 * @param element What repeats; each takes up at least one byte.
 * @param least Bytes that an element takes up at least.
 */
export function repeated<T>(element: Codec<T>, least: number = element.size ?? 1): Codec<T[]> {
  const one = array(element, 1);
  return {
    ...one,
    type: `${element.type}[]`,
    decode(r, scope) {
      const value: T[] = [];
      let residues: Map<number, Residue> | undefined;
      while (r.left >= Math.max(1, least)) {
        const at = r.pos;
        value.push(
          r.trace === undefined
            ? element.decode(r, scope)
            : decodeField(r, `[${value.length}]`, element, scope),
        );
        const residue = r.takeResidue();
        if (residue !== undefined) (residues ??= new Map()).set(value.length - 1, residue);
        if (r.pos === at) throw r.error(`${element.type}[]: an element without bytes`);
      }
      r.residue = residues;
      return value;
    },
  };
}

/**
 * A length field, then a value that takes up exactly so many bytes.
 *
 * @param length The length in bytes, itself not counted.
 * @param codec The value; its `"rest"` ends where the length says.
 *
 * @example
 * ```ts
 * import { bytes, decode, sized, u32 } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const blob = sized(u32, bytes("rest"));
 * const { value, tail } = decode(blob, Uint8Array.of(2, 0, 0, 0, 7, 8, 9));
 * assertEquals(value, Uint8Array.of(7, 8));
 * assertEquals(tail, Uint8Array.of(9));
 * ```
 */
export function sized<T>(length: Codec<number> | Codec<bigint>, codec: Codec<T>): Codec<T> {
  const any = length as Codec<unknown>;
  const big = length.type.endsWith("64");
  const { size: _, ...unsized } = codec;
  return {
    ...unsized,
    decode(r, scope) {
      const extent = Number(any.decode(r, scope));
      if (extent > r.left) {
        throw r.error(`${codec.type}: ${r.left} bytes left, expected ${extent}`);
      }
      const end = r.end;
      r.end = r.pos + extent;
      const value = codec.decode(r, scope);
      if (r.left !== 0) throw r.error(`${codec.type}: ${r.left} of ${extent} bytes are not of it`);
      r.end = end;
      return value;
    },
    encode(w, value, scope) {
      const part = new ByteWriter({ littleEndian: w.littleEndian, context: w.context });
      part.residue = w.takeResidue();
      codec.encode(part, value, scope);
      any.encode(w, big ? BigInt(part.length) : part.length, scope);
      w.put(part.finish());
    },
  };
}

/**
 * A length field that the value does not show: it is the `length` of the field named `of`.
 *
 * @example
 * ```ts
 * import { array, counter, countedBy, decode, struct, u64 } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const chain = struct("callchain", {
 *   nr: counter(u64, "ips"),
 *   ips: array(u64, countedBy("nr")),
 * });
 * const bytes = Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0);
 * assertEquals(decode(chain, bytes).value, { ips: [9n] });
 * ```
 */
export function counter(codec: Codec<number> | Codec<bigint>, of: string): HiddenCodec {
  const any = codec as Codec<unknown>;
  const big = codec.type.endsWith("64");
  return {
    ...any,
    presence: "hidden",
    encode(w, _value, scope) {
      const length = (scope[of] as { length: number } | undefined)?.length ?? 0;
      any.encode(w, big ? BigInt(length) : length, scope);
    },
  };
}

/** A {@link Count} that is the value of the field `name` before it. */
export function countedBy(name: string): (scope: Scope) => number {
  return (scope) => Number(scope[name]);
}

/** A field that is there only where the record is long enough for it. */
export function optional<T>(codec: Codec<T>): OptionalCodec<T> {
  return {
    ...codec as Codec<unknown>,
    presence: "optional",
    decode(r, scope) {
      return r.left < Math.max(1, codec.size ?? 1) ? undefined : codec.decode(r, scope);
    },
    encode(w, value, scope) {
      if (value !== undefined) codec.encode(w, value, scope);
    },
  };
}

/** A field that is there only where `holds`, given the fields before it and the context. */
export function when<T>(
  holds: (scope: Scope, context: StructContext) => boolean,
  codec: Codec<T>,
): OptionalCodec<T> {
  const elided = codec.presence === "optional";
  return {
    ...codec as Codec<unknown>,
    presence: "optional",
    decode: (r, scope) =>
      (holds(scope, r.context) ? codec.decode(r, scope) : undefined) as
        | Exclude<T, undefined>
        | undefined,
    encode(w, value, scope) {
      if (value !== undefined) codec.encode(w, value, scope);
      // Reserved bytes and padding are on disk even where the value does not show them.
      else if (elided && holds(scope, w.context)) codec.encode(w, value as T, scope);
    },
  };
}

/**
 * A value whose declaration depends on the fields before it.
 *
 * @param select Chooses the codec; it sees the structure's fields so far.
 * @param alternatives What it chooses from, for the reference documentation.
 */
export function choice<T>(
  type: string,
  select: (scope: Scope, context: StructContext) => Codec<T>,
  alternatives?: readonly Codec<unknown>[],
): Codec<T> {
  return {
    type,
    display: { as: "struct" },
    ...(alternatives === undefined ? {} : { alternatives }),
    decode: (r, scope) => select(scope, r.context).decode(r, scope),
    encode: (w, value, scope) => select(scope, w.context).encode(w, value, scope),
  };
}

/** Reads the text in `r.bytes[at, end)`: up to the first NUL; the rest is padding. */
function takeText(r: ByteReader, at: number, end: number, canonicalPad: number): string {
  let stop = r.bytes.indexOf(0, at);
  if (stop < 0 || stop > end) stop = end;
  const pad = r.bytes.subarray(stop, end);
  if (pad.length !== canonicalPadOf(canonicalPad, stop - at) || pad.some((byte) => byte !== 0)) {
    r.residue = pad.slice();
  }
  return decodeText(r.bytes.subarray(at, stop));
}

/** `unit` > 0: a NUL and zeros up to a multiple of `unit`; otherwise zeros up to `-unit` bytes. */
function canonicalPadOf(unit: number, length: number): number {
  return unit > 0 ? unit - length % unit : Math.max(0, -unit - length);
}

function putText(w: ByteWriter, text: string, canonicalPad: number): void {
  const residue = w.takeResidue();
  const body = encodeText(text);
  w.put(body);
  if (residue instanceof Uint8Array) w.put(residue);
  else w.grow(canonicalPadOf(canonicalPad, body.length));
}

/**
 * `char[size]`: text up to the first NUL. What follows it is kept in `<name>_pad` where it is not
 * zeros.
 */
export function chars(size: number): FixedCodec<string> {
  return {
    type: `char[${size}]`,
    size,
    display: { as: "text" },
    decode(r) {
      const at = r.take(size, `char[${size}]`);
      return takeText(r, at, r.pos, -size);
    },
    encode(w, value) {
      const from = w.length;
      putText(w, value, -size);
      if (w.length - from !== size) {
        throw new RangeError(`char[${size}]: text of ${w.length - from} bytes does not fit`);
      }
    },
  };
}

/**
 * Text that fills the rest of a record: NUL-terminated, zero-padded to a multiple of `unit` bytes.
 * Other padding is kept in `<name>_pad`.
 */
export function paddedTo(unit: number): Codec<string> {
  return {
    type: "char[]",
    display: { as: "text" },
    decode(r) {
      const at = r.take(r.left, "char[]");
      return takeText(r, at, r.pos, unit);
    },
    encode: (w, value) => putText(w, value, unit),
  };
}

/**
 * Text that fills the rest of a record: NUL-terminated, zero-padded to a multiple of 8, as the
 * kernel writes `filename`, `comm` and `path`. Other padding is kept in `<name>_pad`.
 */
export const paddedText: Codec<string> = paddedTo(8);

/** Text that fills the rest of the region, whatever bytes it is made of. */
export const restText: Codec<string> = {
  type: "char[]",
  display: { as: "text" },
  decode(r) {
    const at = r.take(r.left, "char[]");
    return decodeText(r.bytes.subarray(at, r.pos));
  },
  encode: (w, value) => w.put(encodeText(value)),
};

/**
 * `perf_header_string`: a u32 length, then that many bytes of NUL-terminated text.
 *
 * perf rounds the length up to 64 (`NAME_ALIGN` in `tools/perf/util/header.c`); other writers do
 * not, and what is not the usual padding is kept in `<name>_pad`.
 */
export const headerString: Codec<string> = {
  type: "perf_header_string",
  display: { as: "text" },
  decode(r) {
    const length = r.view.getUint32(r.take(4, "perf_header_string.len"), r.littleEndian);
    const at = r.take(length, "perf_header_string.string");
    return takeText(r, at, r.pos, 64);
  },
  encode(w, value) {
    const at = w.grow(4);
    putText(w, value, 64);
    w.view.setUint32(at, w.length - at - 4, w.littleEndian);
  },
};

/** NUL-terminated text of any length, without padding. */
export const cString: Codec<string> = {
  type: "char[]",
  display: { as: "text" },
  decode(r) {
    const stop = r.bytes.indexOf(0, r.pos);
    if (stop < 0 || stop >= r.end) throw r.error("text: no terminating NUL");
    const at = r.take(stop + 1 - r.pos, "text");
    return decodeText(r.bytes.subarray(at, stop));
  },
  encode(w, value) {
    w.put(encodeText(value));
    w.grow(1);
  },
};

/** What {@link decode} found. */
export interface Decoded<T> {
  /** The value. */
  readonly value: T;
  /** Padding of the value that is not the usual zeros; see {@link chars}. */
  readonly pad?: Residue;
  /** Bytes after the declared fields, where there are any. */
  readonly tail?: Uint8Array;
}

/** Options of {@link decode} and {@link encode}. */
export interface CodecOptions {
  /** Byte order of the file; little-endian where nothing is said. */
  readonly littleEndian?: boolean;
  /** What the declarations may ask for, such as the record's `misc`. */
  readonly context?: StructContext;
  /** File offset of the first byte, for error messages. */
  readonly base?: number;
  /** Watches which bytes belong to which field. */
  readonly trace?: Trace | undefined;
}

/**
 * Decodes `bytes` by a declaration; what is left after the declared fields is the `tail`.
 *
 * @throws {PerfDataError} Where the bytes do not hold such a value.
 */
export function decode<T>(
  codec: Codec<T>,
  bytes: Uint8Array,
  options: CodecOptions = {},
): Decoded<T> {
  const r = new ByteReader(bytes, options);
  const value = codec.decode(r, EMPTY_SCOPE);
  const residue = r.takeResidue();
  return {
    value,
    ...(residue === undefined ? {} : { pad: residue }),
    ...(r.left === 0 ? {} : { tail: bytes.slice(r.pos, r.end) }),
  };
}

/** Encodes `value` by a declaration: the inverse of {@link decode}, `pad` and `tail` included. */
export function encode<T>(
  codec: Codec<T>,
  value: T,
  options: CodecOptions & {
    readonly pad?: Residue | undefined;
    readonly tail?: Uint8Array | undefined;
  } = {},
): Uint8Array<ArrayBuffer> {
  const w = new ByteWriter(options);
  w.residue = options.pad;
  codec.encode(w, value, EMPTY_SCOPE);
  if (options.tail !== undefined) w.put(options.tail);
  return w.finish();
}
