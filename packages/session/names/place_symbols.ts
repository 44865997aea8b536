import {
  type BundleObject,
  Demangler,
  type SymbolBundle,
  type SymbolResolver,
} from "@perfdata/symbols";
import {
  bundledResolution,
  canHaveBuildId,
  type Resolution,
  type SymbolObject,
} from "@perfdata/symbols/resolver";
import { KERNEL_HIDDEN, type Places } from "../places/places.ts";
import { type LookUpRows, PlaceLookUps } from "./look_up.ts";

/** The names at an address of a recording. */
export interface PlaceSymbol {
  /** Path or name of the object that is mapped there; `undefined` if nothing is. */
  readonly dso: string | undefined;
  /** The function that is there, as `perf` names it; `undefined` if none is known. */
  readonly name: string | undefined;
  /** Whether a build id says that the file that names it is the one that ran. */
  readonly verified: boolean;
  /** Distance from the start of the symbol, where the symbol table has one. */
  readonly offset: number | undefined;
  /** File and line of that function at the address: `main.c:12`. */
  readonly srcline: string | undefined;
  /** The functions that are inlined there, innermost first. */
  readonly inlined: readonly { readonly name: string; readonly srcline: string | undefined }[];
}

/**
 * Shapes what became of an address.
 *
 * @param object Where it is; `undefined` if nothing is mapped.
 * @param address As the object counts.
 * @param found What was looked up; `undefined` if that was not possible.
 * @param show Makes the name of a symbol readable.
 * @param verified Whether the file that names it is known to be the one that ran.
 */
function placeSymbol(
  object: SymbolObject | undefined,
  address: number,
  found: Resolution | undefined,
  show: (name: string) => string,
  verified: boolean,
): PlaceSymbol {
  const frames = found?.frames.map(({ name, file, line }) => ({
    name,
    srcline: file === undefined || line <= 0 ? undefined : `${file}:${line}`,
  })) ?? [];
  const function_ = frames.at(-1);
  const symbol = found?.symbol;
  return {
    dso: object?.path,
    // Not always that of the debug information: `f.cold` is part of `f` there.
    name: symbol === undefined ? function_?.name : show(symbol.name),
    verified: verified || (symbol ?? function_) === undefined,
    offset: symbol === undefined ? undefined : address - symbol.start,
    srcline: function_?.srcline,
    inlined: frames.slice(0, -1),
  };
}

/** What was asked of the places of a recording, and what became of it. */
export abstract class PlaceSymbols {
  /** How many places were asked for, apart from callers. */
  addresses: number = 0;
  /** How many of them have no function, by the reason. */
  readonly unnamed: Map<string, number> = new Map();
  /** How many have a function that nothing verifies. */
  unverified: number = 0;
  /** How many have the name of the newest of several pieces of JIT code: see `Resolution`. */
  newest: number = 0;

  /** What is known of a place. */
  abstract symbol(place: number): PlaceSymbol;

  /**
   * What is known of the byte before: a return address is after the call whose line it is to be shown
   * with.
   */
  abstract caller(place: number): PlaceSymbol;

  /** Counts a place that is asked for the first time. */
  protected count({ name, verified }: PlaceSymbol, object: number, found?: Resolution): void {
    this.addresses++;
    if (!verified) this.unverified++;
    if (found?.isNewest === true) this.newest++;
    if (name !== undefined) return;
    const otherwise = object === KERNEL_HIDDEN ? "kallsyms restricted" : "unmapped";
    const cause = found?.cause ?? (object < 0 ? otherwise : "no symbols");
    this.unnamed.set(cause, (this.unnamed.get(cause) ?? 0) + 1);
  }
}

