/** Ranges `[low, high)`, each of an owner, in arrays that grow. */
export class RangeList {
  low = new Float64Array(64);
  high = new Float64Array(64);
  owner = new Int32Array(64);
  count = 0;

  push(low: number, high: number, owner: number): void {
    const n = this.count;
    if (n === this.owner.length) this.#grow();
    this.low[n] = low;
    this.high[n] = high;
    this.owner[n] = owner;
    this.count = n + 1;
  }

  #grow(): void {
    const size = this.owner.length * 2;
    const low = new Float64Array(size), high = new Float64Array(size), owner = new Int32Array(size);
    low.set(this.low);
    high.set(this.high);
    owner.set(this.owner);
    this.low = low;
    this.high = high;
    this.owner = owner;
  }
}

/**
 * Cells of an address space: cell `i` is `[start[i], start[i + 1])` and belongs to `owner[i]`, or
 * to nobody (-1). Several cell lists can stand one after another in the same arrays.
 */
export class Cells {
  start = new Float64Array(64);
  owner = new Int32Array(64);
  count = 0;

  push(start: number, owner: number): void {
    const n = this.count;
    if (n === this.owner.length) {
      const size = n * 2;
      const starts = new Float64Array(size), owners = new Int32Array(size);
      starts.set(this.start);
      owners.set(this.owner);
      this.start = starts;
      this.owner = owners;
    }
    this.start[n] = start;
    this.owner[n] = owner;
    this.count = n + 1;
  }

  /** Owner of `address` among the cells `[from, to)`, or -1. */
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

  /** Gives back the memory that was kept for growth. */
  trim(): void {
    this.start = this.start.slice(0, this.count);
    this.owner = this.owner.slice(0, this.count);
  }

  /** Bytes that the arrays hold. */
  get bytes(): number {
    return this.start.byteLength + this.owner.byteLength;
  }
}

/**
 * Paints the ranges from `from` on over each other and appends what is to be seen then to `cells`.
 *
 * ```text
 * ranges in order   0 |--------------|        cells, last wins
 *                   1     |----|              |0 |1   |0    |-1
 *                   2              |-----| …  |0 |1   |0 |2    |-1
 * ```
 *
 * `lastWins` is for nested functions, whose inner ranges come later. Without it the first wins.
 * Takes n log n steps however the ranges overlap.
 */
export function paint(ranges: RangeList, from: number, lastWins: boolean, cells: Cells): void {
  const { low, high, owner, count } = ranges;
  if (count === from) return;
  const order = orderOf(low, from, count);
  const firstCell = cells.count;
  const emit = (start: number, who: number) => {
    const n = cells.count;
    if (n > firstCell && cells.owner[n - 1] === who) return;
    cells.push(start, who);
  };
  let end = NaN;
  for (let i = 0; i < order.length;) {
    const first = order[i] as number;
    const begin = low[first] as number;
    if (end < begin) emit(end, -1);
    end = high[first] as number;
    let j = i + 1;
    while (j < order.length && (low[order[j] as number] as number) < end) {
      const other = high[order[j] as number] as number;
      if (other > end) end = other;
      j++;
    }
    if (j === i + 1) emit(begin, owner[first] as number);
    else overlapping(ranges, order.slice(i, j), lastWins, emit);
    i = j;
  }
  cells.push(end, -1);
}

/** Ranges that overlap, `members` by number: each cell between end points is painted once. */
function overlapping(
  ranges: RangeList,
  members: Uint32Array,
  lastWins: boolean,
  emit: (start: number, owner: number) => void,
): void {
  const { low, high, owner } = ranges;
  let points = new Float64Array(members.length * 2);
  members.forEach((m, i) => {
    points[2 * i] = low[m] as number;
    points[2 * i + 1] = high[m] as number;
  });
  points.sort();
  points = points.filter((x, i) => i === 0 || x !== points[i - 1]);
  const cellCount = points.length - 1;
  const painted = new Int32Array(cellCount).fill(-1);
  // next[i] is the first unpainted cell at or behind i, with path compression.
  const next = new Uint32Array(cellCount + 1).map((_, i) => i);
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
      let cell = nextOf(lowerBound(points, low[m] as number));
      cell < cellCount && (points[cell] as number) < stop;
      cell = nextOf(cell)
    ) {
      painted[cell] = owner[m] as number;
      next[cell] = cell + 1;
    }
  }
  for (let cell = 0; cell < cellCount; cell++) {
    emit(points[cell] as number, painted[cell] as number);
  }
}

function lowerBound(points: Float64Array, value: number): number {
  let low = 0, high = points.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((points[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Numbers `from … to - 1` in the order of `key`, equal keys in the order of their numbers: a radix
 * sort over 11 bits, because a comparison function over typed arrays is ten times slower.
 */
export function orderOf(key: Float64Array, from: number, to: number): Uint32Array {
  const n = to - from;
  let order = new Uint32Array(n);
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
  if (n < 64) return order.sort((a, b) => (key[a] as number) - (key[b] as number) || a - b);
  let other = new Uint32Array(n);
  const counts = new Uint32Array(2048);
  for (let scale = 1; scale <= most - least; scale *= 2048) {
    counts.fill(0);
    for (let i = 0; i < n; i++) {
      const digit = Math.floor(((key[from + i] as number) - least) / scale) % 2048;
      counts[digit] = (counts[digit] as number) + 1;
    }
    for (let digit = 0, sum = 0; digit < 2048; digit++) {
      const count = counts[digit] as number;
      counts[digit] = sum;
      sum += count;
    }
    for (let i = 0; i < n; i++) {
      const number = order[i] as number;
      const digit = Math.floor(((key[number] as number) - least) / scale) % 2048;
      const place = counts[digit] as number;
      other[place] = number;
      counts[digit] = place + 1;
    }
    [order, other] = [other, order];
  }
  return order;
}
