import { enlarge } from "@perfdata/format/bytes";

/** Rounds in the form for another thread: the latest time before the end of each. */
export interface RoundsPart {
  /** Upper halves. */
  readonly hi: Uint32Array<ArrayBuffer>;
  /** Lower halves. */
  readonly lo: Uint32Array<ArrayBuffer>;
}

/**
 * The rounds of a recording: at which flush a record is delivered.
 *
 * perf reads the kernel's buffers in turn and writes a FINISHED_ROUND after each turn. When it reads such
 * a record, it delivers what waits, in the order of time, up to the youngest time that had been read at
 * the FINISHED_ROUND before: nothing older can come any more (`perf_event__process_finished_round` of
 * tools/perf/util/ordered-events.c). What comes all the same, older than what was delivered, is delivered
 * at the next flush.
 *
 * So the flush of a record follows from its time and from the round that it stands in, and not from what
 * else waits. Flush `k`, counted from 1, is at the k-th FINISHED_ROUND; the last one is at the end.
 *
 * @example
 * ```ts
 * import { Rounds } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const rounds = new Rounds();
 * rounds.see(0, 10);
 * rounds.finish();
 * rounds.see(0, 20);
 * rounds.finish();
 * // Time 10 goes at the second FINISHED_ROUND, time 20 at the end.
 * assertEquals([rounds.flush(0, 0, 10), rounds.flush(1, 0, 20)], [2, 3]);
 * // It is late where it stands after that.
 * assertEquals(rounds.flush(2, 0, 10), 3);
 * ```
 */
export class Rounds {
  /** Number of FINISHED_ROUND records. */
  count: number = 0;
  /** Times that were read after a younger one was delivered. */
  late: number = 0;
  // By round: the youngest time that was read before its end; halves as unsigned numbers.
  #hi = new Uint32Array(64);
  #lo = new Uint32Array(64);
  #youngestHi = 0;
  #youngestLo = 0;
  /** What the last flush went up to. */
  #doneHi = 0;
  #doneLo = 0;
  /** The flush that was found last, whose times are above those of the flush before. */
  #last = 1;

  /** All of them, to be sent to another thread. */
  part(): RoundsPart {
    return { hi: this.#hi.slice(0, this.count), lo: this.#lo.slice(0, this.count) };
  }

  /** Those of a part. */
  static of({ hi, lo }: RoundsPart): Rounds {
    const rounds = new Rounds();
    rounds.count = hi.length;
    rounds.#hi = hi;
    rounds.#lo = lo;
    return rounds;
  }

  /** Takes a time that was read. */
  see(hi: number, lo: number): void {
    hi >>>= 0;
    lo >>>= 0;
    if (hi < this.#doneHi || (hi === this.#doneHi && lo < this.#doneLo)) this.late++;
    if (hi > this.#youngestHi || (hi === this.#youngestHi && lo > this.#youngestLo)) {
      this.#youngestHi = hi;
      this.#youngestLo = lo;
    }
  }

  /** Takes a FINISHED_ROUND. */
  finish(): void {
    const round = this.count++;
    if (round >= this.#hi.length) {
      this.#hi = enlarge(this.#hi, round + 1);
      this.#lo = enlarge(this.#lo, round + 1);
    }
    this.#hi[round] = this.#youngestHi;
    this.#lo[round] = this.#youngestLo;
    this.#doneHi = round === 0 ? 0 : this.#hi[round - 1] as number;
    this.#doneLo = round === 0 ? 0 : this.#lo[round - 1] as number;
  }

  /**
   * The flush that delivers a record with a time.
   *
   * @param round How many FINISHED_ROUND records stand before it.
   * @param hi Upper half of its time.
   * @param lo Lower half.
   */
  flush(round: number, hi: number, lo: number): number {
    hi >>>= 0;
    lo >>>= 0;
    let flush = this.#last;
    if (!this.#isUpTo(flush, hi, lo) || (flush > 1 && this.#isUpTo(flush - 1, hi, lo))) {
      // The first one that goes so far.
      let from = 1;
      let to = this.count + 1;
      while (from < to) {
        const middle = (from + to) >> 1;
        if (this.#isUpTo(middle, hi, lo)) to = middle;
        else from = middle + 1;
      }
      this.#last = flush = from;
    }
    return flush > round ? flush : round + 1;
  }

  /** Whether flush `k` delivers a time: it goes up to what was read at the FINISHED_ROUND before. */
  #isUpTo(flush: number, hi: number, lo: number): boolean {
    if (flush > this.count) return true;
    if (flush < 2) return false;
    const h = this.#hi[flush - 2] as number;
    return hi < h || (hi === h && lo <= (this.#lo[flush - 2] as number));
  }
}
