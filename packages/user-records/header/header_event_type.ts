import {
  paddedText,
  record,
  type RecordDeclaration,
  struct,
  type StructValue,
  x64,
} from "@perfdata/format/records";
import { PERF_RECORD_HEADER_EVENT_TYPE } from "@perfdata/format/constants";

const HEADER_EVENT_TYPE_FIELDS = {
  event_id: [x64, "`config` of the attr that has the name."],
  name: [
    paddedText,
    "The event as on the command line: at most 64 bytes, without a NUL if the length is a " +
    "multiple of 8.",
  ],
} as const;

/** The body of HEADER_EVENT_TYPE. */
export type HeaderEventType = StructValue<typeof HEADER_EVENT_TYPE_FIELDS>;

/** HEADER_EVENT_TYPE: the name of an event, in a pipe stream of an old perf. */
export const HEADER_EVENT_TYPE: RecordDeclaration<"HEADER_EVENT_TYPE", HeaderEventType> = record(
  PERF_RECORD_HEADER_EVENT_TYPE,
  "HEADER_EVENT_TYPE",
  struct("perf_record_header_event_type", HEADER_EVENT_TYPE_FIELDS),
);
