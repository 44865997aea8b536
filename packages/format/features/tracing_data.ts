import type { ByteReader } from "../struct/cursor.ts";
import {
  array,
  type Codec,
  countedBy,
  counter,
  cString,
  type HiddenCodec,
  literal,
  type OptionalCodec,
  ownByteOrder,
  restText,
  sized,
  struct,
  type StructValue,
  u32,
  u64,
  u8,
  when,
} from "../struct/mod.ts";

/** First version with process names at the end. */
const SAVED_CMDLINES = 0.6;
const SECTION_NAME = "tracing data";
const MAGIC = "\x17\x08\x44tracing";

const text32: Codec<string> = sized(u32, restText);
const text64: Codec<string> = sized(u64, restText);

const SYSTEM_FIELDS = {
  name: [cString, "Name of the subsystem: `sched`, `syscalls`."],
  nr_formats: [counter(u32, "formats") as HiddenCodec, "Number of events."],
  formats: [
    array(text64, countedBy("nr_formats")) as Codec<string[]>,
    "Contents of the file `format` of each event: its name, id and fields.",
  ],
} as const;
/** The fields of TRACING_DATA. */
export const TRACING_DATA_FIELDS = {
  magic: [literal(MAGIC, SECTION_NAME) as HiddenCodec, "`17 08 44` and `tracing`."],
  version: [cString, "Version of the layout, in digits: `0.5`, or `0.6` with `saved_cmdlines`."],
  bigendian: [u8, "1 if the following numbers and the raw samples are big-endian."],
  long_size: [u8, "Bytes of a `long` of the kernel."],
  page_size: [u32, "Bytes of a page of the kernel."],
  header_page_tag: [literal("header_page\0", SECTION_NAME) as HiddenCodec, "`header_page`."],
  header_page: [
    text64,
    "Contents of `events/header_page`: the header of a page of the ring buffer.",
  ],
  header_event_tag: [literal("header_event\0", SECTION_NAME) as HiddenCodec, "`header_event`."],
  header_event: [
    text64,
    "Contents of `events/header_event`: the header of an entry of the ring buffer.",
  ],
  nr_ftrace_formats: [counter(u32, "ftrace_formats") as HiddenCodec, "Number of formats."],
  ftrace_formats: [
    array(text64, countedBy("nr_ftrace_formats")) as Codec<string[]>,
    "Contents of the files `events/ftrace/*/format` of ftrace's own events.",
  ],
  nr_systems: [counter(u32, "systems") as HiddenCodec, "Number of subsystems."],
  systems: [
    array(struct("event_system", SYSTEM_FIELDS), countedBy("nr_systems")) as Codec<
      StructValue<typeof SYSTEM_FIELDS>[]
    >,
    "The recorded events, by subsystem.",
  ],
  kallsyms: [text32, "Contents of `/proc/kallsyms`; empty since Linux 4.4."],
  printk_formats: [
    text32,
    "Contents of `printk_formats`: the strings of `trace_printk` by address.",
  ],
  saved_cmdlines: [
    when({ field: "version", least: SAVED_CMDLINES }, text64) as OptionalCodec<string>,
    "Contents of `saved_cmdlines`, a pid and its name on each line; since version 0.6.",
  ],
} as const;

/** TRACING_DATA: the formats of tracepoints' raw samples. */
export type TracingData = StructValue<typeof TRACING_DATA_FIELDS>;

const fields: Codec<TracingData> = struct("tracing_data", TRACING_DATA_FIELDS);

/** Whether the numbers are big-endian. The byte after the version decides, not the file header. */
function isBigEndian(r: ByteReader): boolean {
  const versionEnd = r.bytes.indexOf(0, r.pos + MAGIC.length);
  return versionEnd >= 0 && versionEnd + 1 < r.end && r.bytes[versionEnd + 1] !== 0;
}

/**
 * TRACING_DATA: the head of a `trace.dat` file, as `tools/perf/util/trace-event-info.c` writes it
 * and `trace-cmd.dat(5)` describes it. It has its own byte order.
 */
export const tracingData: Codec<TracingData> = ownByteOrder(fields, isBigEndian, "bigendian");
