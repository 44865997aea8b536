import type { Address } from "./address.ts";
import { STT } from "../elf/elf_constants.ts";
import { type Resolution, resolution, unresolved } from "./resolution.ts";
import type { SymbolInfo, SymbolTable } from "../table/symbol_table.ts";

/** Number of look-ups that read only the needed symbols. Later ones read all. */
export const FEW_LOOK_UPS = 2;

/**
 * Looks up addresses in a symbol table.
 *
 * @param base added to an object's addresses to get those of the table
 * @param group only symbols of this group are found; `undefined`: of any group
 */
export function findInTable(
  addresses: Float64Array,
  base: Address,
  table: SymbolTable,
  show: (name: string) => string,
  group: number | undefined,
): Resolution[] {
  const nothing = unresolved("no symbols");
  const known = new SymbolResolutions(table, show);
  return Array.from(addresses, (address) => {
    const index = table.lookup(address + base);
    const isOther = index < 0 || (group !== undefined && table.group(index) !== group);
    return isOther ? nothing : known.resolve(index, -base);
  });
}

/** Resolutions from a symbol table. All addresses of a symbol share one object. */
export class SymbolResolutions {
  readonly #table: SymbolTable;
  readonly #show: (name: string) => string;
  readonly #known = new Map<number, Resolution>();

  /** @param show demangles a name for display */
  constructor(table: SymbolTable, show: (name: string) => string) {
    this.#table = table;
    this.#show = show;
  }

  /** @param by added to the table's addresses */
  resolve(index: number, by: number): Resolution {
    let known = this.#known.get(index);
    const { start } = known?.symbol ?? {};
    // A symbol could be in two segments, with another shift in each.
    if (known === undefined || start !== this.#table.start(index) + by) {
      known = resolution(moved(this.#table, index, by), [], this.#show);
      this.#known.set(index, known);
    }
    return known;
  }
}

function moved(table: SymbolTable, index: number, by: number): SymbolInfo {
  const symbol = {
    name: table.name(index),
    start: table.start(index) + by,
    end: table.end(index) + by,
  };
  return table.type(index) === STT.OBJECT ? { ...symbol, data: true } : symbol;
}
