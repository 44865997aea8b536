import type { AttrMask, Count, Test } from "./condition.ts";
import type { Codec } from "./codec.ts";

/**
 * Structure of a codec as data: the declarations from which it was made.
 *
 * `layoutOf`, `specialize` and the walk over a sample read it. A codec without a shape is a leaf: a
 * number, a text, or bytes whose extent is known only after decoding.
 */
export type Shape =
  /** Fields one after the other; they are in `parts`. */
  | { readonly kind: "struct" }
  /** Fields one after the other, of which there may be fewer or more; they are in `parts`. */
  | { readonly kind: "extensible" }
  /** The number of elements of the field `of`; not in the value. */
  | { readonly kind: "counter"; readonly of: string }
  /** Elements one after the other. */
  | { readonly kind: "array"; readonly element: Codec<unknown>; readonly count: Count }
  /** Bytes as they are. */
  | { readonly kind: "bytes"; readonly count: Count }
  /** Text up to the end, with a NUL and zeros up to a multiple of `unit` bytes. */
  | { readonly kind: "text"; readonly unit: number }
  /** There only where the bytes go on. */
  | { readonly kind: "optional"; readonly of: Codec<unknown> }
  /** There only where the condition holds. */
  | { readonly kind: "when"; readonly test: Test; readonly of: Codec<unknown> }
  /** One of two, as the condition says. */
  | {
    readonly kind: "either";
    readonly test: Test;
    readonly yes: Codec<unknown>;
    readonly no: Codec<unknown>;
  }
  /** One of a table, by the value of a field. */
  | {
    readonly kind: "choice";
    readonly field: string;
    readonly table: Readonly<Record<string, Codec<unknown>>>;
    readonly otherwise: Codec<unknown> | undefined;
  }
  /** One u64 for each bit of a mask of the event's attr, named by the machine's registers. */
  | { readonly kind: "registers"; readonly mask: AttrMask }
  /** A structure some fields of which are the one element of an array. */
  | {
    readonly kind: "gathered";
    readonly of: Codec<unknown>;
    readonly into: string;
    readonly names: readonly string[];
  }
  /** What depends on the attr of the record's event. */
  | { readonly kind: "ofEvent"; readonly of: Codec<unknown> };
