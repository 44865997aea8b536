import {
  i32,
  type OptionalCodec,
  reserved,
  struct,
  type StructValue,
  u32,
  x64,
} from "@perfdata/format/struct";
import { record, type RecordDeclaration } from "@perfdata/format/record";
import { PERF_RECORD_AUXTRACE } from "@perfdata/format/record-types";

const AUXTRACE_FIELDS = {
  size: [
    x64,
    "Bytes of trace data, zeros up to a multiple of 8 included; they follow this record and are " +
    "not part of its size.",
  ],
  offset: [x64, "Where in the AUX area's endless stream the data begins."],
  reference: [
    x64,
    "Mark of the moment when the data was written: the TSC for Intel PT and BTS, a number without " +
    "order for other traces.",
  ],
  idx: [u32, "Index of the ring buffer that the data comes from."],
  tid: [i32, "Thread that is traced, or -1 where a CPU is."],
  cpu: [i32, "CPU that is traced, or -1 where a thread is."],
  reserved__: [reserved(4) as OptionalCodec<Uint8Array>, "Zero, for alignment."],
} as const;

/** The body of AUXTRACE. */
export type Auxtrace = StructValue<typeof AUXTRACE_FIELDS>;

/**
 * AUXTRACE: a piece of an AUX area trace, such as Intel PT.
 *
 * The trace data itself follows the record.
 */
export const AUXTRACE: RecordDeclaration<"AUXTRACE", Auxtrace> = record(
  PERF_RECORD_AUXTRACE,
  "AUXTRACE",
  struct("perf_record_auxtrace", AUXTRACE_FIELDS),
);
