import { floatAt, intAt, numberAt } from "@perfdata/format/elements";
import type { CallGraph } from "./call_graph.ts";
import type { FlameBoxes } from "./flame_boxes.ts";
import { NO_STACK } from "./call_graph.ts";

/** Boxes in order of time, with their times. */
export interface TimeBoxes extends FlameBoxes {
  /** By box: time of its first sample, in nanoseconds since the first one of the recording. */
  readonly from: Float64Array;
  /** By box: time of its last sample. */
  readonly to: Float64Array;
}

/** Samples in order of time. */
export interface TimedRows {
  /** Innermost row of the stacks; -1 for none. */
  readonly stack: Int32Array;
  readonly weight: Float64Array;
  readonly time: Float64Array;
}

/** Stretches of time in which samples of several threads are put together. */
const SLICES = 240;

/**
 * Lays out samples in order of time: those that follow each other and are in the same function, called the
 * same way, are one box. Threads run beside each other; of several, what ran in one slice of time is sorted
 * by function.
 *
 * @param isSliced Whether there are several threads.
 * @param least The least share of the width that is worth a box.
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
  /** Boxes that the sample before was in, outermost first: the row of the stacks, and the number. */
  const open: { readonly row: number; readonly box: number }[] = [];
  const path: number[] = [];
  const close = (depth: number) => {
    while (open.length > depth) {
      const { box } = open.pop() as { box: number };
      const wide = width[box] = at - numberAt(x, box);
      // What is in a narrow box is narrow, and gone before it: it is the last one.
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
    // As far out as the sample before was somewhere else.
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

/** By row of stacks: how many callers it has. */
function depths(parent: Int32Array): Int32Array {
  const depth = new Int32Array(parent.length);
  for (let row = 0; row < parent.length; row++) {
    const up = intAt(parent, row);
    depth[row] = up < 0 ? 0 : intAt(depth, up) + 1;
  }
  return depth;
}

/** Numbers of samples by slice of time, and within that depth first, as rows of stacks are. */
function bySlice(stack: Int32Array, time: Float64Array): Int32Array {
  const { length } = stack;
  const [first, last] = [time[0] ?? 0, time[length - 1] ?? 0];
  const order = Int32Array.from({ length }, (_, i) => i);
  for (let slice = 0, start = 0; slice < SLICES; slice++) {
    const limit = slice === SLICES - 1 ? Infinity : first + (last - first) * (slice + 1) / SLICES;
    let end = start;
    while (end < length && floatAt(time, end) < limit) end++;
    // The numbers themselves decide what is equal: the order does not depend on the engine.
    order.subarray(start, end).sort((a, b) => intAt(stack, a) - intAt(stack, b) || a - b);
    start = end;
  }
  return order;
}
