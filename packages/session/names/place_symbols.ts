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
import { KERNEL_HIDDEN, KERNEL_UNMAPPED, type Places } from "../places/places.ts";
import { kernelBeside } from "./kernel_beside.ts";
import { type LookUpRows, PlaceLookUps, ShownNames } from "./look_up.ts";

/** The names at an address of a recording. */
export interface PlaceSymbol {
  /** Path or name of the mapped object; `undefined` if nothing is mapped. */
  readonly dso: string | undefined;
  /** The function at the address, as `perf` names it; `undefined` if unknown. */
  readonly name: string | undefined;
  /** Whether a build id proves that the file of the name is the one that ran. */
  readonly verified: boolean;
  /** Distance from the start of the symbol, if the symbol table has one. */
  readonly offset: number | undefined;
  /** File and line of the function at the address: `main.c:12`. */
  readonly srcline: string | undefined;
  /** The functions that are inlined at the address, innermost first. */
  readonly inlined: readonly { readonly name: string; readonly srcline: string | undefined }[];
}

/**
 * Converts the result of a look-up.
 *
 * @param object The object of the address; `undefined` if nothing is mapped.
 * @param address Address in the object.
 * @param found The result; `undefined` if the address could not be looked up.
 * @param verified Whether the file of the symbols is known to be the one that ran.
 */
function placeSymbol(
  object: SymbolObject | undefined,
  address: number,
  found: Resolution | undefined,
  names: ShownNames,
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
    name: names.named(found),
    verified: verified || (symbol ?? function_) === undefined,
    offset: symbol === undefined ? undefined : address - symbol.start,
    srcline: function_?.srcline,
    inlined: frames.slice(0, -1),
  };
}

/** Symbols of a recording's places, with counts of the results. */
export abstract class PlaceSymbols {
  /** Number of places whose symbols were requested, without callers. */
  addresses: number = 0;
  /** The count of these without a function, by reason. */
  readonly unnamed: Map<string, number> = new Map();
  /** The count of these with a function from an unverified file. */
  unverified: number = 0;
  /**
   * The count of these with the name of the newest of several pieces of JIT code: see `Resolution`.
   */
  newest: number = 0;

  /** The symbol at a place. */
  abstract symbol(place: number): PlaceSymbol;

  /**
   * The symbol at the byte before a place: a return address is after its call, whose line is shown.
   */
  abstract caller(place: number): PlaceSymbol;

  /** Counts a place whose symbol is requested for the first time. */
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
 * Finds the symbols of places while records are read. Requested places are looked up together in
 * files, from time to time.
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
  #names: ShownNames | undefined;
  #lookUps: PlaceLookUps | undefined;
  /** Requested places; a caller as `-1 - place`. */
  readonly #wanted: number[] = [];
  #learned = 0;
  // Symbols by place, and by place of the byte before it.
  readonly #symbols: (PlaceSymbol | undefined)[] = [];
  readonly #callers: (PlaceSymbol | undefined)[] = [];

  /**
   * Starts without symbols.
   *
   * @param resolverFor Called once, when the first places are looked up.
   */
  constructor(resolverFor: (engine: E) => SymbolResolver | Promise<SymbolResolver>) {
    super();
    this.#resolverFor = resolverFor;
  }

  /** Sets the engine of the places. */
  start(engine: E): void {
    this.#engine = engine;
  }

  /**
   * Requests that the next {@link FilePlaceSymbols.learn} looks up a place.
   *
   * @param isCaller Whether it is a return address: the call is in the byte before.
   */
  want(place: number, isCaller: boolean): void {
    const known = isCaller ? this.#callers : this.#symbols;
    if (place < 0 || known[place] !== undefined) return;
    known[place] = NOTHING;
    this.#wanted.push(isCaller ? -1 - place : place);
  }

