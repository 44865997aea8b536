import type { Weight, Weights } from "./selection.ts";
import type { StackRows } from "@perfdata/export/tree";
import { floatAt, intAt } from "@perfdata/format/bytes";

/** Function number of samples without a stack. */
export const NO_STACK = -1;

/** Rows of stacks that form a box or a line of a tree: they have the same function and were reached in the same way. */
export interface Group {
  /** The function, or {@linkcode NO_STACK}. */
  readonly item: number;
  /** Rows of the stacks in this group. */
  readonly rows: number[];
  /** Weight that each row carries, if stacks are walked towards callers; otherwise, their totals count. */
  readonly carried: number[] | undefined;
  /** Weight of the group. */
  readonly total: number;
  /** Weight of samples in the function itself; 0 for callers if stacks are walked towards callers. */
  readonly self: number;
}

/** Direction in which stacks are walked: towards callees (`down`) or callers (`up`). */
export type Direction = "down" | "up";

/** Stacks with the weight of the selection. */
export class CallGraph {
  readonly stacks: StackRows;
  /** By row: weight of the samples whose innermost frame it is. */
  readonly self: Float64Array;
  /** By row: weight of the row and the rows below it. */
  readonly total: Float64Array;
  /** Weight of samples without a stack. */
  readonly bare: number;
  /** Total weight. */
  readonly sum: number;

  /** Computes the totals of all rows. */
  constructor(stacks: StackRows, weights: Weights, weight: Weight) {
    const byPeriod = weight === "period";
    this.stacks = stacks;
    this.self = byPeriod ? weights.period : weights.count;
    this.bare = byPeriod ? weights.barePeriod : weights.bareCount;
    this.sum = byPeriod ? weights.totalPeriod : weights.totalCount;
    this.total = this.self.slice();
    const { parent } = stacks;
    for (let row = parent.length - 1; row >= 0; row--) {
      const up = intAt(parent, row);
      if (up >= 0) this.total[up] = floatAt(this.total, up) + floatAt(this.total, row);
    }
  }

  /** Returns the first groups of a walk. With `focus`, they are the outermost occurrences of that function. */
  roots(direction: Direction, focus?: number): Group[] {
    const { parent, item, end } = this.stacks;
    const groups = new GroupMaker(this, direction);
    if (focus !== undefined) {
      for (let row = 0; row < parent.length;) {
        if (item[row] !== focus) row++;
        else {
          groups.add(focus, row, floatAt(this.total, row));
          row = intAt(end, row);
        }
      }
      return groups.all(true);
    }
    if (direction === "down") {
      for (let row = 0; row < parent.length; row = intAt(end, row)) {
        groups.add(intAt(item, row), row, floatAt(this.total, row));
      }
    } else {
      for (let row = 0; row < parent.length; row++) {
        groups.add(intAt(item, row), row, floatAt(this.self, row));
      }
    }
    const all = groups.all(true);
    if (this.bare > 0) {
      const rest = { rows: [], carried: undefined, self: this.bare };
      all.push({ item: NO_STACK, total: this.bare, ...rest });
    }
    return all;
  }

  /** Returns the callees of a group, or its callers. */
  next({ rows, carried }: Group, direction: Direction): Group[] {
    const { parent, item, end } = this.stacks;
    const groups = new GroupMaker(this, direction);
    for (const [i, row] of rows.entries()) {
      if (direction === "up") {
        const up = intAt(parent, row);
        if (up >= 0) groups.add(intAt(item, up), up, carried?.[i] as number);
      } else {
        for (let at = row + 1; at < intAt(end, row); at = intAt(end, at)) {
          groups.add(intAt(item, at), at, floatAt(this.total, at));
        }
      }
    }
    return groups.all(direction === "down");
  }

  at(direction: Direction, path: readonly number[], focus?: number): Group | undefined {
    let groups = this.roots(direction, focus);
    let found: Group | undefined;
    for (const item of path) {
      found = groups.find((group) => group.item === item);
      if (found === undefined) return undefined;
      groups = this.next(found, direction);
    }
    return found;
  }
}

/** Collects rows into groups by function. */
class GroupMaker {
  readonly #graph: CallGraph;
  readonly #isUp: boolean;
  readonly #groups = new Map<number, { rows: number[]; carried: number[]; sum: number }>();

  constructor(graph: CallGraph, direction: Direction) {
    this.#graph = graph;
    this.#isUp = direction === "up";
  }

  add(item: number, row: number, weight: number): void {
    if (weight === 0) return;
    let group = this.#groups.get(item);
    if (group === undefined) {
      this.#groups.set(item, group = { rows: [], carried: [], sum: 0 });
    }
    group.rows.push(row);
    if (this.#isUp) group.carried.push(weight);
    group.sum += weight;
  }

  /** @param hasSelf Whether samples can be in these functions themselves, not only in their callees. */
  all(hasSelf: boolean): Group[] {
    const { self } = this.#graph;
    return Array.from(this.#groups, ([item, { rows, carried, sum }]) => {
      let own = 0;
      if (hasSelf) { for (const row of rows) own += floatAt(self, row); }
      const weights = this.#isUp ? carried : undefined;
      return { item, rows, carried: weights, total: sum, self: own };
    });
  }
}

/** Functions and their weights, as columns; functions without weight are left out. */
export interface FunctionRows {
  /** The function, or {@linkcode NO_STACK}. */
  readonly item: Int32Array;
  /** Weight of the samples in the function itself. */
  readonly self: Float64Array;
  /** Weight of the samples in the function or its callees. A sample with a recursive function counts once. */
  readonly total: Float64Array;
}

/** Sums up weights by function. */
export function functionRows(graph: CallGraph, functions: number): FunctionRows {
  const { stacks: { parent, item, end }, self, total, bare } = graph;
  const ofSelf = new Float64Array(functions);
  const ofTotal = new Float64Array(functions);
  // By function: end of the rows below its outermost occurrence.
  const within = new Int32Array(functions);
  for (let row = 0; row < parent.length; row++) {
    const number = intAt(item, row);
    ofSelf[number] = floatAt(ofSelf, number) + floatAt(self, row);
    if (row < intAt(within, number)) continue;
    within[number] = intAt(end, row);
    ofTotal[number] = floatAt(ofTotal, number) + floatAt(total, row);
  }
  const found: number[] = [];
  for (let number = 0; number < functions; number++) {
    if (floatAt(ofTotal, number) > 0) found.push(number);
  }
  const rows = {
    self: found.map((number) => floatAt(ofSelf, number)),
    total: found.map((number) => floatAt(ofTotal, number)),
  };
  if (bare > 0) {
    found.push(NO_STACK);
    rows.self.push(bare);
    rows.total.push(bare);
  }
  return {
    item: Int32Array.from(found),
    self: Float64Array.from(rows.self),
    total: Float64Array.from(rows.total),
  };
}
