import {
  byteAt,
  putAscii,
  putDecimal,
  putDecimal64,
  putHex2,
  putHexBytes,
  putPrefixedHex,
} from "@perfdata/format/bytes";
import {
  PERF_FORMAT_ID,
  PERF_FORMAT_LOST,
  PERF_FORMAT_TOTAL_TIME_ENABLED,
  PERF_FORMAT_TOTAL_TIME_RUNNING,
  PERF_RECORD_AUX,
  PERF_RECORD_AUX_OUTPUT_HW_ID,
  PERF_RECORD_BPF_EVENT,
  PERF_RECORD_CGROUP,
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FORK,
  PERF_RECORD_ITRACE_START,
  PERF_RECORD_KSYMBOL,
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_MISC_COMM_EXEC,
  PERF_RECORD_MISC_MMAP_BUILD_ID,
  PERF_RECORD_MISC_MMAP_DATA,
  PERF_RECORD_MISC_SWITCH_OUT,
  PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_NAMESPACES,
  PERF_RECORD_READ,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
  PERF_RECORD_TEXT_POKE,
  PERF_RECORD_THROTTLE,
  PERF_RECORD_UNTHROTTLE,
} from "@perfdata/format/constants";
import type { FieldFormat, SourceBytes } from "./field_text.ts";

/** Data of a record's text besides its bytes. */
export interface KernelTextContext {
  /** Id of the event in the record's trailer; all ones without one. */
  readonly id: bigint;
  readonly eventName: string;
  /** `read_format` of the record's event. */
  readonly readFormat: number;
  /** The symbol at the address of a TEXT_POKE, if the file has it. */
  readonly symbol: string | undefined;
}

/** A record that is being written. */
export interface RecordAt extends SourceBytes {
  readonly start: number;
  readonly end: number;
  readonly le: boolean;
  readonly context: KernelTextContext;
}

/** Writes a value that is neither number nor text, given the offsets of its fields. */
export type Write = (out: DataView, p: number, record: RecordAt, ...fields: number[]) => number;

/**
 * A literal; a field with its format; parts that depend on a bit of `misc`; or the text of a
 * function.
 */
export type Part =
  | string
  | { readonly field: string; readonly format: FieldFormat }
  | { readonly misc: number; readonly set: readonly Part[]; readonly clear: readonly Part[] }
  | { readonly fields: readonly string[]; readonly write: Write };

const field = (format: FieldFormat) => (name: string): Part => ({ field: name, format });
const u = field("u");
const d = field("d");
const x = field("x");
const prefixed = field("#x");
const atLeastTwo = field("02x");
const text = field("text");
const misc = (bit: number, set: string | Part[], clear: string | Part[]): Part => ({
  misc: bit,
  set: [set].flat(),
  clear: [clear].flat(),
});
/** A letter for each set bit of a word, and another for each clear one. */
const letters = (
  name: string,
  bits: readonly (readonly [number, string, string])[],
  size = 4,
): Part => ({
  fields: [name],
  write(out, p, record, at) {
    const word = lowWord(record, at, size);
    for (const [bit, set, clear] of bits) p = putAscii(out, p, word & bit ? set : clear);
    return p;
  },
});
/** A number in a column of five characters. */
const column = (name: string, pad: (digits: string) => string): Part => ({
  fields: [name],
  write: (out, p, record, at) => putAscii(out, p, pad(String(lowWord(record, at)))),
});

const THREAD: readonly Part[] = [" ", d("pid"), "/", d("tid")];
const MAP: readonly Part[] = [
  ...THREAD,
  ": [",
  prefixed("addr"),
  "(",
  prefixed("len"),
  ") @ ",
  prefixed("pgoff"),
];
const TASK: readonly Part[] = ["(", d("pid"), ":", d("tid"), "):(", d("ppid"), ":", d("ptid"), ")"];
const SWITCHED: Part = misc(
  PERF_RECORD_MISC_SWITCH_OUT,
  [misc(PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, " OUT preempt", " OUT        ")],
  " IN         ",
);

