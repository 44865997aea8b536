import { floatAt, intAt } from "@perfdata/format/bytes";
import { orderOf } from "../collecting/timed_rows.ts";
import { FloatColumn, IntColumn } from "../columns/columns.ts";
import { NodeTable } from "../columns/node_table.ts";

/** Limits of a live profile. */
export interface LiveLimits {
  /** Nanoseconds for which samples keep their own times. */
  readonly recent: number;
  /** Nanoseconds of the first slices. */
  readonly step: number;
  /** Maximum count of samples with their own times, and of rows with sums. */
  readonly rows: number;
  /** Maximum count of stacks. */
  readonly stacks: number;
  /** Maximum count of threads. Beyond it, old samples have their command instead of a thread. */
  readonly threads: number;
}

/** Rows of samples, or of sums over a slice of time, in order of time. */
export interface LiveColumns {
  readonly stack: Int32Array;
  readonly event: Int32Array;
  readonly thread: Int32Array;
  readonly cpu: Int32Array;
  readonly count: Float64Array;
  readonly period: Float64Array;
  /** Time in ns, or the start of the slice. */
  readonly time: Float64Array;
}

/** Maximum count of time slices; if there are more, slices become longer. */
const SLICES = 64;

/**
 * The samples of a live profile, in bounded memory.
 *
 * ```text
 *  forgotten │ sums per slice: stack, thread, event, CPU │ samples with their times
 *            │◀──────────────── rows ───────────────────▶│◀─── rows, recent ns ───▶
 * ```
 *
 * If there are too many sums, slices become twice as long. If there are still too many in few
 * slices, the oldest quarter is forgotten.
 */
export class LiveRows {
  /** Samples that are no longer held. */
  forgotten: number = 0;
  /** Time in ns before which no samples are held; `undefined` if all are held. */
  heldFrom: number | undefined;
  /** Nanoseconds of a slice. */
  step: number;
  /** Time in ns before which samples are summed up. */
  until: number = -Infinity;
  readonly #limits: LiveLimits;
  #sums: LiveColumns = emptyColumns();
  /** Samples, in the parts in which they were added. */
  #recent: LiveColumns[] = [];
  #recentLength = 0;
  #latest = -Infinity;

  /** Starts without samples. */
  constructor(limits: LiveLimits) {
    this.#limits = limits;
    this.step = limits.step;
  }

