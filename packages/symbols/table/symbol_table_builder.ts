import { partitionPoint } from "@perfdata/format/bytes";

import type { Address } from "../resolver/address.ts";
import { STB, STT } from "../elf/elf_constants.ts";
import { type Columns, copyColumns, keepRows, makeColumns, nameOf } from "./symbol_columns.ts";
import type { OverlapRule } from "./symbol_segments.ts";
import { SymbolTable } from "./symbol_table.ts";

export type { OverlapRule } from "./symbol_segments.ts";

/** Page size to which `perf` rounds up the end of a last symbol. */
const PAGE = 4096;

/** Location of a symbol's name. The builder copies it, so one object can be reused. */
export interface SymbolNameBytes {
  /** The number that {@linkcode SymbolTableBuilder.addStrings} returned for the bytes. */
  strings: number;
  /** Offset of the name in those bytes. */
  offset: number;
  /** Length in bytes. */
  length: number;
}

/**
 * Collects symbols for a {@linkcode SymbolTable}.
 *
 * Names are not decoded: a symbol refers to a byte array passed to {@linkcode SymbolTableBuilder.addStrings}.
 *
 * @example
 * ```ts
 * import { SymbolTableBuilder } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const builder = new SymbolTableBuilder();
 * const strings = builder.addStrings(new TextEncoder().encode("main\0helper\0"));
 * builder.add(0x1000, 0x20, { strings, offset: 0, length: 4 });
 * builder.add(0x1020, 0, { strings, offset: 5, length: 6 });
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
  /** Whether the symbols are sorted by start. */
  #inOrder = true;
  /** Length of the sorted prefix. */
  #sorted = 0;
  #added = 0;
  readonly #blobs: Uint8Array[] = [];
  readonly #suffixes: string[] = [];
  readonly #demangle: ((name: string) => string) | undefined;

  /**
   * Creates an empty table.
   *
   * @param options `demangle`: demangles names; `perf` compares demangled names when it chooses
   * among aliases, so pass its demangling for its choice; `capacity`: expected number of symbols
   */
  constructor(options: { demangle?: (name: string) => string; capacity?: number } = {}) {
    this.#demangle = options.demangle;
    this.#columns = makeColumns(Math.max(options.capacity ?? 0, 256));
  }

  /**
   * Registers a string table.
   *
   * @param bytes the string table, which is kept, not copied
   * @param suffix appended to every name in it (`@plt`)
   * @returns the value of `strings` for its names
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
   * @param size size in bytes; 0 if unknown
   * @param name location of the name
   * @param binding `STB_*`
   * @param type `STT_*`
   * @param group any number below 65536 that the caller wants to read back, such as a module's
   * number
   * @returns the ordinal of the symbol: 0 for the first one added
   */
  add(
    start: Address,
    size: number,
    name: SymbolNameBytes,
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
    // A symbol must not extend from one half of the address space into the other.
    c.end[at] = start < 0 ? Math.min(start + size, 0) : start + size;
    c.nameOffset[at] = name.offset;
    c.nameLength[at] = name.length;
    c.blob[at] = name.strings;
    c.binding[at] = binding;
    c.type[at] = type;
    c.group[at] = group;
    c.ordinal[at] = this.#added;
    this.#count++;
    return this.#added++;
  }

  /**
   * Extends symbols without a size to the next symbol, then keeps one symbol per address, as `perf`
   * does (`symbols__fixup_end` and `symbols__fixup_duplicate` of tools/perf/util/symbol.c): sized
   * over unsized, strong over weak, global over local, fewer leading underscores, the longer name,
   * the one added first.
   *
   * @param options `splitGroups`: an unsized symbol does not extend from group 0 to other groups or
   * back, but ends with its page (`/proc/kallsyms`: kernel and modules)
   */
  fixup(options: { splitGroups?: boolean } = {}): void {
    this.#sort();
    this.#fixupEnds(options.splitGroups ?? false);
    this.#removeAliases();
  }

  /**
   * Creates the table. The builder can still be used afterwards.
   *
   * @param overlap rule for overlapping symbols
   */
  build(overlap: OverlapRule = "innermost"): SymbolTable {
    this.#sort();
    const columns = makeColumns(this.#count);
    for (const name of Object.keys(columns) as (keyof Columns)[]) {
      columns[name].set(this.#columns[name].subarray(0, this.#count));
    }
    return new SymbolTable(columns, [...this.#blobs], [...this.#suffixes], overlap);
  }

  /** Sorts by start; the sort is stable. */
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

  /** Moves the few rows from number `from` on to their sorted positions. */
  #insert(from: number): void {
    const { start } = this.#columns;
    const late = Array.from({ length: this.#count - from }, (_, i) => from + i)
      .sort((a, b) => (start[a] ?? 0) - (start[b] ?? 0) || a - b);
    const places = late.map((row) =>
      partitionPoint(0, from, (i) => (start[i] ?? 0) <= (start[row] ?? 0))
    );
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
      // Kernel addresses are negative, so a user address is not the next neighbour.
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

  /** The alias that `perf` keeps (`choose_best_symbol`). */
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
    // Aliases of system calls, SyS_* and compat_SyS_*, lose.
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

/**
 * The stable order of the first `count` keys; `undefined` if they are sorted. A radix sort with
 * digits of 11 or 16 bits, as many as the keys' range needs.
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
  // For few keys, clearing large counts would cost more than another pass.
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
