import {
  doc,
  enumeration,
  hex,
  optional,
  struct,
  type StructValue,
  u64,
  x64,
} from "@perfdata/format";
import { countedText, type PrivCodec, restWords } from "./words.ts";

const INTEL_PT_FIELDS = {
  pmu_type: doc("`type` of the attrs of the `intel_pt` PMU.", u64),
  time_shift: doc("TSC to ns: bits that the product is shifted right by.", u64),
  time_mult: doc("TSC to ns: what ticks are multiplied by; 0 where the TSC is of no use.", u64),
  time_zero: doc("TSC to ns: time in ns at tick 0.", x64),
  cap_user_time_zero: doc("1 where `time_zero` may be used.", u64),
  tsc_bit: doc("The bit of `config` that turns TSC packets on.", x64),
  noretcomp_bit: doc("The bit of `config` that turns return compression off.", x64),
  have_sched_switch: doc(
    "How context switches are known.",
    enumeration(u64, {
      0: "no",
      1: "sched_switch events",
      2: "SWITCH records of the traced CPUs",
      3: "SWITCH records of all CPUs",
    }),
  ),
  snapshot_mode: doc("1 where the buffer was overwritten until a snapshot was asked for.", u64),
  per_cpu_mmaps: doc("1 where each CPU has a buffer, 0 where each thread has.", u64),
  mtc_bit: doc("The bit of `config` that turns MTC packets on.", optional(x64)),
  mtc_freq_bits: doc("The bits of `config` that hold the MTC period.", optional(x64)),
  tsc_ctc_n: doc("TSC ticks for `tsc_ctc_d` ticks of the crystal clock.", optional(u64)),
  tsc_ctc_d: doc("Crystal clock ticks for `tsc_ctc_n` ticks of the TSC.", optional(u64)),
  cyc_bit: doc("The bit of `config` that turns CYC packets on.", optional(hex(u64))),
  max_nonturbo_ratio: doc(
    "Highest clock without turbo, in units of the bus clock as CBR packets are.",
    optional(u64),
  ),
  filter_str_len: doc("Bytes of `filter`, zeros not counted.", optional(u64)),
  filter: doc(
    "Address filters, as `perf record --filter` had them, resolved.",
    countedText("filter_str_len"),
  ),
  cap_event_trace: doc("1 where the CPU can trace events (CFE and EVD packets).", optional(u64)),
  rest: restWords,
} as const;

/**
 * How an Intel PT trace was made; words that the recording perf did not know yet are missing.
 *
 * Time in ns at a TSC value: `time_zero + (tsc * time_mult >> time_shift)`.
 */
export type IntelPtInfo = StructValue<typeof INTEL_PT_FIELDS>;

/** The words of Intel PT, in the order of the enumeration in `tools/perf/util/intel-pt.h`. */
export const intelPtPriv: PrivCodec<IntelPtInfo> = {
  ...struct("intel_pt_priv", INTEL_PT_FIELDS),
  least: 10 * 8,
};
