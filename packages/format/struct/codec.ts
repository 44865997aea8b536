import { ByteReader, ByteWriter, type Residue, type StructContext, type Trace } from "./cursor.ts";
import { NO_SCOPE, type Scope } from "./condition.ts";
import type { Shape } from "./shape.ts";

/** How a value is shown: in the hexdump, as JSON, in the reference documentation. */
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
  /** What the value is made of, for all that is derived from the declaration. */
  readonly shape?: Shape;
  /** `hidden` fields do not appear in the value, `optional` ones may be missing from it. */
  readonly presence?: "hidden" | "optional";
  /** Reads one value; throws a `PerfDataError` where the bytes do not hold one. */
  decode(r: ByteReader, scope: Scope): T;
  /** Writes one value. */
  encode(w: ByteWriter, value: T, scope: Scope): void;
}

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

/** A field: its codec, or that and a sentence for the reference documentation. */
// deno-lint-ignore no-explicit-any
export type Field = Codec<any> | readonly [codec: Codec<any>, doc: string];

/** Named fields in the order in which they lie on disk. */
export type Fields = Readonly<Record<string, Field>>;

/** The codec of a field. */
export type CodecOf<F> = F extends readonly [infer C, string] ? C : F;

/** The codecs of named fields. */
export type CodecsOf<F extends Fields> = { readonly [K in keyof F]: CodecOf<F[K]> };

/** The same fields, which may be set. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Flattens an intersection of object types for display. */
export type Simplify<T> = { [K in keyof T]: T[K] };
/** The names of the fields of a structure that hold text. */
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
    // Bytes after a text's end where they are not the usual zeros; kept so that nothing is lost.
    [K in TextKeys<F> as `${string & K}_pad`]?: Residue;
  }
>;

/** A structure: a codec that knows its fields. */
export interface StructCodec<F extends Fields> extends Codec<StructValue<F>> {
  /** The fields in disk order. */
  readonly parts: CodecsOf<F>;
}

/** A codec whose size is the same for all values. */
export type FixedCodec<T> = Codec<T> & { readonly size: number };

/** The codecs of fields, each with its sentence. */
export function codecsOf<F extends Fields>(fields: F): CodecsOf<F> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [
      name,
      Array.isArray(field) ? doc(field[1], field[0]) : field,
    ]),
  ) as CodecsOf<F>;
}

/** The same codec with a sentence for the reference documentation. */
export function doc<C extends Codec<unknown>>(text: string, codec: C): C {
  return { ...codec, doc: text };
}

/** The same codec, shown in another way. */
export function shown<C extends Codec<unknown>>(codec: C, display: Display): C {
  return { ...codec, display };
}

/**
 * A number shown in hexadecimal: an address, a mask, a raw configuration value. Its bytes are those of
 * `codec`.
 */
export function hex<C extends Codec<unknown>>(codec: C): C {
  return shown(codec, { as: "hex" });
}

/**
 * A number whose bits have names, for the reference and `hex`. Its bytes are those of `codec`.
 *
 * @param names By the mask of the bit.
 */
export function flags<C extends Codec<number> | Codec<bigint>>(
  codec: C,
  names: Readonly<Record<number, string>>,
): C {
  return { ...codec, display: { as: "flags", names } };
}

/**
 * A number whose values have names, for the reference and `hex`. Its bytes are those of `codec`, and
 * values without a name are kept.
 *
 * @param names By value.
 *
 * @example
 * ```ts
 * import { decode, enumeration, struct, u8 } from "@perfdata/format/struct";
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
  /** Padding of the value that is not the usual zeros; see {@link chars}. */
  readonly pad?: Residue;
  /** Bytes after the declared fields, if there are any. */
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
 * @throws {PerfDataError} If the bytes do not hold such a value.
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
  codec.encode(w, value, NO_SCOPE);
  if (options.tail !== undefined) w.put(options.tail);
  return w.finish();
}
