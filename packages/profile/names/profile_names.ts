import { byteAt, floatAt, intAt } from "@perfdata/format/bytes";
import {
  ADDRESS_USE,
  type Engine,
  type LookUpProgress,
  PlaceUses,
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
  type StackColumns,
} from "../columns/profile.ts";
import { type NameablePlaces, nameCode, type NamedCode } from "./code_names.ts";

/** The parts of a profile that {@linkcode namePlaces} returns. */
export type NamedPlaces =
  & Pick<Profile, "functions" | "frames" | "places" | "files">
  & { readonly trust: SymbolTrust };

/**
 * Looks up the places of an engine, each once, and creates functions and frames for them. Equal
 * names in an object are one function.
 *
 * @param samples The weights of places in the report of trust.
 */
export async function namePlaces(
  { places }: { readonly places: NameablePlaces & Pick<Engine["places"], "cpumode"> },
  stacks: StackColumns,
  samples: SampleColumns,
  resolver: SymbolResolver,
  progress?: LookUpProgress,
): Promise<NamedPlaces> {
  const { count } = places;
  const uses = new PlaceUses();
  const isMet = new Uint8Array(count);
  for (const place of stacks.place) isMet[place] = 1;
  for (let place = 0; place < count; place++) {
    if (isMet[place] === 1) uses.use(place, ADDRESS_USE.CALLCHAIN, 0, 0);
  }
  for (let i = 0; i < samples.length; i++) {
    const stack = intAt(samples.stack, i);
    if (stack < 0) continue;
    const place = intAt(stacks.place, stack);
    uses.use(place, ADDRESS_USE.IP, samples.count[i] as number, floatAt(samples.period, i));
  }
  const { names, trust } = await nameCode(places, uses, resolver, progress);
  const shown = shownPlaces(places, names, isMet, { table: new FrameTable(), show: resolver.show });
  return { ...shown, trust };
}

/**
 * The columns of a profile for named places. A place of a stack that has no name gets a
 * frame without a name.
 *
 * @param shown `table`: the functions of earlier profiles, which keep their indices. `show`: the
 * demangler.
 */
export function shownPlaces(
  places: NameablePlaces & Pick<Engine["places"], "cpumode">,
  names: NamedCode,
  isMet: Uint8Array,
  shown: { readonly table: FrameTable; readonly show: (name: string) => string },
): Omit<NamedPlaces, "trust"> {
  const { table } = shown;
  const { count } = places;
  const frameOf = shownFrames(names, shownObjects(places.objects), shown);
  const object = new Int32Array(count);
  const address = new Float64Array(count);
  const start = new Int32Array(count + 1);
  const frames = new Int32Array(names.places.frames.length + count);
  let at = 0;
  for (let place = 0; place < count; place++) {
    object[place] = Math.max(-1, places.object(place));
    address[place] = places.address(place);
    const end = intAt(names.places.start, place + 1);
    for (let i = intAt(names.places.start, place); i < end; i++) {
      frames[at++] = intAt(frameOf, intAt(names.places.frames, i));
    }
    if (at === start[place] && isMet[place] === 1) {
      frames[at++] = table.frame(-1, unmappedKind(places.cpumode(place)), "");
    }
    start[place + 1] = at;
  }
  const named = { object, address, start, frames: frames.subarray(0, at) };
  return { ...table.columns(), places: named };
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
  { table, show }: Parameters<typeof shownPlaces>[3],
): Int32Array {
  const byName = new Map<string, string>();
  const shownOf = Int32Array.from(functions.name, (name, number) => {
    let text = name;
    if (functions.symbol?.[number] !== undefined) {
      text = byName.get(name) ?? show(name);
      byName.set(name, text);
    }
    return table.named(
      intAt(shown, intAt(functions.object, number)),
      byteAt(functions.kind, number),
      text,
    );
  });
  return Int32Array.from(
    frames.function,
    (number, i) =>
      table.at(intAt(shownOf, number), files[intAt(frames.file, i)], intAt(frames.line, i)),
  );
}
