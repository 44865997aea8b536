import type { Residue, Trace } from "../struct/cursor.ts";
import { PerfDataError } from "../error.ts";
import { type Codec, decode } from "../struct/mod.ts";

/** The declaration of a feature section. */
export interface FeatureDeclaration<N extends string, T> {
  /** Bit of the feature bitmap. */
  readonly id: number;
  /** The name without its `HEADER_` prefix. */
  readonly name: N;
  /** Codec of the section. */
  readonly codec: Codec<T>;
}

/** A feature that declaration `D` decoded. */
export type DecodedFeature<D> = D extends FeatureDeclaration<infer N, infer T> ? {
    /** Bit of the feature bitmap. */
    readonly id: number;
    /** The name without its `HEADER_` prefix. */
    readonly name: N;
    /** The decoded section. */
    readonly value: T;
    /** Padding of a text, unless it is all zeros. */
    readonly pad?: Residue;
    /** Bytes after the declared fields: padding of a pipe's record, or fields of a later perf. */
    readonly tail?: Uint8Array;
  }
  : never;

/** A feature that is kept as bytes: its id is unknown, or its section is empty or violates the declaration. */
export interface RawFeature {
  /** Bit of the feature bitmap; `featureName` gives its name. */
  readonly id: number;
  /** Always `"RAW"`. */
  readonly name: "RAW";
  /** The whole section. */
  readonly raw: Uint8Array;
  /** The error, if the id is known and the section could not be decoded. */
  readonly error?: PerfDataError;
}

/** Options of `decodeFeature`. */
export interface FeatureOptions {
  /** Byte order of the file; little-endian by default. */
  readonly littleEndian?: boolean;
  /** File offset of the first byte, for error messages. */
  readonly base?: number;
  /** Receives the byte range of each field. */
  readonly trace?: Trace | undefined;
}

/** Indexes declarations by their bit of the feature bitmap. */
export function declarations(
  declared: readonly { readonly id: number }[],
): ReadonlyMap<number, FeatureDeclaration<string, unknown>> {
  return new Map(
    declared.map((each) => [each.id, each as FeatureDeclaration<string, unknown>]),
  );
}

/** Decodes a section by its declaration. An unknown id or an invalid section is kept as bytes. */
export function decodeDeclared(
  declared: ReadonlyMap<number, FeatureDeclaration<string, unknown>>,
  id: number,
  bytes: Uint8Array,
  options: FeatureOptions,
): { readonly id: number; readonly name: string; readonly value: unknown } | RawFeature {
  const declaration = declared.get(id);
  if (declaration === undefined) return { id, name: "RAW", raw: bytes.slice() };
  try {
    return { id, name: declaration.name, ...decode(declaration.codec, bytes, options) };
  } catch (error) {
    if (!(error instanceof PerfDataError)) throw error;
    // perf leaves a section empty if it could not determine the value, such as the CPU's name on old ARM.
    if (bytes.length === 0) return { id, name: "RAW", raw: bytes.slice() };
    return { id, name: "RAW", raw: bytes.slice(), error };
  }
}
