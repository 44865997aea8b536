import type { Columns } from "./symbol_columns.ts";

/** Rule of {@linkcode SymbolTableBuilder.build} for overlapping symbols. */
export type OverlapRule =
  /**
   * The symbol that starts last wins, so the innermost of nested ones. For files made by a linker.
   */
  | "innermost"
  /**
   * The symbol that was added last wins. For JIT maps, in which later code replaces earlier code.
   */
  | "newest";

/** The address space, divided into segments. */
export interface Segments {
  /** First address of each segment. */
  readonly segments: Float64Array;
  /** The symbol of each segment, or −1. */
  readonly owner: Int32Array;
  /**
   * 1 for a segment that symbols of several names cover; `undefined` if there is none, or the rule
   * is "innermost".
   */
  readonly contested: Uint8Array | undefined;
}

/**
 * Divides the address space at the starts and ends of symbols, which are sorted by start:
 *
 *     A  [────────────────)          segments:  A │ B │ A │ –
 *     B       [────)
 *
 * A heap holds the symbols that cover the current address, the winner on top. Ended symbols are
 * removed when they reach the top.
 *
 * @param nameOf returns a symbol's name; called for overlapping symbols, to find {@linkcode Segments.contested}
 */
export function cutIntoSegments(
  columns: Columns,
  overlap: OverlapRule,
  nameOf: (symbol: number) => string,
): Segments {
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
    return { segments: segments.slice(0, used), owner: owner.slice(0, used), contested: undefined };
  }
  const contested = overlap === "newest" ? new Uint8Array(count * 2) : undefined;
  /** The count of symbols in the heap by name. */
  const names = new Map<string, number>();
  const heap: number[] = [];
  const rank = (symbol: number): number => overlap === "newest" ? ordinal[symbol] ?? 0 : symbol;
  // A symbol without a size still owns its first byte.
  const endOf = (symbol: number): number => Math.max(end[symbol] ?? 0, (start[symbol] ?? 0) + 1);

  function push(symbol: number): void {
    if (contested !== undefined) {
      const name = nameOf(symbol);
      names.set(name, (names.get(name) ?? 0) + 1);
    }
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
    if (contested !== undefined && heap.length > 0) {
      const name = nameOf(heap[0] ?? 0);
      const left = (names.get(name) ?? 0) - 1;
      if (left > 0) names.set(name, left);
      else names.delete(name);
    }
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
    const isContested = names.size > 1 ? 1 : 0;
    const isSame = used > 0 && owner[used - 1] === symbol;
    if (isSame && (contested === undefined || contested[used - 1] === isContested)) return;
    segments[used] = address;
    if (contested !== undefined) contested[used] = isContested;
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
  return {
    segments: segments.slice(0, used),
    owner: owner.slice(0, used),
    contested: contested?.includes(1) === true ? contested.slice(0, used) : undefined,
  };
}
