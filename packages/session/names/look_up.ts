import { floatAt, uintAt } from "@perfdata/format/bytes";
import {
  ADDRESS_USE,
  type AddressedPlaces,
  type AddressTable,
  type PlaceUses,
} from "../places/address_table.ts";
import {
  LookUpOutcomes,
  type LookUpProgress,
  type ObjectOutcome,
  type OutcomesPart,
  symbolizeWith,
  type SymbolTrust,
  symbolTrust,
} from "./symbolize.ts";
import type { ObjectSymbols, Resolution, SymbolObject } from "@perfdata/symbols/resolver";
import type { SymbolResolver } from "@perfdata/symbols";

/** The looked-up places of one object. */
export interface FoundPlaces {
  /** Index of the object. */
  readonly object: number;
  /** The places, sorted by address. */
  readonly places: Uint32Array;
  /** Result of each place. */
  readonly resolutions: readonly Resolution[];
  /** Whether a build id proves that the file of the symbols is the one that ran. */
  readonly verified: boolean;
}

/**
 * Looks up places, each once, object by object. All commands use it, so that an address has the
 * same name and the same trust everywhere. Places get the object in which they were found.
 *
 * @param uses The places, with their weights in the report of trust.
 * @param take Receives the places of each object.
 * @param progress Called after each object.
 *
 * @example
 * ```ts
 * import {
 *   ADDRESS_USE,
 *   lookUpPlaces,
 *   Machine,
 *   Places,
 *   PlaceUses,
 *   RecordedObjects,
 * } from "@perfdata/session";
 * import { SymbolResolver } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const machine = new Machine();
 * const places = new Places(machine, new RecordedObjects({ littleEndian: true, isGoogleDialect: false }));
 * const uses = new PlaceUses();
 * uses.use(places.find(machine.thread(7, 7), 2, 0, 0x401136), ADDRESS_USE.IP, 3, 3000);
 * const resolver = new SymbolResolver({ open: () => undefined, read: () => undefined });
 * const trust = await lookUpPlaces(places, uses, resolver, () => {});
 * assertEquals(trust.unresolved.get("unmapped")?.samples, 3);
 * ```
 */
export async function lookUpPlaces(
  places: AddressedPlaces,
  uses: PlaceUses,
  resolver: SymbolResolver,
  take: (found: FoundPlaces) => void,
  progress?: LookUpProgress,
): Promise<SymbolTrust> {
  const table = uses.table(places);
  return await symbolTrust(
    { objects: places.objects, table },
    resolver,
    ({ number, rows, resolutions, symbols: { verified } }) => {
      moveFound(places, number, rows, table);
      take({ object: number, places: rows, resolutions, verified });
    },
    progress,
  );
}

/** Moves places that were found in another object than their own: see `KernelBeside`. */
function moveFound(
  places: Pick<LookUpRows, "object" | "move">,
  object: number,
  rows: Uint32Array,
  { address }: AddressTable,
  first = 0,
): void {
  if (places.move === undefined) return;
  for (let i = 0; i < rows.length; i++) {
    const row = uintAt(rows, i);
    const place = first + row;
    if (places.object(place) !== object) places.move(place, object, floatAt(address, row));
  }
}

/** Number of objects whose symbols stay open if places are looked up in parts. */
const OPEN = 32;

/** Rows to look up: places of an engine or of a trace, or requested addresses. */
export interface LookUpRows {
  /** Number of rows so far. */
  readonly count: number;
  /** The objects of the rows. */
  readonly objects: readonly SymbolObject[];
  /** The object of a row; negative if there is none. */
  object(row: number): number;
  /** Address of a row in its object. */
  address(row: number): number;
  /**
   * Time of each row's first use in the recording's clock: for generated code whose object has no
   * version.
   */
  readonly times?: Float64Array | undefined;
  /** Called with a row that is found in another object than its own, and the address there. */
  move?(row: number, object: number, address: number): void;
}

/**
 * Looks up rows in parts, as they are added. For output while records are read, in a recording
 * whose objects are known beforehand.
 */
export class PlaceLookUps {
  readonly #rows: LookUpRows;
  readonly #resolver: SymbolResolver;
  readonly #take: (found: FoundPlaces) => void;
  readonly #outcomes = new LookUpOutcomes();
  /** Symbols by index of the object, the last used last. */
  readonly #open = new Map<number, ObjectSymbols>();
  #known = 0;

