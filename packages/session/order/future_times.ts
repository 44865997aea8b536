import type { BatchOptions, PerfDataReader } from "@perfdata/format/records";
import {
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_USER_TYPE_START,
} from "@perfdata/format/constants";
import { enlarge } from "@perfdata/format/bytes";
import { RecordTime } from "./record_time.ts";

/** Number of records with a time that share a bound. */
const STRETCH = 1 << 12;

/**
 * Lower bounds on the times of later records in a file.
 *
 * With them, records are sorted in bounded memory even without FINISHED_ROUND records: a record
 * that is not later than the bound can be delivered.
 */
export class FutureTimes {
  #hi = new Uint32Array(1 << 10);
  #lo = new Uint32Array(1 << 10);
  #stretches = 0;
  /** Whether a record without a time follows one with a time. */
  untimedLater = false;

  /**
   * Scans a file that can be read more than once. Damage is not reported, since the pass that uses
   * the records reports it.
   *
   * @returns `undefined` if the file has a FINISHED_ROUND: the scan stops there.
   * @throws {PerfDataError} In strict mode, if the file is damaged.
   */
  static async read(
    reader: PerfDataReader,
    options: BatchOptions = {},
  ): Promise<FutureTimes | undefined> {
    const found = new FutureTimes();
    const time = new RecordTime(reader.events);
    let timed = 0;
    for await (const batch of reader.batches({ ...options, quiet: true })) {
      for (let i = 0; i < batch.count; i++) {
        const type = batch.type(i);
        if (type === PERF_RECORD_FINISHED_ROUND) return undefined;
        if (type < PERF_RECORD_USER_TYPE_START && time.read(batch, i).known) {
          found.#see(timed++, time.hi >>> 0, time.lo >>> 0);
        } else {
          found.untimedLater ||= timed > 0;
        }
      }
    }
    found.#accumulate();
    return found;
  }

  #see(index: number, hi: number, lo: number): void {
    const stretch = Math.floor(index / STRETCH);
    if (stretch === this.#stretches) {
      if (stretch === this.#hi.length) {
        this.#hi = enlarge(this.#hi, stretch + 1);
        this.#lo = enlarge(this.#lo, stretch + 1);
      }
      this.#stretches++;
      this.#hi[stretch] = hi;
      this.#lo[stretch] = lo;
    } else this.#lower(stretch, hi, lo);
  }

  #lower(stretch: number, hi: number, lo: number): void {
    const oldHi = this.#hi[stretch] as number;
    if (hi > oldHi || (hi === oldHi && lo >= (this.#lo[stretch] as number))) return;
    this.#hi[stretch] = hi;
    this.#lo[stretch] = lo;
  }

  /** Replaces the lowest time of each stretch by the lowest from there to the end of the file. */
  #accumulate(): void {
    for (let i = this.#stretches - 2; i >= 0; i--) {
      this.#lower(i, this.#hi[i + 1] as number, this.#lo[i + 1] as number);
    }
  }

  /**
   * A lower bound for the times after the first `count` records with a time, as its upper and lower
   * 32 bits.
   */
  boundAfter(count: number): readonly [hi: number, lo: number] {
    const stretch = Math.floor(count / STRETCH);
    return stretch < this.#stretches
      ? [this.#hi[stretch] as number, this.#lo[stretch] as number]
      : [0xffff_ffff, 0xffff_ffff];
  }
}
