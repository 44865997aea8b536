import {
  i32,
  type OptionalCodec,
  record,
  type RecordDeclaration,
  reserved,
  struct,
  type StructValue,
  u32,
  x64,
} from "@perfdata/format/records";
import { PERF_RECORD_AUXTRACE } from "@perfdata/format/constants";

const AUXTRACE_FIELDS = {
  size: [
    x64,
    "Bytes of trace data, zeros up to a multiple of 8 included; they follow this record and are " +
    "not part of its size.",
  ],
  offset: [x64, "Offset of the data in the stream of the AUX area."],
  reference: [
    x64,
    "Identifies the moment of writing: the TSC for Intel PT and BTS, an unordered number for other " +
    "traces.",
  ],
  idx: [u32, "Index of the ring buffer that the data comes from."],
  tid: [i32, "Traced thread, or -1 if a CPU is traced."],
  cpu: [i32, "Traced CPU, or -1 if a thread is traced."],
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