/** The text of `perf report -D` (6.1) after the name of each record type. */
export const TEXTS: Readonly<Record<number, readonly Part[]>> = {
  [PERF_RECORD_MMAP]: [
    ...MAP,
    misc(PERF_RECORD_MISC_MMAP_DATA, "]: r ", "]: x "),
    text("filename"),
  ],
  [PERF_RECORD_LOST]: [": id:", u("id"), ": lost:", u("lost")],
  [PERF_RECORD_COMM]: [
    misc(PERF_RECORD_MISC_COMM_EXEC, " exec: ", ": "),
    text("comm"),
    ":",
    d("pid"),
    "/",
    d("tid"),
  ],
  [PERF_RECORD_EXIT]: TASK,
  [PERF_RECORD_FORK]: TASK,
  [PERF_RECORD_THROTTLE]: [": unhandled!"],
  [PERF_RECORD_UNTHROTTLE]: [": unhandled!"],
  [PERF_RECORD_READ]: [
    ": ",
    d("pid"),
    " ",
    d("tid"),
    " ",
    { fields: [], write: (out, p, { context }) => putAscii(out, p, context.eventName) },
    " ",
    { fields: ["values"], write: putReadValues },
  ],
  [PERF_RECORD_MMAP2]: [
    ...MAP,
    misc(PERF_RECORD_MISC_MMAP_BUILD_ID, [
      " <",
      { fields: ["build_id_size", "build_id"], write: putBuildId },
      ">]: ",
    ], [
      " ",
      atLeastTwo("maj"),
      ":",
      atLeastTwo("min"),
      " ",
      u("ino"),
      " ",
      u("ino_generation"),
      "]: ",
    ]),
    letters("prot", [[1, "r", "-"], [2, "w", "-"], [4, "x", "-"]]),
    letters("flags", [[1, "s", "p"]]),
    " ",
    text("filename"),
  ],
  [PERF_RECORD_AUX]: [
    " offset: ",
    prefixed("aux_offset"),
    " size: ",
    prefixed("aux_size"),
    " flags: ",
    prefixed("flags"),
    " [",
    letters("flags", [[1, "T", ""], [2, "O", ""], [4, "P", ""]], 8),
    "]",
  ],
  [PERF_RECORD_ITRACE_START]: [" pid: ", u("pid"), " tid: ", u("tid")],
  [PERF_RECORD_LOST_SAMPLES]: [
    ": id:",
    { fields: [], write: (out, p, { context }) => putAscii(out, p, String(context.id)) },
    ": lost samples :",
    u("lost"),
  ],
  [PERF_RECORD_SWITCH]: [SWITCHED],
  [PERF_RECORD_SWITCH_CPU_WIDE]: [
    SWITCHED,
    misc(PERF_RECORD_MISC_SWITCH_OUT, "  next pid/tid: ", "  prev pid/tid: "),
    column("next_prev_pid", (digits) => digits.padStart(5)),
    "/",
    column("next_prev_tid", (digits) => digits.padEnd(5)),
  ],
  [PERF_RECORD_NAMESPACES]: [
    ...THREAD,
    " - nr_namespaces: ",
    { fields: ["nr_namespaces", "link_info"], write: putNamespaces },
  ],
  [PERF_RECORD_KSYMBOL]: [
    " addr ",
    x("addr"),
    " len ",
    u("len"),
    " type ",
    u("ksym_type"),
    " flags 0x",
    x("flags"),
    " name ",
    text("name"),
  ],
  [PERF_RECORD_BPF_EVENT]: [" type ", u("type"), ", flags ", u("flags"), ", id ", u("id")],
  [PERF_RECORD_CGROUP]: [" cgroup: ", u("id"), " ", text("path")],
  [PERF_RECORD_TEXT_POKE]: [
    " ",
    x("addr"),
    " ",
    { fields: [], write: (out, p, { context }) => putAscii(out, p, context.symbol ?? "") },
    " old len ",
    u("old_len"),
    " new len ",
    u("new_len"),
    { fields: ["old_len", "new_len", "old_bytes"], write: putPoke },
  ],
  [PERF_RECORD_AUX_OUTPUT_HW_ID]: [" hw_id: ", prefixed("hw_id")],
};

