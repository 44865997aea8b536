import {
  doc,
  optional,
  record,
  type RecordDeclaration,
  reserved,
  struct,
  type StructValue,
  type Test,
  u64,
  u8,
  when,
  x64,
} from "@perfdata/format";
import { PERF_RECORD_TIME_CONV } from "./names.ts";

const isLong: Test = { field: "time_cycles", present: true };

const TIME_CONV_FIELDS = {
  time_shift: doc("Bits that the product is shifted right by.", u64),
  time_mult: doc("What ticks are multiplied by.", u64),
  time_zero: doc("Time in ns at tick 0: `time_zero + (ticks * time_mult >> time_shift)`.", x64),
  time_cycles: doc(
    "Ticks at the last update of a counter that is shorter than 64 bits (Linux 5.10).",
    optional(x64),
  ),
  time_mask: doc("The bits that such a counter has.", when(isLong, x64)),
  cap_user_time_zero: doc("1 where `time_zero` may be used.", when(isLong, u8)),
  cap_user_time_short: doc(
    "1 where the counter is short and wraps: `time_cycles` and `time_mask` extend it.",
    when(isLong, u8),
  ),
  reserved: doc("Zero, for alignment.", when(isLong, reserved(6))),
} as const;

/** The body of TIME_CONV. */
export type TimeConv = StructValue<typeof TIME_CONV_FIELDS>;

/** TIME_CONV: how ticks of the TSC, or of another CPU counter, convert to perf's clock. */
export const TIME_CONV: RecordDeclaration<"TIME_CONV", TimeConv> = record(
  PERF_RECORD_TIME_CONV,
  "TIME_CONV",
  struct("perf_record_time_conv", TIME_CONV_FIELDS),
);
