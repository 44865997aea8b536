import { checkMemory, floatAt, intAt } from "@perfdata/format/bytes";
import { FloatColumn, IntColumn, NodeTable } from "@perfdata/profile";
import type { FlameData } from "./flame_data.ts";

/** Selects the part of a {@linkcode FlameData} to draw, and the layout. */
export interface FlameSelection {
  /** Index of the event. */
  readonly event: number;
  /** Meaning of the widths. */
  readonly weight: "period" | "samples";
  /**
   * `merged`: frames with the same callers are merged. `callers`: the sampled function first, then
   * its callers.
   */
  readonly order: "merged" | "callers";
  /** First row: none, processes or threads. */
  readonly root: "none" | "process" | "thread";
}

/** Boxes of a flame graph, a caller before its callees. */
export interface FlameTree {
  /** Number of boxes. */
  readonly length: number;
  /** Box of the caller; -1 in the first row. */
  readonly parent: Int32Array;
  /** Function; -1 - thread for the box of a process or thread. */
  readonly item: Int32Array;
  /** A node of the data that the box shows; -1 if there is none. */
  readonly node: Int32Array;
  /** Row, from 0. */
  readonly depth: Int32Array;
  /** Left edge, as a share of the whole: 0 to 1. */
  readonly x: Float64Array;
  /** Width, as a share of the whole. */
  readonly width: Float64Array;
  /** Weight of the samples in the box. */
  readonly value: Float64Array;
  /** Weight of the samples in the box itself, without callees. */
  readonly self: Float64Array;
  /** Samples in the box. */
  readonly samples: Float64Array;
  /** Period of the samples. */
  readonly periods: Float64Array;
  /** Weight in the base of a comparison; zeros without a comparison. */
  readonly base: Float64Array;
  /** Weight of all selected samples. */
  readonly total: number;
  /** Weight of all selected samples in the base of a comparison. */
  readonly baseTotal: number;
  /** Number of all selected samples. */
  readonly totalSamples: number;
  /** Period of all selected samples. */
  readonly totalPeriod: number;
  /** Number of rows. */
  readonly rows: number;
  /** First row. */
  readonly root: FlameSelection["root"];
}

/** Number of sums per box. */
const SUMS = 4;

/** Collects boxes. */
class Boxes {
  readonly table = new NodeTable();
  readonly item = new IntColumn();
  readonly node = new IntColumn();
  readonly sums = new FloatColumn();

  /** Returns the box of an item within another; `key` identifies it among its siblings. */
  box(parent: number, key: number, item: number, node: number): number {
    const box = this.table.node(parent, key);
    if (box === this.item.length) {
      this.item.push(item);
      this.node.push(node);
      for (let i = 0; i < SUMS; i++) this.sums.push(0);
    }
    return box;
  }

  add(box: number, value: number, base: number, samples: number, period: number): void {
    const sums = this.sums.array();
    const at = box * SUMS;
    (sums[at] as number) += value;
    (sums[at + 1] as number) += base;
    (sums[at + 2] as number) += samples;
    (sums[at + 3] as number) += period;
  }
}

/**
 * Lays out a flame graph.
 *
 * @example
 * ```ts
 * import { flameData, flameTree } from "@perfdata/export/tree";
 * import { ProfileBuilder } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
 * const main = builder.stack(-1, builder.place(-1, 1, [{ name: "main" }]));
 * const work = builder.stack(main, builder.place(-1, 2, [{ name: "work" }]));
 * const thread = builder.thread(7, 7, "demo");
 * builder.sample({ stack: main, event: 0, thread, period: 100 });
 * builder.sample({ stack: work, event: 0, thread, period: 300 });
 * const data = flameData([builder.profile()]);
 * const tree = flameTree(data, { event: 0, weight: "period", order: "merged", root: "none" });
 * assertEquals([...tree.value], [400, 300]);
 * assertEquals([...tree.width], [1, 0.75]);
 * ```
 */
export function flameTree(data: FlameData, selection: FlameSelection): FlameTree {
  const { rows } = data;
  const { event, weight, order, root } = selection;
  const boxes = new Boxes();
  const rootOf = rootKeys(data, root);
  const makers = new Map<number, PathMaker>();
  const last = data.sides.length - 1;
  for (let i = 0; i < rows.node.length; i++) {
    if (rows.event[i] !== event) continue;
    const key = intAt(rootOf, intAt(rows.thread, i));
    let maker = makers.get(key);
    if (maker === undefined) {
      const top = key < 0 ? -1 : boxes.box(-1, key, -1 - key, -1);
      maker = order === "callers"
        ? new CallerPaths(data, boxes, top)
        : new Paths(data, boxes, top, key < 0);
      makers.set(key, maker);
      if ((makers.size & 0xfff) === 0) checkMemory();
    }
    const count = floatAt(rows.count, i);
    const period = floatAt(rows.period, i);
    const value = weight === "period" ? period : count;
    const isLast = rows.side[i] === last;
    maker.add(
      intAt(rows.node, i),
      isLast ? value : 0,
      isLast ? 0 : value,
      isLast ? count : 0,
      isLast ? period : 0,
    );
  }
  return layOut(data, boxes, root);
}

/** Index of each thread's root; -1 without a root. */
function rootKeys({ threads }: FlameData, root: FlameSelection["root"]): Int32Array {
  if (root === "none") return new Int32Array(threads.length).fill(-1);
  const first = new Map<string, number>();
  return Int32Array.from(threads, ({ pid, tid, comm }, number) => {
    const key = root === "process" ? comm : `${comm} ${pid} ${tid}`;
    if (!first.has(key)) first.set(key, number);
    return first.get(key) as number;
  });
}

