import { trailerEnd } from "@perfdata/format/record";
import type { EventTable, RecordBatch } from "@perfdata/format";
import { PERF_RECORD_SAMPLE, PERF_RECORD_USER_TYPE_START } from "@perfdata/format/record-types";
import { recordSize } from "@perfdata/format/record-header";

/**
 * Reads the times of kernel records: that of a sample, or that of the `sample_id` at the end of another
 * record (`perf_event.h`), in nanoseconds, as two signed 32-bit halves.
 */
export class RecordTime {
  /** The upper half of the time that was read last; both halves are 0 where the record has none. */
  hi: number = 0;
  /** The lower half. */
  lo: number = 0;
  /** Number of the event that the record belongs to, or -1 where its id is not known. */
  event: number = -1;
  readonly #events: EventTable;

  /**
   * Reads times of one file.
   *
   * @param events The events of the file.
   */
  constructor(events: EventTable) {
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
    const type = view.getUint32(start, le);
    const { all } = this.#events;
    this.hi = this.lo = 0;
    if (type >= PERF_RECORD_USER_TYPE_START) {
      this.event = all.length > 0 ? 0 : -1;
      return this;
    }
    const end = start + recordSize(view, start, le);
    this.event = all.length === 1 ? 0 : this.#events.indexOf(view, start, end, type, le);
    const layout = all[this.event]?.layout;
    if (layout === undefined) return this;
    // The trailer ends with the last whole word of the record.
    const at = type === PERF_RECORD_SAMPLE
      ? start + layout.time
      : layout.trailer.time === 0
      ? -1
      : trailerEnd(start, end) + layout.trailer.time;
    if (at < start + 8 || at + 8 > end) return this;
    this.hi = view.getInt32(le ? at + 4 : at, le);
    this.lo = view.getInt32(le ? at : at + 4, le);
    return this;
  }
}
