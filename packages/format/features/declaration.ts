import type { Residue, Trace } from "../struct/cursor.ts";
import { PerfDataError } from "../error.ts";
import { type Codec, decode } from "../struct/mod.ts";

/** The declaration of a feature section. */
export interface FeatureDeclaration<N extends string, T> {
  /** Bit of the feature bitmap. */
  readonly id: number;
  /** The name without its `HEADER_` prefix. */
  readonly name: N;
  /** What the section holds. */
  readonly codec: Codec<T>;
}

/** A feature that was decoded by the declaration `D`. */
export type DecodedFeature<D> = D extends FeatureDeclaration<infer N, infer T> ? {
    /** Bit of the feature bitmap. */
    readonly id: number;
    /** The name without its `HEADER_` prefix. */
    readonly name: N;
    /** What the section says. */
    readonly value: T;
    /** Padding of a text that is not the usual zeros. */
    readonly pad?: Residue;
    /** Bytes after what is declared: padding of a pipe's record, or what a later perf added. */
    readonly tail?: Uint8Array;
  }
  : never;

/** A feature that is kept as bytes: of unknown id, empty, or not what its id says. */
export interface RawFeature {
  /** Bit of the feature bitmap; `featureName` gives its name. */
  readonly id: number;
  /** Always `"RAW"`. */
  readonly name: "RAW";
  /** The whole section. */
  readonly raw: Uint8Array;
  /** Why a section of a known id could not be decoded. */
  readonly error?: PerfDataError;
}

/** Options of `decodeFeature`. */
export interface FeatureOptions {
  /** Byte order of the file; little-endian where nothing is said. */
  readonly littleEndian?: boolean;
  /** File offset of the first byte, for error messages. */
  readonly base?: number;
  /** Watches which bytes belong to which field. */
  readonly trace?: Trace | undefined;
}

/** Declarations by their bit of the feature bitmap. */
export function declarations(
  declared: readonly { readonly id: number }[],
): ReadonlyMap<number, FeatureDeclaration<string, unknown>> {
  return new Map(
    declared.map((each) => [each.id, each as FeatureDeclaration<string, unknown>]),
  );
}

/** Decodes a section by its declaration; what has none, or is not what it says, is kept as bytes. */
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
    // perf leaves a section empty where it found nothing out, such as the CPU's name on old ARM.
    if (bytes.length === 0) return { id, name: "RAW", raw: bytes.slice() };
    return { id, name: "RAW", raw: bytes.slice(), error };
  }
}
