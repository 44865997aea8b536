import { type Address, addressFromHalves } from "./address.ts";
import { STB, STT } from "./elf/constants.ts";
import { decodeName } from "./elf/strings.ts";

/** How {@linkcode SymbolTableBuilder.build} decides between symbols that overlap. */
export type OverlapRule =
  /** The symbol that starts last, so the innermost of nested ones: for files made by a linker. */
  | "innermost"
  /** The symbol that was added last: for JIT maps, where later code replaces earlier code. */
  | "newest";

/** What {@linkcode SymbolTable.get} returns about a symbol. */
export interface SymbolInfo {
  /** Name as stored, not demangled. */
  readonly name: string;
  /** First address. */
  readonly start: Address;
  /** First address after it. */
  readonly end: Address;
  /** Whether it is data (`STT_OBJECT`), where that is known. */
  readonly data?: boolean;
}

interface Columns {
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly nameOffset: Uint32Array;
  readonly nameLength: Uint32Array;
  readonly blob: Uint8Array;
  readonly binding: Uint8Array;
  readonly type: Uint8Array;
  readonly group: Uint16Array;
  readonly ordinal: Uint32Array;
}

function makeColumns(capacity: number): Columns {
  return {
    start: new Float64Array(capacity),
    end: new Float64Array(capacity),
    nameOffset: new Uint32Array(capacity),
    nameLength: new Uint32Array(capacity),
    blob: new Uint8Array(capacity),
    binding: new Uint8Array(capacity),
    type: new Uint8Array(capacity),
    group: new Uint16Array(capacity),
    ordinal: new Uint32Array(capacity),
  };
}

function copyColumns(from: Columns, to: Columns, order: Uint32Array | undefined, count: number) {
  for (const name of Object.keys(from) as (keyof Columns)[]) {
    const source = from[name];
    const target = to[name];
    if (order === undefined) target.set(source.subarray(0, count));
    else for (let i = 0; i < count; i++) target[i] = source[order[i] ?? 0] ?? 0;
  }
}

/** Drops all rows but those of `keep`, which is sorted. */
function keepRows(columns: Columns, keep: Uint32Array, count: number) {
  // Few rows are dropped, so that what is kept comes in long runs.
  for (let from = 0; from < count;) {
    const first = keep[from] ?? 0;
    let to = from + 1;
    while (to < count && keep[to] === first + to - from) to++;
    if (first !== from) {
      for (const column of Object.values(columns) as Columns[keyof Columns][]) {
        column.copyWithin(from, first, first + to - from);
      }
    }
    from = to;
  }
}

/** The size of the pages that `perf` rounds the end of a last symbol to. */
const PAGE = 4096;

/**
 * Collects symbols and makes a {@linkcode SymbolTable} of them.
 *
 * Names are not decoded here: a symbol points into one of the byte arrays given to
 * {@linkcode SymbolTableBuilder.addStrings}.
 *
 * @example
 * ```ts
 * import { SymbolTableBuilder } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const builder = new SymbolTableBuilder();
 * const strings = builder.addStrings(new TextEncoder().encode("main\0helper\0"));
 * builder.add(0x1000, 0x20, strings, 0, 4);
 * builder.add(0x1020, 0, strings, 5, 6);
 * builder.fixup();
 * const table = builder.build();
 * assertEquals(table.name(table.lookup(0x101f)), "main");
 * assertEquals(table.name(table.lookup(0x1fff)), "helper");
 * assertEquals(table.lookup(0xfff), -1);
 * ```
 */
export class SymbolTableBuilder {
  #columns: Columns;
  #count = 0;
  /** Whether symbols were added in the order of their starts. */
  #inOrder = true;
  /** Where they were not: how many of the first ones were. */
  #sorted = 0;
  #added = 0;
  readonly #blobs: Uint8Array[] = [];
  readonly #suffixes: string[] = [];
  readonly #demangle: ((name: string) => string) | undefined;

