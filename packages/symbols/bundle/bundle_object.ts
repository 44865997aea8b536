import { floatAt, uintAt } from "@perfdata/format/elements";
import type { Address } from "../resolver/address.ts";
import type { BundleTables } from "./bundle_tables.ts";
import type { BundleObjectInfo, BundleUnwinding } from "./bundle_writer.ts";
import type { Frame } from "../dwarf/dwarf_context.ts";
import type { SymbolInfo } from "../table/symbol_table.ts";
import type { UnresolvedCause } from "../resolver/trust_report.ts";

/** Entry of a bundle for an address. */
export interface BundleEntry {
  /** First address of which this is said. */
  readonly start: Address;
  /** First address after it. */
  readonly end: Address;
  /** The symbol table's entry. */
  readonly symbol: SymbolInfo | undefined;
  /** From the debug information, innermost first; empty if there was none. */
  readonly frames: readonly Frame[];
  /** Why nothing was known where the bundle was made. */
  readonly cause: UnresolvedCause | undefined;
}

/** One object of a {@linkcode SymbolBundle}, and its addresses. */
export class BundleObject {
  /** What the object is. */
  readonly info: BundleObjectInfo;
  /** Number of ranges of addresses. */
  readonly size: number;
  /** How stacks are unwound through it, where the bundle knows. */
  readonly unwinding: BundleUnwinding | undefined;
  readonly #tables: BundleTables;
  readonly #first: number;

  /** @ignore made by {@linkcode SymbolBundle.open} */
  constructor(
    tables: BundleTables,
    info: BundleObjectInfo,
    first: number,
    size: number,
    unwinding: BundleUnwinding | undefined,
  ) {
    this.unwinding = unwinding;
    this.#tables = tables;
    this.info = info;
    this.#first = first;
    this.size = size;
  }

  /** What is said of an address; `undefined` if the bundle was not made for it. */
  find(address: Address): BundleEntry | undefined {
    const { rangeStart, rangeSize } = this.#tables;
    let low = this.#first;
    let high = low + this.size;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (floatAt(rangeStart, middle) <= address) low = middle + 1;
      else high = middle;
    }
    const range = low - 1;
    if (range < this.#first) return undefined;
    const end = floatAt(rangeStart, range) + uintAt(rangeSize, range);
    return address < end ? this.#tables.entry(range) : undefined;
  }

  /** All that is said, by address. */
  *entries(): Generator<BundleEntry, void, void> {
    for (let i = 0; i < this.size; i++) yield this.#tables.entry(this.#first + i);
  }
}
