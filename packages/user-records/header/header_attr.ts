import {
  array,
  type Codec,
  type PerfEventAttr,
  perfEventAttr,
  record,
  type RecordDeclaration,
  struct,
  type StructValue,
  u64,
} from "@perfdata/format/records";
import { PERF_RECORD_HEADER_ATTR } from "@perfdata/format/constants";

const HEADER_ATTR_FIELDS = {
  attr: [
    perfEventAttr() as Codec<PerfEventAttr>,
    "Definition of the event and of its samples.",
  ],
  id: [
    array(u64, "rest") as Codec<bigint[]>,
    "Ids of the event's counters, one for each CPU and thread, up to the end of the record.",
  ],
} as const;

/** The body of HEADER_ATTR. */
export type HeaderAttr = StructValue<typeof HEADER_ATTR_FIELDS>;

/** HEADER_ATTR: an event of a pipe stream, which has no attr section. */
export const HEADER_ATTR: RecordDeclaration<"HEADER_ATTR", HeaderAttr> = record(
  PERF_RECORD_HEADER_ATTR,
  "HEADER_ATTR",
  struct("perf_record_header_attr", HEADER_ATTR_FIELDS),
);