  /** Adds samples in order of time. */
  add(part: LiveColumns): void {
    const { length } = part.time;
    if (length === 0) return;
    this.#recent.push(part);
    this.#recentLength += length;
    this.#latest = Math.max(this.#latest, floatAt(part.time, length - 1));
    const { recent, rows } = this.#limits;
    const old: LiveColumns[] = [];
    for (let first = this.#recent[0]; first !== undefined; first = this.#recent[0]) {
      const last = floatAt(first.time, first.time.length - 1);
      if (this.#recentLength <= rows && last >= this.#latest - recent) break;
      old.push(first);
      this.#recent.shift();
      this.#recentLength -= first.time.length;
      this.until = Math.max(this.until, this.#sliceOf(last) + this.step);
    }
    if (old.length > 0) this.#sumUp(old);
  }

  #sliceOf(time: number): number {
    return Math.floor(time / this.step) * this.step;
  }

  #sumUp(old: readonly LiveColumns[]): void {
    const { rows } = this.#limits;
    this.#sums = joined([this.#sums, summed(joined(old), this.step)]);
    if (this.#sums.time.length <= rows) return;
    // A slice that was summed up in parts has several rows for equal samples.
    this.#sums = summed(this.#sums, this.step);
    // Sums up to 3/4 of the limit, so that this is rarely necessary.
    while (this.#sums.time.length > rows * 3 / 4) {
      const { time } = this.#sums;
      if (floatAt(time, time.length - 1) - floatAt(time, 0) < SLICES * this.step) {
        this.forget();
        continue;
      }
      this.step *= 2;
      this.#sums = summed(this.#sums, this.step);
      this.until = Math.ceil(this.until / this.step) * this.step;
    }
  }

  /** Removes the oldest quarter of the sums; returns whether there were any. */
  forget(): boolean {
    const { time, count } = this.#sums;
    if (time.length === 0) return false;
    const quarter = floatAt(time, time.length >> 2);
    let first = 0;
    while (first < time.length && floatAt(time, first) <= quarter) {
      this.forgotten += floatAt(count, first++);
    }
    const rest = <T extends Int32Array | Float64Array>(column: T) => column.slice(first) as T;
    this.#sums = mapped(this.#sums, rest, rest);
    this.heldFrom = quarter + this.step;
    return true;
  }

  /** All rows, in order of time. */
  columns(): LiveColumns {
    return joined([this.#sums, ...this.#recent]);
  }

  /** Calls back for each part: sums, then samples with their own times. */
  eachPart(call: (part: LiveColumns, isSums: boolean) => void): void {
    call(this.#sums, true);
    for (const part of this.#recent) call(part, false);
  }
}

function emptyColumns(): LiveColumns {
  const [none, numbers] = [new Int32Array(0), new Float64Array(0)];
  return {
    ...{ stack: none, event: none, thread: none, cpu: none },
    ...{ count: numbers, period: numbers, time: numbers },
  };
}

function mapped(
  { stack, event, thread, cpu, count, period, time }: LiveColumns,
  ints: (column: Int32Array) => Int32Array,
  floats: (column: Float64Array) => Float64Array,
): LiveColumns {
  return {
    ...{ stack: ints(stack), event: ints(event), thread: ints(thread), cpu: ints(cpu) },
    ...{ count: floats(count), period: floats(period), time: floats(time) },
  };
}

/** All rows of several parts, in order of time. */
function joined(parts: readonly LiveColumns[]): LiveColumns {
  const length = parts.reduce((sum, { time }) => sum + time.length, 0);
  const filled = <T extends Int32Array | Float64Array>(all: T, column: keyof LiveColumns): T => {
    let at = 0;
    for (const part of parts) {
      all.set(part[column], at);
      at += part.time.length;
    }
    return all;
  };
  const ints = (column: "stack" | "event" | "thread" | "cpu"): Int32Array =>
    filled(new Int32Array(length), column);
  const floats = (column: "count" | "period" | "time"): Float64Array =>
    filled(new Float64Array(length), column);
  const all: LiveColumns = {
    ...{ stack: ints("stack"), event: ints("event"), thread: ints("thread"), cpu: ints("cpu") },
    ...{ count: floats("count"), period: floats("period"), time: floats("time") },
  };
  const order = orderOf(all.time);
  return order === undefined ? all : mapped(
    all,
    (column) => column.map((_, i) => intAt(column, intAt(order, i))),
    (column) => column.map((_, i) => floatAt(column, intAt(order, i))),
  );
}

/** Sums the rows of each time slice that have the same stack, thread, event and CPU. */
function summed(
  { stack, event, thread, cpu, count, period, time }: LiveColumns,
  step: number,
): LiveColumns {
  const [threads, events, cpus, slices] = [0, 0, 0, 0].map(() => new NodeTable()) as [
    NodeTable,
    NodeTable,
    NodeTable,
    NodeTable,
  ];
  const rows = new IntColumn();
  const [counts, periods] = [new FloatColumn(), new FloatColumn()];
  for (let row = 0; row < time.length; row++) {
    const ofThread = threads.node(intAt(stack, row), intAt(thread, row));
    const alike = cpus.node(events.node(ofThread, intAt(event, row)), intAt(cpu, row));
    const sum = slices.node(alike, Math.floor(floatAt(time, row) / step));
    if (sum === rows.length) {
      rows.push(row);
      counts.push(0);
      periods.push(0);
    }
    counts.add(sum, floatAt(count, row));
    periods.add(sum, floatAt(period, row));
  }
  const first = rows.array();
  const ints = (column: Int32Array) => Int32Array.from(first, (row) => intAt(column, row));
  return {
    ...{ stack: ints(stack), event: ints(event), thread: ints(thread), cpu: ints(cpu) },
    count: counts.array().slice(),
    period: periods.array().slice(),
    time: Float64Array.from(first, (row) => Math.floor(floatAt(time, row) / step) * step),
  };
}
