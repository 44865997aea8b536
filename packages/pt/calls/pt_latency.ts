import { enlarge } from "@perfdata/format/bytes";

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
  #calls = new Float64Array(64);
  #open = new Float64Array(64);
  #time = new Float64Array(64);
  #insns = new Float64Array(64);
  /** Duration of the last of {@linkcode SLOWEST} calls; -1 if there are fewer. */
  #least = new Float64Array(64).fill(-1);
  #histograms: (Float64Array | undefined)[] = [];
  #slowest: (SlowCall[] | undefined)[] = [];

  /**
   * Adds a finished call.
   *
   * @param since Start time in ns.
   * @param duration Duration in ns, or -1 if unknown.
   * @param ended Whether its return was seen.
   */
  add(
    row: number,
    tid: number,
    since: number,
    duration: number,
    ended: boolean,
  ): void {
    this.#room(row);
    this.#calls[row] = (this.#calls[row] as number) + 1;
    if (!ended) this.#open[row] = (this.#open[row] as number) + 1;
    if (!ended || duration < 0) return;
    const histogram = this.#histograms[row] ??= new Float64Array(BUCKETS);
    const bucket = latencyBucket(duration);
    histogram[bucket] = (histogram[bucket] as number) + 1;
    if (duration >= (this.#least[row] as number)) this.#slow(row, tid, since, duration);
  }

  /**
   * Adds time (ns) and instructions to a row, for calls that are not part of another call of the
   * row.
   */
  addOwn(row: number, time: number, insns: number): void {
    this.#room(row);
    this.#time[row] = (this.#time[row] as number) + time;
    this.#insns[row] = (this.#insns[row] as number) + insns;
  }

  #room(row: number): void {
    if (row < this.#calls.length) return;
    const length = row + 1;
    this.#calls = enlarge(this.#calls, length);
    this.#open = enlarge(this.#open, length);
    this.#time = enlarge(this.#time, length);
    this.#insns = enlarge(this.#insns, length);
    const before = this.#least.length;
    this.#least = enlarge(this.#least, length).fill(-1, before);
  }

  /** Keeps a call if it is one of the slowest. Ties are ordered by time and thread. */
  #slow(row: number, tid: number, time: number, duration: number): void {
    const slowest = this.#slowest[row] ??= [];
    const last = slowest[SLOWEST - 1];
    if (last !== undefined && !isSlower(duration, time, tid, last)) return;
    let at = slowest.length;
    while (at > 0 && isSlower(duration, time, tid, slowest[at - 1] as SlowCall)) at--;
    slowest.splice(at, 0, { duration, time, tid });
    if (slowest.length > SLOWEST) slowest.pop();
    this.#least[row] = slowest[SLOWEST - 1]?.duration ?? -1;
  }

  /** Returns all sums except those of {@linkcode LatencyTable.addOwn}, and clears the table. */
  take(): LatencyPart {
    const rows: number[] = [];
    const buckets: number[] = [];
    const slow: number[] = [];
    for (const [row, calls] of this.#calls.entries()) {
      if (calls === 0) continue;
      rows.push(row, calls, this.#open[row] as number);
      for (const [bucket, n] of this.#histograms[row]?.entries() ?? []) {
        if (n > 0) buckets.push(row, bucket, n);
      }
      for (const { duration, time, tid } of this.#slowest[row] ?? []) {
        slow.push(row, duration, time, tid);
      }
    }
    for (const sums of [this.#calls, this.#open, this.#time, this.#insns]) sums.fill(0);
    this.#least.fill(-1);
    this.#histograms = [];
    this.#slowest = [];
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
  join({ rows, buckets, slowest }: LatencyPart, rowOf: (row: number) => number): void {
    for (let i = 0; i < rows.length; i += 3) {
      const row = rowOf(rows[i] as number);
      this.#room(row);
      this.#calls[row] = (this.#calls[row] as number) + (rows[i + 1] as number);
      this.#open[row] = (this.#open[row] as number) + (rows[i + 2] as number);
    }
    for (let i = 0; i < buckets.length; i += 3) {
      const histogram = this.#histograms[rowOf(buckets[i] as number)] ??= new Float64Array(BUCKETS);
      const bucket = buckets[i + 1] as number;
      histogram[bucket] = (histogram[bucket] as number) + (buckets[i + 2] as number);
    }
    for (let i = 0; i < slowest.length; i += 4) {
      const [row, duration, time, tid] = slowest.subarray(i, i + 4);
      this.#slow(rowOf(row as number), tid as number, time as number, duration as number);
    }
  }

  /** Latencies of a row; `undefined` if the row has no calls. */
  of(row: number): CallStats | undefined {
    const calls = this.#calls[row] ?? 0;
    const time = this.#time[row] ?? 0;
    const insns = this.#insns[row] ?? 0;
    if (calls + time + insns === 0) return undefined;
    return {
      calls,
      open: this.#open[row] as number,
      time,
      insns,
      histogram: this.#histograms[row],
      slowest: this.#slowest[row] ?? [],
    };
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
