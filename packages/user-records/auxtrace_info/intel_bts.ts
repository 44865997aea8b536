import { doc, struct, type StructValue, u64, x64 } from "@perfdata/format";
import { type PrivCodec, restWords } from "./words.ts";

const INTEL_BTS_FIELDS = {
  pmu_type: doc("`type` of the attrs of the `intel_bts` PMU.", u64),
  time_shift: doc("TSC to ns: bits that the product is shifted right by.", u64),
  time_mult: doc("TSC to ns: what ticks are multiplied by.", u64),
  time_zero: doc("TSC to ns: time in ns at tick 0.", x64),
  cap_user_time_zero: doc("1 where `time_zero` may be used.", u64),
  snapshot_mode: doc("1 where the buffer was overwritten until a snapshot was asked for.", u64),
  rest: restWords,
} as const;

/** How an Intel BTS trace was made. */
export type IntelBtsInfo = StructValue<typeof INTEL_BTS_FIELDS>;

/** The words of Intel BTS, in the order of the enumeration in `tools/perf/util/intel-bts.h`. */
export const intelBtsPriv: PrivCodec<IntelBtsInfo> = {
  ...struct("intel_bts_priv", INTEL_BTS_FIELDS),
  least: 6 * 8,
};
