import {
  bytes,
  type Codec,
  countedBy,
  counter,
  type HiddenCodec,
  padding,
  record,
  type RecordDeclaration,
  struct,
  type StructValue,
  u64,
} from "@perfdata/format/records";
import { PERF_RECORD_COMPRESSED, PERF_RECORD_COMPRESSED2 } from "@perfdata/format/constants";

const COMPRESSED_FIELDS = {
  data: [
    bytes("rest") as Codec<Uint8Array>,
    "The next bytes of the zstd stream; a record may continue in the next piece.",
  ],
} as const;

/** The body of COMPRESSED. */
export type Compressed = StructValue<typeof COMPRESSED_FIELDS>;

/** COMPRESSED: a piece of the zstd stream of records that `perf record -z` writes. */
export const COMPRESSED: RecordDeclaration<"COMPRESSED", Compressed> = record(
  PERF_RECORD_COMPRESSED,
  "COMPRESSED",
  struct("perf_record_compressed", COMPRESSED_FIELDS),
);

const COMPRESSED2_FIELDS = {
  data_size: [counter(u64, "data") as HiddenCodec, "Bytes of `data`."],
  data: [
    bytes(countedBy("data_size")) as Codec<Uint8Array>,
    "The next bytes of the zstd stream; a record may continue in the next piece.",
  ],
  padding: [padding, "Zeros up to a multiple of 8, which COMPRESSED lacks."],
} as const;

/** The body of COMPRESSED2. */
export type Compressed2 = StructValue<typeof COMPRESSED2_FIELDS>;

/** COMPRESSED2: like COMPRESSED, with a length and padding, so that the next record is aligned. */
export const COMPRESSED2: RecordDeclaration<"COMPRESSED2", Compressed2> = record(
  PERF_RECORD_COMPRESSED2,
  "COMPRESSED2",
  struct("perf_record_compressed2", COMPRESSED2_FIELDS),
);
