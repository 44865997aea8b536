import {
  type EventTable,
  type RecordBatch,
  recordSize,
  trailerEnd,
} from "@perfdata/format/records";
import { PERF_RECORD_SAMPLE, PERF_RECORD_USER_TYPE_START } from "@perfdata/format/constants";

/** Times of records, a row for each. */
export class TimeColumns {
  /** Upper half of the time; both halves are 0 if the record has no time. */
  readonly hi: Int32Array;
  /** The lower half. */
  readonly lo: Int32Array;
  /** Index of the record's event, or -1 if its id is unknown. */
  readonly event: Int32Array;

  /** Allocates columns of a fixed size. */
  constructor(rows: number) {
    this.hi = new Int32Array(rows);
    this.lo = new Int32Array(rows);
    this.event = new Int32Array(rows);
  }
}

/**
 * Reads the times of kernel records, in ns as two signed 32-bit halves: the time of a sample, or of
 * the `sample_id` at the end of another record (`perf_event.h`).
 */
export class RecordTime {
  /** Upper half of the last time; both halves are 0 if the record has no time. */
  hi: number = 0;
  /** The lower half. */
  lo: number = 0;
  /** Index of the record's event, or -1 if its id is unknown. */
  event: number = -1;
  readonly #events: EventTable;

  /**
   * Prepares for one file.
   *
   * @param events The events of the file.
   */
  constructor(events: EventTable) {
    this.#events = events;
  }

  /** Whether the record has a time: neither 0 nor all bits set. */
  get known(): boolean {
    return isKnownTime(this.hi, this.lo);
  }

  /** Reads the time of record `i` of a batch. */
  read(batch: RecordBatch, i: number): this {
    this.readAll(batch, i, i + 1, one);
    this.hi = one.hi[0] as number;
    this.lo = one.lo[0] as number;
    this.event = one.event[0] as number;
    return this;
  }

  /** Reads the times of the records `[from, to)` of a batch into columns, starting at row 0. */
  readAll(batch: RecordBatch, from: number, to: number, into: TimeColumns): void {
    const { view, littleEndian: le, starts } = batch;
    const { all } = this.#events;
    const single = all.length === 1;
    const highAt = le ? 4 : 0;
    const lowAt = 4 - highAt;
    const { hi, lo, event } = into;
    let layout = all[0]?.layout;
    let known = 0;
    for (let i = from, k = 0; i < to; i++, k++) {
      const start = starts[i] as number;
      const type = view.getUint32(start, le);
      hi[k] = lo[k] = 0;
      if (type >= PERF_RECORD_USER_TYPE_START) {
        event[k] = all.length > 0 ? 0 : -1;
        continue;
      }
      const end = start + recordSize(view, start, le);
      const of = single ? 0 : this.#events.indexOf(view, start, end, type, le);
      event[k] = of;
      if (of !== known) {
        layout = all[of]?.layout;
        known = of;
      }
      if (layout === undefined) continue;
      // The trailer ends with the last whole word of the record.
      const at = type === PERF_RECORD_SAMPLE
        ? start + layout.time
        : layout.trailer.time === 0
        ? -1
        : trailerEnd(start, end) + layout.trailer.time;
      if (at < start + 8 || at + 8 > end) continue;
      hi[k] = view.getInt32(at + highAt, le);
      lo[k] = view.getInt32(at + lowAt, le);
    }
  }
}

const one = new TimeColumns(1);

/** Whether a time is valid: neither 0 nor all bits set. */
export function isKnownTime(hi: number, lo: number): boolean {
  return (hi | lo) !== 0 && (hi & lo) !== -1;
}
