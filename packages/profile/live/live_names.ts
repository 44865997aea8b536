import { floatAt, intAt } from "@perfdata/format/bytes";
import {
  ADDRESS_USE,
  type Engine,
  PlaceLookUps,
  PlaceUses,
  type SymbolTrust,
} from "@perfdata/session";
import type { SymbolResolver } from "@perfdata/symbols";
import type { StackColumns } from "../columns/profile.ts";
import { FrameTable } from "../columns/frame_table.ts";
import { CodeNames } from "../names/code_names.ts";
import { type NamedPlaces, shownPlaces } from "../names/profile_names.ts";
import type { LiveColumns } from "./live_rows.ts";

/** Names of the places of a growing recording. Each place is looked up once. */
export class LiveNames {
  readonly #places: Engine["places"];
  /** The functions of all profiles so far. */
  readonly #table = new FrameTable();
  readonly #show: (name: string) => string;
  #names: CodeNames;
  #lookUps: PlaceLookUps;

  /** Starts without names. */
  constructor(places: Engine["places"], resolver: SymbolResolver) {
    this.#places = places;
    this.#show = resolver.show;
    this.#names = new CodeNames(places);
    this.#lookUps = this.#begin(resolver);
  }

  #begin(resolver: SymbolResolver): PlaceLookUps {
    const names = this.#names = new CodeNames(this.#places);
    return new PlaceLookUps(this.#places, resolver, (found) => names.add(found));
  }

  async next(): Promise<void> {
    await this.#lookUps.next();
  }

  async again(resolver: SymbolResolver): Promise<void> {
    this.#lookUps.close();
    this.#lookUps = this.#begin(resolver);
    await this.#lookUps.next();
  }

  /**
   * Whether another resolver may find more names: it has symbols of an object that had no symbols,
   * or there is code of a JIT compiler, whose map grows.
   */
  async canNameMore(resolver: SymbolResolver): Promise<boolean> {
    for (const [number, outcome] of this.#lookUps.objects.entries()) {
      const object = this.#places.objects[number];
      if (object === undefined || outcome === undefined) continue;
      if (outcome.origin !== undefined && object.kind !== "jit") continue;
      const symbols = await resolver.open(object);
      try {
        if (symbols.origin !== undefined) return true;
      } finally {
        symbols.close();
      }
    }
    return false;
  }

  /** The frames of places so far, and the trust in them. */
  columns(stacks: StackColumns, samples: LiveColumns): NamedPlaces {
    const uses = new PlaceUses();
    const isMet = new Uint8Array(this.#places.count);
    for (const place of stacks.place) {
      if (isMet[place] === 1) continue;
      isMet[place] = 1;
      uses.use(place, ADDRESS_USE.CALLCHAIN, 0, 0);
    }
    for (let row = 0; row < samples.stack.length; row++) {
      const stack = intAt(samples.stack, row);
      if (stack < 0) continue;
      const place = intAt(stacks.place, stack);
      uses.use(place, ADDRESS_USE.IP, floatAt(samples.count, row), floatAt(samples.period, row));
    }
    const trust: SymbolTrust = this.#lookUps.trust(this.#places, uses);
    const shown = { table: this.#table, show: this.#show };
    return { ...shownPlaces(this.#places, this.#names.columns(), isMet, shown), trust };
  }
}
