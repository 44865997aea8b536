import {
  type Codec,
  doc,
  enumeration,
  exactly,
  struct,
  type StructValue,
  u32,
  u64,
} from "../struct.ts";

/** The fields of SAMPLE_TIME. */
export const SAMPLE_TIME_FIELDS = {
  first_sample_time: doc("Time of the first sample, in ns of the event's clock.", u64),
  last_sample_time: doc("Time of the last sample; 0 for both where perf did not look.", u64),
} as const;

/** SAMPLE_TIME: when the samples begin and end. */
export type SampleTime = StructValue<typeof SAMPLE_TIME_FIELDS>;

/** SAMPLE_TIME. */
export const sampleTime: Codec<SampleTime> = struct("sample_time", SAMPLE_TIME_FIELDS);

/** CLOCKID. */
export const clockidResolution: Codec<bigint> = doc(
  "Resolution in ns of the clock that was chosen with `-k`, as `clock_getres` gives it.",
  u64,
);

/** The fields of CLOCK_DATA. */
export const CLOCK_DATA_FIELDS = {
  version: doc("Version of the layout; perf reads no other than 1.", exactly(u32, 1, "version")),
  clockid: doc(
    "The clock that was chosen with `-k`.",
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
    }),
  ),
  wall_clock_ns: doc("Time of day at one moment of the recording: ns since 1970, UTC.", u64),
  clockid_time_ns: doc("Time of the chosen clock at that moment, in ns.", u64),
} as const;

/** CLOCK_DATA: turns time stamps into times of day. */
export type ClockData = StructValue<typeof CLOCK_DATA_FIELDS>;

/** CLOCK_DATA. */
export const clockData: Codec<ClockData> = struct("clock_data", CLOCK_DATA_FIELDS);
