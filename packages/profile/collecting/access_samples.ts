import { type PerfEvent, SampleFields } from "@perfdata/format/records";
import { intAt } from "@perfdata/format/bytes";
import {
  PERF_SAMPLE_DATA_SRC,
  PERF_SAMPLE_WEIGHT,
  PERF_SAMPLE_WEIGHT_STRUCT,
} from "@perfdata/format/constants";
import type { Run } from "@perfdata/session";

/** Reads samples of memory accesses: the place of the data, and the weight. */
export class AccessSamples {
  /** Number of samples whose event has data sources. */
  count = 0;
  readonly #events: readonly PerfEvent[];
  readonly #le: boolean;
  readonly #fields: (SampleFields | undefined)[] = [];

  constructor(events: readonly PerfEvent[], littleEndian: boolean) {
    this.#events = events;
    this.#le = littleEndian;
  }

  /** The place of the accessed data; -1 if its address is 0, which means unknown. */
  data(run: Run, i: number): number {
    const { layout } = this.#events[intAt(run.event, i)] as PerfEvent;
    if (layout.addr < 0) return -1;
    const { view } = run.at(i);
    const at = intAt(run.start, i) + layout.addr;
    return view.getInt32(at) === 0 && view.getInt32(at + 4) === 0 ? -1 : intAt(run.addr, i);
  }

  /** The weight of an access, as in `iter_add_single_mem_entry` of tools/perf/util/hist.c. */
  weight(run: Run, i: number): number {
    const number = intAt(run.event, i);
    const event = this.#events[number] as PerfEvent;
    const { sampleType } = event.layout;
    if ((sampleType & PERF_SAMPLE_DATA_SRC) !== 0) this.count++;
    if ((sampleType & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)) === 0) return 1;
    const fields = this.#fields[number] ??= new SampleFields(event.attr);
    const { view } = run.at(i);
    const le = this.#le;
    if (!fields.locate(view, intAt(run.start, i), intAt(run.end, i), le)) return 1;
    return fields.weightValue(view, le) || 1;
  }
}
