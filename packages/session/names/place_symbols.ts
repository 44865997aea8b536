import type { ObjectSymbols } from "@perfdata/symbols/object-symbols";
import type { Resolution, SymbolObject, SymbolResolver } from "@perfdata/symbols";
import { KERNEL_HIDDEN, type Places } from "../places/places.ts";

/** What is known of an address of a recording. */
export interface PlaceSymbol {
  /** Path or name of the object that is mapped there; `undefined` where nothing is. */
  readonly dso: string | undefined;
  /** The function that is there, as `perf` names it; `undefined` where none is known. */
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
 * @param object Where it is; `undefined` where nothing is mapped.
 * @param address As the object counts.
 * @param found What was looked up; `undefined` where that was not possible.
 * @param show Makes the name of a symbol readable.
 * @param verified Whether the file that names it is known to be the one that ran.
 */
export function placeSymbol(
  object: SymbolObject | undefined,
  address: number,
  found: Resolution | undefined,
  show: (name: string) => string,
  verified = true,
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

/**
 * Names places of a recording while it goes by: those that are wanted are looked up together, from
 * time to time, and their objects stay open until the end.
 *
 * @example
 * ```ts
 * import { Machine } from "@perfdata/session";
 * import { Places, PlaceSymbols, RecordedObjects } from "@perfdata/session/symbols";
 * import { SymbolResolver } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const machine = new Machine();
 * const places = new Places(machine, new RecordedObjects({ littleEndian: true, isGoogleDialect: false }));
 * const place = places.find(machine.thread(7, 7), 2, 0, 0x401136);
 * const resolver = new SymbolResolver({ open: () => undefined, read: () => undefined });
 * using symbols = new PlaceSymbols(() => resolver);
 * symbols.start({ places });
 * symbols.want(place, false);
 * await symbols.learn();
 * assertEquals(symbols.symbol(place).dso, undefined);
 * ```
 */
export class PlaceSymbols<E extends { readonly places: Places } = { readonly places: Places }> {
  /** How many places were looked up, apart from callers. */
  addresses: number = 0;
  /** How many of them have no function, by the reason. */
  readonly unnamed: Map<string, number> = new Map();
  /** How many have a function that nothing verifies. */
  unverified: number = 0;
  readonly #resolverFor: (engine: E) => SymbolResolver | Promise<SymbolResolver>;
  #engine: E | undefined;
  #resolver: SymbolResolver | undefined;
  readonly #opened: (ObjectSymbols | undefined)[] = [];
  // By place: of the place itself, and of the byte before.
  readonly #symbols: (PlaceSymbol | undefined)[] = [];
  readonly #callers: (PlaceSymbol | undefined)[] = [];
  /** By object: places to be looked up; those of callers as `-1 - place`. */
  readonly #wanted = new Map<number, Set<number>>();

  /**
   * Knows nothing yet.
   *
   * @param resolverFor Asked once, when the first places are looked up.
   */
  constructor(resolverFor: (engine: E) => SymbolResolver | Promise<SymbolResolver>) {
    this.#resolverFor = resolverFor;
  }

  /** Takes the engine whose places it is asked for. */
  start(engine: E): void {
    this.#engine = engine;
  }

  /**
   * Has a place looked up by the next {@link PlaceSymbols.learn}.
   *
   * @param isCaller Whether it is a return address: the call is in the byte before.
   */
  want(place: number, isCaller: boolean): void {
    if (place < 0 || (isCaller ? this.#callers : this.#symbols)[place] !== undefined) return;
    const object = this.#engine?.places.object(place) ?? -1;
    let wanted = this.#wanted.get(object);
    if (wanted === undefined) this.#wanted.set(object, wanted = new Set());
    wanted.add(isCaller ? -1 - place : place);
  }

  /** Looks up what is wanted. */
  async learn(): Promise<void> {
    if (this.#wanted.size === 0) return;
    const { places } = this.#engine as E;
    const resolver = this.#resolver ??= await this.#resolverFor(this.#engine as E);
    for (const [object, wanted] of this.#wanted) {
      const numbers = [...wanted];
      const placeOf = (number: number) => number < 0 ? -1 - number : number;
      const addresses = Float64Array.from(
        numbers,
        (number) => places.address(placeOf(number)) - (number < 0 ? 1 : 0),
      );
      const described = places.objects[object];
      let found: readonly Resolution[] = [];
      let verified = true;
      if (described !== undefined) {
        const symbols = this.#opened[object] ??= await resolver.open(described);
        const times = Float64Array.from(numbers, (number) => places.times[placeOf(number)] ?? 0);
        found = await symbols.find(addresses, times);
        ({ verified } = symbols);
      }
      numbers.forEach((number, i) => {
        const symbol = placeSymbol(
          described,
          addresses[i] as number,
          found[i],
          resolver.show,
          verified,
        );
        if (number < 0) this.#callers[-1 - number] = symbol;
        else {
          this.#symbols[number] = symbol;
          this.#count(symbol, object, found[i]);
        }
      });
    }
    this.#wanted.clear();
  }

  #count(
    { name, verified }: PlaceSymbol,
    object: number,
    found: Resolution | undefined,
  ): void {
    this.addresses++;
    if (!verified) this.unverified++;
    if (name !== undefined) return;
    const otherwise = object === KERNEL_HIDDEN ? "kallsyms restricted" : "unmapped";
    const cause = found?.cause ?? otherwise;
    this.unnamed.set(cause, (this.unnamed.get(cause) ?? 0) + 1);
  }

  /** What is known of a place that was wanted. */
  symbol(place: number): PlaceSymbol {
    return this.#symbols[place] ?? NOTHING;
  }

  /** What is known of the byte before a place that was wanted as a caller. */
  caller(place: number): PlaceSymbol {
    return this.#callers[place] ?? NOTHING;
  }

  /** What is wrong with the files that name places: path, and what it is. */
  *faults(): Generator<readonly [path: string, fault: string]> {
    for (const symbols of this.#opened) {
      for (const { message } of symbols?.faults ?? []) {
        yield [symbols?.object.path ?? "", message];
      }
    }
  }

  /** Closes the files. */
  [Symbol.dispose](): void {
    for (const symbols of this.#opened) symbols?.close();
    this.#opened.length = 0;
  }
}

const NOTHING: PlaceSymbol = placeSymbol(undefined, 0, undefined, (name) => name);
