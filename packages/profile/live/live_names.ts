import { type Engine, PlaceLookUps } from "@perfdata/session";
import type { SymbolResolver } from "@perfdata/symbols";
import type { SampleColumns, StackColumns } from "../columns/profile.ts";
import { FrameTable } from "../columns/frame_table.ts";
import { CodeNames, placesUsed } from "../names/code_names.ts";
import { type NamedPlaces, shownPlaces } from "../names/profile_names.ts";

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
  columns(stacks: StackColumns, samples: SampleColumns): NamedPlaces {
    const trust = this.#lookUps.trust(this.#places, placesUsed(stacks, samples));
    const shown = { table: this.#table, show: this.#show };
    return { ...shownPlaces(this.#places, this.#names.columns(), stacks, shown), trust };
  }
}
