import { enlarge } from "@perfdata/format/bytes";
import { lowerBound } from "../table/sorted_numbers.ts";

/** Ranges `[low, high)` with owners, in growing arrays. */
export class RangeList {
  low = new Float64Array(64);
  high = new Float64Array(64);
  owner = new Int32Array(64);
  count = 0;

  push(low: number, high: number, owner: number): void {
    const n = this.count;
    if (n === this.owner.length) {
      this.low = enlarge(this.low, n + 1);
      this.high = enlarge(this.high, n + 1);
      this.owner = enlarge(this.owner, n + 1);
    }
    this.low[n] = low;
    this.high[n] = high;
    this.owner[n] = owner;
    this.count = n + 1;
  }
}

/**
 * Cells of an address space: cell `i` is `[start[i], start[i + 1])` and belongs to `owner[i]` (-1:
 * no owner). Several lists of cells can be stored one after another.
 */
export class Cells {
  start = new Float64Array(64);
  owner = new Int32Array(64);
  count = 0;

  push(start: number, owner: number): void {
    const n = this.count;
    if (n === this.owner.length) {
      this.start = enlarge(this.start, n + 1);
      this.owner = enlarge(this.owner, n + 1);
    }
    this.start[n] = start;
    this.owner[n] = owner;
    this.count = n + 1;
  }

  /** Owner of `address` in the cells `[from, to)`, or -1. */
  find(address: number, from = 0, to: number = this.count): number {
    const start = this.start;
    let low = from, high = to;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((start[middle] as number) <= address) low = middle + 1;
      else high = middle;
    }
    return low > from ? this.owner[low - 1] as number : -1;
  }

  /** Releases spare capacity. */
  trim(): void {
    this.start = this.start.slice(0, this.count);
    this.owner = this.owner.slice(0, this.count);
  }

  /** Size of the arrays in bytes. */
  get bytes(): number {
    return this.start.byteLength + this.owner.byteLength;
  }
}

/**
 * Paints the ranges from `from` on over each other, and appends the visible cells to `cells`.
 *
 * ```text
 * ranges in order   0 |--------------|        cells, last wins
 *                   1     |----|              |0 |1   |0    |-1
 *                   2              |-----| …  |0 |1   |0 |2    |-1
 * ```
 *
 * With `lastWins`, later ranges cover earlier ones, as for nested functions, whose inner ranges
 * come later. Otherwise the first range wins. Takes n log n steps for any overlaps.
 */
export function paint(ranges: RangeList, from: number, lastWins: boolean, cells: Cells): void {
  const { low, high, owner, count } = ranges;
  if (count === from) return;
  const order = orderOf(low, from, count);
  const n = count - from;
  const firstCell = cells.count;
  let end = NaN;
  for (let i = 0; i < n;) {
    const first = order[i] as number;
    const begin = low[first] as number;
    if (end < begin) emit(cells, firstCell, end, -1);
    end = high[first] as number;
    let j = i + 1;
    while (j < n && (low[order[j] as number] as number) < end) {
      const other = high[order[j] as number] as number;
      if (other > end) end = other;
      j++;
    }
    if (j === i + 1) emit(cells, firstCell, begin, owner[first] as number);
    else if (!lastWins || !nested(ranges, order, i, j, cells, firstCell)) {
      overlapping(ranges, order.slice(i, j), lastWins, cells, firstCell);
    }
    i = j;
  }
  cells.push(end, -1);
}

function emit(cells: Cells, firstCell: number, start: number, who: number): void {
  const n = cells.count;
  if (n > firstCell) {
    if (cells.start[n - 1] === start) {
      cells.owner[n - 1] = who;
      return;
    }
    if (cells.owner[n - 1] === who) return;
  }
  cells.push(start, who);
}

let stack = new Int32Array(256);

/**
 * Paints the ranges `order[i, j)` in one pass with a stack, if each lies inside or after earlier
 * ones, as nearly all functions do. Otherwise returns false and paints nothing.
 */
function nested(
  ranges: RangeList,
  order: Uint32Array,
  i: number,
  j: number,
  cells: Cells,
  firstCell: number,
): boolean {
  const { low, high, owner } = ranges;
  if (stack.length < j - i) stack = new Int32Array(2 * (j - i));
  const cellsBefore = cells.count;
  const lastOwner = cellsBefore > 0 ? cells.owner[cellsBefore - 1] as number : 0;
  let depth = 0;
  for (let k = i; k < j; k++) {
    const range = order[k] as number;
    const start = low[range] as number;
    while (depth > 0 && (high[stack[depth - 1] as number] as number) <= start) {
      const done = high[stack[--depth] as number] as number;
      if (depth > 0 && done < (high[stack[depth - 1] as number] as number)) {
        emit(cells, firstCell, done, owner[stack[depth - 1] as number] as number);
      }
    }
    if (depth > 0) {
      const outer = stack[depth - 1] as number;
      if ((high[range] as number) > (high[outer] as number) || range < outer) {
        cells.count = cellsBefore;
        if (cellsBefore > 0) cells.owner[cellsBefore - 1] = lastOwner;
        return false;
      }
    }
    emit(cells, firstCell, start, owner[range] as number);
    stack[depth++] = range;
  }
  while (depth > 1) {
    const done = high[stack[--depth] as number] as number;
    if (done < (high[stack[depth - 1] as number] as number)) {
      emit(cells, firstCell, done, owner[stack[depth - 1] as number] as number);
    }
  }
  return true;
}

