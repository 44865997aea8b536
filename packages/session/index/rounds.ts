import { enlarge, partitionPoint } from "@perfdata/format/bytes";

/** Rounds in the form for another thread: the latest time before the end of each. */
export interface RoundsPart {
  /** Upper halves. */
  readonly hi: Uint32Array<ArrayBuffer>;
  /** Lower halves. */
  readonly lo: Uint32Array<ArrayBuffer>;
}

/**
 * The rounds of a recording, which determine the flush that delivers a record.
 *
 * perf reads the kernel's buffers in turn and writes a FINISHED_ROUND after each turn. When perf
 * reads such a record, it delivers the waiting records in order of time, up to the latest time that
 * had been read at the previous FINISHED_ROUND: no older record is expected
 * (`perf_event__process_finished_round` of tools/perf/util/ordered-events.c). An older record that
 * comes nevertheless is delivered at the next flush.
 *
 * So the flush of a record depends on its time and its round only, not on other waiting records.
 * Flush `k`, counted from 1, is at the k-th FINISHED_ROUND; the last one is at the end.
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
 * // Time 10 is delivered at the second FINISHED_ROUND, time 20 at the end.
 * assertEquals([rounds.flush(0, 0, 10), rounds.flush(1, 0, 20)], [2, 3]);
 * // A record with time 10 in round 2 is late.
 * assertEquals(rounds.flush(2, 0, 10), 3);
 * ```
 */
export class Rounds {
  /** Number of FINISHED_ROUND records. */
  count: number = 0;
  /** Number of times that were read after a later one was delivered. */
  late: number = 0;
  // By round: the latest time read before its end, in unsigned halves.
  #hi = new Uint32Array(64);
  #lo = new Uint32Array(64);
  #youngestHi = 0;
  #youngestLo = 0;
  /** The latest time that the last flush delivered. */
  #doneHi = 0;
  #doneLo = 0;
  /** The result of the last search: this flush delivers times that the one before does not. */
  #last = 1;

  /** Copies the rounds into the form for another thread. */
  part(): RoundsPart {
    return { hi: this.#hi.slice(0, this.count), lo: this.#lo.slice(0, this.count) };
  }

  /** Restores the rounds that another thread sent. */
  static of({ hi, lo }: RoundsPart): Rounds {
    const rounds = new Rounds();
    rounds.count = hi.length;
    rounds.#hi = hi;
    rounds.#lo = lo;
    return rounds;
  }

  /** Adds the time of a record. */
  see(hi: number, lo: number): void {
    hi >>>= 0;
    lo >>>= 0;
    if (hi < this.#doneHi || (hi === this.#doneHi && lo < this.#doneLo)) this.late++;
    if (hi > this.#youngestHi || (hi === this.#youngestHi && lo > this.#youngestLo)) {
      this.#youngestHi = hi;
      this.#youngestLo = lo;
    }
  }

  /** Adds a FINISHED_ROUND record. */
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
   * @param round Number of FINISHED_ROUND records before it.
   * @param hi Upper half of its time.
   * @param lo Lower half.
   */
  flush(round: number, hi: number, lo: number): number {
    hi >>>= 0;
    lo >>>= 0;
    let flush = this.#last;
    if (!this.#isUpTo(flush, hi, lo) || (flush > 1 && this.#isUpTo(flush - 1, hi, lo))) {
      // Binary search for the first flush that delivers the time.
      flush = partitionPoint(1, this.count + 1, (i) => !this.#isUpTo(i, hi, lo));
      this.#last = flush;
    }
    return flush > round ? flush : round + 1;
  }

  /**
   * Whether flush `k` delivers a time: at most the latest time before the FINISHED_ROUND of flush
   * `k - 1`.
   */
  #isUpTo(flush: number, hi: number, lo: number): boolean {
    if (flush > this.count) return true;
    if (flush < 2) return false;
    const h = this.#hi[flush - 2] as number;
    return hi < h || (hi === h && lo <= (this.#lo[flush - 2] as number));
  }
}
