import type { ByteReader } from "../struct/cursor.ts";
import {
  bytes,
  type Codec,
  type FixedCodec,
  flags,
  type HiddenCodec,
  i32,
  type OptionalCodec,
  ownSize,
  paddedTo,
  probe,
  repeated,
  reserved,
  selfSized,
  struct,
  type StructValue,
  type Test,
  u16,
  u32,
  u8,
  unwrapped,
  when,
} from "../struct/mod.ts";
import { PERF_RECORD_MISC_BUILD_ID_SIZE } from "../header/perf_event.ts";

/** Length of a SHA-1 build id, and the maximum in a build id event. */
export const BUILD_ID_SIZE = 20;

/** Offset of `size` in a `perf_event_header`. */
const SIZE_AT = 6;
/** Bytes before the file name: record header, padded build id with its length, and pid if present. */
const LEAST = 8 + 24;
const LEAST_WITH_PID = LEAST + 4;

const hasSize: Test = { field: "misc", bits: PERF_RECORD_MISC_BUILD_ID_SIZE };

/** The first fields of each build id event. */
export const BUILD_ID_HEADER_FIELDS = {
  type: [u32, "0 as perf writes it: all records of the section have the same type."],
  misc: [
    flags(u16, { [PERF_RECORD_MISC_BUILD_ID_SIZE]: "BUILD_ID_SIZE" }) as FixedCodec<number>,
    "CPU mode of the binary (kernel, user, guest), and whether `build_id_size` is given.",
  ],
  header_size: [
    ownSize(u16) as HiddenCodec,
    "Bytes of the event, including its header and the padded file name.",
  ],
} as const;
/** The pid of a build id event, which perf before Linux 2.6.35 did not write. */
export const BUILD_ID_PID_FIELD = {
  pid: [
    when({ field: "../has_pid", is: true }, i32) as OptionalCodec<number>,
    "Machine that the binary belongs to: -1 is the host, 0 the default guest.",
  ],
} as const;
/** The fields of a build id event about the binary. */
export const BUILD_ID_FIELDS = {
  build_id: [
    bytes(BUILD_ID_SIZE) as Codec<Uint8Array>,
    "Descriptor of the binary's `NT_GNU_BUILD_ID` note, zeros after a shorter one.",
  ],
  build_id_size: [
    when(hasSize, u8) as OptionalCodec<number>,
    "Length of `build_id`; 20 if missing.",
  ],
  reserved: [
    reserved({ test: hasSize, yes: 3, no: 4 }) as OptionalCodec<Uint8Array>,
    "Padding up to 24 bytes.",
  ],
  filename: [
    paddedTo(64) as Codec<string>,
    "Path of the binary, or a name in brackets: `[kernel.kallsyms]`, `[vdso]`, a module.",
  ],
} as const;

/**
 * A binary and its build id: `build_id_event` of `tools/perf/util/build-id.h`.
 *
 * `pid` is missing in files of perf before Linux 2.6.35.
 */
export type BuildIdEvent = StructValue<
  & typeof BUILD_ID_HEADER_FIELDS
  & typeof BUILD_ID_PID_FIELD
  & typeof BUILD_ID_FIELDS
>;

const event: Codec<BuildIdEvent> = selfSized(
  struct("build_id_event", {
    ...BUILD_ID_HEADER_FIELDS,
    ...BUILD_ID_PID_FIELD,
    ...BUILD_ID_FIELDS,
  }),
  SIZE_AT,
  LEAST,
);

/** Rest of `[kernel.kallsyms]` if the first four bytes of the name are read as a pid. */
const CHOPPED = "nel.kallsyms]";

/**
 * Whether the events have a pid. Linux 2.6.35 added the field without a flag in the file. It is missing if
 * a kernel's file name begins four bytes early (`perf_header__read_build_ids` in `tools/perf/util/header.c`).
 */
function hasPid(r: ByteReader): boolean {
  let at = r.pos;
  while (at + LEAST_WITH_PID + CHOPPED.length <= r.end) {
    let same = 0;
    while (
      same < CHOPPED.length && r.bytes[at + LEAST_WITH_PID + same] === CHOPPED.charCodeAt(same)
    ) same++;
    if (same === CHOPPED.length) return false;
    const size = r.view.getUint16(at + SIZE_AT, r.littleEndian);
    if (size < LEAST) return true;
    at += size;
  }
  return true;
}

/** BUILD_ID: one event for each binary with a build id, up to the end of the section. */
export const buildIds: Codec<BuildIdEvent[]> = unwrapped(
  struct("build_id_event[]", { has_pid: probe(hasPid), events: repeated(event, LEAST) }) as Codec<
    unknown
  >,
  "events",
);

/**
 * Returns an event's build id in hexadecimal, without padding.
 *
 * @param event An event of the BUILD_ID section.
 * @returns Two lower-case digits a byte; 40 digits if the event has no `build_id_size`.
 *
 * @example
 * ```ts
 * import { buildIdText } from "@perfdata/format/features";
 * import { assertEquals } from "@std/assert";
 *
 * const build_id = new Uint8Array(20);
 * build_id[0] = 0xab;
 * build_id[1] = 0x01;
 * assertEquals(buildIdText({ build_id, build_id_size: 2 }), "ab01");
 * ```
 */
export function buildIdText(event: Pick<BuildIdEvent, "build_id" | "build_id_size">): string {
  const bytes = event.build_id.subarray(0, event.build_id_size ?? BUILD_ID_SIZE);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
