import type { ByteReader, StructContext } from "./cursor.ts";

/** The decoded fields of a structure so far, or all of its fields while encoding. */
export interface Scope {
  /** The fields of the innermost structure by name. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Scope of the enclosing structure. */
  readonly outer: Scope | undefined;
}

/** Scope outside of any structure. */
export const NO_SCOPE: Scope = Object.freeze({ fields: Object.freeze({}), outer: undefined });

/** The masks of an event's attr that determine the fields of its records. */
export type AttrMask =
  | "sample_type"
  | "read_format"
  | "branch_sample_type"
  | "sample_regs_user"
  | "sample_regs_intr";

/**
 * A condition for the presence of a field.
 * A `field` is the name of an earlier field or a path: `layout.cpus` is inside another field, `data.length` is an
 * array's length, `../size` is a field of the enclosing structure.
 */
export type Test =
  /** The field equals, or does not equal, the value. */
  | { readonly field: string; readonly is: number | bigint | boolean }
  | { readonly field: string; readonly not: number | bigint | boolean }
  /** The field, as a number, is at least or at most the value; a text is parsed as a number. */
  | { readonly field: string; readonly least: number }
  | { readonly field: string; readonly most: number }
  /** At least one of these bits of the field is set, or none of them is. */
  | { readonly field: string; readonly bits: number }
  | { readonly field: string; readonly noBits: number }
  /** The optional field is present, or absent. */
  | { readonly field: string; readonly present: boolean }
  /** Decoding: at most this many bytes are left. Encoding: the field `without` is absent. */
  | { readonly left: number; readonly without: string }
  /** At least one of these bits of the record header's `misc` is set, or none of them is. */
  | { readonly misc: number }
  | { readonly noMisc: number }
  /** At least one of these bits of the event's attr is set, or none of them is. */
  | { readonly attr: AttrMask; readonly bits: number }
  | { readonly attr: AttrMask; readonly noBits: number };

/**
 * Number of elements: a constant; as many as fit; the value of an earlier field (divided by `per`, rounded
 * up; 0 unless `where` holds); or one of two constants, chosen by a condition.
 */
export type Count =
  | number
  | "rest"
  | { readonly field: string; readonly per?: number; readonly where?: Test }
  | { readonly test: Test; readonly yes: number; readonly no: number };

/** Compiles a path to a function that looks up its value in a scope; `undefined` if there is no such field. */
export function lookUp(path: string): (scope: Scope) => unknown {
  const keys = path.split("/");
  const names = (keys.pop() as string).split(".");
  const [name = "", ...inner] = names;
  if (keys.length === 0 && inner.length === 0) return (scope) => scope.fields[name];
  return (scope) => {
    let at: Scope | undefined = scope;
    for (let i = 0; i < keys.length; i++) at = at?.outer;
    let value: unknown = at?.fields[name];
    for (const key of inner) value = (value as Record<string, unknown> | undefined)?.[key];
    return value;
  };
}

/** Converts a field to a number for comparisons; a text counts by the digits at its start. */
function numberOf(value: unknown): number {
  return typeof value === "string" ? Number.parseFloat(value) : Number(value);
}

function hasBits(value: unknown, bits: number): boolean {
  return typeof value === "bigint"
    ? (value & BigInt(bits)) !== 0n
    : (Number(value ?? 0) & bits) !== 0;
}

/** Evaluates a {@link Test}. */
export type Decide = (
  scope: Scope,
  context: StructContext,
  r: ByteReader | undefined,
) => boolean;

/** Compiles a condition to a function. For an unknown event, no bit is set. */
export function decider(test: Test): Decide {
  if ("misc" in test) return (_, { misc = 0 }) => (misc & test.misc) !== 0;
  if ("noMisc" in test) return (_, { misc = 0 }) => (misc & test.noMisc) === 0;
  if ("attr" in test) {
    const wanted = "bits" in test;
    const bits = wanted ? test.bits : test.noBits;
    return (_, { event }) => hasBits(event?.attr[test.attr] ?? 0n, bits) === wanted;
  }
  if ("left" in test) {
    const { left, without } = test;
    return (scope, _, r) => r === undefined ? scope.fields[without] === undefined : r.left <= left;
  }
  const find = lookUp(test.field);
  if ("is" in test) return (scope) => find(scope) === test.is;
  if ("not" in test) return (scope) => find(scope) !== test.not;
  if ("least" in test) return (scope) => numberOf(find(scope)) >= test.least;
  if ("most" in test) return (scope) => numberOf(find(scope)) <= test.most;
  if ("bits" in test) return (scope) => hasBits(find(scope), test.bits);
  if ("noBits" in test) return (scope) => !hasBits(find(scope), test.noBits);
  return (scope) => (find(scope) !== undefined) === test.present;
}

/** Returns the negation of a condition, if a `Test` can express it. */
export function opposite(test: Test): Test | undefined {
  if ("left" in test) return undefined;
  if ("misc" in test) return { noMisc: test.misc };
  if ("noMisc" in test) return { misc: test.noMisc };
  if ("attr" in test) {
    return "bits" in test
      ? { attr: test.attr, noBits: test.bits }
      : { attr: test.attr, bits: test.noBits };
  }
  const { field } = test;
  if ("is" in test) return { field, not: test.is };
  if ("not" in test) return { field, is: test.not };
  if ("bits" in test) return { field, noBits: test.bits };
  if ("noBits" in test) return { field, bits: test.noBits };
  if ("present" in test) return { field, present: !test.present };
  return undefined;
}

/** Whether two conditions are the same. */
export function sameTest(a: Test, b: Test): boolean {
  const keys = Object.keys(a) as (keyof Test)[];
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}

/** Compiles a count to a function. `size` is the size of an element in bytes. */
export function counterOf(
  count: Count,
  size: number,
): (scope: Scope, context: StructContext, r: ByteReader | undefined) => number {
  if (typeof count === "number") return () => count;
  if (count === "rest") return (_scope, _context, r) => Math.floor((r?.left ?? 0) / size);
  if ("test" in count) {
    const holds = decider(count.test);
    return (scope, context, r) => holds(scope, context, r) ? count.yes : count.no;
  }
  const find = lookUp(count.field);
  const { per = 1, where } = count;
  const countIn = (scope: Scope) => Math.ceil(Number(find(scope) ?? 0) / per);
  if (where === undefined) return countIn;
  const holds = decider(where);
  return (scope, context, r) => holds(scope, context, r) ? countIn(scope) : 0;
}
