import {
  BUILD_ID_SIZE,
  bytes,
  doc,
  i32,
  paddedTo,
  PERF_RECORD_MISC_BUILD_ID_SIZE,
  record,
  type RecordDeclaration,
  reserved,
  struct,
  type StructValue,
  type Test,
  u8,
  when,
} from "@perfdata/format";
import { PERF_RECORD_HEADER_BUILD_ID } from "./names.ts";

const hasSize: Test = { misc: PERF_RECORD_MISC_BUILD_ID_SIZE };
const hasNoSize: Test = { noMisc: PERF_RECORD_MISC_BUILD_ID_SIZE };

const HEADER_BUILD_ID_FIELDS = {
  pid: doc("Machine that the binary belongs to: -1 is the host, 0 the default guest.", i32),
  build_id: doc(
    "Descriptor of the binary's `NT_GNU_BUILD_ID` note, zeros after a shorter one.",
    bytes(BUILD_ID_SIZE),
  ),
  build_id_size: doc(
    "Bytes of `build_id` that count, where `misc` has `PERF_RECORD_MISC_BUILD_ID_SIZE` (0x8000); " +
      "all 20 where missing.",
    when(hasSize, u8),
  ),
  reserved1__: doc("Zero, up to 24 bytes of build id.", when(hasSize, reserved(3))),
  reserved2__: doc(
    "Zero, up to 24 bytes of build id, where its length is not given.",
    when(hasNoSize, reserved(4)),
  ),
  filename: doc(
    "Path of the binary, or a name in brackets: `[kernel.kallsyms]`, `[vdso]`, a module.",
    paddedTo(64),
  ),
} as const;

/** The body of HEADER_BUILD_ID. */
export type HeaderBuildId = StructValue<typeof HEADER_BUILD_ID_FIELDS>;

/** HEADER_BUILD_ID: which build a binary is, in a pipe stream. */
export const HEADER_BUILD_ID: RecordDeclaration<"HEADER_BUILD_ID", HeaderBuildId> = record(
  PERF_RECORD_HEADER_BUILD_ID,
  "HEADER_BUILD_ID",
  struct("perf_record_header_build_id", HEADER_BUILD_ID_FIELDS),
);