interface PathMaker {
  add(node: number, value: number, base: number, samples: number, period: number): void;
}

/** Makes boxes from the outermost caller inwards. */
class Paths implements PathMaker {
  readonly #data: FlameData;
  readonly #boxes: Boxes;
  readonly #top: number;
  readonly #isBare: boolean;
  readonly #boxOf = new Map<number, number>();

  /** @param isBare whether `top` is not drawn */
  constructor(data: FlameData, boxes: Boxes, top: number, isBare: boolean) {
    this.#data = data;
    this.#boxes = boxes;
    this.#top = top;
    this.#isBare = isBare;
  }

  #box(node: number): number {
    if (node < 0) return this.#top;
    let box = this.#boxOf.get(node);
    if (box === undefined) {
      const item = intAt(this.#data.item, node);
      box = this.#boxes.box(this.#box(intAt(this.#data.parent, node)), item, item, node);
      this.#boxOf.set(node, box);
    }
    return box;
  }

  add(node: number, value: number, base: number, samples: number, period: number): void {
    // A sample without a stack and without a root has its own box.
    const box = node < 0 && this.#isBare
      ? this.#boxes.box(this.#top, NO_STACK, NO_STACK, -1)
      : this.#box(node);
    this.#boxes.add(box, value, base, samples, period);
  }
}

/** The item of the box for samples without a stack. */
export const NO_STACK: number = -0x7ffffffe;

/** Makes boxes from the sampled function outwards. */
class CallerPaths implements PathMaker {
  readonly #data: FlameData;
  readonly #boxes: Boxes;
  readonly #top: number;

  constructor(data: FlameData, boxes: Boxes, top: number) {
    this.#data = data;
    this.#boxes = boxes;
    this.#top = top;
  }

  add(node: number, value: number, base: number, samples: number, period: number): void {
    const { item, parent } = this.#data;
    let box = this.#top;
    if (node < 0 && box < 0) box = this.#boxes.box(-1, NO_STACK, NO_STACK, -1);
    for (let at = node; at >= 0; at = intAt(parent, at)) {
      const of = intAt(item, at);
      box = this.#boxes.box(box, of, of, at);
    }
    this.#boxes.add(box, value, base, samples, period);
  }
}

/** Sums up boxes, and computes their positions; siblings are sorted by name. */
function layOut(
  data: FlameData,
  { table, item, node, sums }: Boxes,
  root: FlameSelection["root"],
): FlameTree {
  const length = table.length;
  const parent = table.parents().slice();
  const column = (at: number) =>
    Float64Array.from({ length }, (_, box) => floatAt(sums.array(), box * SUMS + at));
  const [value, base, samples, periods] = [column(0), column(1), column(2), column(3)];
  const self = value.slice();
  const depth = new Int32Array(length);
  for (let box = length - 1; box >= 0; box--) {
    const up = intAt(parent, box);
    if (up < 0) continue;
    (value[up] as number) += floatAt(value, box);
    (base[up] as number) += floatAt(base, box);
    (samples[up] as number) += floatAt(samples, box);
    (periods[up] as number) += floatAt(periods, box);
  }
  const totals = [0, 0, 0, 0];
  for (let box = 0; box < length; box++) {
    if (intAt(parent, box) >= 0) continue;
    for (const [at, of] of [value, base, samples, periods].entries()) {
      (totals[at] as number) += floatAt(of, box);
    }
  }
  const [total = 0, baseTotal = 0, totalSamples = 0, totalPeriod = 0] = totals;
  const items = item.array();
  const x = new Float64Array(length);
  const width = value.map((of) => total === 0 ? 0 : of / total);
  const next = new Float64Array(length + 1);
  let rows = 0;
  // A box follows its earlier siblings: boxes are in sibling order, callers first.
  for (const box of siblingOrder(data, parent, items)) {
    const up = intAt(parent, box);
    if (up >= 0) depth[box] = intAt(depth, up) + 1;
    rows = Math.max(rows, intAt(depth, box) + 1);
    x[box] = floatAt(next, up + 1);
    next[up + 1] = floatAt(x, box) + floatAt(width, box);
    next[box + 1] = floatAt(x, box);
  }
  return {
    length,
    parent,
    item: items.slice(),
    node: node.array().slice(),
    depth,
    x,
    width,
    value,
    self,
    samples,
    periods,
    base,
    total,
    baseTotal,
    totalSamples,
    totalPeriod,
    rows,
    root,
  };
}

/** Boxes after their callers, siblings by name. */
function siblingOrder(
  { names }: FlameData,
  parent: Int32Array,
  item: Int32Array,
): Int32Array {
  const sorted = names.map((_, number) => number).sort((a, b) =>
    (names[a] as string) < (names[b] as string) ? -1 : names[a] === names[b] ? a - b : 1
  );
  const rank = new Int32Array(names.length);
  for (const [at, number] of sorted.entries()) rank[number] = at;
  const place = (box: number) =>
    intAt(item, box) < 0 ? intAt(item, box) : intAt(rank, intAt(item, box));
  const depths = new Int32Array(parent.length);
  for (let box = 0; box < parent.length; box++) {
    const up = intAt(parent, box);
    if (up >= 0) depths[box] = intAt(depths, up) + 1;
  }
  const places = Float64Array.from(parent, (_, box) => place(box));
  return Int32Array.from(parent, (_, box) => box).sort((a, b) =>
    intAt(depths, a) - intAt(depths, b) || floatAt(places, a) - floatAt(places, b)
  );
}
