import { struct, type StructValue, u64 } from "@perfdata/format/records";
import { type PrivCodec, restWords } from "./words.ts";

const PMU_TYPE_FIELDS = {
  pmu_type: [u64, "`type` of the attrs of the PMU; 0 where the recording perf left it out."],
  rest: restWords,
} as const;

/** The only word of HiSilicon PTT and of the PowerPC dispatch trace log. */
export const pmuTypePriv: PrivCodec<StructValue<typeof PMU_TYPE_FIELDS>> = {
  ...struct("pmu_type_priv", PMU_TYPE_FIELDS),
  least: 8,
};
