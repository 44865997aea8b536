/** Finds functions by name, address, or file and line. */
import { intAt } from "@perfdata/format/bytes";
import { functionName, type Profile } from "@perfdata/profile";
import type { AddressedPlaces } from "@perfdata/session";
import type { SymbolResolver } from "@perfdata/symbols";
import type { FunctionTest } from "./annotate.ts";
import { shownFrom } from "./function_code.ts";

/** The function that the user asked for: by name, address or source line. */
export type Wanted =
  | { readonly by: "name"; readonly test: (name: string) => boolean }
  | { readonly by: "address"; readonly address: bigint }
  | { readonly by: "line"; readonly file: string; readonly line: number };

/**
 * Parses `main`, `/^parse_/i`, `0x401136` or `parse.c:120`.
 *
 * @throws {RangeError} If a regular expression is invalid.
 */
export function parseWanted(text: string): Wanted {
  const expression = /^\/(.+)\/(i?)$/.exec(text);
  if (expression !== null) {
    try {
      // deno-lint-ignore perfdata-expressions/backtracking -- the user's own
      const pattern = new RegExp(expression[1] ?? "", expression[2]);
      return { by: "name", test: (name) => pattern.test(name) };
    } catch (error) {
      throw new RangeError(`${text}: ${error instanceof Error ? error.message : error}`);
    }
  }
  if (/^0x[0-9a-f]{1,16}$/i.test(text)) return { by: "address", address: BigInt(text) };
  const [, file, line] = /^(.*[^:]):(\d+)$/.exec(text) ?? [];
  if (file !== undefined) return { by: "line", file, line: Number(line) };
  return { by: "name", test: (name) => name === text };
}

/** The recording behind a profile, with the objects and symbols of its addresses. */
export interface ProfileSource {
  /** The sampled objects. */
  readonly engine: { readonly places: AddressedPlaces };
  /** The symbol resolver. */
  readonly resolver: SymbolResolver;
}

/** Tests for the wanted functions. */
export interface FoundFunctions {
  /** Selects functions to show as source lines. */
  readonly lines: FunctionTest;
  /**
   * Selects functions to show as code. If the wanted function is inlined, it is the one around it.
   */
  readonly code: FunctionTest;
}

/**
 * Finds the wanted functions.
 *
 * @throws {RangeError} If there is no sample at the address or line. The message has near lines or
 * the function there.
 */
export async function findFunctions(
  profile: Profile,
  source: ProfileSource | undefined,
  wanted: Wanted,
): Promise<FoundFunctions> {
  switch (wanted.by) {
    case "name":
      return { lines: wanted.test, code: wanted.test };
    case "address": {
      const found = await atAddress(profile, source, wanted.address);
      return { lines: found, code: found };
    }
    case "line":
      return atLine(profile, wanted.file, wanted.line);
  }
}

/** Functions with samples at a line, and the functions into which they are inlined. */
function atLine(
  { files, frames, functions, places }: Profile,
  wanted: string,
  line: number,
): FoundFunctions {
  const isFile = files.map((file) => file === wanted || file.endsWith(`/${wanted}`));
  const lines = new Set<number>();
  const code = new Set<number>();
  const others = new Set<number>();
  for (let place = 0; place < places.object.length; place++) {
    const [from, to] = [intAt(places.start, place), intAt(places.start, place + 1)];
    for (let i = from; i < to; i++) {
      const frame = intAt(places.frames, i);
      if (isFile[intAt(frames.file, frame)] !== true) continue;
      if (frames.line[frame] !== line) others.add(intAt(frames.line, frame));
      else {
        lines.add(intAt(frames.function, frame));
        code.add(intAt(frames.function, intAt(places.frames, to - 1)));
      }
    }
  }
  if (lines.size === 0) {
    const near = [...others].filter((other) => other > 0)
      .sort((a, b) => Math.abs(a - line) - Math.abs(b - line)).slice(0, 5).sort((a, b) => a - b);
    throw new RangeError(
      near.length === 0
        ? `no samples in a file ${wanted}`
        : `no samples at ${wanted}:${line}; there are at lines ${near.join(", ")}`,
    );
  }
  // In other places the same function may not be inlined, so match it by name.
  const names = new Set([...lines].map((number) => functions.name[number]));
  return { lines: (name) => names.has(name), code: (_, number) => code.has(number) };
}

/** Functions at an address as annotate shows it: in a file, the link-time address. */
async function atAddress(
  profile: Profile,
  source: ProfileSource | undefined,
  address: bigint,
): Promise<FunctionTest> {
  const text = `0x${address.toString(16)}`;
  if (source === undefined) throw new RangeError(`${text}: addresses need samples`);
  const { engine, resolver } = source;
  const signed = Number(BigInt.asIntN(64, address));
  const found = new Map<number, string>();
  for (const [number, object] of engine.places.objects.entries()) {
    if (!profile.functions.object.includes(number)) continue;
    const symbols = await resolver.open(object);
    try {
      // The difference between file and shown addresses depends only on the segment.
      const bases = new Set([
        shownFrom(object, symbols, 0),
        ...symbols.segments.map(({ offset }) => shownFrom(object, symbols, offset)),
      ]);
      for (const base of bases) {
        const at = signed - base;
        if (at < 0 && object.kind === "elf") continue;
        const [resolution] = await symbols.find(Float64Array.of(at), Float64Array.of(Infinity));
        const { symbol, frames = [] } = resolution ?? {};
        if (symbol === undefined || shownFrom(object, symbols, at) !== base) continue;
        found.set(number, frames.at(-1)?.name ?? symbol.name);
      }
    } finally {
      symbols.close();
    }
  }
  const { functions } = profile;
  const test: FunctionTest = (name, number) =>
    name !== "" && found.get(intAt(functions.object, number)) === name;
  if (functions.name.some(test)) return test;
  const names = [...new Set(found.values())];
  throw new RangeError(
    names.length === 0
      ? `no function of the recording is at ${text}`
      : `no samples in ${names.slice(0, 3).join(", ")}, at ${text}`,
  );
}

/** The message that a function does not exist, with similar names. */
export function noSuchFunction(profile: Profile, wanted: string): string {
  const part = wanted.replaceAll("/", "").toLowerCase();
  const near = profile.functions.name.map((_, number) => functionName(profile, number))
    .filter((name) => name.toLowerCase().includes(part));
  const some = [...new Set(near)].slice(0, 3).join(", ");
  return `no samples in a function ${wanted}${some === "" ? "" : `; there are ${some}`}`;
}
