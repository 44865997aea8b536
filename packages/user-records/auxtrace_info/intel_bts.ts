import { struct, type StructValue, u64, x64 } from "@perfdata/format/records";
import { type PrivCodec, restWords } from "./words.ts";

const INTEL_BTS_FIELDS = {
  pmu_type: [u64, "`type` of the attrs of the `intel_bts` PMU."],
  time_shift: [u64, "TSC to ns: bits that the product is shifted right by."],
  time_mult: [u64, "TSC to ns: what ticks are multiplied by."],
  time_zero: [x64, "TSC to ns: time in ns at tick 0."],
  cap_user_time_zero: [u64, "1 if `time_zero` may be used."],
  snapshot_mode: [u64, "1 where the buffer was overwritten until a snapshot was asked for."],
  rest: restWords,
} as const;

/** Settings of an Intel BTS trace. */
export type IntelBtsInfo = StructValue<typeof INTEL_BTS_FIELDS>;

/** The words of Intel BTS, in the order of the enumeration in `tools/perf/util/intel-bts.h`. */
export const intelBtsPriv: PrivCodec<IntelBtsInfo> = {
  ...struct("intel_bts_priv", INTEL_BTS_FIELDS),
  least: 6 * 8,
};
