import {
  optional,
  type OptionalCodec,
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
} from "@perfdata/format/records";
import { PERF_RECORD_TIME_CONV } from "@perfdata/format/constants";

const isLong: Test = { field: "time_cycles", present: true };

const TIME_CONV_FIELDS = {
  time_shift: [u64, "Number of bits to shift the product right."],
  time_mult: [u64, "Factor for ticks."],
  time_zero: [x64, "Time in ns at tick 0: `time_zero + (ticks * time_mult >> time_shift)`."],
  time_cycles: [
    optional(x64) as OptionalCodec<bigint>,
    "Ticks at the last update of a counter that is shorter than 64 bits (Linux 5.10).",
  ],
  time_mask: [when(isLong, x64) as OptionalCodec<bigint>, "Mask of the bits of such a counter."],
  cap_user_time_zero: [
    when(isLong, u8) as OptionalCodec<number>,
    "1 if `time_zero` may be used.",
  ],
  cap_user_time_short: [
    when(isLong, u8) as OptionalCodec<number>,
    "1 if the counter is short and wraps: `time_cycles` and `time_mask` extend it.",
  ],
  reserved: [when(isLong, reserved(6)) as OptionalCodec<Uint8Array>, "Zero, for alignment."],
} as const;

/** The body of TIME_CONV. */
export type TimeConv = StructValue<typeof TIME_CONV_FIELDS>;

/** TIME_CONV: conversion from ticks of the TSC, or of another CPU counter, to perf's clock. */
export const TIME_CONV: RecordDeclaration<"TIME_CONV", TimeConv> = record(
  PERF_RECORD_TIME_CONV,
  "TIME_CONV",
  struct("perf_record_time_conv", TIME_CONV_FIELDS),
);
