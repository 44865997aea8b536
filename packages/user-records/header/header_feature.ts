import { FEATURE_NAMES, PERF_RECORD_HEADER_FEATURE } from "@perfdata/format/constants";
import {
  bytes,
  type Codec,
  enumeration,
  type FixedCodec,
  record,
  type RecordDeclaration,
  struct,
  type StructValue,
  u64,
} from "@perfdata/format/records";

const HEADER_FEATURE_FIELDS = {
  feat_id: [
    enumeration(u64, FEATURE_NAMES) as FixedCodec<bigint>,
    "Which feature (`HEADER_*` of `header.h`).",
  ],
  data: [
    bytes("rest") as Codec<Uint8Array>,
    "The section as in a file; `decodeFeature` decodes it.",
  ],
} as const;

/** The body of HEADER_FEATURE. */
export type HeaderFeature = StructValue<typeof HEADER_FEATURE_FIELDS>;

/** HEADER_FEATURE: a feature section in a pipe stream. A `feat_id` beyond the last feature ends them. */
export const HEADER_FEATURE: RecordDeclaration<"HEADER_FEATURE", HeaderFeature> = record(
  PERF_RECORD_HEADER_FEATURE,
  "HEADER_FEATURE",
  struct("perf_record_header_feature", HEADER_FEATURE_FIELDS),
);
