import { BUILD_ID_SIZE } from "@perfdata/format/features";
import {
  PERF_RECORD_HEADER_BUILD_ID,
  PERF_RECORD_MISC_BUILD_ID_SIZE,
} from "@perfdata/format/constants";
import {
  bytes,
  type Codec,
  i32,
  type OptionalCodec,
  paddedTo,
  record,
  type RecordDeclaration,
  reserved,
  struct,
  type StructValue,
  type Test,
  u8,
  when,
} from "@perfdata/format/records";

const hasSize: Test = { misc: PERF_RECORD_MISC_BUILD_ID_SIZE };
const hasNoSize: Test = { noMisc: PERF_RECORD_MISC_BUILD_ID_SIZE };

const HEADER_BUILD_ID_FIELDS = {
  pid: [i32, "Machine that the binary belongs to: -1 is the host, 0 the default guest."],
  build_id: [
    bytes(BUILD_ID_SIZE) as Codec<Uint8Array>,
    "Descriptor of the binary's `NT_GNU_BUILD_ID` note, zeros after a shorter one.",
  ],
  build_id_size: [
    when(hasSize, u8) as OptionalCodec<number>,
    "Length of `build_id`, if `misc` has `PERF_RECORD_MISC_BUILD_ID_SIZE` (0x8000); " +
    "20 if missing.",
  ],
  reserved1__: [
    when(hasSize, reserved(3)) as OptionalCodec<Uint8Array>,
    "Zero, up to 24 bytes of build id.",
  ],
  reserved2__: [
    when(hasNoSize, reserved(4)) as OptionalCodec<Uint8Array>,
    "Zero, up to 24 bytes of build id, if its length is not given.",
  ],
  filename: [
    paddedTo(64) as Codec<string>,
    "Path of the binary, or a name in brackets: `[kernel.kallsyms]`, `[vdso]`, a module.",
  ],
} as const;

/** The body of HEADER_BUILD_ID. */
export type HeaderBuildId = StructValue<typeof HEADER_BUILD_ID_FIELDS>;

/** HEADER_BUILD_ID: a binary and its build id, in a pipe stream. */
export const HEADER_BUILD_ID: RecordDeclaration<"HEADER_BUILD_ID", HeaderBuildId> = record(
  PERF_RECORD_HEADER_BUILD_ID,
  "HEADER_BUILD_ID",
  struct("perf_record_header_build_id", HEADER_BUILD_ID_FIELDS),
);
