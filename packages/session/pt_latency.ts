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

/** What is known of all calls of a place. */
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

class Place {
  calls = 0;
  open = 0;
  time = 0;
  insns = 0;
  histogram: Float64Array | undefined;
  readonly slowest: SlowCall[] = [];
}

/**
 * How long calls took, by what was called: numbers, a histogram, the slowest.
 *
 * @example
 * ```ts
 * import { LatencyTable } from "@perfdata/session/pt-latency";
 * import { assertEquals } from "@std/assert";
 *
 * const table = new LatencyTable();
 * table.add(3, 7, 1000, 50, 20, true, true);
 * table.add(3, 7, 2000, 70, 20, true, true);
 * const stats = table.of([3]);
 * assertEquals([stats.calls, stats.time, stats.slowest[0]?.duration], [2, 120, 70]);
 * ```
 */
export class LatencyTable {
  readonly #places: (Place | undefined)[] = [];

  /**
   * Adds a call that ended.
   *
   * @param since When it began, ns.
   * @param duration ns, or -1 where it is not known.
   * @param outermost Whether the same is not on the stack once more.
   * @param ended Whether its return was seen.
   */
  add(
    place: number,
    tid: number,
    since: number,
    duration: number,
    insns: number,
    outermost: boolean,
    ended: boolean,
  ): void {
    const row = this.#places[place] ??= new Place();
    row.calls++;
    if (outermost) row.insns += insns;
    if (outermost && duration > 0) row.time += duration;
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

  /** The places that were called. */
  get places(): number[] {
    return [...this.#places.keys()].filter((place) => this.#places[place] !== undefined);
  }

  /** What is known of some places together: those of one function. */
  of(places: readonly number[]): CallStats {
    let calls = 0;
    let open = 0;
    let time = 0;
    let insns = 0;
    let histogram: Float64Array | undefined;
    const slowest: SlowCall[] = [];
    for (const place of places) {
      const row = this.#places[place];
      if (row === undefined) continue;
      calls += row.calls;
      open += row.open;
      time += row.time;
      insns += row.insns;
      slowest.push(...row.slowest);
      if (row.histogram === undefined) continue;
      histogram ??= new Float64Array(BUCKETS);
      for (let i = 0; i < BUCKETS; i++) {
        histogram[i] = (histogram[i] as number) + (row.histogram[i] as number);
      }
    }
    slowest.sort((a, b) => b.duration - a.duration || a.time - b.time);
    return { calls, open, time, insns, histogram, slowest: slowest.slice(0, SLOWEST) };
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
