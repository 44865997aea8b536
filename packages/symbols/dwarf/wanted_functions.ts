import { floatAt, intAt, numberAt, uintAt } from "@perfdata/format/bytes";
import type { Die } from "./die.ts";
import { Calls, FunctionWalk, UNWANTED, walkCalls } from "./subprograms.ts";
import { lowerBound } from "../table/sorted_numbers.ts";
import { RangeList } from "./paint.ts";
import type { Unit } from "./unit.ts";

/**
 * Functions and inlined calls at addresses that are known in advance. Entries that cover none of
 * them are skipped, nothing is sorted, and little is stored. This is several times faster than a
 * {@link FunctionTable}, which can be queried later.
 */
export class WantedFunctions {
  readonly #unit: Unit;
  /** Function of each address, or -1. */
  readonly #functionAt: Int32Array;
  /** Innermost inlined call at each address, or -1. */
  readonly #callAt: Int32Array;
  /** Position in the unit of each function's entry. */
  readonly #entry: number[] = [];
  readonly #calls = new Calls();

  /**
   * Walks over the unit's entries.
   *
   * @param addresses in ascending order
   * @param attempt calls its argument, and reports or rethrows its error
   */
  constructor(unit: Unit, addresses: Float64Array, attempt: (read: () => void) => void) {
    this.#unit = unit;
    const n = addresses.length;
    const functionAt = this.#functionAt = new Int32Array(n).fill(-1);
    this.#callAt = new Int32Array(n).fill(-1);
    hits.begin(unit);
    const walk = new FunctionWalk(unit);
    for (let at = walk.next(); at >= 0; at = walk.next()) {
      if (hits.add(walk.die, addresses, n, this.#entry.length)) this.#entry.push(at);
    }
    hits.paint(functionAt, n);
    // Group the addresses by function. The addresses of one function can enclose those of another.
    const functions = this.#entry.length;
    const next = new Uint32Array(functions + 1);
    for (let i = 0; i < n; i++) {
      const f = intAt(functionAt, i);
      if (f >= 0) next[f + 1] = uintAt(next, f + 1) + 1;
    }
    for (let f = 0; f < functions; f++) {
      next[f + 1] = uintAt(next, f + 1) + uintAt(next, f);
    }
    const order = new Uint32Array(uintAt(next, functions));
    for (let i = 0; i < n; i++) {
      const f = intAt(functionAt, i);
      if (f < 0) continue;
      order[uintAt(next, f)] = i;
      next[f] = uintAt(next, f) + 1;
    }
    for (let f = 0, from = 0; f < functions; f++) {
      const to = uintAt(next, f);
      if (from < to) attempt(() => this.#readCalls(f, addresses, order, from, to));
      from = to;
    }
  }

  /** Index of the function at address number `i`, or -1. */
  functionAt(i: number): number {
    return intAt(this.#functionAt, i);
  }

  /** Index of the innermost call inlined at address number `i`, or -1. */
  callAt(i: number): number {
    return intAt(this.#callAt, i);
  }

  /** Offset in `.debug_info` of the entry of function `f`. */
  entryOffset(f: number): number {
    return this.#unit.offset + numberAt(this.#entry, f);
  }

  /** The inlined calls, by index. `parent` is -1 for a call of the function itself. */
  get calls(): Readonly<Calls> {
    return this.#calls;
  }

  /** Reads the calls of function `f` at the addresses with the numbers `order[from, to)`. */
  #readCalls(
    f: number,
    addresses: Float64Array,
    order: Uint32Array,
    from: number,
    to: number,
  ): void {
    const n = to - from;
    if (own.length < n) {
      own = new Float64Array(2 * n);
      ownCall = new Int32Array(2 * n);
    }
    for (let i = 0; i < n; i++) own[i] = floatAt(addresses, uintAt(order, from + i));
    const unit = this.#unit, calls = this.#calls;
    hits.begin(unit);
    walkCalls(unit, numberAt(this.#entry, f), (at, die, parent) => {
      if (!hits.add(die, own, n, calls.count)) return UNWANTED;
      return calls.add(unit, at, die, parent);
    });
    ownCall.fill(-1, 0, n);
    hits.paint(ownCall, n);
    for (let i = 0; i < n; i++) this.#callAt[uintAt(order, from + i)] = intAt(ownCall, i);
  }
}

// Addresses of the function that is being read, with their calls; only one function at a time.
let own = new Float64Array(64);
let ownCall = new Int32Array(64);

/** The indices of the addresses that ranges cover. */
class Hits {
  #from = new Int32Array(256);
  #to = new Int32Array(256);
  #owner = new Int32Array(256);
  #count = 0;
  /** `#next[i]` is the first unpainted address from number `i` on, with path compression. */
  #next = new Int32Array(256);
  readonly #ranges = new RangeList();
  #unit: Unit | undefined;

  /** Starts over for entries of `unit`. */
  begin(unit: Unit): void {
    this.#unit = unit;
    this.#count = 0;
    unit.resetRangeBudget();
  }

  /**
   * Adds the addresses of `addresses[0, n)` that the entry covers. Returns false if it covers none.
   */
  add(die: Die, addresses: Float64Array, n: number, owner: number): boolean {
    const ranges = this.#ranges;
    ranges.count = 0;
    this.#unit?.ranges(die, ranges, owner);
    const before = this.#count;
    for (let r = 0; r < ranges.count; r++) {
      const from = lowerBound(addresses, floatAt(ranges.low, r), 0, n);
      const high = floatAt(ranges.high, r);
      if (from === n || floatAt(addresses, from) >= high) continue;
      let to = from + 1;
      if (to < n && floatAt(addresses, to) < high) to = lowerBound(addresses, high, to + 1, n);
      this.#push(from, to, owner);
    }
    return this.#count > before;
  }

  #push(from: number, to: number, owner: number): void {
    const n = this.#count;
    if (n === this.#owner.length) {
      const wider = (narrow: Int32Array): Int32Array<ArrayBuffer> => {
        const result = new Int32Array(2 * n);
        result.set(narrow);
        return result;
      };
      this.#from = wider(this.#from);
      this.#to = wider(this.#to);
      this.#owner = wider(this.#owner);
    }
    this.#from[n] = from;
    this.#to[n] = to;
    this.#owner[n] = owner;
    this.#count = n + 1;
  }

  /** Writes the owner of each covered address to `painted[0, n)`; the last owner wins. */
  paint(painted: Int32Array, n: number): void {
    if (this.#next.length <= n) this.#next = new Int32Array(2 * n);
    const next = this.#next;
    for (let i = 0; i <= n; i++) next[i] = i;
    for (let k = this.#count - 1; k >= 0; k--) {
      const to = intAt(this.#to, k), owner = intAt(this.#owner, k);
      for (let i = this.#unpainted(intAt(this.#from, k)); i < to; i = this.#unpainted(i)) {
        painted[i] = owner;
        next[i] = i + 1;
      }
    }
  }

  #unpainted(i: number): number {
    const next = this.#next;
    let root = i;
    while (next[root] !== root) root = intAt(next, root);
    while (i !== root) {
      const up = intAt(next, i);
      next[i] = root;
      i = up;
    }
    return root;
  }
}

const hits = new Hits();
