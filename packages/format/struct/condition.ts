import type { ByteReader, StructContext } from "./cursor.ts";

/** The fields of a structure that are already decoded (or are being encoded). */
export interface Scope {
  /** The fields of the innermost structure by name. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** The structure around it. */
  readonly outer: Scope | undefined;
}

/** The scope of what is in no structure. */
export const NO_SCOPE: Scope = Object.freeze({ fields: Object.freeze({}), outer: undefined });

/** The masks of an event's attr that decide what its records hold. */
export type AttrMask =
  | "sample_type"
  | "read_format"
  | "branch_sample_type"
  | "sample_regs_user"
  | "sample_regs_intr";

/**
 * A condition on what is known where a field begins.
 *
 * A `field` is a name, or a path: `layout.cpus` is inside of another field, `data.length` its
 * length, `../size` a field of the structure around.
 */
export type Test =
  /** The field is this, or is not this. */
  | { readonly field: string; readonly is: number | bigint | boolean }
  | { readonly field: string; readonly not: number | bigint | boolean }
  /** The field, as a number, is no less, or no more; a text is read as a number. */
  | { readonly field: string; readonly least: number }
  | { readonly field: string; readonly most: number }
  /** One of these bits of the field is set, or none is. */
  | { readonly field: string; readonly bits: number }
  | { readonly field: string; readonly noBits: number }
  /** The field, which may be missing, is there, or is not. */
  | { readonly field: string; readonly present: boolean }
  /** So many bytes are left at most; where that is to be written: the field `without` is not there. */
  | { readonly left: number; readonly without: string }
  /** One of these bits of the record header's `misc` is set, or none is. */
  | { readonly misc: number }
  | { readonly noMisc: number }
  /** One of these bits of the event's attr is set, or none is. */
  | { readonly attr: AttrMask; readonly bits: number }
  | { readonly attr: AttrMask; readonly noBits: number };

/**
 * How many: a constant, all that fits, the value of a field before (one for each `per` of it, rounded
 * up; none unless `where` holds), or what a condition decides.
 */
export type Count =
  | number
  | "rest"
  | { readonly field: string; readonly per?: number; readonly where?: Test }
  | { readonly test: Test; readonly yes: number; readonly no: number };

/** Finds the value of a path in a scope; `undefined` if there is none. */
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

/** Numbers as they are compared: digits at the start of a text count, bits of a bigint's low word. */
function numberOf(value: unknown): number {
  return typeof value === "string" ? Number.parseFloat(value) : Number(value);
}

function hasBits(value: unknown, bits: number): boolean {
  return typeof value === "bigint"
    ? (value & BigInt(bits)) !== 0n
    : (Number(value ?? 0) & bits) !== 0;
}

/** Decides a {@link Test}. */
export type Decide = (
  scope: Scope,
  context: StructContext,
  r: ByteReader | undefined,
) => boolean;

/** Turns a condition into what decides it; of an event that is not known, no bit is set. */
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

/** The opposite of a condition, where it can be said. */
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

/** Turns a count into what it is computed from, given the bytes of an element that has `size`. */
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
