import {
  doc,
  i32,
  record,
  type RecordDeclaration,
  reserved,
  struct,
  type StructValue,
  u32,
  x64,
} from "@perfdata/format";
import { PERF_RECORD_AUXTRACE } from "./names.ts";

const AUXTRACE_FIELDS = {
  size: doc(
    "Bytes of trace data, zeros up to a multiple of 8 included; they follow this record and are " +
      "not part of its size.",
    x64,
  ),
  offset: doc("Where in the AUX area's endless stream the data begins.", x64),
  reference: doc(
    "Mark of the moment when the data was written: the TSC for Intel PT and BTS, a number without " +
      "order for other traces.",
    x64,
  ),
  idx: doc("Index of the ring buffer that the data comes from.", u32),
  tid: doc("Thread that is traced, or -1 where a CPU is.", i32),
  cpu: doc("CPU that is traced, or -1 where a thread is.", i32),
  reserved__: doc("Zero, for alignment.", reserved(4)),
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
