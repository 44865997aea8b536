import {
  type PerfDataReader,
  type PerfEvent,
  type ReadLayout,
  readLayout,
  SampleFields,
} from "@perfdata/format/records";
import { floatAt, IdMap, intAt } from "@perfdata/format/bytes";
import { PERF_SAMPLE_READ } from "@perfdata/format/constants";
import type { Run } from "../order/run.ts";
import { CounterValues, countsPerThread } from "./counter_values.ts";

/** Layout of the counts in samples of an event. */
interface EventReads {
  readonly shape: ReadLayout;
  readonly fields: SampleFields;
  readonly isPerThread: boolean;
}

/**
 * The events and periods that a sample counts for.
 *
 * A sample stands for its event and its period; a sample with the counts of a group of events
 * (`PERF_SAMPLE_READ`) stands for each event that counted something since the previous sample
 * (`deliver_sample_group` of tools/perf/util/session.c). Rows have to be taken in order.
 */
export class SampleReads {
  /** Counts that are damaged, of an unknown event, or less than before. */
  leftOut: number = 0;
  /** Events that the sample stands for: as many as {@linkcode SampleReads.take} returned. */
  readonly event: number[] = [];
  /** Period of each event; exact up to 2^53. */
  readonly period: number[] = [];
  /** Upper half of each period. */
  readonly periodHi: number[] = [];
  /** Lower half of each period. */
  readonly periodLo: number[] = [];
  readonly #reader: PerfDataReader;
  readonly #reads: (EventReads | undefined)[] = [];
  readonly #byId = new IdMap<number>();
  readonly #counters = new CounterValues();
  /** Counters without ids, by the number of their event. */
  readonly #withoutIds = new CounterValues();

  /** Starts with all counters at 0. */
  constructor(reader: PerfDataReader) {
    this.#reader = reader;
  }

  /** Whether a sample of an event stands for that event and its period. */
  isPlain(event: number): boolean {
    if (event >= this.#reads.length) this.#learn();
    return this.#reads[event] === undefined;
  }

  /** Decodes a sample; returns the number of events that it stands for. */
  take(run: Run, i: number): number {
    const event = intAt(run.event, i);
    if (event >= this.#reads.length) this.#learn();
    const reads = this.#reads[event];
    if (reads === undefined) {
      this.event[0] = event;
      this.#takePeriod(run, i);
      return 1;
    }
    const { shape, fields, isPerThread } = reads;
    const { view } = run.at(i);
    const le = this.#reader.littleEndian;
    if (!fields.locate(view, intAt(run.start, i), intAt(run.end, i), le)) {
      this.leftOut++;
      return 0;
    }
    const highAt = le ? 4 : 0;
    const lowAt = 4 - highAt;
    const hasId = shape.id >= 0;
    const counters = hasId ? this.#counters : this.#withoutIds;
    // The fields were located, so all values are in the record.
    const values = shape.group ? view.getUint32(fields.read + lowAt, le) : 1;
    let count = 0;
    for (let k = 0; k < values; k++) {
      const entry = fields.read + shape.head + k * shape.entry;
      const idHi = hasId ? view.getInt32(entry + shape.id + highAt, le) : 0;
      // A group without ids has its values in the order of its events.
      const idLo = hasId ? view.getInt32(entry + shape.id + lowAt, le) : event + k;
      const which = hasId ? this.#byId.get(idHi, idLo) : idLo;
      if (which === undefined || which >= this.#reads.length) {
        this.leftOut++;
        continue;
      }
      const last = isPerThread
        ? counters.ofThread(idHi, idLo, intAt(run.pid, i), intAt(run.tid, i))
        : counters.of(idHi, idLo);
      const hi = view.getUint32(entry + highAt, le);
      const lo = view.getUint32(entry + lowAt, le);
      if (hi < last.hi || hi === last.hi && lo < last.lo) {
        // A new thread with the ids of an old one begins at 0; other counters never count backwards.
        last.hi = isPerThread ? 0 : hi;
        last.lo = isPerThread ? 0 : lo;
        if (!isPerThread) this.leftOut++;
      }
      const periodLo = lo - last.lo | 0;
      const periodHi = hi - last.hi - (lo < last.lo ? 1 : 0) | 0;
      last.hi = hi;
      last.lo = lo;
      if ((periodHi | periodLo) === 0) continue;
      this.event[count] = which;
      this.periodHi[count] = periodHi;
      this.periodLo[count] = periodLo;
      // deno-lint-ignore perfdata/halves -- a weight; texts of single periods read the halves
      this.period[count++] = (periodHi >>> 0) * 2 ** 32 + (periodLo >>> 0);
    }
    return count;
  }

  /** Decodes a sample that is excluded, because the next sample is compared with its counts. */
  skip(run: Run, i: number): void {
    const event = intAt(run.event, i);
    if (event < 0 || this.isPlain(event)) return;
    const { leftOut } = this;
    this.take(run, i);
    this.leftOut = leftOut;
  }

  #learn(): void {
    const { all } = this.#reader.events;
    for (let i = this.#reads.length; i < all.length; i++) {
      const known = all[i];
      if (known === undefined) continue;
      const { attr, ids, layout, readFormat } = known;
      const isPerThread = countsPerThread(known);
      this.#reads.push(
        layout.sampleType & PERF_SAMPLE_READ
          ? { shape: readLayout(readFormat), fields: new SampleFields(attr), isPerThread }
          : undefined,
      );
      for (const id of ids) this.#byId.set(id, i);
    }
  }

  /** Stores the period of a sample that stands for its own event. */
  #takePeriod(run: Run, i: number): void {
    const period = this.period[0] = floatAt(run.period, i);
    if (period < 2 ** 53) {
      this.periodHi[0] = period / 2 ** 32 | 0;
      this.periodLo[0] = period | 0;
      return;
    }
    const event = this.#reader.events.all[intAt(run.event, i)] as PerfEvent;
    const { view } = run.at(i);
    const le = this.#reader.littleEndian;
    const at = event.periodAt(view, intAt(run.start, i), intAt(run.end, i), le);
    const exact = at < 0 ? event.attr.sample_period : view.getBigUint64(at, le);
    this.periodHi[0] = Number(exact >> 32n);
    this.periodLo[0] = Number(exact & 0xffff_ffffn);
  }
}
