import {
  enumeration,
  type FixedCodec,
  hex,
  optional,
  type OptionalCodec,
  struct,
  type StructValue,
  u64,
  x64,
} from "@perfdata/format/records";
import { countedText, type PrivCodec, restWords } from "./words.ts";

const INTEL_PT_FIELDS = {
  pmu_type: [u64, "`type` of the attrs of the `intel_pt` PMU."],
  time_shift: [u64, "TSC to ns: bits that the product is shifted right by."],
  time_mult: [u64, "TSC to ns: factor for ticks; 0 if the TSC cannot be used."],
  time_zero: [x64, "TSC to ns: time in ns at tick 0."],
  cap_user_time_zero: [u64, "1 if `time_zero` may be used."],
  tsc_bit: [x64, "The bit of `config` that turns TSC packets on."],
  noretcomp_bit: [x64, "The bit of `config` that turns return compression off."],
  have_sched_switch: [
    enumeration(u64, {
      0: "no",
      1: "sched_switch events",
      2: "SWITCH records of the traced CPUs",
      3: "SWITCH records of all CPUs",
    }) as FixedCodec<bigint>,
    "How context switches are known.",
  ],
  snapshot_mode: [u64, "1 where the buffer was overwritten until a snapshot was asked for."],
  per_cpu_mmaps: [u64, "1 where each CPU has a buffer, 0 where each thread has."],
  mtc_bit: [
    optional(x64) as OptionalCodec<bigint>,
    "The bit of `config` that turns MTC packets on.",
  ],
  mtc_freq_bits: [
    optional(x64) as OptionalCodec<bigint>,
    "The bits of `config` that hold the MTC period.",
  ],
  tsc_ctc_n: [
    optional(u64) as OptionalCodec<bigint>,
    "TSC ticks for `tsc_ctc_d` ticks of the crystal clock.",
  ],
  tsc_ctc_d: [
    optional(u64) as OptionalCodec<bigint>,
    "Crystal clock ticks for `tsc_ctc_n` ticks of the TSC.",
  ],
  cyc_bit: [
    optional(hex(u64)) as OptionalCodec<bigint>,
    "The bit of `config` that turns CYC packets on.",
  ],
  max_nonturbo_ratio: [
    optional(u64) as OptionalCodec<bigint>,
    "Highest clock without turbo, in units of the bus clock as CBR packets are.",
  ],
  filter_str_len: [optional(u64) as OptionalCodec<bigint>, "Bytes of `filter`, zeros not counted."],
  filter: [
    countedText("filter_str_len") as OptionalCodec<string>,
    "Address filters, as `perf record --filter` had them, resolved.",
  ],
  cap_event_trace: [
    optional(u64) as OptionalCodec<bigint>,
    "1 where the CPU can trace events (CFE and EVD packets).",
  ],
  rest: restWords,
} as const;

/**
 * Settings of an Intel PT trace; words that the recording perf did not write are missing.
 *
 * Time in ns at a TSC value: `time_zero + (tsc * time_mult >> time_shift)`.
 */
export type IntelPtInfo = StructValue<typeof INTEL_PT_FIELDS>;

/** The words of Intel PT, in the order of the enumeration in `tools/perf/util/intel-pt.h`. */
export const intelPtPriv: PrivCodec<IntelPtInfo> = {
  ...struct("intel_pt_priv", INTEL_PT_FIELDS),
  least: 10 * 8,
};
