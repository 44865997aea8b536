import type { FlameRoot } from "./flame_roots.ts";
import type { CallGraph, Direction, Group } from "./call_graph.ts";

/** Boxes of a flame graph that are wide enough to be seen, outer boxes first. */
export interface FlameBoxes {
  readonly length: number;
  /** The box that a box stands on, -1 for none. */
  readonly parent: Int32Array;
  /** The function, or `NO_STACK`. */
  readonly item: Int32Array;
  readonly depth: Int32Array;
  /** Left edge as a share of the width. */
  readonly x: Float64Array;
  /** Width as a share. */
  readonly width: Float64Array;
  /** Weight. */
  readonly total: Float64Array;
  /** Weight of the function itself; towards callers, callers have none. */
  readonly self: Float64Array;
  /** Which way stacks were walked. */
  readonly direction: Direction;
  /** How many rows there are. */
  readonly rows: number;
  /** Weight of all that is selected. */
  readonly sum: number;
  /** Boxes that were left out, since they are narrower than asked for; those in them not counted. */
  readonly narrow: number;
}

/** What of a graph is laid out. */
export interface FlameQuery {
  readonly direction: Direction;
  /** Only what this function called, or what called it. */
  readonly focus?: number | undefined;
  /** What the first row is; functions, where that is missing. */
  readonly root?: FlameRoot | undefined;
  /** Whether the weight of each PMU of the event is wanted by box. */
  readonly pmus?: boolean | undefined;
  /** The functions that lead to the box that fills the width. */
  readonly zoom: readonly number[];
  /** The least share of the width that is worth a box. */
  readonly least: number;
}

/**
 * Lays out boxes, siblings by name.
 *
 * @param against What the same boxes have in another graph, whose functions have the same numbers.
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
