import {
  type EventTable,
  type RecordBatch,
  recordSize,
  trailerEnd,
} from "@perfdata/format/records";
import { PERF_RECORD_SAMPLE, PERF_RECORD_USER_TYPE_START } from "@perfdata/format/constants";

/** Times of records, a row for each. */
export class TimeColumns {
  /** The upper half of the time; both halves are 0 where the record has none. */
  readonly hi: Int32Array;
  /** The lower half. */
  readonly lo: Int32Array;
  /** Number of the event that the record belongs to, or -1 if its id is not known. */
  readonly event: Int32Array;

  /** Makes room for so many. */
  constructor(rows: number) {
    this.hi = new Int32Array(rows);
    this.lo = new Int32Array(rows);
    this.event = new Int32Array(rows);
  }
}

/**
 * Reads the times of kernel records: that of a sample, or that of the `sample_id` at the end of another
 * record (`perf_event.h`), in nanoseconds, as two signed 32-bit halves.
 */
export class RecordTime {
  /** The upper half of the time that was read last; both halves are 0 where the record has none. */
  hi: number = 0;
  /** The lower half. */
  lo: number = 0;
  /** Number of the event that the record belongs to, or -1 if its id is not known. */
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

  /** Reads the times of the records `[from, to)` of a batch into columns, from their beginning on. */
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

/** Whether it is the time of something: neither 0 nor all ones. */
export function isKnownTime(hi: number, lo: number): boolean {
  return (hi | lo) !== 0 && (hi & lo) !== -1;
}
