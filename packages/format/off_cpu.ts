import type { PerfEventAttr } from "./attr.ts";
import { PERF_SAMPLE_RAW, PERF_TYPE_SOFTWARE } from "./perf_event.ts";
import { SampleFields, sampleLayout } from "./sample_layout.ts";
import { SampleWalk } from "./sample_walk.ts";

/** `PERF_COUNT_SW_BPF_OUTPUT`: samples hold what a BPF program writes. */
const PERF_COUNT_SW_BPF_OUTPUT = 10n;
/** `OFFCPU_EVENT` of tools/perf/util/off_cpu.h. */
const OFFCPU_EVENT = "offcpu-time";

const AT_CALLCHAIN = SampleWalk.slot("callchain");
const AT_CGROUP = SampleWalk.slot("cgroup");

/**
 * Whether samples of an event mean what their raw data says: those of `perf record --off-cpu`, since
 * perf 6.16. Before, they were ordinary samples without raw data.
 *
 * @param name What the recording calls the event; its attr alone fits other BPF programs as well.
 *
 * @example
 * ```ts
 * import { emptyAttr, hasOffCpuSamples, PERF_SAMPLE_RAW } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const attr = { ...emptyAttr(), type: 1, config: 10n, sample_type: BigInt(PERF_SAMPLE_RAW) };
 * assertEquals(hasOffCpuSamples(attr, "offcpu-time"), true);
 * assertEquals(hasOffCpuSamples(attr, "my-output"), false);
 * ```
 */
export function hasOffCpuSamples(attr: PerfEventAttr, name: string): boolean {
  return name === OFFCPU_EVENT && mayHaveOffCpuSamples(attr);
}

/** Whether they may, if the event has the name. */
export function mayHaveOffCpuSamples({ type, config, sample_type }: PerfEventAttr): boolean {
  return type === PERF_TYPE_SOFTWARE && config === PERF_COUNT_SW_BPF_OUTPUT &&
    (sample_type & BigInt(PERF_SAMPLE_RAW)) !== 0n;
}

/**
 * The sample that is meant by one of `perf record --off-cpu`: a thread waited for a time, and this is where.
 *
 * The fields of the sample itself are of whatever ran when it was written. Its raw data is
 *
 * ```text
 * u64 thread and process | u64 time that was waited, in ns | u64 n | n u64 of a call chain | u64 cgroup
 * ```
 *
 * and the call chain, which starts with `PERF_CONTEXT_USER`, takes the place of the sample's own.
 */
export class OffCpuFields extends SampleFields {
  /** The process that waited. */
  pid: number = -1;
  /** The thread that waited. */
  tid: number = -1;
  /** Where the u64 of the period is: the time that was waited. */
  period: number = -1;
  /** Where the u64 of the address is: the innermost of the call chain; -1 where none was collected. */
  ip: number = -1;
  readonly #time: number;

  /** Prepares for the samples of one event. */
  constructor(attr: PerfEventAttr) {
    super(attr);
    this.#time = sampleLayout(attr).time;
  }

  /**
   * Finds the fields of the sample record in `[start, end)` of `view`.
   *
   * @returns `false` where a length in the sample, or in its raw data, does not fit.
   */
  override locate(view: DataView, start: number, end: number, littleEndian: boolean): boolean {
    if (!super.locate(view, start, end, littleEndian)) return false;
    const { raw, rawSize } = this;
    const highAt = littleEndian ? 4 : 0;
    const lowAt = 4 - highAt;
    if (raw < 0 || rawSize < 32) return false;
    const chain = raw + 24;
    const n = view.getUint32(raw + 16 + lowAt, littleEndian);
    if (view.getUint32(raw + 16 + highAt, littleEndian) !== 0) return false;
    if (n > (rawSize - 32) / 8) return false;
    const low = view.getInt32(raw + lowAt, littleEndian);
    const high = view.getInt32(raw + highAt, littleEndian);
    // What perf writes at the end has the process in the lower half; such samples have times of their
    // own (`OFF_CPU_TIMESTAMP`). What the BPF program writes has the thread there, which is no older
    // than the first of its process. perf takes the lower half for the process in both.
    const time = this.#time;
    const isSum = time >= 0 && view.getInt32(start + time + highAt, littleEndian) === -1;
    const swapped = !isSum && low > high;
    this.pid = swapped ? high : low;
    this.tid = swapped ? low : high;
    this.period = raw + 8;
    this.positions[AT_CALLCHAIN] = chain;
    this.counts[AT_CALLCHAIN] = n;
    this.positions[AT_CGROUP] = chain + 8 * n;
    this.ip = n > 1 ? chain + 8 : -1;
    return true;
  }
}
