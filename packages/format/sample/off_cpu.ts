import type { PerfEventAttr } from "../header/attr.ts";
import {
  PERF_CONTEXT_USER,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_RAW,
  PERF_TYPE_SOFTWARE,
} from "../header/perf_event.ts";
import { SampleFields, type SampleLayout, sampleLayout } from "./sample_layout.ts";
import { SampleWalk } from "./sample_walk.ts";

/** `PERF_COUNT_SW_BPF_OUTPUT`: samples contain the output of a BPF program. */
const PERF_COUNT_SW_BPF_OUTPUT = 10n;
/** `OFFCPU_EVENT` of tools/perf/util/off_cpu.h. */
const OFFCPU_EVENT = "offcpu-time";

const AT_CALLCHAIN = SampleWalk.slot("callchain");
const AT_CGROUP = SampleWalk.slot("cgroup");

/**
 * Whether the raw data of an event's samples is an off-CPU sample: for the event of `perf record --off-cpu` since
 * perf 6.16. Before that, its samples were ordinary ones without raw data.
 *
 * @param name The event's name in the recording. The attr alone also matches other BPF programs.
 *
 * @example
 * ```ts
 * import { emptyAttr } from "@perfdata/format";
 * import { hasOffCpuSamples } from "@perfdata/format/records";
 * import { PERF_SAMPLE_RAW } from "@perfdata/format/constants";
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

/** Whether the attr allows off-CPU samples; the event's name decides. */
export function mayHaveOffCpuSamples({ type, config, sample_type }: PerfEventAttr): boolean {
  return type === PERF_TYPE_SOFTWARE && config === PERF_COUNT_SW_BPF_OUTPUT &&
    (sample_type & BigInt(PERF_SAMPLE_RAW)) !== 0n;
}

/**
 * The off-CPU sample in the raw data of a sample of `perf record --off-cpu`: the thread that waited, the time, and
 * the call chain.
 *
 * The fields of the enclosing sample describe the thread that ran when it was written. The raw data:
 *
 * ```text
 * u64 thread and process | u64 time that was waited, in ns | u64 n | n u64 of a call chain | u64 cgroup
 * ```
 *
 * The call chain in it starts with `PERF_CONTEXT_USER` and replaces that of the enclosing sample.
 */
export class OffCpuFields extends SampleFields {
  /** The process that waited. */
  pid: number = -1;
  /** The thread that waited. */
  tid: number = -1;
  /** Position of the u64 period: the time waited. */
  period: number = -1;
  /** Position of the u64 address: the innermost frame of the call chain; -1 without a chain. */
  ip: number = -1;
  /** Whether the raw data is an off-CPU sample. Otherwise the values are those of the enclosing sample. */
  isMeant: boolean = false;
  /** Whether the name of the event is known. */
  readonly isNamed: boolean;
  readonly #layout: SampleLayout;

  /**
   * Creates a locator for the samples of one event.
   *
   * @param isNamed Whether the name of the event is known. It is unknown before the end of a file
   * that arrives as a stream; then raw data with exactly this layout counts as an off-CPU sample.
   */
  constructor(attr: PerfEventAttr, isNamed: boolean = true) {
    super(attr);
    this.#layout = sampleLayout(attr);
    this.isNamed = isNamed;
  }

  /**
   * Finds the fields of the sample record in `[start, end)` of `view`.
   *
   * @returns `false` if a length in the sample, or in its raw data, does not fit.
   */
  override locate(view: DataView, start: number, end: number, littleEndian: boolean): boolean {
    if (!super.locate(view, start, end, littleEndian)) return false;
    this.isMeant = this.#interpret(view, start, littleEndian);
    if (!this.isMeant && !this.isNamed) this.#useOuterSample(view, start, littleEndian);
    return this.isMeant || !this.isNamed;
  }

  #useOuterSample(view: DataView, start: number, littleEndian: boolean): void {
    const { sampleType, pid, period, ip } = this.#layout;
    this.pid = pid < 0 ? -1 : view.getInt32(start + pid, littleEndian);
    this.tid = pid < 0 ? -1 : view.getInt32(start + pid + 4, littleEndian);
    this.period = period < 0 ? -1 : start + period;
    this.ip = ip < 0 ? -1 : start + ip;
    // Reset the values of the last off-CPU sample.
    if ((sampleType & PERF_SAMPLE_CALLCHAIN) === 0) {
      this.positions[AT_CALLCHAIN] = -1;
      this.counts[AT_CALLCHAIN] = 0;
    }
  }

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
    // perf writes a summary for each thread at its end, with the process in the lower half; the upper half of
    // such a sample's time is -1 (`OFF_CPU_TIMESTAMP`). The BPF program writes the thread into the lower half. A
    // thread's
    // id is not below that of its process's first thread. perf reads the lower half as the process in both cases.
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
