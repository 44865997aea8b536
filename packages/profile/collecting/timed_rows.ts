import { checkMemory, floatAt, intAt, numberAt } from "@perfdata/format/bytes";

/** Number of values in a block of a column. */
const BLOCK = 1 << 16;

/** A column that grows in blocks, without copying. Its values are taken once. */
class BlockColumn<T extends Int32Array | Float64Array> {
  readonly #make: (length: number) => T;
  #blocks: T[] = [];
  #last: T;
  #at = BLOCK;

  constructor(make: (length: number) => T) {
    this.#make = make;
    this.#last = make(0);
  }

  push(value: number): void {
    if (this.#at === BLOCK) {
      checkMemory();
      this.#blocks.push(this.#last = this.#make(BLOCK));
      this.#at = 0;
    }
    this.#last[this.#at++] = value;
  }

  /** Returns all values, in their order or another one, and removes them. */
  take(length: number, order?: Int32Array): T {
    const all = this.#make(length);
    const blocks = this.#blocks;
    if (order === undefined) {
      for (const [i, block] of blocks.entries()) {
        all.set(block.subarray(0, length - i * BLOCK) as Int32Array & Float64Array, i * BLOCK);
      }
    } else {
      for (let i = 0; i < length; i++) {
        const row = order[i] as number;
        all[i] = (blocks[row >>> 16] as T)[row & BLOCK - 1] as number;
      }
    }
    this.#blocks = [];
    this.#at = BLOCK;
    return all;
  }
}

/** Samples with their times, in the form for sending them to another thread. */
export interface TimedPart {
  /** Place or innermost stack; -1 if the sample has none. */
  readonly node: Int32Array<ArrayBuffer>;
  /** Context of the histogram: event, comm, process, thread and others. */
  readonly context: Int32Array<ArrayBuffer>;
  /** CPU, -1 if unknown. */
  readonly cpu: Int32Array<ArrayBuffer>;
  /** Period of the sample. */
  readonly period: Float64Array<ArrayBuffer>;
  /** Upper half of the time in ns. */
  readonly timeHi: Int32Array<ArrayBuffer>;
  /** Lower half. */
  readonly timeLo: Int32Array<ArrayBuffer>;
}

/** Samples in the order of their times. */
export interface OrderedRows extends Omit<TimedPart, "timeHi" | "timeLo"> {
  /** Time in ns from an origin. */
  readonly time: Float64Array<ArrayBuffer>;
}

/** Samples with their times. They need most of the memory of a profile, so each is stored once. */
export class TimedRows {
  /** Number of samples. */
  length: number = 0;
  readonly #node = new BlockColumn((length) => new Int32Array(length));
  readonly #context = new BlockColumn((length) => new Int32Array(length));
  readonly #cpu = new BlockColumn((length) => new Int32Array(length));
  readonly #period = new BlockColumn((length) => new Float64Array(length));
  readonly #timeHi = new BlockColumn((length) => new Int32Array(length));
  readonly #timeLo = new BlockColumn((length) => new Int32Array(length));

  /** Adds a sample, with the halves of its time. */
  push(
    node: number,
    context: number,
    cpu: number,
    period: number,
    timeHi: number,
    timeLo: number,
  ): void {
    this.length++;
    this.#node.push(node);
    this.#context.push(context);
    this.#cpu.push(cpu);
    this.#period.push(period);
    this.#timeHi.push(timeHi);
    this.#timeLo.push(timeLo);
  }

  /**
   * Adds the rows of a part.
   *
   * @param contexts Indices in this thread of the part's contexts.
   * @param nodes Indices in this thread of the part's nodes.
   */
  join(part: TimedPart, contexts: Int32Array, nodes: Int32Array): void {
    const { node, context, cpu, period, timeHi, timeLo } = part;
    for (let i = 0; i < node.length; i++) {
      const of = intAt(node, i);
      this.push(
        of < 0 ? of : intAt(nodes, of),
        intAt(contexts, intAt(context, i)),
        intAt(cpu, i),
        floatAt(period, i),
        intAt(timeHi, i),
        intAt(timeLo, i),
      );
    }
  }

