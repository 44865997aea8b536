import { type ByteReader, ByteWriter } from "../cursor.ts";
import {
  bytes,
  type Codec,
  doc,
  flags,
  type HiddenCodec,
  i32,
  paddedTo,
  repeated,
  reserved,
  type Scope,
  struct,
  type StructValue,
  u16,
  u32,
  u8,
  when,
} from "../struct.ts";
import { PERF_RECORD_MISC_BUILD_ID_SIZE } from "../perf_event.ts";

/** Bytes of a SHA-1 build id, and the most that a build id event holds. */
export const BUILD_ID_SIZE = 20;

/** Where `size` is in a `perf_event_header`. */
const SIZE_AT = 6;
/** Bytes before the file name: record header, build id with its padding, and the pid. */
const LEAST = 8 + 24;
const LEAST_WITH_PID = LEAST + 4;

const hasSize = (scope: Scope): boolean =>
  (Number(scope["misc"]) & PERF_RECORD_MISC_BUILD_ID_SIZE) !== 0;

/** `size` of the record header: follows from the other fields, and is set when they are written. */
const recordSize: HiddenCodec = {
  ...u16 as Codec<unknown>,
  presence: "hidden",
  encode: (w) => void w.grow(2),
};

/** The fields of a build id event that every record begins with. */
export const BUILD_ID_HEADER_FIELDS = {
  type: doc("0 as perf writes it: a section has no other records to tell it from.", u32),
  misc: doc(
    "CPU mode of the binary (kernel, user, guest), and whether `build_id_size` is given.",
    flags(u16, { [PERF_RECORD_MISC_BUILD_ID_SIZE]: "BUILD_ID_SIZE" }),
  ),
  header_size: doc("Bytes of the event, its header and the padded file name included.", recordSize),
} as const;
/** The field of a build id event that old files do not have. */
export const BUILD_ID_PID_FIELD = {
  pid: doc("Machine that the binary belongs to: -1 is the host, 0 the default guest.", i32),
} as const;
/** The fields of a build id event that tell of the binary. */
export const BUILD_ID_FIELDS = {
  build_id: doc(
    "Descriptor of the binary's `NT_GNU_BUILD_ID` note, zeros after a shorter one.",
    bytes(BUILD_ID_SIZE),
  ),
  build_id_size: doc("Bytes of `build_id` that count; all 20 where missing.", when(hasSize, u8)),
  reserved: doc("Padding up to 24 bytes.", reserved((scope) => hasSize(scope) ? 3 : 4)),
  filename: doc(
    "Path of the binary, or a name in brackets: `[kernel.kallsyms]`, `[vdso]`, a module.",
    paddedTo(64),
  ),
} as const;

/**
 * Which build a binary is: `build_id_event` of `tools/perf/util/build-id.h`.
 *
 * `pid` is missing in files of perf before Linux 2.6.35.
 */
export type BuildIdEvent =
  & StructValue<typeof BUILD_ID_HEADER_FIELDS & typeof BUILD_ID_FIELDS>
  & Partial<StructValue<typeof BUILD_ID_PID_FIELD>>;

const withPid: Codec<BuildIdEvent> = struct("build_id_event", {
  ...BUILD_ID_HEADER_FIELDS,
  ...BUILD_ID_PID_FIELD,
  ...BUILD_ID_FIELDS,
});
const withoutPid: Codec<BuildIdEvent> = struct("build_id_event", {
  ...BUILD_ID_HEADER_FIELDS,
  ...BUILD_ID_FIELDS,
});

/** An event as long as its header says. */
function event(layout: Codec<BuildIdEvent>, least: number): Codec<BuildIdEvent> {
  return {
    ...layout,
    decode(r, scope) {
      const at = r.take(least, "build_id_event");
      const size = r.view.getUint16(at + SIZE_AT, r.littleEndian);
      const end = r.end;
      r.pos = at;
      if (size < least || at + size > end) {
        throw r.error(`build_id_event: size is ${size}, expected ${least} to ${end - at}`);
      }
      r.end = at + size;
      const value = layout.decode(r, scope);
      r.end = end;
      return value;
    },
    encode(w, value, scope) {
      const whole = new ByteWriter({ littleEndian: w.littleEndian });
      (value.pid === undefined ? withoutPid : withPid).encode(whole, value, scope);
      if (whole.length > 0xffff) {
        throw new RangeError(`build_id_event: ${whole.length} bytes, at most 65535 fit`);
      }
      whole.view.setUint16(SIZE_AT, whole.length, w.littleEndian);
      w.put(whole.finish());
    },
  };
}

const events = repeated(event(withPid, LEAST_WITH_PID), LEAST);
const oldEvents = repeated(event(withoutPid, LEAST), LEAST);

/** What is left of `[kernel.kallsyms]` where a pid is read that is not there. */
const CHOPPED = "nel.kallsyms]";

/**
 * Whether the events have no pid: Linux 2.6.35 added it without a sign in the file, but an event of
 * the kernel gives it away (`perf_header__read_build_ids` in `tools/perf/util/header.c`).
 */
function lacksPid(r: ByteReader): boolean {
  let at = r.pos;
  while (at + LEAST_WITH_PID + CHOPPED.length <= r.end) {
    let same = 0;
    while (
      same < CHOPPED.length && r.bytes[at + LEAST_WITH_PID + same] === CHOPPED.charCodeAt(same)
    ) same++;
    if (same === CHOPPED.length) return true;
    const size = r.view.getUint16(at + SIZE_AT, r.littleEndian);
    if (size < LEAST) return false;
    at += size;
  }
  return false;
}

/** BUILD_ID: an event for each binary that has a build id, up to the end of the section. */
export const buildIds: Codec<BuildIdEvent[]> = {
  ...events,
  decode: (r, scope) => (lacksPid(r) ? oldEvents : events).decode(r, scope),
};

/**
 * The build id of an event in hexadecimal, without the zeros that pad it.
 *
 * @param event An event of the BUILD_ID section.
 * @returns Two lower-case digits a byte, 40 where the event does not say how long its build id is.
 *
 * @example
 * ```ts
 * import { buildIdText } from "@perfdata/format";
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
