import { type PerfEvent, type RecordBatch, trailerEnd } from "@perfdata/format/records";
import {
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
  USER_RECORD_NAMES,
} from "@perfdata/format/constants";
import { dumpRecordName } from "@perfdata/dump";

export function recordTypeName(type: number): string {
  const name = dumpRecordName(type);
  return name === "INVALID" ? USER_RECORD_NAMES[type] ?? `TYPE_${type}` : name;
}

/** Fields of a record that are known without decoding it; -1 if missing. */
export class RecordFacts {
  type = 0;
  event = -1;
  pid = -1;
  tid = -1;
  cpu = -1;
  /** Halves of the time; both are 0 without a time. */
  timeHi = 0;
  timeLo = 0;

  /** Reads record `i` of a batch. */
  read(batch: RecordBatch, i: number): this {
    const { view, littleEndian: le, events } = batch;
    const start = batch.start(i);
    const end = start + batch.size(i);
    this.type = batch.type(i);
    this.event =
      this.pid =
      this.tid =
      this.cpu =
        -1;
    this.timeHi = this.timeLo = 0;
    if (this.type >= PERF_RECORD_USER_TYPE_START) return this;
    this.event = events.all.length === 1 ? 0 : events.indexOf(view, start, end, this.type, le);
    const event: PerfEvent | undefined = events.all[this.event];
    if (event === undefined) return this;
    const { layout } = event;
    const isSample = this.type === PERF_RECORD_SAMPLE;
    const from = isSample ? start : trailerEnd(start, end);
    const at = isSample ? layout : layout.trailer;
    // Offsets of trailer fields are negative, and 0 for missing fields.
    const has = (offset: number, size: number): boolean =>
      (isSample ? offset >= 8 : offset < 0) && from + offset >= start + 8 &&
      from + offset + size <= end;
    if (has(at.pid, 8)) {
      this.pid = view.getInt32(from + at.pid, le);
      this.tid = view.getInt32(from + at.pid + 4, le);
    }
    if (has(at.cpu, 4)) this.cpu = view.getInt32(from + at.cpu, le);
    if (has(at.time, 8)) {
      const hi = view.getUint32(from + at.time + (le ? 4 : 0), le);
      const lo = view.getUint32(from + at.time + (le ? 0 : 4), le);
      // A time of all ones means no time.
      if ((hi & lo) >>> 0 !== 0xffff_ffff) [this.timeHi, this.timeLo] = [hi, lo];
    }
    return this;
  }
}
