import { floatAt, partitionPoint, uintAt } from "@perfdata/format/bytes";
import type { Address } from "../resolver/address.ts";
import type { BundleTables } from "./bundle_tables.ts";
import type { BundleObjectInfo, BundleUnwinding } from "./bundle_writer.ts";
import type { Frame } from "../dwarf/dwarf_context.ts";
import type { SymbolInfo } from "../table/symbol_table.ts";
import type { UnresolvedCause } from "../resolver/trust_report.ts";

/** Symbol and frames of one address range. */
export interface BundleEntry {
  /** First address of the range. */
  readonly start: Address;
  /** First address after the range. */
  readonly end: Address;
  /** The entry of the symbol table. */
  readonly symbol: SymbolInfo | undefined;
  /** Frames from the debug information, innermost first; empty without debug information. */
  readonly frames: readonly Frame[];
  /** Reason for a missing symbol, as found on the machine that made the bundle. */
  readonly cause: UnresolvedCause | undefined;
}

/** One object of a {@linkcode SymbolBundle}, with its address ranges. */
export class BundleObject {
  /** Path, kind and build id of the object. */
  readonly info: BundleObjectInfo;
  /** Number of address ranges. */
  readonly size: number;
  /** Call frame information, if the bundle has it. */
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

  /** The entry for an address; `undefined` if the bundle was not made for this address. */
  find(address: Address): BundleEntry | undefined {
    const { rangeStart, rangeSize } = this.#tables;
    const isBefore = (range: number) => floatAt(rangeStart, range) <= address;
    const range = partitionPoint(this.#first, this.#first + this.size, isBefore) - 1;
    if (range < this.#first) return undefined;
    const end = floatAt(rangeStart, range) + uintAt(rangeSize, range);
    return address < end ? this.#tables.entry(range) : undefined;
  }

  /** All entries, by address. */
  *entries(): Generator<BundleEntry, void, void> {
    for (let i = 0; i < this.size; i++) yield this.#tables.entry(this.#first + i);
  }
}