/**
 * Names places of a recording while it goes by, from files: those that are wanted are looked up together,
 * from time to time.
 *
 * @example
 * ```ts
 * import { Machine, Places, RecordedObjects } from "@perfdata/session";
 * import { FilePlaceSymbols } from "@perfdata/session/symbols";
 * import { SymbolResolver } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const machine = new Machine();
 * const places = new Places(machine, new RecordedObjects({ littleEndian: true, isGoogleDialect: false }));
 * const place = places.find(machine.thread(7, 7), 2, 0, 0x401136);
 * const resolver = new SymbolResolver({ open: () => undefined, read: () => undefined });
 * using symbols = new FilePlaceSymbols(() => resolver);
 * symbols.start({ places });
 * symbols.want(place, false);
 * await symbols.learn();
 * assertEquals(symbols.symbol(place).dso, undefined);
 * ```
 */
export class FilePlaceSymbols<E extends { readonly places: Places } = { readonly places: Places }>
  extends PlaceSymbols {
  readonly #resolverFor: (engine: E) => SymbolResolver | Promise<SymbolResolver>;
  #engine: E | undefined;
  #resolver: SymbolResolver | undefined;
  #lookUps: PlaceLookUps | undefined;
  /** Places that are wanted; those of callers as `-1 - place`. */
  readonly #wanted: number[] = [];
  #learned = 0;
  // By place: of the place itself, and of the byte before.
  readonly #symbols: (PlaceSymbol | undefined)[] = [];
  readonly #callers: (PlaceSymbol | undefined)[] = [];

  /**
   * Knows nothing yet.
   *
   * @param resolverFor Asked once, when the first places are looked up.
   */
  constructor(resolverFor: (engine: E) => SymbolResolver | Promise<SymbolResolver>) {
    super();
    this.#resolverFor = resolverFor;
  }

  /** Takes the engine whose places it is asked for. */
  start(engine: E): void {
    this.#engine = engine;
  }

  /**
   * Has a place looked up by the next {@link FilePlaceSymbols.learn}.
   *
   * @param isCaller Whether it is a return address: the call is in the byte before.
   */
  want(place: number, isCaller: boolean): void {
    const known = isCaller ? this.#callers : this.#symbols;
    if (place < 0 || known[place] !== undefined) return;
    known[place] = NOTHING;
    this.#wanted.push(isCaller ? -1 - place : place);
  }

  /** Looks up what is wanted. */
  async learn(): Promise<void> {
    const [wanted, first] = [this.#wanted, this.#learned];
    if (wanted.length === first) return;
    const { places } = this.#engine as E;
    const { show } = this.#resolver ??= await this.#resolverFor(this.#engine as E);
    const rows = wantedRows(places, wanted);
    const set = (row: number, found: Resolution | undefined, verified: boolean) => {
      const [number, object] = [wanted[row] as number, rows.object(row)];
      const symbol = placeSymbol(places.objects[object], rows.address(row), found, show, verified);
      if (number < 0) this.#callers[-1 - number] = symbol;
      else {
        this.#symbols[number] = symbol;
        this.count(symbol, object, found);
      }
    };
    for (let row = first; row < wanted.length; row++) {
      if (rows.object(row) < 0) set(row, undefined, true);
    }
    this.#lookUps ??= new PlaceLookUps(rows, this.#resolver, (found) => {
      found.places.forEach((row, i) => set(row, found.resolutions[i], found.verified));
    });
    await this.#lookUps.next();
    this.#learned = wanted.length;
  }

  /** What is known of a place. */
  symbol(place: number): PlaceSymbol {
    return this.#symbols[place] ?? NOTHING;
  }

  /** What is known of a place in a call chain. */
  caller(place: number): PlaceSymbol {
    return this.#callers[place] ?? NOTHING;
  }

  /** What is wrong with the files that name places: path, and what it is. */
  *faults(): Generator<readonly [path: string, fault: string]> {
    for (const [number, outcome] of this.#lookUps?.objects.entries() ?? []) {
      const path = this.#engine?.places.objects[number]?.path ?? "";
      for (const fault of outcome?.faults ?? []) yield [path, fault];
    }
  }

  /** Closes the files. */
  [Symbol.dispose](): void {
    this.#lookUps?.close();
  }
}

