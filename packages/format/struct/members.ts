import type { StructContext } from "../cursor.ts";
import { decider, lookUp, NO_SCOPE, type Scope } from "./condition.ts";
import type { Codec } from "./codec.ts";

/** A field of a value, and how it is declared. */
export interface Member {
  /** Its name. */
  readonly name: string;
  /** Its declaration, conditions and choices decided; `display` says how to show it. */
  readonly codec: Codec<unknown>;
  /** What it holds. */
  readonly value: unknown;
}

/**
 * The fields of a decoded structure in disk order, each with its declaration: for JSON, tables and
 * forms. Of an array, `shape.element` is the declaration of what it holds.
 *
 * What is not part of the declaration (`tail` of a longer structure, padding that is not zeros) comes
 * last, as bytes.
 *
 * @param codec The declaration of the structure.
 * @param value The structure.
 * @param context What conditions in it may ask for.
 * @param outer The fields of the structure around.
 *
 * @example
 * ```ts
 * import { COMM, membersOf } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const members = membersOf(COMM.body, { pid: 7, tid: 8, comm: "true" });
 * assertEquals(
 *   members.map(({ name, codec, value }) => `${name} ${codec.display.as} ${value}`),
 *   ["pid dec 7", "tid dec 8", "comm text true"],
 * );
 * ```
 */
export function membersOf<T extends object>(
  codec: Codec<T>,
  value: T,
  context: StructContext = {},
  outer: Scope = NO_SCOPE,
): Member[] {
  const fields = value as Readonly<Record<string, unknown>>;
  const scope: Scope = { fields, outer };
  const members: Member[] = [];
  const declared = new Set<string>();
  for (const [name, part] of Object.entries(partsOf(codec as Codec<unknown>, context, outer))) {
    declared.add(name);
    if (fields[name] === undefined) continue;
    members.push({ name, codec: decided(part, context, scope), value: fields[name] });
  }
  for (const [name, rest] of Object.entries(fields)) {
    if (declared.has(name) || rest === undefined) continue;
    members.push({ name, codec: REST, value: rest });
  }
  return members;
}

/** How what is not declared is shown. */
const REST: Codec<unknown> = {
  type: "u8[]",
  display: { as: "bytes" },
  decode: () => undefined,
  encode() {},
};

function partsOf(
  codec: Codec<unknown>,
  context: StructContext,
  outer: Scope,
): Readonly<Record<string, Codec<unknown>>> {
  const found = decided(codec, context, outer);
  const { shape, parts = {} } = found;
  if (shape?.kind !== "gathered") return parts;
  // What was gathered is in an array of one.
  const { [shape.into]: _, ...others } = parts;
  const rest = Object.entries(others).filter(([name]) => !shape.names.includes(name));
  const element = { ...found, shape: { kind: "struct" as const } };
  return {
    ...Object.fromEntries(rest),
    [shape.into]: {
      ...REST,
      type: `${found.type}[]`,
      display: { as: "array" },
      shape: { kind: "array", element, count: 1 },
    },
  };
}

/** A declaration after its conditions: what is there, as the fields before it say. */
function decided(codec: Codec<unknown>, context: StructContext, scope: Scope): Codec<unknown> {
  const { shape } = codec;
  switch (shape?.kind) {
    case "when":
    case "optional":
      return decided(shape.of, context, scope);
    case "ofEvent": {
      const { event } = context;
      return decided(event === undefined ? shape.of : event.specialize(shape.of), context, scope);
    }
    case "either": {
      const holds = decider(shape.test)(scope, context, undefined);
      return decided(holds ? shape.yes : shape.no, context, scope);
    }
    case "choice": {
      const chosen = shape.table[String(lookUp(shape.field)(scope))] ?? shape.otherwise;
      return chosen === undefined ? codec : decided(chosen, context, scope);
    }
    default:
      return codec;
  }
}
