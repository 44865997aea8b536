import type { PerfEventAttr } from "../header/attr.ts";
import {
  PERF_CONTEXT_USER,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_RAW,
  PERF_TYPE_SOFTWARE,
} from "../header/perf_event.ts";
import { SampleFields, type SampleLayout, sampleLayout } from "./sample_layout.ts";
import { SampleWalk } from "./sample_walk.ts";

/** `PERF_COUNT_SW_BPF_OUTPUT`: samples hold the output of a BPF program. */
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
 * import { emptyAttr } from "@perfdata/format";
 * import { hasOffCpuSamples } from "@perfdata/format/off-cpu";
 * import { PERF_SAMPLE_RAW } from "@perfdata/format/perf-event";
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

/** Whether they may: that depends on the name. */
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
  /** Where the u64 of the address is: the innermost of the call chain; -1 if none was collected. */
  ip: number = -1;
  /** Whether another sample is meant; otherwise the values are the sample's own. */
  isMeant: boolean = false;
  /** Whether the name of the event is known. */
  readonly isNamed: boolean;
  readonly #layout: SampleLayout;

  /**
   * Prepares for the samples of one event.
   *
   * @param isNamed Whether the name of the event is known. Where it is not, as before the end of a file
   *   that arrives as a stream, raw data that is exactly of this form is taken for such a sample.
   */
  constructor(attr: PerfEventAttr, isNamed: boolean = true) {
    super(attr);
    this.#layout = sampleLayout(attr);
    this.isNamed = isNamed;
  }

  /**
   * Finds the fields of the sample record in `[start, end)` of `view`.
   *
   * @returns `false` where a length in the sample, or in its raw data, does not fit.
   */
  override locate(view: DataView, start: number, end: number, littleEndian: boolean): boolean {
    if (!super.locate(view, start, end, littleEndian)) return false;
    this.isMeant = this.#interpret(view, start, littleEndian);
    if (!this.isMeant && !this.isNamed) this.#takeOwn(view, start, littleEndian);
    return this.isMeant || !this.isNamed;
  }

  /** Takes the values of the sample itself. */
  #takeOwn(view: DataView, start: number, littleEndian: boolean): void {
    const { sampleType, pid, period, ip } = this.#layout;
    this.pid = pid < 0 ? -1 : view.getInt32(start + pid, littleEndian);
    this.tid = pid < 0 ? -1 : view.getInt32(start + pid + 4, littleEndian);
    this.period = period < 0 ? -1 : start + period;
    this.ip = ip < 0 ? -1 : start + ip;
    // Those of the last sample that was meant.
    if ((sampleType & PERF_SAMPLE_CALLCHAIN) === 0) {
      this.positions[AT_CALLCHAIN] = -1;
      this.counts[AT_CALLCHAIN] = 0;
    }
  }

  /** Takes the values of the sample that is in the raw data; whether it is one. */
  #interpret(view: DataView, start: number, littleEndian: boolean): boolean {
    const { raw, rawSize } = this;
    const highAt = littleEndian ? 4 : 0;
    const lowAt = 4 - highAt;
    if (raw < 0 || rawSize < 32) return false;
    const chain = raw + 24;
    const n = view.getUint32(raw + 16 + lowAt, littleEndian);
    if (view.getUint32(raw + 16 + highAt, littleEndian) !== 0) return false;
    const rest = rawSize - 32 - 8 * n;
    if (rest < 0) return false;
    if (!this.isNamed) {
      const isUser = n > 0 && view.getBigUint64(chain, littleEndian) === PERF_CONTEXT_USER;
      if (rest >= 8 || !isUser) return false;
    }
    const low = view.getInt32(raw + lowAt, littleEndian);
    const high = view.getInt32(raw + highAt, littleEndian);
    // What perf writes at the end has the process in the lower half; such samples have times of their
    // own (`OFF_CPU_TIMESTAMP`). What the BPF program writes has the thread there, which is no older
    // than the first of its process. perf takes the lower half for the process in both.
    const { time } = this.#layout;
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
