import { byteAt, intAt } from "@perfdata/format/bytes";
import {
  type Engine,
  type LookUpProgress,
  shortName,
  ShownNames,
  shownObjects,
  type SymbolTrust,
} from "@perfdata/session";
import type { SymbolResolver } from "@perfdata/symbols";
import { PERF_RECORD_MISC_KERNEL, PERF_RECORD_MISC_USER } from "@perfdata/format/constants";
import { FrameTable } from "../columns/frame_table.ts";
import {
  FUNCTION_KIND,
  type Profile,
  type SampleColumns,
  type SampledCode,
  type StackColumns,
} from "../columns/profile.ts";
import { type NameablePlaces, nameCode, type NamedCode, placesUsed } from "./code_names.ts";

/** Places of code in columns. */
export type ProfilePlaces = NameablePlaces & Pick<Engine["places"], "cpumode" | "hi" | "lo">;

/** The parts of a profile that describe code. */
export type CodeColumns = Pick<
  SampledCode,
  "objects" | "functions" | "frames" | "places" | "files"
>;

/** The parts of a profile that {@linkcode namePlaces} returns. */
export type NamedPlaces = CodeColumns & { readonly trust: SymbolTrust };

/** Names of no places. */
const NO_NAMES: NamedCode = {
  ...new FrameTable().columns(),
  places: { start: new Int32Array(0), frames: new Int32Array(0) },
};

/**
 * The code of places in columns, each function with its range. Call it after the look-up of names,
 * which may move places to other objects.
 */
export function codeColumns(places: ProfilePlaces, names: NamedCode = NO_NAMES): CodeColumns {
  const { count } = places;
  const object = new Int32Array(count);
  const address = new Float64Array(count);
  const mode = new Uint8Array(count);
  const exact = new Map<number, string>();
  for (let place = 0; place < count; place++) {
    object[place] = Math.max(-1, places.object(place));
    mode[place] = places.cpumode(place);
    const at = address[place] = places.address(place);
    if (!Number.isSafeInteger(at)) exact.set(place, hexOf(places.hi(place), places.lo(place)));
  }
  const { start, frames } = names.places;
  return {
    objects: objectsOf(places),
    functions: names.functions,
    frames: names.frames,
    files: names.files,
    places: {
      ...{ object, address, mode, exact, frames },
      start: start.length > count ? start : new Int32Array(count + 1),
    },
  };
}

/** The objects of places. */
export function objectsOf({ mapped, objects }: NameablePlaces): Profile["objects"] {
  return objects.map(({ path, buildId, kind, referenceAddress }, number) => ({
    name: shortName(mapped[number] ?? { name: path, kernel: false }),
    path,
    buildId,
    base: kind === "kernel" ? referenceAddress : undefined,
  }));
}

/** Digits of an address in two halves. */
function hexOf(hi: number, lo: number): string {
  const half = (word: number) => (word >>> 0).toString(16).padStart(8, "0");
  return `0x${half(hi)}${half(lo)}`;
}

/** The look-up of names for a profile. */
export interface NameLookUp {
  /** Finds symbols. */
  readonly resolver: SymbolResolver;
  /** Called while names are looked up. */
  readonly progress?: LookUpProgress | undefined;
  /**
   * Whether functions have their ranges, so that several of one name in an object are a function
   * each. Otherwise, equal names in an object are one function.
   */
  readonly ranges?: boolean | undefined;
}

/**
 * Looks up the places that samples reach, each once, and creates functions and frames for them.
 */
export async function namePlaces(
  { places }: { readonly places: ProfilePlaces },
  stacks: StackColumns,
  samples: SampleColumns,
  { resolver, progress, ranges }: NameLookUp,
): Promise<NamedPlaces> {
  const uses = placesUsed(stacks, samples);
  const { names, trust } = await nameCode(places, uses, resolver, progress);
  const table = new FrameTable();
  const shown = shownPlaces(places, names, stacks, { table, show: resolver.show, ranges });
  if (ranges !== true) return { ...shown, trust };
  return { ...shown, functions: { ...shown.functions, symbol: table.symbols }, trust };
}

/**
 * The columns of a profile for named places. A place of a stack that has no name gets a
 * frame without a name.
 *
 * @param shown `table`: the functions of earlier profiles, which keep their indices. `show`: the
 * demangler. `ranges`: whether functions of symbols are told apart by their ranges.
 */
export function shownPlaces(
  from: ProfilePlaces,
  names: NamedCode,
  stacks: StackColumns,
  shown: {
    readonly table: FrameTable;
    readonly show: (name: string) => string;
    readonly ranges?: boolean | undefined;
  },
): CodeColumns {
  const { table } = shown;
  const { objects, places: { object, address } } = codeColumns(from, names);
  const { count } = from;
  const isMet = new Uint8Array(count);
  for (const place of stacks.place) isMet[place] = 1;
  const frameOf = shownFrames(names, shownObjects(from.objects), shown);
  const start = new Int32Array(count + 1);
  const frames = new Int32Array(names.places.frames.length + count);
  let at = 0;
  for (let place = 0; place < count; place++) {
    const end = intAt(names.places.start, place + 1);
    for (let i = intAt(names.places.start, place); i < end; i++) {
      frames[at++] = intAt(frameOf, intAt(names.places.frames, i));
    }
    if (at === start[place] && isMet[place] === 1) {
      frames[at++] = table.frame(-1, unmappedKind(from.cpumode(place)), "");
    }
    start[place + 1] = at;
  }
  const places = { object, address, start, frames: frames.subarray(0, at) };
  return { ...table.columns(), objects, places };
}

/** Kind of code where nothing is mapped. */
function unmappedKind(mode: number): number {
  return mode === PERF_RECORD_MISC_KERNEL
    ? FUNCTION_KIND.KERNEL
    : mode === PERF_RECORD_MISC_USER
    ? FUNCTION_KIND.USER
    : FUNCTION_KIND.OTHER;
}

/** Adds frames with displayed names and objects to a table; returns the number of each frame. */
function shownFrames(
  { frames, functions, files }: NamedCode,
  shown: Int32Array,
  { table, show, ranges }: Parameters<typeof shownPlaces>[3],
): Int32Array {
  const names = new ShownNames(show);
  const shownOf = Int32Array.from(functions.name, (name, number) => {
    const object = intAt(shown, intAt(functions.object, number));
    const kind = byteAt(functions.kind, number);
    const symbol = functions.symbol?.[number];
    if (symbol === undefined) return table.named(object, kind, name);
    const text = names.name(name);
    if (ranges !== true) return table.named(object, kind, text);
    return table.symbol(object, kind, { name: text, start: symbol.start, end: symbol.end });
  });
  return Int32Array.from(
    frames.function,
    (number, i) =>
      table.at(intAt(shownOf, number), files[intAt(frames.file, i)], intAt(frames.line, i)),
  );
}
