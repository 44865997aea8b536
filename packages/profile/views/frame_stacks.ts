import { checkMemory, intAt } from "@perfdata/format/bytes";
import { NodeTable } from "../columns/node_table.ts";
import type { Profile } from "../columns/profile.ts";

/** Stacks of frames, or of functions. */
export interface FrameStacks {
  /** The row of the caller, which is before; -1 for an outermost frame. */
  readonly parent: Int32Array;
  /** The frame or function. */
  readonly item: Int32Array;
  /** The innermost row here, by stack of the profile. */
  readonly of: Int32Array;
}

/** Options of {@linkcode frameStacks}. */
export interface FrameStackOptions {
  /**
   * Grouping of rows: by function, by function and line, or by the given number of each function.
   */
  readonly by: "function" | "frame" | Int32Array;
  /** `false` omits inlined functions, so that samples count for their callers. */
  readonly inline?: boolean;
}

/**
 * Expands the places of stacks to frames, and merges equal rows.
 *
 * Consecutive callers at unmapped addresses are one frame: chains of code without frame pointers
 * consist of such addresses, and neither their number nor their order means anything.
 *
 * @example
 * ```ts
 * import { frameStacks, ProfileBuilder } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * const builder = new ProfileBuilder({ events: [] });
 * const one = builder.place(-1, 0x10, [{ name: "inner", line: 2 }, { name: "main", line: 7 }]);
 * const other = builder.place(-1, 0x14, [{ name: "inner", line: 3 }, { name: "main", line: 7 }]);
 * builder.stack(-1, one);
 * builder.stack(-1, other);
 * const { parent, of } = frameStacks(builder.profile(), { by: "function" });
 * assertEquals([[...parent], [...of]], [[-1, 0], [1, 1]]);
 * ```
 */
export function frameStacks(
  { frames, functions, places, stacks }: Profile,
  { by, inline = true }: FrameStackOptions,
): FrameStacks {
  const nodes = new NodeTable();
  const { parent, place } = stacks;
  const of = new Int32Array(parent.length);
  const items = by === "frame"
    ? frames.function.map((_, frame) => frame)
    : by === "function"
    ? frames.function
    : frames.function.map((number) => intAt(by, number));
  const isUnknown = functions.name.map((name, number) =>
    name === "" && intAt(functions.object, number) < 0
  );
  for (let stack = 0; stack < parent.length; stack++) {
    const caller = intAt(parent, stack);
    let node = caller < 0 ? -1 : intAt(of, caller);
    const at = intAt(place, stack);
    const last = intAt(places.start, at + 1) - 1;
    const first = inline ? intAt(places.start, at) : last;
    for (let i = last; i >= first; i--) {
      const frame = intAt(places.frames, i);
      const item = intAt(items, frame);
      const isRun = node >= 0 && isUnknown[intAt(frames.function, frame)] === true &&
        nodes.item(node) === item;
      if (!isRun) node = nodes.node(node, item);
    }
    of[stack] = node;
  }
  return { parent: nodes.parents(), item: nodes.items(), of };
}

/**
 * Numbers the rows of stacks depth first, siblings by the rank of their items: an order that is
 * independent of the order of samples.
 *
 * @param rank by item
 * @returns number of each row in that order
 *
 * @example
 * ```ts
 * import { depthFirst } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * const stacks = { parent: Int32Array.of(-1, 0, 0, 1), item: Int32Array.of(0, 2, 1, 1) };
 * assertEquals([...depthFirst(stacks, [0, 1, 2])], [0, 2, 1, 3]);
 * ```
 */
export function depthFirst(
  { parent, item }: Pick<FrameStacks, "parent" | "item">,
  rank: ArrayLike<number>,
): Int32Array<ArrayBuffer> {
  const count = parent.length;
  // Sorted in descending order, then linked: the row that is linked last comes first.
  const byRank = Int32Array.from(item, (_, row) => row).sort((a, b) =>
    (rank[intAt(item, b)] as number) - (rank[intAt(item, a)] as number)
  );
  const first = new Int32Array(count + 1).fill(-1);
  const next = new Int32Array(count);
  for (const row of byRank) {
    const slot = intAt(parent, row) + 1;
    next[row] = intAt(first, slot);
    first[slot] = row;
  }
  const order = new Int32Array(count);
  let number = 0;
  let row = intAt(first, 0);
  while (row >= 0) {
    order[row] = number++;
    let following = intAt(first, row + 1);
    while (following < 0 && row >= 0) {
      following = intAt(next, row);
      row = intAt(parent, row);
    }
    row = following;
  }
  return order;
}

/** Ranks of labels in alphabetical order; equal labels have equal ranks. */
export function ranks(labels: readonly string[]): Int32Array<ArrayBuffer> {
  const distinct = [...new Set(labels)].sort((a, b) => a < b ? -1 : a > b ? 1 : 0);
  const rank = new Map<string, number>();
  for (const [number, label] of distinct.entries()) {
    if ((number & 0xfff) === 0) checkMemory();
    rank.set(label, number);
  }
  return Int32Array.from(labels, (label) => rank.get(label) as number);
}
