import type { PerfDataReader } from "@perfdata/format";
import { PERF_SAMPLE_READ } from "@perfdata/format/perf-event";
import { type ReadLayout, readLayout, SampleFields } from "@perfdata/format/sample-layout";
import type { Run } from "./run.ts";

/**
 * The events and periods that samples stand for.
 *
 * A sample stands for its event and its period; one that has the counts of a group of events
 * (`PERF_SAMPLE_READ`) stands for each of them that counted something since the sample before
 * (`deliver_sample_group` of tools/perf/util/session.c). Rows are to be taken in their order.
 */
export class SampleReads {
  /** Samples whose counts are damaged or of no known event. */
  leftOut: number = 0;
  /** Events that the sample stands for; as many as {@linkcode SampleReads.take} returned. */
  readonly event: number[] = [];
  /** Period of each. */
  readonly period: number[] = [];
  readonly #reader: PerfDataReader;
  readonly #reads: ({ readonly shape: ReadLayout; readonly fields: SampleFields } | undefined)[] =
    [];
  readonly #byId = new Map<number, number>();
  readonly #lastCount = new Map<number, number>();

  /** Nothing has been counted yet. */
  constructor(reader: PerfDataReader) {
    this.#reader = reader;
  }

  /** Whether a sample of an event stands for that event and its period. */
  isPlain(event: number): boolean {
    if (event >= this.#reads.length) this.#learn();
    return this.#reads[event] === undefined;
  }

  /** Takes a sample; returns how many events it stands for. */
  take(run: Run, i: number): number {
    const event = run.event[i] as number;
    if (event >= this.#reads.length) this.#learn();
    const reads = this.#reads[event];
    if (reads === undefined) {
      this.event[0] = event;
      this.period[0] = run.period[i] as number;
      return 1;
    }
    const { shape, fields } = reads;
    const { view } = run.at(i);
    const le = this.#reader.littleEndian;
    if (!fields.locate(view, run.start[i] as number, run.end[i] as number, le)) {
      this.leftOut++;
      return 0;
    }
    const values = shape.group ? u64(view, fields.read, le) : 1;
    let count = 0;
    for (let k = 0; k < values; k++) {
      const entry = fields.read + shape.head + k * shape.entry;
      const id = shape.id < 0 ? undefined : u64(view, entry + shape.id, le);
      const which = id === undefined ? event : this.#byId.get(id);
      if (which === undefined) {
        this.leftOut++;
        continue;
      }
      const value = u64(view, entry, le);
      const counter = id ?? -1 - event;
      const period = value - (this.#lastCount.get(counter) ?? 0);
      this.#lastCount.set(counter, value);
      if (period === 0) continue;
      this.event[count] = which;
      this.period[count++] = period;
    }
    return count;
  }

  #learn(): void {
    const { all } = this.#reader.events;
    for (let i = this.#reads.length; i < all.length; i++) {
      const known = all[i];
      if (known === undefined) continue;
      const { attr, ids, layout, readFormat } = known;
      this.#reads.push(
        layout.sampleType & PERF_SAMPLE_READ
          ? { shape: readLayout(readFormat), fields: new SampleFields(attr) }
          : undefined,
      );
      for (const id of ids) this.#byId.set(Number(id), i);
    }
  }
}

function u64(view: DataView, at: number, le: boolean): number {
  return view.getUint32(le ? at + 4 : at, le) * 2 ** 32 + view.getUint32(le ? at : at + 4, le);
}
