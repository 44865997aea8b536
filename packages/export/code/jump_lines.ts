import { byteAt } from "@perfdata/format/bytes";

/** A jump between two rows of a listing. */
export interface RowJump {
  /** Row of the jump. */
  readonly from: number;
  /** Row of the target. */
  readonly to: number;
}

/** Jump lines beside a listing. */
export interface JumpLines {
  /** Text beside each row; all have the same length. */
  readonly gutters: readonly string[];
  /** Number of jumps without room. */
  readonly left: number;
}

/** Limit of lines side by side. */
const MOST_LANES = 8;

const [UP, DOWN, LEFT, RIGHT] = [1, 2, 4, 8];
/** Box-drawing characters by the directions that they connect. */
const BOXES = " ││││┘┐┤─└┌├─┴┬┼".split("");
BOXES[UP | RIGHT] = "╰";
BOXES[DOWN | RIGHT] = "╭";
BOXES[UP] = BOXES[DOWN] = BOXES[UP | DOWN] = "│";
BOXES[LEFT] = BOXES[RIGHT] = BOXES[LEFT | RIGHT] = "─";

/**
 * Draws jumps beside a listing: a line from each jump to its target, with one line per target,
 * short ones next to the code. Lines cross but do not touch otherwise.
 *
 * @param rows Number of rows.
 *
 * @example
 * ```ts
 * import { jumpLines } from "@perfdata/export/code";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(jumpLines(4, [{ from: 3, to: 1 }, { from: 0, to: 2 }]).gutters, [
 *   " ╭─",
 *   "╭┼>",
 *   "│╰>",
 *   "╰──",
 * ]);
 * ```
 */
export function jumpLines(rows: number, jumps: readonly RowJump[]): JumpLines {
  const groups = new Map<number, { first: number; last: number; froms: number[] }>();
  for (const { from, to } of jumps) {
    const own = groups.get(to) ?? { first: to, last: to, froms: [] };
    own.first = Math.min(own.first, from);
    own.last = Math.max(own.last, from);
    own.froms.push(from);
    groups.set(to, own);
  }
  const inOrder = [...groups].map(([to, group]) => ({ to, ...group }))
    .sort((a, b) => a.last - a.first - (b.last - b.first) || a.first - b.first);
  const lanes: { first: number; last: number }[][] = [];
  const drawn: { lane: number; to: number; first: number; last: number; froms: number[] }[] = [];
  let left = 0;
  for (const group of inOrder) {
    const isFree = (lane: { first: number; last: number }[]) =>
      lane.every(({ first, last }) => group.last < first || group.first > last);
    let lane = lanes.findIndex(isFree);
    if (lane < 0) lane = lanes.length;
    if (lane >= MOST_LANES) {
      left += group.froms.length;
      continue;
    }
    (lanes[lane] ??= []).push(group);
    drawn.push({ ...group, lane });
  }
  const width = lanes.length;
  const cells = Array.from({ length: rows }, () => new Uint8Array(width));
  const ends = new Array<string>(rows).fill(" ");
  const add = (row: number, column: number, directions: number) => {
    const cell = cells[row];
    if (cell !== undefined) cell[column] = byteAt(cell, column) | directions;
  };
  for (const { lane, to, first, last, froms } of drawn) {
    const column = width - 1 - lane;
    for (let row = first; row <= last; row++) {
      add(row, column, (row > first ? UP : 0) | (row < last ? DOWN : 0));
    }
    for (const row of [to, ...froms]) {
      add(row, column, RIGHT);
      for (let right = column + 1; right < width; right++) add(row, right, LEFT | RIGHT);
      if (ends[row] !== ">") ends[row] = row === to ? ">" : "─";
    }
  }
  if (width === 0) return { gutters: new Array<string>(rows).fill(""), left };
  const gutters = cells.map((cell, row) =>
    Array.from(cell, (directions) => BOXES[directions]).join("") + ends[row]
  );
  return { gutters, left };
}