  /**
   * Starts an empty table.
   *
   * @param options `demangle`: how names are shown; `perf` compares the demangled names when it
   * chooses among aliases, so pass its demangling to get its choice; `capacity`: about how
   * many symbols there will be
   */
  constructor(options: { demangle?: (name: string) => string; capacity?: number } = {}) {
    this.#demangle = options.demangle;
    this.#columns = makeColumns(Math.max(options.capacity ?? 0, 256));
  }

  /** Symbols added and not removed as an alias of another. */
  get count(): number {
    return this.#count;
  }

  /**
   * Registers bytes that hold names.
   *
   * @param bytes the string table; it is kept, not copied
   * @param suffix appended to every name in it (`@plt`)
   * @returns the number to give to {@linkcode SymbolTableBuilder.add}
   */
  addStrings(bytes: Uint8Array, suffix = ""): number {
    this.#blobs.push(bytes);
    this.#suffixes.push(suffix);
    return this.#blobs.length - 1;
  }

  /**
   * Adds a symbol.
   *
   * @param start first address
   * @param size bytes; 0 if not known
   * @param strings number returned by {@linkcode SymbolTableBuilder.addStrings}
   * @param nameOffset byte offset of the name in those bytes
   * @param nameLength its length in bytes
   * @param binding `STB_*`
   * @param type `STT_*`
   * @param group any number below 65536 that the caller wants back, such as that of a module
   * @returns the ordinal of the symbol: 0 for the first one added
   */
  add(
    start: Address,
    size: number,
    strings: number,
    nameOffset: number,
    nameLength: number,
    binding: number = STB.GLOBAL,
    type: number = STT.FUNC,
    group = 0,
  ): number {
    const at = this.#count;
    if (at === this.#columns.start.length) {
      const larger = makeColumns(at * 2);
      copyColumns(this.#columns, larger, undefined, at);
      this.#columns = larger;
    }
    const c = this.#columns;
    if (this.#inOrder && at > 0 && start < (c.start[at - 1] ?? 0)) {
      this.#inOrder = false;
      this.#sorted = at;
    }
    c.start[at] = start;
    // The two halves of the address space do not run into each other.
    c.end[at] = start < 0 ? Math.min(start + size, 0) : start + size;
    c.nameOffset[at] = nameOffset;
    c.nameLength[at] = nameLength;
    c.blob[at] = strings;
    c.binding[at] = binding;
    c.type[at] = type;
    c.group[at] = group;
    c.ordinal[at] = this.#added;
    this.#count++;
    return this.#added++;
  }

  /**
   * Gives symbols without a size the range up to the next symbol, then keeps one symbol of each
   * address, as `perf` does (`symbols__fixup_end` and `symbols__fixup_duplicate` of
   * tools/perf/util/symbol.c): sized over unsized, strong over weak, global over local, fewer
   * leading underscores, the longer name, the one added first.
   *
   * @param options `splitGroups`: the range of an unsized symbol does not reach from the symbols of
   * group 0 to others or back, it ends with its page (`/proc/kallsyms`: kernel and modules)
   */
  fixup(options: { splitGroups?: boolean } = {}): void {
    this.#sort();
    this.#fixupEnds(options.splitGroups ?? false);
    this.#removeAliases();
  }

  /**
   * Makes the table. The builder can go on to be used.
   *
   * @param overlap which of several symbols an address belongs to
   */
  build(overlap: OverlapRule = "innermost"): SymbolTable {
    this.#sort();
    const columns = makeColumns(this.#count);
    for (const name of Object.keys(columns) as (keyof Columns)[]) {
      columns[name].set(this.#columns[name].subarray(0, this.#count));
    }
    return new SymbolTable(columns, [...this.#blobs], [...this.#suffixes], overlap);
  }

  /** Sorts by start; of equal starts, the one added first stays first. */
  #sort(): void {
    if (this.#inOrder) return;
    this.#inOrder = true;
    if (this.#count - this.#sorted < this.#sorted / 16) return this.#insert(this.#sorted);
    const order = sortedOrder(this.#columns.start, this.#count);
    if (order === undefined) return;
    const sorted = makeColumns(this.#columns.start.length);
    copyColumns(this.#columns, sorted, order, this.#count);
    this.#columns = sorted;
  }

  /** Moves the rows from number `from` on, which are few, to their places among those before. */
  #insert(from: number): void {
    const { start } = this.#columns;
    const late = Array.from({ length: this.#count - from }, (_, i) => from + i)
      .sort((a, b) => (start[a] ?? 0) - (start[b] ?? 0) || a - b);
    const places = late.map((row) => {
      let low = 0, high = from;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((start[middle] ?? 0) <= (start[row] ?? 0)) low = middle + 1;
        else high = middle;
      }
      return low;
    });
    for (const column of Object.values(this.#columns) as Columns[keyof Columns][]) {
      const values = late.map((row) => column[row] ?? 0);
      let end = from;
      for (let k = late.length - 1; k >= 0; k--) {
        const place = places[k] ?? 0;
        column.copyWithin(place + k + 1, place, end);
        column[place + k] = values[k] ?? 0;
        end = place;
      }
    }
  }

  #fixupEnds(splitGroups: boolean): void {
    const { start, end, group } = this.#columns;
    for (let i = 0; i < this.#count; i++) {
      const from = start[i] ?? 0;
      if (end[i] !== from) continue;
      const next = i + 1 < this.#count ? start[i + 1] : undefined;
      // Kernel addresses are negative here: the one after the last of them is not a neighbour.
      if (next === undefined || (from < 0 && next >= 0)) {
        end[i] = Math.ceil(from / PAGE) * PAGE + PAGE;
      } else if (splitGroups && (group[i] === 0) !== (group[i + 1] === 0)) {
        end[i] = Math.ceil((from + PAGE) / PAGE) * PAGE;
      } else {
        end[i] = next;
      }
    }
  }

  #removeAliases(): void {
    const { start } = this.#columns;
    const keep = new Uint32Array(this.#count);
    let kept = 0;
    for (let i = 0; i < this.#count; i++) {
      const previous = kept > 0 ? keep[kept - 1] : undefined;
      if (previous === undefined || start[previous] !== start[i]) {
        keep[kept++] = i;
      } else if (this.#better(previous, i) === i) {
        keep[kept - 1] = i;
      }
    }
    if (kept === this.#count) return;
    keepRows(this.#columns, keep, kept);
    this.#count = kept;
  }

  /** Which of two symbols of one address `perf` keeps (`choose_best_symbol`). */
  #better(a: number, b: number): number {
    const { start, end, binding } = this.#columns;
    const sizedA = end[a] !== start[a];
    const sizedB = end[b] !== start[b];
    if (sizedA !== sizedB) return sizedA ? a : b;
    const weakA = binding[a] === STB.WEAK;
    const weakB = binding[b] === STB.WEAK;
    if (weakA !== weakB) return weakA ? b : a;
    const globalA = binding[a] === STB.GLOBAL;
    const globalB = binding[b] === STB.GLOBAL;
    if (globalA !== globalB) return globalA ? a : b;
    const nameA = this.#shownName(a);
    const nameB = this.#shownName(b);
    const underscoresA = leadingUnderscores(nameA);
    const underscoresB = leadingUnderscores(nameB);
    if (underscoresA !== underscoresB) return underscoresA < underscoresB ? a : b;
    if (nameA.length !== nameB.length) return nameA.length > nameB.length ? a : b;
    // System calls have the aliases SyS_* and compat_SyS_* that nobody looks for.
    return nameA.startsWith("SyS") || nameA.startsWith("compat_SyS") ? b : a;
  }

  #shownName(index: number): string {
    const name = nameOf(this.#columns, this.#blobs, this.#suffixes, index);
    return this.#demangle === undefined ? name : this.#demangle(name);
  }
}

function leadingUnderscores(name: string): number {
  let count = 0;
  while (name.charCodeAt(count) === 0x5f) count++;
  return count;
}

function nameOf(
  columns: Columns,
  blobs: readonly Uint8Array[],
  suffixes: readonly string[],
  index: number,
): string {
  const blob = columns.blob[index] ?? 0;
  const bytes = blobs[blob];
  if (bytes === undefined) return "";
  const offset = columns.nameOffset[index] ?? 0;
  return decodeName(bytes, offset, offset + (columns.nameLength[index] ?? 0)) +
    (suffixes[blob] ?? "");
}

/**
 * The stable order of the first `count` keys, or `undefined` if they are in order already: a radix
 * sort with digits of 11 or 16 bits, as many as the range of the keys needs.
 */
function sortedOrder(keys: Float64Array, count: number): Uint32Array | undefined {
  let sorted = true;
  let min = Infinity;
  let max = -Infinity;
  for (let i = 0; i < count; i++) {
    const key = keys[i] ?? 0;
    if (key < max) sorted = false;
    if (key > max) max = key;
    if (key < min) min = key;
  }
  if (sorted) return undefined;
  let order = new Uint32Array(count).map((_, i) => i);
  if (count < 4096 || max - min >= Number.MAX_SAFE_INTEGER) {
    return order.sort((a, b) => ((keys[a] ?? 0) - (keys[b] ?? 0)) || a - b);
  }
  // To go through all digits costs more than to go through few keys.
  const radix = count < 65536 ? 2048 : 65536;
  let next = new Uint32Array(count);
  const digits = new Uint16Array(count);
  const places = new Uint32Array(radix + 1);
  for (let unit = 1; unit <= max - min; unit *= radix) {
    places.fill(0);
    for (let i = 0; i < count; i++) {
      const digit = Math.floor(((keys[i] ?? 0) - min) / unit) % radix;
      digits[i] = digit;
      places[digit + 1] = (places[digit + 1] ?? 0) + 1;
    }
    for (let d = 1; d < places.length; d++) places[d] = (places[d] ?? 0) + (places[d - 1] ?? 0);
    for (let i = 0; i < count; i++) {
      const item = order[i] ?? 0;
      const digit = digits[item] ?? 0;
      const place = places[digit] ?? 0;
      places[digit] = place + 1;
      next[place] = item;
    }
    [order, next] = [next, order];
  }
  return order;
}

/** Bytes of address space that one entry of the index covers, where symbols lie densely. */
const BUCKET = 256;
/** A gap between symbols of more than this starts a new region with an index of its own. */
const REGION_GAP = 1 << 20;

/**
 * Symbols in address order, made for fast look-up.
 *
 * Overlaps are resolved when the table is made: the address space is cut into segments, each of
 * one symbol or of none. A look-up finds the segment through an index of 256-byte buckets (larger
 * ones where symbols are sparse), without allocation and without `bigint`. The index is made when
 * look-ups are so many that it pays.
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

  /** Start of each segment, and the symbol that owns it or −1. */
  readonly #segments: Float64Array;
  readonly #owner: Int32Array;
  /** Look-ups that go without an index: to make one takes as long as these. */
  #unindexed: number;
  /** First address, buckets per byte, first index entry and bucket count of each region. */
  #base = new Float64Array(0);
  #scale = new Float64Array(0);
  #first = new Uint32Array(0);
  #buckets = new Uint32Array(0);
  /** Of each bucket's first address: the segment it lies in. */
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
    const { segments, owner } = cutIntoSegments(columns, overlap);
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
   * The symbol that an address belongs to.
   *
   * @returns its number, or −1 if the address belongs to none
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

  /** {@linkcode SymbolTable.lookup} without an index. */
  #search(address: Address): number {
    this.#unindexed--;
    const segments = this.#segments;
    let low = 0;
    let high = segments.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((segments[middle] ?? 0) <= address) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? -1 : this.#owner[low - 1] ?? -1;
  }

  /**
   * The symbol that an address, given as two 32-bit halves, belongs to.
   *
   * @returns its number, or −1 if the address belongs to none
   */
  lookupHalves(hi: number, lo: number): number {
    return this.lookup(addressFromHalves(hi, lo));
  }

  /** First address of a symbol. */
  start(index: number): Address {
    return this.#columns.start[index] ?? NaN;
  }

  /** First address after a symbol. */
  end(index: number): Address {
    return this.#columns.end[index] ?? NaN;
  }

  /** `STB_*` of a symbol. */
  binding(index: number): number {
    return this.#columns.binding[index] ?? 0;
  }

  /** `STT_*` of a symbol. */
  type(index: number): number {
    return this.#columns.type[index] ?? 0;
  }

  /** The group number given when the symbol was added. */
  group(index: number): number {
    return this.#columns.group[index] ?? 0;
  }

  /** How many symbols were added before this one. */
  ordinal(index: number): number {
    return this.#columns.ordinal[index] ?? 0;
  }

  /** The name of a symbol as stored, decoded on first use; `""` for −1. */
  name(index: number): string {
    if (index < 0 || index >= this.size) return "";
    return this.#names[index] ??= nameOf(this.#columns, this.#blobs, this.#suffixes, index);
  }

  /** Name and range of a symbol, or `undefined` for −1. */
  get(index: number): SymbolInfo | undefined {
    if (index < 0 || index >= this.size) return undefined;
    return { name: this.name(index), start: this.start(index), end: this.end(index) };
  }
}

/**
 * Cuts the address space at the starts and ends of the symbols, which are sorted by start:
 *
 *     A  [────────────────)          segments:  A │ B │ A │ –
 *     B       [────)
 *
 * The symbols that cover the current address are kept in a heap, the one that wins on top; those
 * that have ended are taken off when they come up.
 */
function cutIntoSegments(
  columns: Columns,
  overlap: OverlapRule,
): { segments: Float64Array; owner: Int32Array } {
  const count = columns.start.length;
  const { start, end, ordinal } = columns;
  const segments = new Float64Array(count * 2);
  const owner = new Int32Array(count * 2);
  let used = 0;
  let apart = true;
  for (let i = 1; i < count; i++) {
    const before = start[i - 1] ?? 0;
    if (Math.max(end[i - 1] ?? 0, before + 1) > (start[i] ?? 0)) {
      apart = false;
      break;
    }
  }
  if (apart) {
    for (let i = 0; i < count; i++) {
      const from = start[i] ?? 0;
      const to = Math.max(end[i] ?? 0, from + 1);
      segments[used] = from;
      owner[used++] = i;
      if (i + 1 < count && start[i + 1] === to) continue;
      segments[used] = to;
      owner[used++] = -1;
    }
    return { segments: segments.slice(0, used), owner: owner.slice(0, used) };
  }
  const heap: number[] = [];
  const rank = (symbol: number): number => overlap === "newest" ? ordinal[symbol] ?? 0 : symbol;
  // A symbol without a size still owns its first byte.
  const endOf = (symbol: number): number => Math.max(end[symbol] ?? 0, (start[symbol] ?? 0) + 1);

  function push(symbol: number): void {
    let at = heap.length;
    heap.push(symbol);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const other = heap[parent] ?? 0;
      if (rank(other) >= rank(symbol)) break;
      heap[at] = other;
      at = parent;
    }
    heap[at] = symbol;
  }

  function pop(): void {
    const moved = heap.pop();
    if (moved === undefined || heap.length === 0) return;
    let at = 0;
    while (true) {
      let child = at * 2 + 1;
      const left = heap[child];
      if (left === undefined) break;
      let larger = left;
      const right = heap[child + 1];
      if (right !== undefined && rank(right) > rank(left)) {
        larger = right;
        child++;
      }
      if (rank(larger) <= rank(moved)) break;
      heap[at] = larger;
      at = child;
    }
    heap[at] = moved;
  }

  function emit(address: number): void {
    const symbol = heap[0] ?? -1;
    if (used > 0 && segments[used - 1] === address) used--;
    if (used > 0 && owner[used - 1] === symbol) return;
    segments[used] = address;
    owner[used++] = symbol;
  }

  function endUpTo(address: number): void {
    let top = heap[0];
    while (top !== undefined && endOf(top) <= address) {
      const at = endOf(top);
      while (top !== undefined && endOf(top) <= at) {
        pop();
        top = heap[0];
      }
      emit(at);
    }
  }

  for (let symbol = 0; symbol < count; symbol++) {
    const address = start[symbol] ?? 0;
    endUpTo(address);
    push(symbol);
    emit(address);
  }
  endUpTo(Infinity);
  return { segments: segments.slice(0, used), owner: owner.slice(0, used) };
}
