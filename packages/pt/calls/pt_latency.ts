/** Number of buckets between two powers of two. */
const STEPS = 4;
const BUCKETS = 64 * STEPS;
/**
 * Each ns below 2^3 has its own bucket, where four buckets for a power of two would be the same ns.
 */
const SINGLE_BITS = 3;
const SINGLE = 2 ** SINGLE_BITS;
/** Number of slowest calls that are kept for each place. */
const SLOWEST = 10;

/** A call. */
export interface SlowCall {
  /** Duration in ns. */
  readonly duration: number;
  /** Start time in ns. */
  readonly time: number;
  /** The thread. */
  readonly tid: number;
}

/** Latencies of all calls of a function or place. */
export interface CallStats {
  /** Number of calls. */
  readonly calls: number;
  /** Calls without an end; they count in `calls`, but have no duration. */
  readonly open: number;
  /** Time in them in ns, counting recursion once. */
  readonly time: number;
  /** Instructions in them, counting recursion once. */
  readonly insns: number;
  /** The counts of calls by duration: see {@linkcode latencyBucket}; `undefined` without times. */
  readonly histogram: Float64Array | undefined;
  /** The slowest calls, in descending order of duration. */
  readonly slowest: readonly SlowCall[];
}

class Row {
  calls = 0;
  open = 0;
  time = 0;
  insns = 0;
  histogram: Float64Array | undefined;
  readonly slowest: SlowCall[] = [];

  /** Keeps a call if it is one of the slowest. Ties are ordered by time and thread. */
  slow(tid: number, time: number, duration: number): void {
    const { slowest } = this;
    const last = slowest[SLOWEST - 1];
    if (last !== undefined && !isSlower(duration, time, tid, last)) return;
    let at = slowest.length;
    while (at > 0 && isSlower(duration, time, tid, slowest[at - 1] as SlowCall)) at--;
    slowest.splice(at, 0, { duration, time, tid });
    if (slowest.length > SLOWEST) slowest.pop();
  }
}

/**
 * Whether a call comes before another one in the list of the slowest, independent of their order of
 * addition.
 */
function isSlower(duration: number, time: number, tid: number, other: SlowCall): boolean {
  return duration - other.duration > 0 ||
    (duration === other.duration &&
      (time < other.time || (time === other.time && tid < other.tid)));
}

/** Columns of a {@linkcode LatencyTable}, for adding them to another thread's table. */
export interface LatencyPart {
  /** For each row: its number, calls, and calls without an end. */
  readonly rows: Float64Array<ArrayBuffer>;
  /** For each row and bucket: the row's number, the bucket, calls. */
  readonly buckets: Float64Array<ArrayBuffer>;
  /** For each of the slowest calls: the row's number, ns, start time, the thread. */
  readonly slowest: Float64Array<ArrayBuffer>;
}

/**
 * Durations of calls, by row: numbers of calls, a histogram, the slowest calls.
 *
 * @example
 * ```ts
 * import { LatencyTable } from "@perfdata/pt/decode";
 * import { assertEquals } from "@std/assert";
 *
 * const table = new LatencyTable();
 * table.add(3, 7, 1000, 50, true);
 * table.add(3, 7, 2000, 70, true);
 * table.addOwn(3, 120, 40);
 * const stats = table.of(3);
 * assertEquals([stats?.calls, stats?.time, stats?.slowest[0]?.duration], [2, 120, 70]);
 * ```
 */
export class LatencyTable {
  #rows: (Row | undefined)[] = [];

  /**
   * Adds a finished call.
   *
   * @param since Start time in ns.
   * @param duration Duration in ns, or -1 if unknown.
   * @param ended Whether its return was seen.
   */
  add(
    number: number,
    tid: number,
    since: number,
    duration: number,
    ended: boolean,
  ): void {
    const row = this.#rows[number] ??= new Row();
    row.calls++;
    if (!ended) row.open++;
    if (!ended || duration < 0) return;
    row.histogram ??= new Float64Array(BUCKETS);
    const bucket = latencyBucket(duration);
    row.histogram[bucket] = (row.histogram[bucket] as number) + 1;
    row.slow(tid, since, duration);
  }

  /**
   * Adds time (ns) and instructions to a row, for calls that are not part of another call of the
   * row.
   */
  addOwn(number: number, time: number, insns: number): void {
    const row = this.#rows[number] ??= new Row();
    row.time += time;
    row.insns += insns;
  }

  /** Returns all sums except those of {@linkcode LatencyTable.addOwn}, and clears the table. */
  take(): LatencyPart {
    const rows: number[] = [];
    const buckets: number[] = [];
    const slow: number[] = [];
    // Some numbers have no row.
    this.#rows.forEach((row, number) => {
      if (row === undefined) return;
      rows.push(number, row.calls, row.open);
      for (const [bucket, n] of row.histogram?.entries() ?? []) {
        if (n > 0) buckets.push(number, bucket, n);
      }
      for (const { duration, time, tid } of row.slowest) slow.push(number, duration, time, tid);
    });
    this.#rows = [];
    return {
      rows: Float64Array.from(rows),
      buckets: Float64Array.from(buckets),
      slowest: Float64Array.from(slow),
    };
  }

  /**
   * Adds the sums of another table.
   *
   * @param rowOf The row here of a row there.
   */
  join({ rows, buckets, slowest }: LatencyPart, rowOf: (number: number) => number): void {
    const of = (number: number) => this.#rows[rowOf(number)] ??= new Row();
    for (let i = 0; i < rows.length; i += 3) {
      const row = of(rows[i] as number);
      row.calls += rows[i + 1] as number;
      row.open += rows[i + 2] as number;
    }
    for (let i = 0; i < buckets.length; i += 3) {
      const row = of(buckets[i] as number);
      row.histogram ??= new Float64Array(BUCKETS);
      const bucket = buckets[i + 1] as number;
      row.histogram[bucket] = (row.histogram[bucket] as number) + (buckets[i + 2] as number);
    }
    for (let i = 0; i < slowest.length; i += 4) {
      const [number, duration, time, tid] = slowest.subarray(i, i + 4);
      of(number as number).slow(tid as number, time as number, duration as number);
    }
  }

  /** Latencies of a row; `undefined` if the row has no calls. */
  of(number: number): CallStats | undefined {
    return this.#rows[number];
  }
}

/**
 * The bucket of a duration. Below 8 ns, each ns is a bucket; from there on, each power of two has
 * four.
 */
export function latencyBucket(ns: number): number {
  return BUCKET_OF[ns] ?? bucketOf(ns);
}

function bucketOf(ns: number): number {
  if (ns < SINGLE) return Math.max(0, Math.floor(ns));
  const bucket = SINGLE + Math.floor(STEPS * (Math.log2(Math.floor(ns)) - SINGLE_BITS));
  return Math.min(BUCKETS - 1, bucket);
}

/** Buckets of short durations, because a logarithm takes longer. */
const BUCKET_OF = Uint8Array.from({ length: 4096 }, (_, ns) => bucketOf(ns));

/** The minimum duration of a bucket in ns. */
export function latencyOf(bucket: number): number {
  if (bucket < SINGLE) return bucket;
  return Math.ceil(2 ** (SINGLE_BITS + (bucket - SINGLE) / STEPS));
}
