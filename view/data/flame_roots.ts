import { NodeTable, type ProfileThread } from "@perfdata/profile";
import type { Weights } from "./selection.ts";
import { inDepthFirstOrder, type StackRows } from "@perfdata/export/tree";
import { floatAt, intAt, numberAt } from "@perfdata/format/bytes";

/** Content of the first row of a flame graph: functions, process names, or threads. */
export type FlameRoot = "function" | "process" | "thread";

/** Boxes of the first row that are not functions. Their numbers follow those of the functions. */
export interface FlameRoots {
  /** By thread: index in {@linkcode FlameRoots.names}. */
  readonly of: Int32Array;
  readonly names: readonly string[];
}

/** Returns the roots of threads. Processes with the same name share a root, as in `perf report --sort comm`. */
export function flameRoots(
  threads: readonly ProfileThread[],
  root: Exclude<FlameRoot, "function">,
): FlameRoots {
  const numbers = new Map<string, number>();
  const names: string[] = [];
  const of = Int32Array.from(threads, ({ pid, tid, comm }) => {
    const key = root === "process" ? comm : `${comm} ${pid} ${tid}`;
    let number = numbers.get(key);
    if (number === undefined) {
      number = names.push(root === "process" ? comm : `${comm} ${tid}`) - 1;
      numbers.set(key, number);
    }
    return number;
  });
  return { of, names };
}

/** Selected samples, with their rows of the stacks; -1 for samples without a stack. */
export interface RootedSamples {
  readonly rows: Int32Array;
  readonly stack: (row: number) => number;
  readonly thread: Int32Array;
  readonly period: Float64Array;
  readonly count: Float64Array;
}

/**
 * Inserts a root below each stack, and sums up the weights.
 *
 * @param functions Number of functions: roots are numbered from there.
 * @param rank By function and root: position among siblings.
 */
export function rootedStacks(
  { parent, item }: Pick<StackRows, "parent" | "item">,
  { rows, stack, thread, period, count }: RootedSamples,
  { of, names }: FlameRoots,
  functions: number,
  rank: ArrayLike<number>,
): { readonly stacks: StackRows; readonly weights: Weights } {
  const nodes = new NodeTable();
  const rootNodes = names.map((_, number) => nodes.node(-1, functions + number));
  // Node by root and row of the stacks.
  const pairs = new NodeTable();
  const nodeOf: number[] = [];
  const path: number[] = [];
  const below = (root: number, leaf: number): number => {
    path.length = 0;
    for (let row = leaf; row >= 0; row = intAt(parent, row)) path.push(row);
    let node = numberAt(rootNodes, root);
    while (path.length > 0) {
      const row = path.pop() as number;
      node = nodes.node(node, intAt(item, row));
    }
    return node;
  };
  const at = Int32Array.from(rows, (row) => {
    const root = intAt(of, intAt(thread, row));
    const leaf = stack(row);
    const pair = pairs.node(leaf, root);
    return nodeOf[pair] ??= below(root, leaf);
  });
  const ordered = inDepthFirstOrder({ parent: nodes.parents(), item: nodes.items() }, rank);
  const { length } = ordered.rows.parent;
  const sums = { period: new Float64Array(length), count: new Float64Array(length) };
  let [totalPeriod, totalCount] = [0, 0];
  for (const [i, row] of rows.entries()) {
    const node = intAt(ordered.number, intAt(at, i));
    sums.period[node] = floatAt(sums.period, node) + floatAt(period, row);
    sums.count[node] = floatAt(sums.count, node) + floatAt(count, row);
    totalPeriod += floatAt(period, row);
    totalCount += floatAt(count, row);
  }
  return {
    stacks: ordered.rows,
    // Samples without a stack count at the root itself.
    weights: { ...sums, totalPeriod, totalCount, barePeriod: 0, bareCount: 0 },
  };
}
