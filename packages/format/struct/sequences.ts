import { ByteWriter, type Residue } from "./cursor.ts";
import { type Count, counterOf } from "./condition.ts";
import type { Codec, HiddenCodec, OptionalCodec } from "./codec.ts";
import { decodeField } from "./structure.ts";

/** Declares `count` plain bytes. The value is a copy. */
export function bytes(count: Count): Codec<Uint8Array> {
  const countIn = counterOf(count, 1);
  return {
    type: typeof count === "number" ? `u8[${count}]` : "u8[]",
    ...(typeof count === "number" ? { size: count } : {}),
    display: { as: "bytes" },
    shape: { kind: "bytes", count },
    decode(r, scope) {
      const at = r.take(countIn(scope, r.context, r), "bytes");
      return r.bytes.slice(at, r.pos);
    },
    encode(w, value) {
      w.put(value);
    },
  };
}

/** Declares bytes that are usually zero. The value has them only if some are not. */
export function reserved(count: Exclude<Count, "rest">): OptionalCodec<Uint8Array> {
  const fixed = typeof count === "number";
  const countIn = counterOf(count, 1);
  return {
    type: fixed ? `u8[${count}]` : "u8[]",
    ...(fixed ? { size: count } : {}),
    display: { as: "bytes" },
    presence: "optional",
    shape: { kind: "bytes", count },
    decode(r, scope) {
      const at = r.take(countIn(scope, r.context, r), "reserved bytes");
      const found = r.bytes.slice(at, r.pos);
      return found.some((byte) => byte !== 0) ? found : undefined;
    },
    encode(w, value, scope) {
      if (value === undefined) w.grow(countIn(scope, w.context, undefined));
      else w.put(value);
    },
  };
}

/**
 * Zeros up to the next multiple of 8 bytes, after a last field of any length.
 * The value has them only if they are not zeros, or are fewer: a record without padding has an empty
 * array here.
 *
 * The position is relative to the start of the decoded bytes: the record or its body.
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
 * Declares consecutive elements.
 *
 * @param element Codec of an element.
 * @param count Number of elements; {@link counter} declares a matching length field.
 */
export function array<T>(element: Codec<T>, count: Count): Codec<T[]> {
  const least = Math.max(1, element.size ?? 1);
  const countIn = counterOf(count, least);
  return {
    type: `${element.type}[${typeof count === "number" ? count : ""}]`,
    ...(typeof count === "number" && element.size !== undefined
      ? { size: count * element.size }
      : {}),
    display: { as: "array" },
    parts: { element: element as Codec<unknown> },
    shape: { kind: "array", element: element as Codec<unknown>, count },
    decode(r, scope) {
      const n = countIn(scope, r.context, r);
      // Checked before the allocation, so that a false length costs no memory.
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
 * Declares consecutive elements up to the end of the region. A rest of fewer than `least` bytes is not read.
 *
 * @param element Codec of an element of at least one byte.
 * @param least Minimum size of an element in bytes.
 */
export function repeated<T>(element: Codec<T>, least: number = element.size ?? 1): Codec<T[]> {
  const one = array(element, 1);
  const { size: _, ...unsized } = one;
  return {
    ...unsized,
    type: `${element.type}[]`,
    shape: { kind: "array", element: element as Codec<unknown>, count: "rest" },
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
 * Declares a length field followed by a value of exactly this many bytes.
 *
 * @param length Codec of the length in bytes, which does not include the field itself.
 * @param codec Codec of the value; its `"rest"` ends at the length.
 *
 * @example
 * ```ts
 * import { bytes, decode, sized, u32 } from "@perfdata/format/records";
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
  const { size: _, shape: __, ...unsized } = codec;
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
 * Declares a hidden length field: the `length` of the field named `of`.
 *
 * @example
 * ```ts
 * import { array, countedBy, counter, decode, struct, u64 } from "@perfdata/format/records";
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
    shape: { kind: "counter", of },
    encode(w, _value, scope) {
      const length = (scope.fields[of] as { length: number } | undefined)?.length ?? 0;
      any.encode(w, big ? BigInt(length) : length, scope);
    },
  };
}

/** A {@link Count} that is the value of the earlier field `name`. */
export function countedBy(name: string): { readonly field: string } {
  return { field: name };
}
