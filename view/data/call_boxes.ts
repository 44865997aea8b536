import { floatAt, intAt, numberAt } from "@perfdata/format/bytes";
import type { CallTimeline, CallTree } from "@perfdata/pt/decode";
import type { TimeBoxes } from "./time_boxes.ts";

/** Selects the calls to lay out. */
export interface CallBoxesQuery {
  readonly tid: number;
  /** Start in ns, by the clock of the calls. */
  readonly from: number;
  readonly to: number;
  /** Minimum share of the width for a box. */
  readonly least: number;
}

/**
 * Lays out the execution of a thread: a box for each call from its begin to its end, with callers above. The width
 * is the whole requested time, so gaps are times at which the thread did not run.
 *
 * @param functionOf Function of each place.
 */
export function callBoxes(
  tree: Pick<CallTree, "parent" | "place">,
  timeline: Pick<CallTimeline, "count" | "tid" | "node" | "from" | "to">,
  functionOf: ArrayLike<number>,
  { tid, from: first, to: last, least }: CallBoxesQuery,
): TimeBoxes {
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
  const span = Math.max(1, last - first);
  let narrow = 0;
  let sum = 0;
  let before = -1;
  /** Open boxes, outermost first: node of the tree and number of the box. */
  const open: { readonly node: number; readonly box: number }[] = [];
  const path: number[] = [];
  const close = (depth: number, at: number) => {
    while (open.length > depth) {
      const { box } = open.pop() as { box: number };
      to[box] = at;
      width[box] = (at - numberAt(from, box)) / span;
      // Boxes inside a narrow box are narrow, too, and already removed, so this box is the last one.
      if (numberAt(width, box) >= least) continue;
      narrow++;
      for (const column of Object.values(columns)) column.length = box;
    }
  };
  for (let i = 0; i < timeline.count; i++) {
    if (timeline.tid[i] !== tid) continue;
    const begin = Math.max(first, floatAt(timeline.from, i));
    const end = Math.min(last, floatAt(timeline.to, i));
    if (end <= begin) continue;
    path.length = 0;
    for (let node = intAt(timeline.node, i); node >= 0; node = intAt(tree.parent, node)) {
      path.push(node);
    }
    path.reverse();
    let same = 0;
    // After a pause, the same calls get new boxes.
    if (begin <= before) { while (same < open.length && open[same]?.node === path[same]) same++; }
    close(same, Math.min(before, begin));
    for (let depth = same; depth < path.length; depth++) {
      const node = numberAt(path, depth);
      columns.parent.push(open.at(-1)?.box ?? -1);
      columns.item.push(functionOf[intAt(tree.place, node)] ?? -1);
      columns.depth.push(depth);
      x.push((begin - first) / span);
      width.push(0);
      total.push(0);
      self.push(0);
      from.push(begin);
      open.push({ node, box: to.push(begin) - 1 });
    }
    const own = end - begin;
    for (const { box } of open) total[box] = numberAt(total, box) + own;
    const inner = open.at(-1)?.box;
    if (inner !== undefined) self[inner] = numberAt(self, inner) + own;
    sum += own;
    before = end;
  }
  close(0, before);
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
