import { ADDRESS_USE, type AddressTable, type PlaceUses } from "@perfdata/session/address-table";
import { KERNEL_UNMAPPED, type Places } from "@perfdata/session/places";
import { type SymbolTrust, symbolTrust } from "@perfdata/session/symbolize";
import type { Resolution, SymbolObject, SymbolResolver } from "@perfdata/symbols";

/** Which look-ups {@linkcode lookUpPlaces} makes. */
export interface LookUpOptions {
  /** Whether code that a compiler made has the names of what was there last; those of its time otherwise. */
  readonly lastCode?: boolean;
  /**
   * Whether callers next to what is mapped of the kernel are looked up in it: in code that only runs at
   * boot.
   */
  readonly bootCode?: boolean;
}

/** The places of one object that have been looked up. */
export interface FoundPlaces {
  /** Number of the object. */
  readonly object: number;
  /** The places, by address. */
  readonly places: Uint32Array;
  /** What became of each of them. */
  readonly resolutions: readonly Resolution[];
  /** Whether a build id says that the file that names them is the one that ran. */
  readonly verified: boolean;
}

/**
 * Looks up places, each once, those of one object after the other: for all that shows names, so that an
 * address is named alike and is trusted alike, wherever it is shown.
 *
 * @param uses Which places, and how much each counts in the report of trust.
 * @param take Gets the places of each object.
 *
 * @example
 * ```ts
 * import { lookUpPlaces } from "@perfdata/profile/look-up";
 * import { Machine } from "@perfdata/session";
 * import { ADDRESS_USE, Places, PlaceUses, RecordedObjects } from "@perfdata/session/symbols";
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
  places: Places,
  uses: PlaceUses,
  resolver: SymbolResolver,
  take: (found: FoundPlaces) => void,
  options: LookUpOptions = {},
): Promise<SymbolTrust> {
  const table = uses.table(places);
  if (options.bootCode === true) inKernel(table, places.objects);
  if (options.lastCode === true) table.times.fill(Infinity);
  return await symbolTrust(
    { objects: places.objects, table },
    resolver,
    ({ number, rows, resolutions, symbols: { verified } }) =>
      take({ object: number, places: rows, resolutions, verified }),
  );
}

function inKernel(table: AddressTable, objects: readonly SymbolObject[]): void {
  const kernel = objects.findIndex(({ kind }) => kind === "kernel");
  if (kernel < 0) return;
  const base = objects[kernel]?.referenceAddress ?? 0;
  for (let row = 0; row < table.count; row++) {
    const isCaller = ((table.uses[row] as number) & ADDRESS_USE.CALLCHAIN) !== 0;
    if (table.object[row] !== KERNEL_UNMAPPED || !isCaller) continue;
    table.object[row] = kernel;
    table.address[row] = (table.address[row] as number) - base;
  }
}

/**
 * Names of functions as they are shown: of a symbol its own, made readable. Debug information calls
 * `malloc` `__GI___libc_malloc`, and a variant that the compiler made by the original's name.
 */
export class ShownNames {
  readonly #show: (name: string) => string;
  readonly #shown = new Map<string, string>();

  /** Makes names readable by `show`. */
  constructor(show: (name: string) => string) {
    this.#show = show;
  }

  /** The function that an address belongs to, not one that is inlined there; `undefined` without a symbol. */
  of(found: Resolution | undefined): string | undefined {
    const name = found?.symbol?.name;
    if (name === undefined) return undefined;
    let shown = this.#shown.get(name);
    if (shown === undefined) this.#shown.set(name, shown = this.#show(name));
    return shown;
  }
}