  /**
   * Starts without results.
   *
   * @param take Receives the rows of each object.
   */
  constructor(rows: LookUpRows, resolver: SymbolResolver, take: (found: FoundPlaces) => void) {
    this.#rows = rows;
    this.#resolver = resolver;
    this.#take = take;
  }

  /** Looks up the new rows. */
  async next(): Promise<void> {
    const first = this.#known;
    const { count, objects } = this.#rows;
    if (count === first) return;
    this.#known = count;
    const table = tableOf(this.#rows, first);
    for await (
      const found of symbolizeWith({ objects, table }, (number) => this.#symbols(number))
    ) {
      this.#outcomes.add(found, first);
      moveFound(this.#rows, found.number, found.rows, table, first);
      const { number, rows, resolutions, symbols: { verified } } = found;
      this.#take({ object: number, places: rows.map((row) => first + row), resolutions, verified });
    }
  }

  async #symbols(number: number): Promise<ObjectSymbols> {
    const open = this.#open;
    const known = open.get(number);
    const symbols = known ??
      await this.#resolver.open(this.#rows.objects[number] as SymbolObject);
    open.delete(number);
    open.set(number, symbols);
    for (const [oldest, closed] of open) {
      if (open.size <= OPEN) break;
      closed.close();
      open.delete(oldest);
    }
    return symbols;
  }

  /** The results so far, for sending to another thread. */
  part(): OutcomesPart {
    return this.#outcomes.part(this.#known);
  }

  /**
   * Adds the results of another thread, so that they are not looked up again.
   *
   * @param part The results.
   * @param rows The places here, by the other thread's places.
   * @param objects The objects here, by the other thread's objects.
   */
  join(part: OutcomesPart, rows: Int32Array, objects: Int32Array): void {
    this.#outcomes.join(part, rows, objects);
    this.#known = this.#rows.count;
  }

  /** The trust in the names of all places. The rows must be places. */
  trust(places: AddressedPlaces, uses: PlaceUses): SymbolTrust {
    return this.#outcomes.trust({ objects: places.objects, table: uses.table(places) });
  }

  /** Symbol files of the objects, by index; `undefined` for objects without look-ups. */
  get objects(): readonly (ObjectOutcome | undefined)[] {
    return this.#outcomes.objects;
  }

  /** Closes the symbols. */
  close(): void {
    for (const symbols of this.#open.values()) symbols.close();
    this.#open.clear();
  }
}

/** Makes an address table of the rows to look up, from row `first` on. */
function tableOf(rows: LookUpRows, first: number): AddressTable {
  const count = rows.count - first;
  const object = new Int32Array(count);
  const address = new Float64Array(count);
  const times = rows.times?.slice(first, rows.count) ?? new Float64Array(count).fill(Infinity);
  for (let row = 0; row < count; row++) {
    object[row] = rows.object(first + row);
    address[row] = rows.address(first + row);
  }
  const none = new Float64Array(0);
  const uses = new Uint8Array(count).fill(ADDRESS_USE.CALLCHAIN);
  return { count, object, address, uses, samples: none, periods: none, times };
}

/**
 * Displayed names of functions: the symbol's name, demangled. Debug information is not used,
 * because it names `malloc` `__GI___libc_malloc`, and a compiler's variant after its original.
 */
export class ShownNames {
  readonly #show: (name: string) => string;
  readonly #shown = new Map<string, string>();

  /** Uses `show` to make names readable. */
  constructor(show: (name: string) => string) {
    this.#show = show;
  }

  /** The function at an address, not one that is inlined there; `undefined` without a symbol. */
  of(found: Resolution | undefined): string | undefined {
    const name = found?.symbol?.name;
    return name === undefined ? undefined : this.name(name);
  }

  /** As {@linkcode ShownNames.of}, with the name in debug information if there is no symbol. */
  named(found: Resolution | undefined): string | undefined {
    return this.of(found) ?? found?.frames.at(-1)?.name;
  }

  /** The displayed name of a symbol. */
  name(name: string): string {
    let shown = this.#shown.get(name);
    if (shown === undefined) this.#shown.set(name, shown = this.#show(name));
    return shown;
  }
}
