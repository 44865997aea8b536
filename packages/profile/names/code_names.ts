import { byteAt, enlarge, floatAt, intAt, uintAt } from "@perfdata/format/bytes";
import {
  ADDRESS_USE,
  type AddressedPlaces,
  type Engine,
  type FoundPlaces,
  lookUpPlaces,
  type LookUpProgress,
  PlaceUses,
  type SymbolTrust,
} from "@perfdata/session";
import type { Resolution } from "@perfdata/symbols/resolver";
import type { SymbolResolver } from "@perfdata/symbols";
import { IntColumn } from "../columns/columns.ts";
import { FrameTable } from "../columns/frame_table.ts";
import {
  FUNCTION_KIND,
  type Profile,
  type SampleColumns,
  type SampledCode,
  type StackColumns,
} from "../columns/profile.ts";

/**
 * Names of the places of a recording, or of a {@linkcode Profile}. A function is a range in an
 * object, or a name from debug information that has no symbol. Names of symbols are mangled in a
 * recording, and displayed ones in a profile.
 */
export type NamedCode = Pick<SampledCode, "functions" | "frames" | "files"> & {
  /** The frames of places, innermost first; places that were not looked up have none. */
  readonly places: Pick<Profile["places"], "start" | "frames">;
};

/** The names of a recording's places. */
export interface LookedUpCode {
  /** The names. */
  readonly names: NamedCode;
  /** Trust in them. */
  readonly trust: SymbolTrust;
}

/** Places to name. */
export type NameablePlaces = AddressedPlaces & Pick<Engine["places"], "mapped">;

/**
 * Looks up places, each once. Tables of functions, trees and exports have their names from here.
 *
 * @param uses The places, with their weights in the report of trust.
 * @param resolver Without debug information, each place has at most one frame, without a line.
 */
export async function nameCode(
  places: NameablePlaces,
  uses: PlaceUses,
  resolver: SymbolResolver,
  progress?: LookUpProgress,
): Promise<LookedUpCode> {
  const names = new CodeNames(places);
  const trust = await lookUpPlaces(places, uses, resolver, (found) => names.add(found), progress);
  return { names: names.columns(), trust };
}

/** The places that samples reach, with their weights in the report of trust. */
export function placesUsed(
  { parent, place }: StackColumns,
  { length, stack, count, period, from, data }: SampleColumns,
): PlaceUses {
  const uses = new PlaceUses();
  const seen = new Uint8Array(parent.length);
  const other = from ?? data;
  const use = from === undefined ? ADDRESS_USE.IP : ADDRESS_USE.BRANCH;
  for (let row = 0; row < length; row++) {
    const [samples, weight] = [count[row] as number, floatAt(period, row)];
    if (other !== undefined && intAt(other, row) >= 0) {
      uses.use(intAt(other, row), use, samples, weight);
    }
    let node = intAt(stack, row);
    if (node < 0) continue;
    uses.use(intAt(place, node), use, samples, weight);
    while (node >= 0 && seen[node] === 0) {
      seen[node] = 1;
      node = intAt(parent, node);
      if (node >= 0) uses.use(intAt(place, node), ADDRESS_USE.CALLCHAIN, 0, 0);
    }
  }
  return uses;
}

/** The function at a place, not one that is inlined there; -1 if it has no name. */
export function functionAt({ places, frames, functions }: NamedCode, place: number): number {
  if (place < 0 || place + 1 >= places.start.length) return -1;
  const end = intAt(places.start, place + 1);
  if (end === intAt(places.start, place)) return -1;
  const number = intAt(frames.function, intAt(places.frames, end - 1));
  return functions.name[number] === "" ? -1 : number;
}

/** Whether a function's name is from a file that may be another one than the recorded one. */
export function isUnverified({ functions }: NamedCode, number: number): boolean {
  return (byteAt(functions.kind, number) & FUNCTION_KIND.UNVERIFIED) !== 0;
}

/** Collects the names of places, object by object. */
export class CodeNames {
  /** Functions and frames. Names of symbols are mangled. */
  readonly table: FrameTable = new FrameTable();
  readonly #places: NameablePlaces;
  readonly #frames = new IntColumn();
  /** First frame of each place in `#frames`. Places of one result share their frames. */
  #start = new Int32Array(1 << 10);
  #count = new Int32Array(1 << 10);

  /** Starts without names; places may be added later. */
  constructor(places: NameablePlaces) {
    this.#places = places;
  }

  /** Adds the names of an object's places. */
  add({ object, places, resolutions, verified }: FoundPlaces): void {
    const kind = this.#kindOf(object) | (verified ? 0 : FUNCTION_KIND.UNVERIFIED);
    const { count } = this.#places;
    if (count > this.#start.length) {
      this.#start = enlarge(this.#start, count);
      this.#count = enlarge(this.#count, count);
    }
    let last: Resolution | undefined;
    let start = 0;
    for (let i = 0; i < places.length; i++) {
      const found = resolutions[i];
      if (found !== last || i === 0) {
        start = this.#frames.length;
        this.#addFrames(object, kind, found);
        last = found;
      }
      const place = uintAt(places, i);
      this.#start[place] = start;
      this.#count[place] = this.#frames.length - start;
    }
  }

  #kindOf(object: number): number {
    const mapped = this.#places.mapped[object];
    if (mapped?.guest !== undefined) return FUNCTION_KIND.OTHER;
    if (mapped?.kernel === true) return FUNCTION_KIND.KERNEL;
    const { kind } = this.#places.objects[object] ?? {};
    if (kind === "state") return FUNCTION_KIND.OTHER;
    return kind === "jit" ? FUNCTION_KIND.JIT : FUNCTION_KIND.USER;
  }

  /** Names the outermost function by its symbol, even if debug information has another name. */
  #addFrames(object: number, kind: number, found: Resolution | undefined): void {
    const { table } = this;
    const frames = found?.frames ?? [];
    // Code without a name is never marked as unverified.
    const unnamed = kind & ~FUNCTION_KIND.UNVERIFIED;
    if (frames.length === 0) this.#frames.push(table.frame(object, unnamed, ""));
    for (const frame of frames) {
      const { inlined, file, line } = frame;
      let number: number;
      if (!inlined && found?.symbol !== undefined) {
        number = table.symbol(object, kind, found.symbol);
      } else {
        const bit = inlined ? FUNCTION_KIND.INLINED : 0;
        number = frame.name === "??"
          ? table.named(object, unnamed | bit, "")
          : table.named(object, kind | bit, frame.name);
      }
      this.#frames.push(table.at(number, file, line));
    }
  }

  /** Number of frames of a place; 0 if it was not looked up. */
  frameCount(place: number): number {
    return place < 0 ? 0 : this.#count[place] ?? 0;
  }

  /** The frame at a level of a place; 0 is the innermost one. */
  frame(place: number, number: number): number {
    return this.#frames.at(intAt(this.#start, place) + number);
  }

  /** The names so far. */
  columns(): NamedCode {
    const { count } = this.#places;
    const start = new Int32Array(count + 1);
    for (let place = 0; place < count; place++) {
      start[place + 1] = intAt(start, place) + (this.#count[place] ?? 0);
    }
    const all = this.#frames.array();
    const frames = new Int32Array(intAt(start, count));
    for (let place = 0, at = 0; place < count; place++) {
      const first = this.#start[place] ?? 0;
      for (let i = 0; i < (this.#count[place] ?? 0); i++) frames[at++] = intAt(all, first + i);
    }
    const { functions, ...rest } = this.table.columns();
    return {
      ...rest,
      functions: { ...functions, symbol: this.table.symbols },
      places: { start, frames },
    };
  }
}
