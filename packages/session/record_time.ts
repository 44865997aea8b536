import type { PerfEvent, RecordBatch } from "@perfdata/format";
import { PERF_RECORD_SAMPLE } from "@perfdata/format/perf-event";

/** The type of perf's own record that says: each of the kernel's buffers was read once more. */
export const FINISHED_ROUND = 68;

/**
 * Reads the times of kernel records: that of a sample, or that of the `sample_id` at the end of another
 * record (`perf_event.h`), in nanoseconds, as two 32-bit halves.
 */
export class RecordTime {
  // Not 0, which V8 would take for a promise to stay below 2^31.
  /** The upper half of the time that was read last; 0 where the record has none. */
  hi: number = -0;
  /** The lower half. */
  lo: number = -0;
  /** Number of the event that the record belongs to, or -1 where its id is not known. */
  event: number = -1;
  readonly #events: readonly PerfEvent[];

  /**
   * Reads times of one file.
   *
   * @param events The events of the file.
   */
  constructor(events: readonly PerfEvent[]) {
    this.#events = events;
  }

  /** Whether it is the time of something: neither 0 nor all ones. */
  get known(): boolean {
    return (this.hi | this.lo) !== 0 && (this.hi & this.lo) !== -1;
  }

  /** Reads the time of record `i` of a batch. */
  read(batch: RecordBatch, i: number): this {
    const { view, littleEndian: le } = batch;
    const start = batch.starts[i] as number;
    const end = start + view.getUint16(start + 6, le);
    const type = view.getUint32(start, le);
    this.event = this.#events.length === 1 ? 0 : batch.events.indexOf(view, start, end, type, le);
    const layout = this.#events[this.event]?.layout;
    let at = -1;
    if (layout !== undefined) {
      at = type === PERF_RECORD_SAMPLE
        ? (layout.time < 0 ? -1 : start + layout.time)
        : (layout.trailer.time === 0 ? -1 : end - (end - start & 7) + layout.trailer.time);
    }
    if (at < start + 8 || at + 8 > end) {
      this.hi = this.lo = 0;
      return this;
    }
    this.hi = view.getUint32(at + (le ? 4 : 0), le);
    this.lo = view.getUint32(at + (le ? 0 : 4), le);
    return this;
  }
}
