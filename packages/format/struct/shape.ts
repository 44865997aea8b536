import type { AttrMask, Count, Test } from "./condition.ts";
import type { Codec } from "./codec.ts";

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
