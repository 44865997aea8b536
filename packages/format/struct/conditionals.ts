import { counterOf, decider, lookUp, type Scope, type Test } from "./condition.ts";
import type { Codec, OptionalCodec } from "./codec.ts";

/** Declares a field that is present only if the record is long enough for it. */
export function optional<T>(codec: Codec<T>): OptionalCodec<T> {
  const { size = 1, ...unsized } = codec as Codec<unknown>;
  const { shape } = codec;
  // An array with a count is present if the bytes of all its elements are, and absent if the count is 0.
  const counted = shape?.kind === "array" && shape.count !== "rest" && shape.element.size;
  const countIn = counted ? counterOf(shape.count, counted) : undefined;
  const least = Math.max(1, size);
  return {
    ...unsized,
    presence: "optional",
    shape: { kind: "optional", of: codec as Codec<unknown> },
    decode(r, scope) {
      const need = countIn === undefined
        ? least
        : countIn(scope, r.context, r) * (counted as number);
      return need === 0 || r.left < need ? undefined : codec.decode(r, scope);
    },
    encode(w, value, scope) {
      if (value !== undefined) codec.encode(w, value, scope);
    },
  };
}

/**
 * Declares a field that is present only if a condition holds.
 *
 * @param test The condition, on earlier fields, on `misc` or on the event's attr.
 * @param codec The field.
 *
 * @example
 * ```ts
 * import { decode, struct, u32, u64, when } from "@perfdata/format/records";
 * import { assertEquals } from "@std/assert";
 *
 * const error = struct("error", { fmt: u32, time: when({ field: "fmt", least: 1 }, u64) });
 * assertEquals(decode(error, new Uint8Array(12)).value, { fmt: 0 });
 * assertEquals(decode(error, Uint8Array.of(1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0)).value, {
 *   fmt: 1,
 *   time: 9n,
 * });
 * ```
 */
export function when<T>(test: Test, codec: Codec<T>): OptionalCodec<Exclude<T, undefined>> {
  const elided = codec.presence === "optional";
  const { size: _, ...unsized } = codec as Codec<unknown>;
  const holds = decider(test);
  return {
    ...unsized,
    presence: "optional",
    shape: { kind: "when", test, of: codec as Codec<unknown> },
    decode: (r, scope) =>
      (holds(scope, r.context, r) ? codec.decode(r, scope) : undefined) as
        | Exclude<T, undefined>
        | undefined,
    encode(w, value, scope) {
      if (value !== undefined) codec.encode(w, value, scope);
      // Reserved bytes and padding are on disk even if the value lacks them.
      else if (elided && holds(scope, w.context, undefined)) codec.encode(w, value as T, scope);
    },
  };
}

/**
 * Declares a value with one of two declarations, chosen by a condition.
 *
 * @param type Name of both in the reference documentation.
 * @param test The condition, on earlier fields, on `misc` or on the event's attr.
 */
export function either<A, B>(type: string, test: Test, yes: Codec<A>, no: Codec<B>): Codec<A | B> {
  const holds = decider(test);
  const yesCodec = yes as Codec<A | B>;
  const noCodec = no as Codec<A | B>;
  return {
    type,
    display: { as: "struct" },
    alternatives: [yesCodec as Codec<unknown>, noCodec as Codec<unknown>],
    shape: { kind: "either", test, yes: yesCodec as Codec<unknown>, no: noCodec as Codec<unknown> },
    decode: (r, scope) => (holds(scope, r.context, r) ? yesCodec : noCodec).decode(r, scope),
    encode: (w, value, scope) =>
      (holds(scope, w.context, undefined) ? yesCodec : noCodec).encode(w, value, scope),
  };
}

/** Declarations by the value of a field. */
// deno-lint-ignore no-explicit-any
export type Choices = Readonly<Record<number, Codec<any>>>;

/**
 * Declares a value whose declaration depends on an earlier field.
 *
 * @param type Name of the value in the reference documentation.
 * @param field Name or path of the earlier field.
 * @param table Declarations by the value of that field.
 * @param otherwise Declaration for all other values; without it, they are errors.
 *
 * @example
 * ```ts
 * import { choice, decode, struct, u16, u8 } from "@perfdata/format/records";
 * import { assertEquals } from "@std/assert";
 *
 * const item = struct("item", { size: u8, value: choice("integer", "size", { 1: u8, 2: u16 }) });
 * assertEquals(decode(item, Uint8Array.of(2, 1, 1)).value, { size: 2, value: 257 });
 * ```
 */
export function choice<C extends Choices, T = never>(
  type: string,
  field: string,
  table: C,
  otherwise?: Codec<T>,
): Codec<(C[keyof C] extends Codec<infer V> ? V : never) | T> {
  const find = lookUp(field);
  type V = (C[keyof C] extends Codec<infer V> ? V : never) | T;
  const all: Readonly<Record<string, Codec<V>>> = table;
  const select = (scope: Scope) =>
    all[String(find(scope))] ?? otherwise as Codec<unknown> as Codec<V> | undefined;
  const complaint = (scope: Scope) =>
    `${type}: ${field} is ${find(scope)}, expected ${Object.keys(table).join(" or ")}`;
  return {
    type,
    display: { as: "struct" },
    alternatives: [...Object.values(all), ...(otherwise === undefined ? [] : [otherwise])] as Codec<
      unknown
    >[],
    shape: {
      kind: "choice",
      field,
      table: table as Readonly<Record<string, Codec<unknown>>>,
      otherwise: otherwise as Codec<unknown> | undefined,
    },
    decode(r, scope) {
      const codec = select(scope);
      if (codec === undefined) throw r.error(complaint(scope));
      return codec.decode(r, scope);
    },
    encode(w, value, scope) {
      const codec = select(scope);
      if (codec === undefined) throw new RangeError(complaint(scope));
      codec.encode(w, value, scope);
    },
  };
}

/**
 * Declares a structure in whose value some fields become the only element of an array, so that it has
 * the same type as another layout with several elements.
 *
 * @param codec The structure on disk.
 * @param into Name of the array.
 * @param names Names of the fields of the element.
 */
export function gathered<T>(
  codec: Codec<unknown>,
  into: string,
  names: readonly string[],
): Codec<T> {
  return {
    ...codec,
    shape: { kind: "gathered", of: codec, into, names },
    decode(r, scope) {
      const flat = codec.decode(r, scope) as Record<string, unknown>;
      const value: Record<string, unknown> = {};
      const element: Record<string, unknown> = {};
      for (const [name, part] of Object.entries(flat)) {
        (names.includes(name) ? element : value)[name] = part;
      }
      value[into] = [element];
      return value as T;
    },
    encode(w, value, scope) {
      const { [into]: elements, ...rest } = value as Record<string, unknown>;
      codec.encode(w, { ...rest, ...(elements as Record<string, unknown>[])[0] }, scope);
    },
  };
}
