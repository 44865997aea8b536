import { type BundleObject } from "@perfdata/symbols/bundle-object";
import {
  Demangler,
  type Resolution,
  type SymbolBundle,
  type SymbolObject,
} from "@perfdata/symbols";
import { resolution } from "@perfdata/symbols/resolution";
import { type PlaceSymbol, placeSymbol } from "./place_symbols.ts";
import type { Places } from "../places/places.ts";

/** How to show what a bundle knows. */
export interface BundledSymbolsOptions {
  /** `false`: names of C++ and Rust functions as the files have them. */
  readonly demangle?: boolean;
}

/**
 * What a bundle says of the places of a recording, while it goes by.
 *
 * @example
 * ```ts
 * import { Machine } from "@perfdata/session";
 * import { BundledSymbols, Places, RecordedObjects } from "@perfdata/session/symbols";
 * import { demangle, SymbolBundle, SymbolBundleWriter } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const machine = new Machine();
 * const places = new Places(machine, new RecordedObjects({ littleEndian: true, isGoogleDialect: false }));
 * const bundle = SymbolBundle.open(new SymbolBundleWriter({ demangle }).finish());
 * const symbols = new BundledSymbols(bundle);
 * symbols.start({ places });
 * const place = places.find(machine.thread(7, 7), 2, 0, 0x401136);
 * assertEquals(symbols.symbol(place).dso, undefined);
 * ```
 */
export class BundledSymbols {
  /** How many places were asked for. */
  addresses: number = 0;
  /** How many of them the bundle has no function for. */
  unnamed: number = 0;
  /** How many have a function that nothing verifies: no build id was recorded. */
  unverified: number = 0;
  /** Paths of objects of which the bundle has another build only. */
  readonly otherBuilds: Set<string> = new Set();
  readonly #bundle: SymbolBundle;
  readonly #show: (name: string) => string;
  #places: Places | undefined;
  readonly #symbols: (PlaceSymbol | undefined)[] = [];
  /** By number of an object: what the bundle has of it. */
  readonly #bundled: (BundleObject | undefined)[] = [];

  /** Knows the names of a bundle, and of the recording nothing yet. */
  constructor(bundle: SymbolBundle, { demangle = true }: BundledSymbolsOptions = {}) {
    this.#bundle = bundle;
    const demangler = new Demangler({ params: false });
    this.#show = demangle ? (name) => demangler.demangle(name) : (name) => name;
  }

  /** Takes the places that it is asked for, such as those of an engine. */
  start({ places }: { readonly places: Places }): void {
    this.#places = places;
  }

  /** What the bundle says of a place. */
  symbol(place: number): PlaceSymbol {
    let symbol = this.#symbols[place];
    if (symbol === undefined) {
      this.#symbols[place] = symbol = this.#find(place, 0);
      this.addresses++;
      if (symbol.name === undefined) this.unnamed++;
      else if (!symbol.verified) this.unverified++;
    }
    return symbol;
  }

  /**
   * What the bundle says of the byte before: a return address is after the call whose line it is to
   * be shown with.
   */
  caller(place: number): PlaceSymbol {
    return this.#find(place, -1);
  }

  #object(places: Places, number: number): SymbolObject | undefined {
    const { objects } = places;
    for (let i = this.#bundled.length; i <= number; i++) {
      const object = objects[i] as SymbolObject;
      this.#bundled.push(this.#bundle.object(object));
      if (this.#bundle.otherBuilds(object).length > 0) this.otherBuilds.add(object.path);
    }
    return objects[number];
  }

  #find(place: number, distance: number): PlaceSymbol {
    const places = this.#places;
    if (places === undefined) throw new Error("BundledSymbols: start was not called");
    const number = places.object(place);
    const object = number < 0 ? undefined : this.#object(places, number);
    const address = places.address(place) + distance;
    const entry = this.#bundled[number]?.find(address);
    const found: Resolution | undefined = entry === undefined || entry.cause !== undefined
      ? undefined
      : resolution(entry.symbol, entry.frames, this.#show);
    return placeSymbol(object, address, found, this.#show, object?.buildId !== undefined);
  }
}