  /** Returns all rows in the order of their addition, and removes them. */
  part(): TimedPart {
    const { length } = this;
    const [timeHi, timeLo] = [this.#timeHi.take(length), this.#timeLo.take(length)];
    return { ...this.#take(undefined), timeHi, timeLo };
  }

  /** Returns all rows sorted by time, relative to an origin, and removes them. */
  inOrder(origin: bigint): OrderedRows {
    const [fromHi, fromLo] = [Number(origin >> 32n), Number(origin & 0xffff_ffffn)];
    const [timeHi, timeLo] = [this.#timeHi.take(this.length), this.#timeLo.take(this.length)];
    const times = new Float64Array(this.length);
    for (let row = 0; row < times.length; row++) {
      const [hi, lo] = [(timeHi[row] as number) >>> 0, (timeLo[row] as number) >>> 0];
      // deno-lint-ignore perfdata/halves -- a distance: exact over 104 days
      times[row] = (hi - fromHi) * 2 ** 32 + (lo - fromLo);
    }
    const order = orderOf(times);
    const time = order === undefined
      ? times
      : times.map((_, i) => times[order[i] as number] as number);
    return { ...this.#take(order), time };
  }

  #take(order: Int32Array | undefined): Omit<TimedPart, "timeHi" | "timeLo"> {
    const { length } = this;
    this.length = 0;
    return {
      node: this.#node.take(length, order),
      context: this.#context.take(length, order),
      cpu: this.#cpu.take(length, order),
      period: this.#period.take(length, order),
    };
  }
}

/** Rising stretches of at least this many rows on average are merged; others are sorted by digits. */
const STRETCH = 32;

/** Bits of a digit: all counters of a digit fit into the first cache of a processor. */
const DIGIT = 11;
const DIGITS = 1 << DIGIT;

/**
 * Sorts rows by time, which are whole numbers; rows of equal times keep their order. Returns
 * `undefined` if the rows are sorted already.
 *
 * A recording has rising stretches, one for each CPU between two rounds, so they are merged. Other rows
 * are sorted by digits, the lowest first.
 */
export function orderOf(times: Float64Array): Int32Array | undefined {
  const { length } = times;
  const starts = [0];
  const isFew = () => starts.length === 1 || starts.length * STRETCH <= length;
  for (let row = 1; row < length && isFew(); row++) {
    if (floatAt(times, row - 1) > floatAt(times, row)) starts.push(row);
  }
  if (starts.length === 1) return undefined;
  return isFew() ? merged(times, starts) : byDigits(times);
}

/** Merges rising stretches; each pass merges neighbors. */
function merged(times: Float64Array, starts: readonly number[]): Int32Array {
  const { length } = times;
  const order = new Int32Array(length);
  for (let row = 0; row < length; row++) order[row] = row;
  let left = new Int32Array(1 << 10);
  const at = (row: number): number => floatAt(times, intAt(order, row));
  while (starts.length > 1) {
    const next: number[] = [];
    for (let i = 0; i < starts.length; i += 2) {
      const begin = numberAt(starts, i);
      const middle = starts[i + 1] ?? length;
      const end = starts[i + 2] ?? length;
      next.push(begin);
      if (middle >= end || at(middle - 1) <= at(middle)) continue;
      // Only rows later than the first one of the right stretch move.
      const first = firstAfter(times, order, { from: begin, to: middle, time: at(middle) });
      const count = middle - first;
      if (count > left.length) left = new Int32Array(2 * count);
      left.set(order.subarray(first, middle));
      let to = first;
      let right = middle;
      for (let k = 0; k < count;) {
        const row = intAt(left, k);
        if (right === end || floatAt(times, row) <= at(right)) {
          order[to++] = row;
          k++;
        } else order[to++] = intAt(order, right++);
      }
    }
    starts = next;
  }
  return order;
}

/** The first row in a rising range of the order that is later than a time. */
function firstAfter(
  times: Float64Array,
  order: Int32Array,
  { from, to, time }: { readonly from: number; readonly to: number; readonly time: number },
): number {
  while (from < to) {
    const middle = from + to >>> 1;
    if (floatAt(times, intAt(order, middle)) <= time) from = middle + 1;
    else to = middle;
  }
  return from;
}

function byDigits(times: Float64Array): Int32Array | undefined {
  const { length } = times;
  let least = Infinity;
  let most = -Infinity;
  for (const time of times) {
    if (time < least) least = time;
    if (time > most) most = time;
  }
  let order: Int32Array | undefined;
  // 22 bits at a time, which are exact as integers of 32 bits.
  const keys = new Int32Array(length);
  for (let unit = 1; unit <= most - least; unit *= DIGITS * DIGITS) {
    for (let row = 0; row < length; row++) {
      keys[row] = (floatAt(times, row) - least) / unit & DIGITS * DIGITS - 1;
    }
    order = sortedBy(keys, 0, order);
    order = sortedBy(keys, DIGIT, order);
  }
  return order;
}

/** Sorts rows by a digit of their keys; rows of equal digits keep their order. */
function sortedBy(keys: Int32Array, shift: number, order: Int32Array | undefined): Int32Array {
  const { length } = keys;
  const starts = new Int32Array(DIGITS + 1);
  for (let row = 0; row < length; row++) {
    const after = (intAt(keys, row) >>> shift & DIGITS - 1) + 1;
    starts[after] = intAt(starts, after) + 1;
  }
  for (let i = 0; i < DIGITS; i++) {
    starts[i + 1] = intAt(starts, i + 1) + intAt(starts, i);
  }
  const sorted = new Int32Array(length);
  for (let i = 0; i < length; i++) {
    const row = order === undefined ? i : intAt(order, i);
    const of = intAt(keys, row) >>> shift & DIGITS - 1;
    const at = intAt(starts, of);
    starts[of] = at + 1;
    sorted[at] = row;
  }
  return sorted;
}