/** Places that are wanted, as rows to be looked up. */
function wantedRows(places: Places, wanted: readonly number[]): LookUpRows {
  const placeOf = (row: number): number => {
    const number = wanted[row] as number;
    return number < 0 ? -1 - number : number;
  };
  return {
    get count() {
      return wanted.length;
    },
    objects: places.objects,
    object: (row) => places.object(placeOf(row)),
    address: (row) => places.address(placeOf(row)) - ((wanted[row] as number) < 0 ? 1 : 0),
  };
}

/** How to show what a bundle knows. */
export interface BundleNames {
  /** `false`: names of C++ and Rust functions as the files have them. */
  readonly demangle?: boolean;
}

/**
 * The same from a bundle alone, which is in memory: a name is there when it is asked for.
 *
 * @example
 * ```ts
 * import { Machine, Places, RecordedObjects } from "@perfdata/session";
 * import { BundlePlaceSymbols } from "@perfdata/session/symbols";
 * import { demangle, SymbolBundle } from "@perfdata/symbols";
 * import { SymbolBundleWriter } from "@perfdata/symbols/dwarf";
 * import { assertEquals } from "@std/assert";
 *
 * const machine = new Machine();
 * const places = new Places(machine, new RecordedObjects({ littleEndian: true, isGoogleDialect: false }));
 * const bundle = SymbolBundle.open(new SymbolBundleWriter({ demangle }).finish());
 * const symbols = new BundlePlaceSymbols(bundle);
 * symbols.start({ places });
 * const place = places.find(machine.thread(7, 7), 2, 0, 0x401136);
 * assertEquals(symbols.symbol(place).dso, undefined);
 * ```
 */
export class BundlePlaceSymbols extends PlaceSymbols {
  /** Paths of objects of which the bundle has another build only. */
  readonly otherBuilds: Set<string> = new Set();
  readonly #bundle: SymbolBundle;
  readonly #show: (name: string) => string;
  #places: Places | undefined;
  readonly #symbols: (PlaceSymbol | undefined)[] = [];
  /** By number of an object: what the bundle has of it. */
  readonly #bundled: (BundleObject | undefined)[] = [];

  /** Knows the names of a bundle, and of the recording nothing yet. */
  constructor(bundle: SymbolBundle, { demangle = true }: BundleNames = {}) {
    super();
    this.#bundle = bundle;
    const demangler = new Demangler({ params: false });
    this.#show = demangle ? (name) => demangler.demangle(name) : (name) => name;
  }

  /** Takes the places that it is asked for, such as those of an engine. */
  start({ places }: { readonly places: Places }): void {
    this.#places = places;
  }

  /** What is known of a place. */
  symbol(place: number): PlaceSymbol {
    let symbol = this.#symbols[place];
    if (symbol === undefined) {
      this.#symbols[place] = symbol = this.#find(place, 0);
      this.count(symbol, this.#places?.object(place) ?? -1);
    }
    return symbol;
  }

  /** What is known of a place in a call chain. */
  caller(place: number): PlaceSymbol {
    return this.#find(place, -1);
  }

  #find(place: number, distance: number): PlaceSymbol {
    const places = this.#places;
    if (places === undefined) throw new Error("BundlePlaceSymbols: start was not called");
    const number = places.object(place);
    for (let i = this.#bundled.length; i <= number; i++) {
      const object = places.objects[i] as SymbolObject;
      this.#bundled.push(this.#bundle.object(object));
      if (this.#bundle.otherBuilds(object).length > 0) this.otherBuilds.add(object.path);
    }
    const object = places.objects[number];
    const address = places.address(place) + distance;
    const found = bundledResolution(this.#bundled[number], address, true, this.#show);
    const isVerified = object?.buildId !== undefined ||
      (object !== undefined && !canHaveBuildId(object));
    return placeSymbol(object, address, found, this.#show, isVerified);
  }
}

const NOTHING: PlaceSymbol = placeSymbol(undefined, 0, undefined, (name) => name, true);
