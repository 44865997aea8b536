import type { Address } from "../resolver/address.ts";
import { type Columns, nameOf } from "./symbol_columns.ts";
import { cutIntoSegments, type OverlapRule } from "./symbol_segments.ts";

/** Result of {@linkcode SymbolTable.get} for a symbol. */
export interface SymbolInfo {
  /** Mangled name. */
  readonly name: string;
  /** First address. */
  readonly start: Address;
  /** First address after the symbol. */
  readonly end: Address;
  /** Whether the symbol is data (`STT_OBJECT`), if known. */
  readonly data?: boolean;
}

/** Bytes of address space per entry of the index, in regions with dense symbols. */
const BUCKET = 256;
/** A larger gap between symbols starts a new region with its own index. */
const REGION_GAP = 1 << 20;

/**
 * Symbols in address order, for fast look-up.
 *
 * Overlaps are resolved in advance: the address space is divided into segments with one symbol or
 * none. A look-up finds the segment with an index of 256-byte buckets (larger ones where symbols
 * are sparse), without allocation and without `bigint`. The index is built once enough look-ups
 * were made.
 *
 * Symbols are numbered 0 … `size − 1` by start address.
 */
export class SymbolTable {
  /** Number of symbols. */
  readonly size: number;
  readonly #columns: Columns;
  readonly #blobs: readonly Uint8Array[];
  readonly #suffixes: readonly string[];
  readonly #names: (string | undefined)[];

  /** Start of each segment. Its symbol is in `#owner`. */
  readonly #segments: Float64Array;
  readonly #owner: Int32Array;
  readonly #contested: Uint8Array | undefined;
  /** Remaining look-ups before the index is built. Building takes as long as these. */
  #unindexed: number;
  /** First address, buckets per byte, first index entry and number of buckets of each region. */
  #base = new Float64Array(0);
  #scale = new Float64Array(0);
  #first = new Uint32Array(0);
  #buckets = new Uint32Array(0);
  /** The segment at each bucket's first address. */
  #index = new Uint32Array(0);

  /** @ignore made by {@linkcode SymbolTableBuilder.build} */
  constructor(
    columns: Columns,
    blobs: readonly Uint8Array[],
    suffixes: readonly string[],
    overlap: OverlapRule,
  ) {
    this.size = columns.start.length;
    this.#columns = columns;
    this.#blobs = blobs;
    this.#suffixes = suffixes;
    this.#names = new Array(this.size);
    const name = (index: number) => this.name(index);
    const { segments, owner, contested } = cutIntoSegments(columns, overlap, name);
    this.#contested = contested;
    this.#segments = segments;
    this.#owner = owner;
    this.#unindexed = segments.length >> 3;
  }

  #makeIndex(): void {
    const segments = this.#segments;
    const regions: number[] = [];
    for (let i = 0; i < segments.length; i++) {
      if (i === 0 || (segments[i] ?? 0) - (segments[i - 1] ?? 0) > REGION_GAP) regions.push(i);
    }
    this.#base = new Float64Array(regions.length);
    this.#scale = new Float64Array(regions.length);
    this.#first = new Uint32Array(regions.length);
    this.#buckets = new Uint32Array(regions.length);
    let entries = 0;
    for (let r = 0; r < regions.length; r++) {
      const from = regions[r] ?? 0;
      const to = (regions[r + 1] ?? segments.length) - 1;
      const span = (segments[to] ?? 0) - (segments[from] ?? 0) + 1;
      let bucket = BUCKET;
      while (span / bucket > (to - from + 1) * 8 + 64) bucket *= 2;
      this.#base[r] = segments[from] ?? 0;
      this.#scale[r] = 1 / bucket;
      this.#buckets[r] = Math.ceil(span / bucket);
      this.#first[r] = entries;
      entries += Math.ceil(span / bucket) + 2;
    }
    this.#index = new Uint32Array(entries);
    for (let r = 0; r < regions.length; r++) {
      const last = (regions[r + 1] ?? segments.length) - 1;
      const base = this.#base[r] ?? 0;
      const bucket = 1 / (this.#scale[r] ?? 1);
      const first = this.#first[r] ?? 0;
      const count = this.#buckets[r] ?? 0;
      let segment = regions[r] ?? 0;
      for (let b = 0; b < count; b++) {
        while (segment < last && (segments[segment + 1] ?? 0) <= base + b * bucket) segment++;
        this.#index[first + b] = segment;
      }
      this.#index[first + count] = last;
      this.#index[first + count + 1] = last;
    }
  }

  /**
   * The symbol at an address.
   *
   * @returns its index, or −1 if there is no symbol
   */
  lookup(address: Address): number {
    if (this.#unindexed > 0) return this.#search(address);
    if (this.#base.length === 0) this.#makeIndex();
    const base = this.#base;
    let low = 0;
    let high = base.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((base[middle] ?? 0) <= address) low = middle + 1;
      else high = middle;
    }
    const region = low - 1;
    if (region < 0) return -1;
    const buckets = this.#buckets[region] ?? 0;
    const distance = (address - (base[region] ?? 0)) * (this.#scale[region] ?? 1);
    const bucket = (this.#first[region] ?? 0) + (distance < buckets ? distance >>> 0 : buckets);
    let segment = this.#index[bucket] ?? 0;
    let last = this.#index[bucket + 1] ?? 0;
    const segments = this.#segments;
    while (last - segment > 8) {
      const middle = (segment + last) >>> 1;
      if ((segments[middle] ?? 0) <= address) segment = middle;
      else last = middle - 1;
    }
    while (segment < last && (segments[segment + 1] ?? 0) <= address) segment++;
    return this.#owner[segment] ?? -1;
  }

  /**
   * Whether symbols with different names cover an address, in a table with the rule "newest": the
   * address had several owners over time.
   */
  isContested(address: Address): boolean {
    if (this.#contested === undefined) return false;
    return this.#contested[this.#segmentOf(address)] === 1;
  }

  /** {@linkcode SymbolTable.lookup} without an index. */
  #search(address: Address): number {
    this.#unindexed--;
    return this.#owner[this.#segmentOf(address)] ?? -1;
  }

  /** The segment of an address; -1 before the first segment. */
  #segmentOf(address: Address): number {
    const segments = this.#segments;
    let low = 0;
    let high = segments.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((segments[middle] ?? 0) <= address) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** First address of a symbol. */
  start(index: number): Address {
    return this.#columns.start[index] ?? NaN;
  }

  /** First address after a symbol. */
  end(index: number): Address {
    return this.#columns.end[index] ?? NaN;
  }

  /** `STT_*` of a symbol. */
  type(index: number): number {
    return this.#columns.type[index] ?? 0;
  }

  /** The group number that was passed when the symbol was added. */
  group(index: number): number {
    return this.#columns.group[index] ?? 0;
  }

  /** Number of symbols that were added before this one. */
  ordinal(index: number): number {
    return this.#columns.ordinal[index] ?? 0;
  }

  /** The mangled name of a symbol, decoded on first use; `""` for −1. */
  name(index: number): string {
    if (index < 0 || index >= this.size) return "";
    return this.#names[index] ??= nameOf(this.#columns, this.#blobs, this.#suffixes, index);
  }

  /** Name and range of a symbol; `undefined` for −1. */
  get(index: number): SymbolInfo | undefined {
    if (index < 0 || index >= this.size) return undefined;
    return { name: this.name(index), start: this.start(index), end: this.end(index) };
  }
}
