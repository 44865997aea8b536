import { ByteReader, ByteWriter, type Residue, type StructContext, type Trace } from "./cursor.ts";
import { type AttrMask, type Count, NO_SCOPE, type Scope, type Test } from "./condition.ts";

/** Display of a value in the hexdump, in JSON and in the reference documentation. */
export interface Display {
  /** `dec` by default. */
  readonly as: "dec" | "hex" | "flags" | "enum" | "text" | "bytes" | "struct" | "array";
  /** Names of the values of an `enum`, or of the bits of `flags` (keyed by the mask). */
  readonly names?: Readonly<Record<number, string>>;
}

/**
 * Declaration of an on-disk value, with its decoder, encoder and documentation.
 *
 * @typeParam T The TypeScript type of the decoded value.
 */
export interface Codec<T> {
  /** Name of the type in C: `u64`, `char[16]`, `perf_event_attr`. */
  readonly type: string;
  /** Size in bytes, if it is the same for all values. */
  readonly size?: number;
  /** Display of a value. */
  readonly display: Display;
  /** Meaning of the field, for the reference documentation. */
  readonly doc?: string;
  /** The parts of a structure, or the element of an array. */
  readonly parts?: Readonly<Record<string, Codec<unknown>>>;
  /** Possible declarations of the value, if the data decides between them. */
  readonly alternatives?: readonly Codec<unknown>[];
  /** The declarations that this codec was made from, for functions that derive something from them. */
  readonly shape?: Shape;
  /** `hidden`: the value does not have the field. `optional`: the value may lack the field. */
  readonly presence?: "hidden" | "optional";
  /** Reads one value; throws a `PerfDataError` if the bytes do not contain one. */
  decode(r: ByteReader, scope: Scope): T;
  /** Writes one value. */
  encode(w: ByteWriter, value: T, scope: Scope): void;
}

/**
 * Structure of a codec as data: the declarations from which it was made.
 *
 * `layoutOf`, `specialize` and the walk over a sample use it. A codec without a shape is a leaf: a
 * number, a text, or bytes whose size is known only after decoding.
 */
export type Shape =
  /** Consecutive fields, in `parts`. */
  | { readonly kind: "struct" }
  /** Consecutive fields, in `parts`, of which the data may have fewer or more. */
  | { readonly kind: "extensible" }
  /** Hidden number of elements of the field `of`. */
  | { readonly kind: "counter"; readonly of: string }
  /** Consecutive elements. */
  | { readonly kind: "array"; readonly element: Codec<unknown>; readonly count: Count }
  | { readonly kind: "bytes"; readonly count: Count }
  /** Text up to the end, with a NUL and zeros up to a multiple of `unit` bytes. */
  | { readonly kind: "text"; readonly unit: number }
  /** Present only if the bytes suffice. */
  | { readonly kind: "optional"; readonly of: Codec<unknown> }
  /** Present only if the condition holds. */
  | { readonly kind: "when"; readonly test: Test; readonly of: Codec<unknown> }
  /** One of two declarations, chosen by a condition. */
  | {
    readonly kind: "either";
    readonly test: Test;
    readonly yes: Codec<unknown>;
    readonly no: Codec<unknown>;
  }
  /** One declaration of a table, chosen by the value of a field. */
  | {
    readonly kind: "choice";
    readonly field: string;
    readonly table: Readonly<Record<string, Codec<unknown>>>;
    readonly otherwise: Codec<unknown> | undefined;
  }
  /** One u64 for each bit of a mask of the event's attr, with the machine's register names. */
  | { readonly kind: "registers"; readonly mask: AttrMask }
  /** A structure in whose value some fields are the only element of an array. */
  | {
    readonly kind: "gathered";
    readonly of: Codec<unknown>;
    readonly into: string;
    readonly names: readonly string[];
  }
  /** A value that depends on the attr of the record's event. */
  | { readonly kind: "ofEvent"; readonly of: Codec<unknown> };

/** A codec for a field that may be missing from the value. */
export interface OptionalCodec<T> extends Codec<T | undefined> {
  /** Marks the field as optional in the derived type. */
  readonly presence: "optional";
}

/** A codec for a field that the value does not have, since it follows from the other fields. */
export interface HiddenCodec extends Codec<unknown> {
  /** Marks the field as absent from the derived type. */
  readonly presence: "hidden";
}

/** The TypeScript type that a codec decodes to. */
export type Value<C> = C extends Codec<infer T> ? T : never;

/** A field: its codec, optionally with a sentence for the reference documentation. */
// deno-lint-ignore no-explicit-any
export type Field = Codec<any> | readonly [codec: Codec<any>, doc: string];

/** Named fields in disk order. */
export type Fields = Readonly<Record<string, Field>>;

/** The codec of a field. */
export type CodecOf<F> = F extends readonly [infer C, string] ? C : F;

/** The codecs of named fields. */
export type CodecsOf<F extends Fields> = { readonly [K in keyof F]: CodecOf<F[K]> };

