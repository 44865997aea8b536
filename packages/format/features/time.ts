import {
  type Codec,
  doc,
  enumeration,
  exactly,
  type FixedCodec,
  struct,
  type StructValue,
  u32,
  u64,
} from "../struct/mod.ts";

/** The fields of SAMPLE_TIME. */
export const SAMPLE_TIME_FIELDS = {
  first_sample_time: [u64, "Time of the first sample, in ns of the event's clock."],
  last_sample_time: [u64, "Time of the last sample. Both are 0 if perf did not collect them."],
} as const;

/** SAMPLE_TIME: times of the first and last sample. */
export type SampleTime = StructValue<typeof SAMPLE_TIME_FIELDS>;

export const sampleTime: Codec<SampleTime> = struct("sample_time", SAMPLE_TIME_FIELDS);

export const clockidResolution: Codec<bigint> = doc(
  "Resolution in ns of the clock chosen with `-k`, as `clock_getres` returns it.",
  u64,
);

/** The fields of CLOCK_DATA. */
export const CLOCK_DATA_FIELDS = {
  version: [
    exactly(u32, 1, "version") as Codec<number>,
    "Version of the layout; perf reads only 1.",
  ],
  clockid: [
    enumeration(u32, {
      0: "CLOCK_REALTIME",
      1: "CLOCK_MONOTONIC",
      2: "CLOCK_PROCESS_CPUTIME_ID",
      3: "CLOCK_THREAD_CPUTIME_ID",
      4: "CLOCK_MONOTONIC_RAW",
      5: "CLOCK_REALTIME_COARSE",
      6: "CLOCK_MONOTONIC_COARSE",
      7: "CLOCK_BOOTTIME",
      11: "CLOCK_TAI",
    }) as FixedCodec<number>,
    "The clock given with `-k`.",
  ],
  wall_clock_ns: [u64, "Time of day at one moment of the recording: ns since 1970, UTC."],
  clockid_time_ns: [u64, "Time of the chosen clock at that moment, in ns."],
} as const;

/** CLOCK_DATA: converts timestamps to times of day. */
export type ClockData = StructValue<typeof CLOCK_DATA_FIELDS>;

export const clockData: Codec<ClockData> = struct("clock_data", CLOCK_DATA_FIELDS);
