/** Maximum number of buckets; if there are more, buckets get longer. */
const MOST_BUCKETS = 4096;
/** Seconds of the shortest bucket: one unit of the upper half of a time in ns. */
const BUCKET = 2 ** 32 / 1e9;
/** With fewer samples, it is unknown which times are usual. */
const FEWEST = 100;
/** Maximum share of samples that are far from the others. */
const FEW = 0.01;
/** Minimum seconds between far samples and the others. */
const LEAST_GAP = 3600;
/** Minimum ratio of that gap to the span of the others. */
const TIMES = 100;

/** Counts of samples by time, from another thread. */
export interface TimesPart {
  /** Number of bits by which the upper half of the time is shifted to get the bucket. */
  readonly shift: number;
  /** Number of samples by bucket. */
  readonly counts: ReadonlyMap<number, number>;
}

/** Finds samples whose times are far from all others, without an allocation for each sample. */
export class FarTimes {
  #shift = 0;
  #counts = new Map<number, number>();
  /** The bucket of the last samples, and their number. */
  #bucket = -1;
  #count = 0;

  /** Counts a sample by the upper half of its time. */
  see(hi: number): void {
    const bucket = hi >>> this.#shift;
    if (bucket === this.#bucket) {
      this.#count++;
      return;
    }
    this.#settle();
    // `#settle` may have made buckets longer.
    this.#bucket = hi >>> this.#shift;
    this.#count = 1;
  }

  /** The counts, for sending to another thread. */
  part(): TimesPart {
    this.#settle();
    return { shift: this.#shift, counts: this.#counts };
  }

  /** Adds the counts of another thread. */
  join({ shift, counts }: TimesPart): void {
    this.#settle();
    this.#lengthen(shift);
    // Buckets here may be longer than those of the part.
    for (const [bucket, count] of counts) this.#add(bucket >>> this.#shift - shift, count);
    this.#fit();
  }

  /**
   * Describes samples whose times are far from all others.
   *
   * @returns `undefined` if there are none.
   */
  text(): string | undefined {
    this.#settle();
    const buckets = [...this.#counts].sort(([a], [b]) => a - b);
    const all = buckets.reduce((sum, [, count]) => sum + count, 0);
    if (all < FEWEST) return undefined;
    const seconds = BUCKET * 2 ** this.#shift;
    let [from, to, far, gap] = [0, buckets.length - 1, 0, Infinity];
    const length = () => (bucketOf(buckets, to) - bucketOf(buckets, from) + 1) * seconds;
    for (;;) {
      const found = end(buckets, from, to, all * FEW - far, LEAST_GAP / seconds);
      if (found === undefined) break;
      far += found.count;
      gap = Math.min(gap, found.gap * seconds);
      if (found.isFirst) from = found.at;
      else to = found.at;
    }
    if (far === 0 || gap < TIMES * length()) return undefined;
    return `${far} of ${all} samples ${far === 1 ? "has a time" : "have times"} ` +
      `${(gap / 3600).toFixed(1)} hours or more from all others, which lie within ` +
      `${Math.ceil(length())} s: lengths, rates and timelines are of the gap`;
  }

  #settle(): void {
    if (this.#count > 0) this.#add(this.#bucket, this.#count);
    this.#count = 0;
    this.#bucket = -1;
    this.#fit();
  }

  #add(bucket: number, count: number): void {
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + count);
  }

  /** Makes buckets longer until their number is below the limit. */
  #fit(): void {
    while (this.#counts.size > MOST_BUCKETS) this.#lengthen(this.#shift + 1);
  }

  /** Makes buckets at least as long as a shift gives. */
  #lengthen(shift: number): void {
    if (shift <= this.#shift) return;
    const before = this.#counts;
    this.#counts = new Map();
    for (const [bucket, count] of before) this.#add(bucket >>> shift - this.#shift, count);
    this.#shift = shift;
  }
}

type Buckets = readonly (readonly [bucket: number, count: number])[];

function bucketOf(buckets: Buckets, at: number): number {
  return buckets[at]?.[0] ?? 0;
}

/**
 * Finds the widest gap near an end of the buckets that has few samples outside.
 *
 * @param most Maximum number of samples outside.
 * @param least Minimum gap, in buckets.
 */
function end(
  buckets: Buckets,
  from: number,
  to: number,
  most: number,
  least: number,
):
  | { readonly at: number; readonly count: number; readonly gap: number; readonly isFirst: boolean }
  | undefined {
  let found: ReturnType<typeof end>;
  for (const isFirst of [true, false]) {
    const step = isFirst ? 1 : -1;
    let count = 0;
    for (let at = isFirst ? from : to; at + step >= from && at + step <= to; at += step) {
      count += buckets[at]?.[1] ?? 0;
      if (count > most) break;
      const gap = Math.abs(bucketOf(buckets, at + step) - bucketOf(buckets, at)) - 1;
      if (gap >= least && gap > (found?.gap ?? 0)) found = { at: at + step, count, gap, isFirst };
    }
  }
  return found;
}