/** The fields of `T`, without `readonly`. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Flattens an intersection of object types for display. */
export type Simplify<T> = { [K in keyof T]: T[K] };
/** The names of those fields that are text. */
export type TextKeys<F extends Fields> = {
  [K in keyof F]: Value<CodecOf<F[K]>> extends string | readonly string[] ? K : never;
}[keyof F];

/** The TypeScript type that a structure of these fields decodes to. */
export type StructValue<F extends Fields> = Simplify<
  & {
    [
      K in keyof F as CodecOf<F[K]> extends HiddenCodec ? never
        : CodecOf<F[K]> extends OptionalCodec<unknown> ? never
        : K
    ]: Value<CodecOf<F[K]>>;
  }
  & {
    [K in keyof F as CodecOf<F[K]> extends OptionalCodec<unknown> ? K : never]?: Exclude<
      Value<CodecOf<F[K]>>,
      undefined
    >;
  }
  & {
    // Bytes after a text's end, unless they are all zeros; kept for lossless encoding.
    [K in TextKeys<F> as `${string & K}_pad`]?: Residue;
  }
>;

/** A structure: a codec with named fields. */
export interface StructCodec<F extends Fields> extends Codec<StructValue<F>> {
  /** The fields in disk order. */
  readonly parts: CodecsOf<F>;
}

/** A codec for values of the same size. */
export type FixedCodec<T> = Codec<T> & { readonly size: number };

/** Converts fields to codecs with their sentences attached. */
export function codecsOf<F extends Fields>(fields: F): CodecsOf<F> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [
      name,
      Array.isArray(field) ? doc(field[1], field[0]) : field,
    ]),
  ) as CodecsOf<F>;
}

/** Returns the codec with a sentence for the reference documentation. */
export function doc<C extends Codec<unknown>>(text: string, codec: C): C {
  return { ...codec, doc: text };
}

/** Returns the codec with another display. */
export function shown<C extends Codec<unknown>>(codec: C, display: Display): C {
  return { ...codec, display };
}

/** Returns the codec, displayed in hexadecimal: for an address, a mask, a raw configuration value. */
export function hex<C extends Codec<unknown>>(codec: C): C {
  return shown(codec, { as: "hex" });
}

/**
 * Returns the codec with names for its bits, which the reference and the hexdump show.
 *
 * @param names Names by mask.
 */
export function flags<C extends Codec<number> | Codec<bigint>>(
  codec: C,
  names: Readonly<Record<number, string>>,
): C {
  return { ...codec, display: { as: "flags", names } };
}

/**
 * Returns the codec with names for its values, which the reference and the hexdump show. Values without a name
 * are valid, too.
 *
 * @param names Names by value.
 *
 * @example
 * ```ts
 * import { decode, enumeration, struct, u8 } from "@perfdata/format/records";
 * import { assertEquals } from "@std/assert";
 *
 * const state = struct("state", { mode: enumeration(u8, { 1: "KERNEL", 2: "USER" }) });
 * assertEquals(decode(state, Uint8Array.of(3)).value, { mode: 3 });
 * ```
 */
export function enumeration<C extends Codec<number> | Codec<bigint>>(
  codec: C,
  names: Readonly<Record<number, string>>,
): C {
  return { ...codec, display: { as: "enum", names } };
}

/** Result of {@link decode}. */
export interface Decoded<T> {
  /** The value. */
  readonly value: T;
  /** Padding within the value, unless it is all zeros; see {@link chars}. */
  readonly pad?: Residue;
  /** Bytes after the declared fields, if any. */
  readonly tail?: Uint8Array;
}

/** Options of {@link decode} and {@link encode}. */
export interface CodecOptions {
  /** Byte order of the file; little-endian by default. */
  readonly littleEndian?: boolean;
  /** Context that conditions of the declaration use, such as the record's `misc`. */
  readonly context?: StructContext;
  /** File offset of the first byte, for error messages. */
  readonly base?: number;
  /** Receives the byte range of each field. */
  readonly trace?: Trace | undefined;
}

/**
 * Decodes `bytes` by a declaration; bytes after the declared fields are returned as `tail`.
 *
 * @throws {PerfDataError} If the bytes do not contain such a value.
 */
export function decode<T>(
  codec: Codec<T>,
  bytes: Uint8Array,
  options: CodecOptions = {},
): Decoded<T> {
  const r = new ByteReader(bytes, options);
  const value = codec.decode(r, NO_SCOPE);
  const residue = r.takeResidue();
  return {
    value,
    ...(residue === undefined ? {} : { pad: residue }),
    ...(r.left === 0 ? {} : { tail: bytes.slice(r.pos, r.end) }),
  };
}

/** Encodes `value` by a declaration: the inverse of {@link decode}, including `pad` and `tail`. */
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
  codec.encode(w, value, NO_SCOPE);
  if (options.tail !== undefined) w.put(options.tail);
  return w.finish();
}
