import { ByteReader, ByteWriter, type Residue, type StructContext } from "./cursor.ts";
import { lookUp, NO_SCOPE, type Scope } from "./condition.ts";
import { type Codec, codecsOf, type Fields, type StructValue } from "./codec.ts";
import { decodeField } from "./structure.ts";

/**
 * Size of an {@link extensible} structure: a constant, a field outside the structure, or a u32 among its
 * own fields, in which 0 means `zero`.
 */
export type Extent =
  | number
  | { readonly field: string }
  | { readonly own: string; readonly zero: number };

/** The value of an {@link extensible} structure. */
export type ExtensibleValue<F extends Fields> = StructValue<F> & {
  /** Bytes after the declared fields of a longer structure. */
  tail?: Uint8Array;
};

/**
 * Declares a structure that grows from version to version. A shorter one is extended with zeros; the rest of a
 * longer one is kept in `tail`. Encoding restores the original length.
 *
 * @param type Name of the structure in the kernel's headers.
 * @param fields The declared fields, all of fixed size.
 * @param extent Size of the structure in bytes.
 *
 * @example
 * ```ts
 * import { decode, extensible, u32 } from "@perfdata/format/records";
 * import { assertEquals } from "@std/assert";
 *
 * const info = extensible("info", { id: u32, flags: u32 }, 4);
 * assertEquals(decode(info, Uint8Array.of(7, 0, 0, 0)).value, { id: 7, flags: 0 });
 * ```
 */
export function extensible<const F extends Fields>(
  type: string,
  fields: F,
  extent: Extent,
): Codec<ExtensibleValue<F>> {
  const parts = codecsOf(fields);
  const known = Object.entries(parts) as [string, Codec<unknown> & { readonly size: number }][];
  const own = typeof extent === "object" && "own" in extent ? extent : undefined;
  const ownAt = own === undefined ? 0 : offsetOf(known, own.own);
  const find = typeof extent === "object" && "field" in extent ? lookUp(extent.field) : undefined;

  function extentOf(r: ByteReader, scope: Scope): number {
    if (typeof extent === "number") return extent;
    if (own === undefined) return Number(find?.(scope) ?? 0);
    const at = r.take(ownAt + 4, type);
    r.pos = at;
    const found = r.view.getUint32(at + ownAt, r.littleEndian) || own.zero;
    // The structure has to include its own size field; otherwise, it could not be encoded again.
    if (found < ownAt + 4) {
      throw r.error(`${type}: ${own.own} is ${found}, expected at least ${ownAt + 4}`);
    }
    return found;
  }

  return {
    type,
    ...(typeof extent === "number" ? { size: extent } : {}),
    display: { as: "struct" },
    parts,
    shape: { kind: "extensible" },
    decode(r, outer) {
      const size = extentOf(r, outer);
      if (size > r.left) throw r.error(`${type}: ${r.left} bytes left, expected ${size}`);
      const end = r.pos + size;
      const value: Record<string, unknown> = {};
      const scope: Scope = { fields: value, outer };
      let cut = false;
      for (const [name, codec] of known) {
        // Missing fields are zero; a field that is cut short becomes part of the tail.
        cut ||= r.pos + codec.size > end;
        const part = cut ? zeroOf(codec, r.context) : decodeField(r, name, codec, scope);
        if (part !== undefined) value[name] = part;
        const residue = cut ? undefined : r.takeResidue();
        if (residue !== undefined) value[`${name}_pad`] = residue;
      }
      if (r.pos < end) value["tail"] = r.bytes.slice(r.pos, end);
      r.pos = end;
      return value as ExtensibleValue<F>;
    },
    encode(w, value, outer) {
      const given = value as Record<string, unknown>;
      const scope: Scope = { fields: given, outer };
      const size = typeof extent === "number"
        ? extent
        : own === undefined
        ? Number(find?.(outer) ?? 0)
        : Number(given[own.own]) || own.zero;
      const whole = new ByteWriter({ littleEndian: w.littleEndian, context: w.context });
      for (const [name, codec] of known) {
        if (whole.length + codec.size > size) break;
        whole.residue = given[`${name}_pad`] as Residue | undefined;
        codec.encode(whole, given[name], scope);
        whole.residue = undefined;
      }
      const tail = given["tail"] as Uint8Array | undefined;
      // A caller may have set another size.
      if (tail !== undefined) whole.put(tail.subarray(0, Math.max(0, size - whole.length)));
      whole.grow(Math.max(0, size - whole.length));
      w.put(whole.finish());
    },
  };
}

function zeroOf<T>(codec: Codec<T> & { readonly size: number }, context: StructContext): T {
  return codec.decode(new ByteReader(new Uint8Array(codec.size), { context }), NO_SCOPE);
}

function offsetOf(fields: readonly [string, { readonly size: number }][], name: string): number {
  let at = 0;
  for (const [field, { size }] of fields) {
    if (field === name) return at;
    at += size;
  }
  throw new RangeError(`no field ${name}`);
}