/**
 * Paints overlapping ranges, given by index in `members`. Each cell between end points is painted
 * once.
 */
function overlapping(
  ranges: RangeList,
  members: Uint32Array,
  lastWins: boolean,
  cells: Cells,
  firstCell: number,
): void {
  const { low, high, owner } = ranges;
  const points = new Float64Array(members.length * 2);
  for (let i = 0; i < members.length; i++) {
    points[2 * i] = low[members[i] as number] as number;
    points[2 * i + 1] = high[members[i] as number] as number;
  }
  points.sort();
  let cellCount = 0;
  for (let i = 1; i < points.length; i++) {
    if (points[i] !== points[cellCount]) points[++cellCount] = points[i] as number;
  }
  const painted = new Int32Array(cellCount).fill(-1);
  // next[i] is the first unpainted cell from i on, with path compression.
  const next = new Uint32Array(cellCount + 1);
  for (let i = 0; i <= cellCount; i++) next[i] = i;
  const nextOf = (cell: number) => {
    let root = cell;
    while (next[root] !== root) root = next[root] as number;
    while (next[cell] !== root) {
      const up = next[cell] as number;
      next[cell] = root;
      cell = up;
    }
    return root;
  };
  members.sort();
  if (lastWins) members.reverse();
  for (const m of members) {
    const stop = high[m] as number;
    for (
      let cell = nextOf(lowerBound(points, low[m] as number, 0, cellCount + 1));
      cell < cellCount && (points[cell] as number) < stop;
      cell = nextOf(cell)
    ) {
      painted[cell] = owner[m] as number;
      next[cell] = cell + 1;
    }
  }
  for (let cell = 0; cell < cellCount; cell++) {
    emit(cells, firstCell, points[cell] as number, painted[cell] as number);
  }
}

let sortedNumbers = new Uint32Array(1024);
let otherNumbers = new Uint32Array(1024);
const digitCounts = new Uint32Array(2048);

/**
 * Sorts the numbers `from … to - 1` by `key`; the sort is stable. A radix sort, since a comparison
 * function over typed arrays is ten times slower. The result is overwritten by the next call.
 */
export function orderOf(key: Float64Array, from: number, to: number): Uint32Array {
  const n = to - from;
  if (n > sortedNumbers.length) {
    sortedNumbers = new Uint32Array(2 * n);
    otherNumbers = new Uint32Array(2 * n);
  }
  let order = sortedNumbers;
  let sorted = true;
  let least = Infinity, most = -Infinity;
  for (let i = 0; i < n; i++) {
    const k = key[from + i] as number;
    order[i] = from + i;
    if (k < most) sorted = false;
    else most = k;
    if (k < least) least = k;
  }
  if (sorted) return order;
  if (n <= 48) {
    for (let i = 1; i < n; i++) {
      const number = order[i] as number;
      const k = key[number] as number;
      let j = i;
      while (j > 0 && (key[order[j - 1] as number] as number) > k) {
        order[j] = order[j - 1] as number;
        j--;
      }
      order[j] = number;
    }
    return order;
  }
  let other = otherNumbers;
  // Few keys use small digits, since clearing and summing 2048 counts would cost more than another
  // pass.
  const radix = n < 2048 ? 256 : 2048;
  for (let scale = 1; scale <= most - least; scale *= radix) {
    digitCounts.fill(0, 0, radix);
    for (let i = 0; i < n; i++) {
      const digit = Math.floor(((key[from + i] as number) - least) / scale) % radix;
      digitCounts[digit] = (digitCounts[digit] as number) + 1;
    }
    for (let digit = 0, sum = 0; digit < radix; digit++) {
      const count = digitCounts[digit] as number;
      digitCounts[digit] = sum;
      sum += count;
    }
    for (let i = 0; i < n; i++) {
      const number = order[i] as number;
      const digit = Math.floor(((key[number] as number) - least) / scale) % radix;
      const place = digitCounts[digit] as number;
      other[place] = number;
      digitCounts[digit] = place + 1;
    }
    [order, other] = [other, order];
  }
  return order;
}
