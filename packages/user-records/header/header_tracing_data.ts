import {
  bytes,
  optional,
  type OptionalCodec,
  padding,
  record,
  type RecordDeclaration,
  struct,
  type StructValue,
  u32,
  when,
} from "@perfdata/format/records";
import { PERF_RECORD_HEADER_TRACING_DATA } from "@perfdata/format/constants";

/** Four bytes for alignment; missing if the data is inside the record. */
const pad: OptionalCodec<Uint8Array> = when({ left: 4, without: "data" }, padding);

const HEADER_TRACING_DATA_FIELDS = {
  size: [u32, "Bytes of tracing data, a multiple of 8 if they follow the record."],
  pad: [pad, "Zero, for alignment; old files do not have it."],
  data: [
    optional(bytes("rest")) as OptionalCodec<Uint8Array>,
    "The tracing data if it is inside the record, as simpleperf writes it.",
  ],
} as const;

/** The body of HEADER_TRACING_DATA. */
export type HeaderTracingData = StructValue<typeof HEADER_TRACING_DATA_FIELDS>;

/**
 * HEADER_TRACING_DATA: the formats of the tracepoints, in a pipe stream.
 *
 * The data follows the record and is not included in its size.
 */
export const HEADER_TRACING_DATA: RecordDeclaration<"HEADER_TRACING_DATA", HeaderTracingData> =
  record(
    PERF_RECORD_HEADER_TRACING_DATA,
    "HEADER_TRACING_DATA",
    struct("perf_record_header_tracing_data", HEADER_TRACING_DATA_FIELDS),
  );
