import type { ByteReader } from "../cursor.ts";
import {
  array,
  type Codec,
  countedBy,
  counter,
  cString,
  doc,
  literal,
  ownByteOrder,
  restText,
  sized,
  struct,
  type StructValue,
  u32,
  u64,
  u8,
  when,
} from "../struct.ts";

/** First version with the names of the processes at the end. */
const SAVED_CMDLINES = 0.6;
const WHAT = "tracing data";
const MAGIC = "\x17\x08\x44tracing";

const text32 = sized(u32, restText);
const text64 = sized(u64, restText);

const SYSTEM_FIELDS = {
  name: doc("Name of the subsystem: `sched`, `syscalls`.", cString),
  nr_formats: doc("Number of events.", counter(u32, "formats")),
  formats: doc(
    "Contents of the file `format` of each event: its name, id and fields.",
    array(text64, countedBy("nr_formats")),
  ),
};
/** The fields of TRACING_DATA. */
export const TRACING_DATA_FIELDS = {
  magic: doc("`17 08 44` and `tracing`.", literal(MAGIC, WHAT)),
  version: doc("Version of the layout, in digits: `0.5`, or `0.6` with `saved_cmdlines`.", cString),
  bigendian: doc("1 where the numbers that follow, and the raw samples, are big-endian.", u8),
  long_size: doc("Bytes of a `long` of the kernel.", u8),
  page_size: doc("Bytes of a page of the kernel.", u32),
  header_page_tag: doc("`header_page`.", literal("header_page\0", WHAT)),
  header_page: doc(
    "Contents of `events/header_page`: how a page of the ring buffer begins.",
    text64,
  ),
  header_event_tag: doc("`header_event`.", literal("header_event\0", WHAT)),
  header_event: doc(
    "Contents of `events/header_event`: how an entry of the ring buffer begins.",
    text64,
  ),
  nr_ftrace_formats: doc("Number of formats.", counter(u32, "ftrace_formats")),
  ftrace_formats: doc(
    "Contents of the files `events/ftrace/*/format` of ftrace's own events.",
    array(text64, countedBy("nr_ftrace_formats")),
  ),
  nr_systems: doc("Number of subsystems.", counter(u32, "systems")),
  systems: doc(
    "The recorded events, by subsystem.",
    array(struct("event_system", SYSTEM_FIELDS), countedBy("nr_systems")),
  ),
  kallsyms: doc("Contents of `/proc/kallsyms`; empty since Linux 4.4.", text32),
  printk_formats: doc(
    "Contents of `printk_formats`: the strings of `trace_printk` by address.",
    text32,
  ),
  saved_cmdlines: doc(
    "Contents of `saved_cmdlines`, a pid and its name a line; since version 0.6.",
    when({ field: "version", least: SAVED_CMDLINES }, text64),
  ),
} as const;

/** TRACING_DATA: what raw samples of tracepoints look like. */
export type TracingData = StructValue<typeof TRACING_DATA_FIELDS>;

const fields: Codec<TracingData> = struct("tracing_data", TRACING_DATA_FIELDS);

/** Whether the numbers are big-endian: the byte after the version says so, not the file header. */
function isBigEndian(r: ByteReader): boolean {
  const versionEnd = r.bytes.indexOf(0, r.pos + MAGIC.length);
  return versionEnd >= 0 && versionEnd + 1 < r.end && r.bytes[versionEnd + 1] !== 0;
}

/**
 * TRACING_DATA: the head of a `trace.dat` file, as `tools/perf/util/trace-event-info.c` writes it
 * and `trace-cmd.dat(5)` describes it. It has a byte order of its own.
 */
export const tracingData: Codec<TracingData> = ownByteOrder(fields, isBigEndian, "bigendian");
