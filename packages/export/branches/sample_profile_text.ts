import { ByteText } from "@perfdata/format/bytes";
import {
  discriminatorOf,
  type FunctionSamples,
  lineOffsetOf,
  type SampleProfile,
} from "./sample_profile.ts";

/**
 * A profile in the text format of `clang -fprofile-sample-use`: `function:total:head`, then a line
 * per place, `offset.discriminator: count`, with calls as `function:count`. Inlined functions are
 * indented further.
 *
 * @example
 * ```ts
 * import { autofdoText, locationOf } from "@perfdata/export";
 * import { assertEquals } from "@std/assert";
 *
 * const lines = new Map([[locationOf(2, 1), { count: 7, targets: new Map([[1, 7]]) }]]);
 * const chunks = autofdoText({
 *   names: ["main", "work"],
 *   functions: [{ name: 0, total: 35, head: 1, lines, inlined: new Map() }],
 *   isFlowSensitive: false,
 *   impossible: 0,
 *   named: 1,
 * });
 * const text = [...chunks].map((bytes) => new TextDecoder().decode(bytes)).join("");
 * assertEquals(text, "main:35:1\n 2.1: 7 work:7\n");
 * ```
 */
export function* autofdoText(
  { names, functions }: SampleProfile,
): Generator<Uint8Array<ArrayBuffer>, void, void> {
  const text = new ByteText();
  for (const samples of functions) {
    write(text, names, samples, 0);
    if (text.isFull) yield text.take();
  }
  if (text.length > 0) yield text.take();
}

function write(
  text: ByteText,
  names: readonly string[],
  { name, total, head, lines, inlined }: FunctionSamples,
  depth: number,
): void {
  text.string(`${names[name]}:${total}${depth === 0 ? `:${head}` : ""}\n`);
  for (const location of inOrder(lines)) {
    const { count, targets } = lines.get(location) as { count: number; targets: undefined };
    text.string(`${" ".repeat(depth + 1)}${locationText(location)}: ${count}`);
    for (const [called, times] of sortedTargets(targets, names)) {
      text.string(` ${names[called]}:${times}`);
    }
    text.string("\n");
  }
  for (const location of inOrder(inlined)) {
    for (const samples of sortedFunctions(inlined.get(location), names)) {
      text.string(`${" ".repeat(depth + 1)}${locationText(location)}: `);
      write(text, names, samples, depth + 1);
    }
  }
}

function locationText(location: number): string {
  const discriminator = discriminatorOf(location);
  return `${lineOffsetOf(location)}${discriminator === 0 ? "" : `.${discriminator}`}`;
}

/** Sorts places. */
export function inOrder(places: ReadonlyMap<number, unknown>): Float64Array {
  return Float64Array.from(places.keys()).sort();
}

/** The called functions, the most frequent first. */
export function sortedTargets(
  targets: ReadonlyMap<number, number> | undefined,
  names: readonly string[],
): [name: number, count: number][] {
  return [...targets ?? []].sort(([a, times], [b, others]) =>
    others - times || byName(names[a] as string, names[b] as string)
  );
}

/** The functions inlined at one place, sorted by name. */
export function sortedFunctions(
  functions: ReadonlyMap<number, FunctionSamples> | undefined,
  names: readonly string[],
): FunctionSamples[] {
  return [...functions?.values() ?? []].sort((a, b) =>
    byName(names[a.name] as string, names[b.name] as string)
  );
}

function byName(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
