import type { PlacedBoxes } from "../flame/graph.ts";
import type { FlameRoot } from "./flame_roots.ts";
import type { CallGraph, Direction, Group } from "./call_graph.ts";

/** Visible boxes of a flame graph, outer boxes first. */
export interface FlameBoxes extends PlacedBoxes {
  /** The function, or `NO_STACK`. */
  readonly item: Int32Array;
  readonly total: Float64Array;
  /** Weight of the function itself; 0 for callers if stacks are walked towards callers. */
  readonly self: Float64Array;
  /** Direction in which stacks were walked. */
  readonly direction: Direction;
  /** Weight of the whole selection. */
  readonly sum: number;
  /** Number of boxes that were left out because they are too narrow, without the boxes inside them. */
  readonly narrow: number;
}

/** Options of a layout. */
export interface FlameQuery {
  readonly direction: Direction;
  /** If set, only the callees or callers of this function are shown. */
  readonly focus?: number | undefined;
  /** Content of the first row: functions by default. */
  readonly root?: FlameRoot | undefined;
  /** Whether to compute the weight of each PMU of the event by box. */
  readonly pmus?: boolean | undefined;
  /** Path of functions to the box that fills the width. */
  readonly zoom: readonly number[];
  /** Minimum share of the width for a box. */
  readonly least: number;
}

/**
 * Lays out boxes, siblings by name.
 *
 * @param against Another graph with the same function numbers, whose weights the boxes get, too.
 */
export function flameBoxes(
  graph: CallGraph,
  rank: ArrayLike<number>,
  { direction, focus, zoom, least }: FlameQuery,
  against?: CallGraph,
): FlameBoxes & { readonly other: Float64Array } {
  const parent: number[] = [];
  const item: number[] = [];
  const depth: number[] = [];
  const x: number[] = [];
  const width: number[] = [];
  const total: number[] = [];
  const self: number[] = [];
  const other: number[] = [];
  let narrow = 0;
  const push = (
    group: Group,
    there: Group | undefined,
    up: number,
    deep: number,
    left: number,
    wide: number,
  ): number => {
    item.push(group.item);
    depth.push(deep);
    x.push(left);
    width.push(wide);
    total.push(group.total);
    self.push(group.self);
    other.push(there?.total ?? 0);
    return parent.push(up) - 1;
  };
  const all = graph.roots(direction, focus);
  let groups = all;
  let others = byItem(against?.roots(direction, focus));
  const othersIn = (there: Group | undefined): Others =>
    there === undefined ? undefined : byItem(against?.next(there, direction));
  let up = -1;
  let whole = all.reduce((sum, { total }) => sum + total, 0);
  for (const number of zoom) {
    const found = groups.find((group) => group.item === number);
    if (found === undefined) break;
    const there = others?.get(number);
    up = push(found, there, up, depth.length, 0, 1);
    groups = graph.next(found, direction);
    others = othersIn(there);
    whole = found.total;
  }
  const waiting: { groups: Group[]; others: Others; up: number; deep: number; left: number }[] = [
    { groups, others, up, deep: depth.length, left: 0 },
  ];
  const place = (group: Group) => group.item < 0 ? Infinity : rank[group.item] as number;
  for (const next of waiting) {
    let { left } = next;
    next.groups.sort((a, b) => place(a) - place(b) || a.item - b.item);
    for (const group of next.groups) {
      const wide = whole === 0 ? 0 : group.total / whole;
      if (wide < least) narrow++;
      else {
        const there = next.others?.get(group.item);
        const box = push(group, there, next.up, next.deep, left, wide);
        const within = graph.next(group, direction);
        if (within.length > 0) {
          const others = othersIn(there);
          waiting.push({ groups: within, others, up: box, deep: next.deep + 1, left });
        }
      }
      left += wide;
    }
  }
  return {
    length: item.length,
    parent: Int32Array.from(parent),
    item: Int32Array.from(item),
    depth: Int32Array.from(depth),
    x: Float64Array.from(x),
    width: Float64Array.from(width),
    total: Float64Array.from(total),
    self: Float64Array.from(self),
    other: Float64Array.from(other),
    direction,
    rows: depth.reduce((most, deep) => Math.max(most, deep + 1), 0),
    sum: graph.sum,
    narrow,
  };
}

type Others = ReadonlyMap<number, Group> | undefined;

function byItem(groups: readonly Group[] | undefined): Others {
  return groups && new Map(groups.map((group) => [group.item, group]));
}
