import { floatAt, intAt, numberAt } from "@perfdata/format/bytes";
import type { CallGraph } from "./call_graph.ts";
import { NO_STACK } from "./call_graph.ts";
import { OpenBoxes, type TimeBoxes } from "./open_boxes.ts";

/** Samples in order of time. */
export interface TimedRows {
  /** Innermost row of the stacks; -1 without a stack. */
  readonly stack: Int32Array;
  readonly weight: Float64Array;
  readonly time: Float64Array;
}

/** Number of time slices in which samples of several threads are combined. */
const SLICES = 240;

/**
 * Lays out samples in order of time: successive samples with the same function and callers
 * form one box. Several threads run in parallel, so the samples within a slice of time are sorted
 * by function.
 *
 * @param isSliced Whether there are several threads.
 * @param least Minimum share of the width for a box.
 */
export function timeBoxes(
  { stacks, sum }: CallGraph,
  { stack, weight, time }: TimedRows,
  isSliced: boolean,
  least: number,
): TimeBoxes {
  const { parent, item } = stacks;
  const depthOf = depths(parent);
  const order = isSliced ? bySlice(stack, time) : undefined;
  const boxes = new OpenBoxes(least);
  const { open, x, from, to } = boxes;
  let at = 0;
  const path: number[] = [];
  const close = (depth: number) => boxes.close(depth, (box) => at - numberAt(x, box));
  for (let i = 0; i < stack.length; i++) {
    const sample = order?.[i] ?? i;
    const leaf = intAt(stack, sample);
    const own = floatAt(weight, sample);
    const when = floatAt(time, sample);
    path.length = 0;
    const deep = leaf < 0 ? 0 : intAt(depthOf, leaf);
    let row = leaf;
    // Search outward for the first frame that the previous sample shares.
    while (row >= 0 && open[intAt(depthOf, row)]?.key !== row) {
      path.push(row);
      row = intAt(parent, row);
    }
    const same = leaf < 0
      ? open[0]?.key === NO_STACK ? 1 : 0
      : row < 0
      ? 0
      : intAt(depthOf, row) + 1;
    if (leaf < 0 && same === 0) path.push(NO_STACK);
    close(same);
    while (path.length > 0) {
      const next = path.pop() as number;
      boxes.begin(next, next < 0 ? NO_STACK : intAt(item, next), at, when);
    }
    for (const { box } of open) {
      if (when < numberAt(from, box)) from[box] = when;
      if (when > numberAt(to, box)) to[box] = when;
    }
    boxes.add(own, deep);
    at += sum === 0 ? 0 : own / sum;
  }
  close(0);
  return boxes.boxes(sum);
}

/** Returns the number of callers of each row of the stacks. */
function depths(parent: Int32Array): Int32Array {
  const depth = new Int32Array(parent.length);
  for (let row = 0; row < parent.length; row++) {
    const up = intAt(parent, row);
    depth[row] = up < 0 ? 0 : intAt(depth, up) + 1;
  }
  return depth;
}

/** Returns the numbers of samples by slice of time; within a slice, depth first like the rows of stacks. */
function bySlice(stack: Int32Array, time: Float64Array): Int32Array {
  const { length } = stack;
  const [first, last] = [time[0] ?? 0, time[length - 1] ?? 0];
  const order = Int32Array.from({ length }, (_, i) => i);
  for (let slice = 0, start = 0; slice < SLICES; slice++) {
    const limit = slice === SLICES - 1 ? Infinity : first + (last - first) * (slice + 1) / SLICES;
    let end = start;
    while (end < length && floatAt(time, end) < limit) end++;
    // The comparison is total, so the order does not depend on the JavaScript engine.
    order.subarray(start, end).sort((a, b) => intAt(stack, a) - intAt(stack, b) || a - b);
    start = end;
  }
  return order;
}