  /** Looks up the requested places. */
  async learn(): Promise<void> {
    const [wanted, first] = [this.#wanted, this.#learned];
    if (wanted.length === first) return;
    const { places } = this.#engine as E;
    const resolver = this.#resolver ??= await this.#resolverFor(this.#engine as E);
    const names = this.#names ??= new ShownNames(resolver.show);
    const rows = wantedRows(places, wanted);
    const set = (row: number, found: Resolution | undefined, verified: boolean) => {
      const [number, object] = [wanted[row] as number, rows.object(row)];
      const symbol = placeSymbol(places.objects[object], rows.address(row), found, names, verified);
      if (number < 0) this.#callers[-1 - number] = symbol;
      else {
        this.#symbols[number] = symbol;
        this.count(symbol, object, found);
      }
    };
    this.#lookUps ??= new PlaceLookUps(rows, resolver, (found) => {
      found.places.forEach((row, i) => set(row, found.resolutions[i], found.verified));
    });
    await this.#lookUps.next();
    for (let row = first; row < wanted.length; row++) {
      if (rows.object(row) < 0) set(row, undefined, true);
    }
    this.#learned = wanted.length;
  }

  /** The symbol at a place. */
  symbol(place: number): PlaceSymbol {
    return this.#symbols[place] ?? NOTHING;
  }

  /** The symbol at a place of a call chain. */
  caller(place: number): PlaceSymbol {
    return this.#callers[place] ?? NOTHING;
  }

  /** Errors in symbol files: path and message. */
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

function wantedRows(places: Places, wanted: readonly number[]): LookUpRows {
  const placeOf = (row: number): number => {
    const number = wanted[row] as number;
    return number < 0 ? -1 - number : number;
  };
  const distanceOf = (row: number): number => (wanted[row] as number) < 0 ? 1 : 0;
  return {
    get count() {
      return wanted.length;
    },
    objects: places.objects,
    object: (row) => places.object(placeOf(row)),
    address: (row) => places.address(placeOf(row)) - distanceOf(row),
    move: (row, object, address) => places.move(placeOf(row), object, address + distanceOf(row)),
  };
}

/** Options of {@linkcode BundlePlaceSymbols}. */
export interface BundleNames {
  /** `false`: show mangled names of C++ and Rust functions. */
  readonly demangle?: boolean;
}

/**
 * Finds the symbols of places in a bundle, which is in memory, so that names are available at once.
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
  /** Paths of objects for which the bundle has another build only. */
  readonly otherBuilds: Set<string> = new Set();
  readonly #bundle: SymbolBundle;
  readonly #names: ShownNames;
  #places: Places | undefined;
  readonly #symbols: (PlaceSymbol | undefined)[] = [];
  /** The bundle's object by index of an object. */
  readonly #bundled: (BundleObject | undefined)[] = [];

  /** Starts with the names of a bundle, and without places. */
  constructor(bundle: SymbolBundle, { demangle = true }: BundleNames = {}) {
    super();
    this.#bundle = bundle;
    const demangler = new Demangler({ params: false });
    this.#names = new ShownNames((name) => demangle ? demangler.demangle(name) : name);
  }

  /** Sets the places, such as those of an engine. */
  start({ places }: { readonly places: Places }): void {
    this.#places = places;
  }

  /** The symbol at a place. */
  symbol(place: number): PlaceSymbol {
    let symbol = this.#symbols[place];
    if (symbol === undefined) {
      this.#symbols[place] = symbol = this.#find(place, 0);
      this.count(symbol, this.#places?.object(place) ?? -1);
    }
    return symbol;
  }

  /** The symbol at a place of a call chain. */
  caller(place: number): PlaceSymbol {
    return this.#find(place, -1);
  }

  #find(place: number, distance: number): PlaceSymbol {
    const places = this.#places;
    if (places === undefined) throw new Error("BundlePlaceSymbols: start was not called");
    const { objects } = places;
    let number = places.object(place);
    const kernel = number === KERNEL_UNMAPPED ? kernelBeside(objects) : -1;
    for (let i = this.#bundled.length; i <= Math.max(number, kernel); i++) {
      const object = objects[i] as SymbolObject;
      this.#bundled.push(this.#bundle.object(object));
      if (this.#bundle.otherBuilds(object).length > 0) this.otherBuilds.add(object.path);
    }
    const find = (of: number, address: number): Resolution | undefined =>
      bundledResolution(
        this.#bundled[of],
        address + distance,
        true,
        (name) => this.#names.name(name),
      );
    if (kernel >= 0) {
      const address = places.address(place) - (objects[kernel]?.referenceAddress ?? 0);
      if (find(kernel, address)?.symbol !== undefined) {
        places.move(place, kernel, address);
        number = kernel;
      }
    }
    const object = objects[number];
    const address = places.address(place) + distance;
    const found = find(number, places.address(place));
    const isVerified = object?.buildId !== undefined ||
      (object !== undefined && !canHaveBuildId(object));
    return placeSymbol(object, address, found, this.#names, isVerified);
  }
}

const NOTHING: PlaceSymbol = placeSymbol(
  undefined,
  0,
  undefined,
  new ShownNames((name) => name),
  true,
);