/**
 * Writes the values of a READ record at the offsets of the longest format, whatever its format is.
 */
function putReadValues(out: DataView, p: number, record: RecordAt, at: number): number {
  p = putWord(out, p, record, at);
  const { readFormat } = record.context;
  READ_VALUES.forEach(([bit, label], i) => {
    if (readFormat & bit) p = putWord(out, putAscii(out, p, label), record, at + 8 + 8 * i);
  });
  return p;
}

/** The values of a READ record after the first, with their bits in `read_format`. */
const READ_VALUES: readonly (readonly [number, string])[] = [
  [PERF_FORMAT_TOTAL_TIME_ENABLED, "\n... time enabled : "],
  [PERF_FORMAT_TOTAL_TIME_RUNNING, "\n... time running : "],
  [PERF_FORMAT_ID, "\n... id           : "],
  [PERF_FORMAT_LOST, "\n... lost         : "],
];

function putBuildId(out: DataView, p: number, record: RecordAt, size: number, at: number): number {
  if (at + 20 > record.end) return p;
  const n = Math.min(record.view.getUint8(size), 20);
  return putHexBytes(out, p, record.bytes, at, at + n);
}

const NAMESPACES = ["net", "uts", "ipc", "pid", "user", "mnt", "cgroup"];

function putNamespaces(out: DataView, p: number, record: RecordAt, nr: number, at: number): number {
  const n = lowWord(record, nr, 8) >>> 0;
  p = putAscii(out, putDecimal(out, p, n), "\n\t\t[");
  const held = Math.min(n, Math.floor((record.end - at) / 16));
  for (let i = 0; i < held; i++) {
    if (i > 0) p = putAscii(out, p, i % 4 === 0 ? ", \n\t\t " : ", ");
    p = putDecimal(out, p, i);
    p = putAscii(out, p, `/${NAMESPACES[i] ?? "UNKNOWN"}: `);
    p = putWord(out, p, record, at + 16 * i);
    out.setUint8(p, 0x2f);
    const ino = at + 16 * i + 8;
    p = putPrefixedHex(out, p + 1, highWord(record, ino), lowWord(record, ino, 8));
  }
  out.setUint8(p, 0x5d);
  return p + 1;
}

/** Writes the bytes of a TEXT_POKE, 16 per line. */
function putPoke(
  out: DataView,
  p: number,
  record: RecordAt,
  oldLength: number,
  newLength: number,
  at: number,
): number {
  const { bytes, end } = record;
  const lines = (p: number, label: string, from: number, to: number): number => {
    for (let at = from; at < to; at += 16) {
      p = putAscii(out, p, label);
      for (let i = at; i < Math.min(at + 16, to); i++) {
        out.setUint8(p, 0x20);
        p = putHex2(out, p + 1, byteAt(bytes, i));
      }
      out.setUint8(p++, 0x0a);
    }
    return p;
  };
  out.setUint8(p++, 0x0a);
  const fresh = Math.min(at + halfWord(record, oldLength), end);
  p = lines(p, "            Old bytes:", at, fresh);
  p = lines(p, "            New bytes:", fresh, Math.min(fresh + halfWord(record, newLength), end));
  // The last line has no newline.
  return p - 1;
}

// Bytes beyond the record's end are 0.

function halfWord({ view, end, le }: RecordAt, at: number): number {
  return at + 2 <= end ? view.getUint16(at, le) : 0;
}

/** Reads a 32-bit word, or the low half of one of `size` 8. */
function lowWord({ view, end, le }: RecordAt, at: number, size = 4): number {
  return at + size <= end ? view.getInt32(le ? at : at + size - 4, le) : 0;
}

function highWord({ view, end, le }: RecordAt, at: number): number {
  return at + 8 <= end ? view.getInt32(le ? at + 4 : at, le) : 0;
}

function putWord(out: DataView, p: number, record: RecordAt, at: number): number {
  return putDecimal64(out, p, highWord(record, at), lowWord(record, at, 8));
}
