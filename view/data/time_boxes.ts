import { floatAt, intAt, numberAt } from "@perfdata/format/bytes";
import type { CallGraph } from "./call_graph.ts";
import type { FlameBoxes } from "./flame_boxes.ts";
import { NO_STACK } from "./call_graph.ts";

/** Boxes in order of time. */
export interface TimeBoxes extends FlameBoxes {
  /** By box: time of its first sample, in nanoseconds since the first sample of the recording. */
  readonly from: Float64Array;
  /** By box: time of its last sample. */
  readonly to: Float64Array;
}

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
  const columns = {
    parent: [] as number[],
    item: [] as number[],
    depth: [] as number[],
    x: [] as number[],
    width: [] as number[],
    total: [] as number[],
    self: [] as number[],
    from: [] as number[],
    to: [] as number[],
  };
  const { x, width, total, self, from, to } = columns;
  let narrow = 0;
  let at = 0;
  /** Open boxes of the previous sample, outermost first: row of the stacks and number of the box. */
  const open: { readonly row: number; readonly box: number }[] = [];
  const path: number[] = [];
  const close = (depth: number) => {
    while (open.length > depth) {
      const { box } = open.pop() as { box: number };
      const wide = width[box] = at - numberAt(x, box);
      // Boxes inside a narrow box are narrow, too, and already removed, so this box is the last one.
      if (wide >= least) continue;
      narrow++;
      for (const column of Object.values(columns)) column.length = box;
    }
  };
  for (let i = 0; i < stack.length; i++) {
    const sample = order?.[i] ?? i;
    const leaf = intAt(stack, sample);
    const own = floatAt(weight, sample);
    const when = floatAt(time, sample);
    path.length = 0;
    const deep = leaf < 0 ? 0 : intAt(depthOf, leaf);
    let row = leaf;
    // Search outward for the first frame that the previous sample shares.
    while (row >= 0 && open[intAt(depthOf, row)]?.row !== row) {
      path.push(row);
      row = intAt(parent, row);
    }
    const same = leaf < 0
      ? open[0]?.row === NO_STACK ? 1 : 0
      : row < 0
      ? 0
      : intAt(depthOf, row) + 1;
    if (leaf < 0 && same === 0) path.push(NO_STACK);
    close(same);
    while (path.length > 0) {
      const next = path.pop() as number;
      columns.parent.push(open.at(-1)?.box ?? -1);
      columns.item.push(next < 0 ? NO_STACK : intAt(item, next));
      columns.depth.push(open.length);
      x.push(at);
      width.push(0);
      total.push(0);
      self.push(0);
      from.push(when);
      open.push({ row: next, box: to.push(when) - 1 });
    }
    for (const { box } of open) {
      total[box] = numberAt(total, box) + own;
      if (when < numberAt(from, box)) from[box] = when;
      if (when > numberAt(to, box)) to[box] = when;
    }
    const inner = open[deep]?.box ?? 0;
    self[inner] = numberAt(self, inner) + own;
    at += sum === 0 ? 0 : own / sum;
  }
  close(0);
  return {
    direction: "down",
    length: columns.item.length,
    parent: Int32Array.from(columns.parent),
    item: Int32Array.from(columns.item),
    depth: Int32Array.from(columns.depth),
    x: Float64Array.from(x),
    width: Float64Array.from(width),
    total: Float64Array.from(total),
    self: Float64Array.from(self),
    from: Float64Array.from(from),
    to: Float64Array.from(to),
    rows: columns.depth.reduce((most, deep) => Math.max(most, deep + 1), 0),
    sum,
    narrow,
  };
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
