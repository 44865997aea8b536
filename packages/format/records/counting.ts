import { type Codec, i32, ofEvent, struct, type StructValue, u64 } from "../struct/mod.ts";
import { record, type RecordDeclaration } from "./record.ts";
import {
  type ReadFormat,
  readFormatDeclaration,
  type Sample,
  sampleRecord,
} from "../sample/sample.ts";
import {
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_READ,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_THROTTLE,
  PERF_RECORD_UNTHROTTLE,
} from "./record_types.ts";

const LOST_FIELDS = {
  id: [u64, "Id of the event whose buffer was full."],
  lost: [u64, "Records that were lost."],
} as const;

/** The body of LOST. */
export type Lost = StructValue<typeof LOST_FIELDS>;

/** LOST: records were lost because the ring buffer was full. */
export const LOST: RecordDeclaration<"LOST", Lost> = record(
  PERF_RECORD_LOST,
  "LOST",
  struct("perf_record_lost", LOST_FIELDS),
);

const LOST_SAMPLES_FIELDS = {
  lost: [u64, "Samples that were lost."],
} as const;

/** The body of LOST_SAMPLES. */
export type LostSamples = StructValue<typeof LOST_SAMPLES_FIELDS>;

/** LOST_SAMPLES: samples were lost because the hardware's buffer was full. */
export const LOST_SAMPLES: RecordDeclaration<"LOST_SAMPLES", LostSamples> = record(
  PERF_RECORD_LOST_SAMPLES,
  "LOST_SAMPLES",
  struct("perf_record_lost_samples", LOST_SAMPLES_FIELDS),
);

const THROTTLE_FIELDS = {
  time: [u64, "Time in ns."],
  id: [u64, "Id of the event."],
  stream_id: [u64, "Id of the event in this context."],
} as const;

/** The body of THROTTLE and UNTHROTTLE. */
export type Throttle = StructValue<typeof THROTTLE_FIELDS>;

/** THROTTLE: the kernel pauses an event that interrupted too often. */
export const THROTTLE: RecordDeclaration<"THROTTLE", Throttle> = record(
  PERF_RECORD_THROTTLE,
  "THROTTLE",
  struct("perf_record_throttle", THROTTLE_FIELDS),
);

/** UNTHROTTLE: the kernel resumes the event. */
export const UNTHROTTLE: RecordDeclaration<"UNTHROTTLE", Throttle> = record(
  PERF_RECORD_UNTHROTTLE,
  "UNTHROTTLE",
  struct("perf_record_throttle", THROTTLE_FIELDS),
);

const READ_FIELDS = {
  pid: [i32, "Process id."],
  tid: [i32, "Thread id."],
  values: [
    ofEvent("READ", readFormatDeclaration) as Codec<ReadFormat>,
    "Counter values in the shape of the event's `read_format`.",
  ],
} as const;

/** The body of READ. */
export type Read = StructValue<typeof READ_FIELDS>;

/** READ: counter values of a thread at its end (`inherit_stat`). */
export const READ: RecordDeclaration<"READ", Read> = record(
  PERF_RECORD_READ,
  "READ",
  struct("perf_record_read", READ_FIELDS),
);

/** SAMPLE: one sample of an event. */
export const SAMPLE: RecordDeclaration<"SAMPLE", Sample> = record(
  PERF_RECORD_SAMPLE,
  "SAMPLE",
  sampleRecord,
);
