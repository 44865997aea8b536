import { floatAt, intAt } from "@perfdata/format/bytes";
import {
  ADDRESS_USE,
  type AddressedPlaces,
  type Engine,
  lookUpPlaces,
  type LookUpProgress,
  PlaceUses,
  ShownNames,
  shownObjects,
  type SymbolTrust,
} from "@perfdata/session";
import type { Resolution } from "@perfdata/symbols/resolver";
import type { SymbolResolver } from "@perfdata/symbols";
import { PERF_RECORD_MISC_KERNEL, PERF_RECORD_MISC_USER } from "@perfdata/format/constants";
import { IntColumn } from "../columns/columns.ts";
import { FrameTable } from "../columns/frame_table.ts";
import {
  FUNCTION_KIND,
  type Profile,
  type SampleColumns,
  type StackColumns,
} from "../columns/profile.ts";

/** The parts of a profile that {@linkcode namePlaces} returns. */
export type NamedPlaces =
  & Pick<Profile, "functions" | "frames" | "places" | "files">
  & { readonly trust: SymbolTrust };

/**
 * Looks up the places of an engine, each once, and creates functions and frames for them.
 *
 * @param samples The weights of places in the report of trust.
 */
export async function namePlaces(
  { places }: {
    readonly places: AddressedPlaces & Pick<Engine["places"], "mapped" | "cpumode">;
  },
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
  const frames = new FrameNames(count, new ShownNames(resolver.show));
  const shown = shownObjects(places.objects);
  const trust = await lookUpPlaces(places, uses, resolver, (found) => {
    const mapped = places.mapped[found.object];
    const kind = mapped?.guest !== undefined
      ? FUNCTION_KIND.OTHER
      : mapped?.kernel === true
      ? FUNCTION_KIND.KERNEL
      : places.objects[found.object]?.kind === "jit"
      ? FUNCTION_KIND.JIT
      : FUNCTION_KIND.USER;
    const trusted = found.verified ? 0 : FUNCTION_KIND.UNVERIFIED;
    for (const [i, place] of found.places.entries()) {
      frames.set(place, intAt(shown, found.object), kind | trusted, found.resolutions[i]);
    }
  }, progress);
  for (let place = 0; place < count; place++) {
    if (isMet[place] === 0 || frames.has(place)) continue;
    const mode = places.cpumode(place);
    const kind = mode === PERF_RECORD_MISC_KERNEL
      ? FUNCTION_KIND.KERNEL
      : mode === PERF_RECORD_MISC_USER
      ? FUNCTION_KIND.USER
      : FUNCTION_KIND.OTHER;
    frames.set(place, -1, kind, undefined);
  }
  const object = new Int32Array(count);
  const address = new Float64Array(count);
  for (let place = 0; place < count; place++) {
    object[place] = Math.max(-1, places.object(place));
    address[place] = places.address(place);
  }
  return { ...frames.columns({ count, object, address }), trust };
}

/** The frames of places, in the order of the look-ups. */
class FrameNames {
  readonly #table = new FrameTable();
  readonly #frames = new IntColumn();
  /** First frame of each place; -1 before its look-up. */
  readonly #start: Int32Array;
  readonly #length: Int32Array;

  readonly #names: ShownNames;

  constructor(places: number, names: ShownNames) {
    this.#names = names;
    this.#start = new Int32Array(places).fill(-1);
    this.#length = new Int32Array(places);
  }

  has(place: number): boolean {
    return this.#start[place] !== -1;
  }

  set(place: number, object: number, kind: number, found: Resolution | undefined): void {
    this.#start[place] = this.#frames.length;
    const frames = found?.frames;
    if (frames === undefined || frames.length === 0) {
      this.#length[place] = 1;
      // A frame without a name is never marked as unverified.
      this.#frames.push(this.#table.frame(object, kind & ~FUNCTION_KIND.UNVERIFIED, ""));
      return;
    }
    this.#length[place] = frames.length;
    for (const { name, inlined, file, line } of frames) {
      const of = inlined ? kind | FUNCTION_KIND.INLINED : kind;
      const shown = inlined ? name : this.#names.of(found) ?? name;
      this.#frames.push(
        shown === "??"
          ? this.#table.frame(object, of & ~FUNCTION_KIND.UNVERIFIED, "", file, line)
          : this.#table.frame(object, of, shown, file, line),
      );
    }
  }

  columns({ count, object, address }: PlaceReader): Omit<NamedPlaces, "trust"> {
    const start = new Int32Array(count + 1);
    const all = this.#frames.array();
    const frames = new Int32Array(all.length);
    for (let place = 0, at = 0; place < count; place++) {
      const from = intAt(this.#start, place);
      for (let i = 0; i < intAt(this.#length, place); i++) {
        frames[at++] = intAt(all, from + i);
      }
      start[place + 1] = at;
    }
    return { ...this.#table.columns(), places: { object, address, start, frames } };
  }
}

interface PlaceReader {
  readonly count: number;
  readonly object: Int32Array;
  readonly address: Float64Array;
}
