/** Steps between two powers of two. */
const STEPS = 4;
const BUCKETS = 64 * STEPS;
/** Below this many ns, 2^3, each has a bucket: four steps up to the next power would be the same ns. */
const SINGLE_BITS = 3;
const SINGLE = 2 ** SINGLE_BITS;
/** How many of the slowest calls are kept of each place. */
const SLOWEST = 10;

/** A call. */
export interface SlowCall {
  /** ns. */
  readonly duration: number;
  /** When it began, ns. */
  readonly time: number;
  /** The thread. */
  readonly tid: number;
}

/** What is known of all calls of a function or place. */
export interface CallStats {
  /** How many. */
  readonly calls: number;
  /** Those whose end was not seen; they are in `calls`, their durations nowhere. */
  readonly open: number;
  /** ns in them, recursion counted once. */
  readonly time: number;
  /** Instructions in them, recursion counted once. */
  readonly insns: number;
  /** How many by duration: see {@linkcode latencyBucket}; `undefined` without times. */
  readonly histogram: Float64Array | undefined;
  /** The slowest, slowest first. */
  readonly slowest: readonly SlowCall[];
}

class Row {
  calls = 0;
  open = 0;
  time = 0;
  insns = 0;
  histogram: Float64Array | undefined;
  readonly slowest: SlowCall[] = [];
}

/**
 * How long calls took, by what was called (a row's number): numbers, a histogram, the slowest.
 *
 * @example
 * ```ts
 * import { LatencyTable } from "@perfdata/session/pt-latency";
 * import { assertEquals } from "@std/assert";
 *
 * const table = new LatencyTable();
 * table.add(3, 7, 1000, 50, 20, 50, true);
 * table.add(3, 7, 2000, 70, 20, 70, true);
 * const stats = table.of(3);
 * assertEquals([stats?.calls, stats?.time, stats?.slowest[0]?.duration], [2, 120, 70]);
 * ```
 */
export class LatencyTable {
  readonly #rows: (Row | undefined)[] = [];

  /**
   * Adds a call that ended.
   *
   * @param since When it began, ns.
   * @param duration ns, or -1 where it is not known.
   * @param insns Instructions in it, as far as they are in no other call of the row.
   * @param time ns in it, as far as they are in no other call of the row, and are asked for.
   * @param ended Whether its return was seen.
   */
  add(
    number: number,
    tid: number,
    since: number,
    duration: number,
    insns: number,
    time: number,
    ended: boolean,
  ): void {
    const row = this.#rows[number] ??= new Row();
    row.calls++;
    row.insns += insns;
    row.time += time;
    if (!ended) row.open++;
    if (!ended || duration < 0) return;
    row.histogram ??= new Float64Array(BUCKETS);
    const bucket = latencyBucket(duration);
    row.histogram[bucket] = (row.histogram[bucket] as number) + 1;
    const { slowest } = row;
    if (slowest.length === SLOWEST && duration <= (slowest[SLOWEST - 1] as SlowCall).duration) {
      return;
    }
    let at = slowest.length;
    while (at > 0 && (slowest[at - 1] as SlowCall).duration < duration) at--;
    slowest.splice(at, 0, { duration, time: since, tid });
    if (slowest.length > SLOWEST) slowest.pop();
  }

  /** Adds time, ns, of a call that ended after the time that was asked for. */
  addTime(number: number, time: number): void {
    (this.#rows[number] ??= new Row()).time += time;
  }

  /** What is known of a row; `undefined` where it was not called. */
  of(number: number): CallStats | undefined {
    return this.#rows[number];
  }
}

/** The bucket of a duration: below 8 ns each ns has one, from there on each power of two four. */
export function latencyBucket(ns: number): number {
  if (ns < SINGLE) return Math.max(0, Math.floor(ns));
  const bucket = SINGLE + Math.floor(STEPS * (Math.log2(Math.floor(ns)) - SINGLE_BITS));
  return Math.min(BUCKETS - 1, bucket);
}

/** The least duration of a bucket, ns. */
export function latencyOf(bucket: number): number {
  if (bucket < SINGLE) return bucket;
  return Math.ceil(2 ** (SINGLE_BITS + (bucket - SINGLE) / STEPS));
}
