import { floatAt, intAt, numberAt } from "@perfdata/format/bytes";
import type { CallTimeline, CallTree } from "@perfdata/pt/decode";
import { OpenBoxes, type TimeBoxes } from "./open_boxes.ts";

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
  const boxes = new OpenBoxes(least);
  const { open } = boxes;
  const span = Math.max(1, last - first);
  let sum = 0;
  let before = -1;
  const path: number[] = [];
  const close = (depth: number, at: number) =>
    boxes.close(depth, (box) => {
      boxes.to[box] = at;
      return (at - numberAt(boxes.from, box)) / span;
    });
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
    if (begin <= before) { while (same < open.length && open[same]?.key === path[same]) same++; }
    close(same, Math.min(before, begin));
    for (let depth = same; depth < path.length; depth++) {
      const node = numberAt(path, depth);
      const item = functionOf[intAt(tree.place, node)] ?? -1;
      boxes.begin(node, item, (begin - first) / span, begin);
    }
    boxes.add(end - begin, open.length - 1);
    sum += end - begin;
    before = end;
  }
  close(0, before);
  return boxes.boxes(sum);
}
