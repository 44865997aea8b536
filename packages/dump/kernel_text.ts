import {
  putAscii,
  putDecimal,
  putDecimal64At,
  putHex,
  putHex2,
  putPrefixedHexAt,
  putUntilNul,
  type TextBytes,
} from "./text.ts";

const NAMESPACES = ["net", "uts", "ipc", "pid", "user", "mnt", "cgroup"];

/** What a record's text depends on beyond its bytes. */
export interface KernelTextContext {
  /** Id of the event in the record's trailer; all ones where it has none. */
  readonly id: bigint;
  /** Name of the record's event. */
  readonly eventName: string;
  /** `read_format` of the record's event. */
  readonly readFormat: number;
  /** The symbol that an address of the kernel belongs to, where the file tells. */
  symbol(hi: number, lo: number): string | undefined;
}

/**
 * Writes what `perf report -D` prints of a kernel record after its name: its fields, and a newline.
 * SAMPLE is not among them.
 *
 * @param le Byte order of the record.
 */
export function putKernelText(
  out: TextBytes,
  p: number,
  bytes: Uint8Array,
  view: DataView,
  start: number,
  end: number,
  le: boolean,
  context: KernelTextContext,
): number {
  const type = view.getInt32(start, le);
  const misc = view.getUint16(start + 4, le);
  const body = start + 8;
  const { bytes: to } = out;

  switch (type) {
    case 1: // MMAP
    case 10: { // MMAP2
      to[p++] = 0x20;
      p = putDecimal(out, p, i32(view, body, end, le));
      to[p++] = 0x2f;
      p = putDecimal(out, p, i32(view, body + 4, end, le));
      p = putAscii(out, p, ": [");
      p = putHexAt(out, p, view, body + 8, end, le);
      to[p++] = 0x28;
      p = putHexAt(out, p, view, body + 16, end, le);
      p = putAscii(out, p, ") @ ");
      p = putHexAt(out, p, view, body + 24, end, le);
      if (type === 1) {
        p = putAscii(out, p, misc & 0x2000 ? "]: r " : "]: x ");
        p = putUntilNul(out, p, bytes, body + 32, end);
        break;
      }
      if (misc & 0x4000) {
        p = putAscii(out, p, " <");
        const size = end - body < 56 ? 0 : Math.min(view.getUint8(body + 32), 20);
        for (let i = 0; i < size; i++) p = putHex2(out, p, bytes[body + 36 + i] as number);
        p = putAscii(out, p, ">]: ");
      } else {
        to[p++] = 0x20;
        p = putMinHex2(out, p, u32(view, body + 32, end, le));
        to[p++] = 0x3a;
        p = putMinHex2(out, p, u32(view, body + 36, end, le));
        to[p++] = 0x20;
        p = putDecAt(out, p, view, body + 40, end, le);
        to[p++] = 0x20;
        p = putDecAt(out, p, view, body + 48, end, le);
        p = putAscii(out, p, "]: ");
      }
      const prot = u32(view, body + 56, end, le);
      to[p++] = prot & 1 ? 0x72 : 0x2d;
      to[p++] = prot & 2 ? 0x77 : 0x2d;
      to[p++] = prot & 4 ? 0x78 : 0x2d;
      to[p++] = u32(view, body + 60, end, le) & 1 ? 0x73 : 0x70;
      to[p++] = 0x20;
      p = putUntilNul(out, p, bytes, body + 64, end);
      break;
    }
    case 2: // LOST
      p = putAscii(out, p, ": id:");
      p = putDecAt(out, p, view, body, end, le);
      p = putAscii(out, p, ": lost:");
      p = putDecAt(out, p, view, body + 8, end, le);
      break;
    case 3: // COMM
      p = putAscii(out, p, misc & 0x2000 ? " exec: " : ": ");
      p = putUntilNul(out, p, bytes, body + 8, end);
      to[p++] = 0x3a;
      p = putDecimal(out, p, i32(view, body, end, le));
      to[p++] = 0x2f;
      p = putDecimal(out, p, i32(view, body + 4, end, le));
      break;
    case 4: // EXIT
    case 7: // FORK
      to[p++] = 0x28;
      p = putDecimal(out, p, i32(view, body, end, le));
      to[p++] = 0x3a;
      p = putDecimal(out, p, i32(view, body + 8, end, le));
      p = putAscii(out, p, "):(");
      p = putDecimal(out, p, i32(view, body + 4, end, le));
      to[p++] = 0x3a;
      p = putDecimal(out, p, i32(view, body + 12, end, le));
      to[p++] = 0x29;
      break;
    case 8: { // READ
      p = putAscii(out, p, ": ");
      p = putDecimal(out, p, i32(view, body, end, le));
      to[p++] = 0x20;
      p = putDecimal(out, p, i32(view, body + 4, end, le));
      to[p++] = 0x20;
      p = putAscii(out, p, context.eventName);
      to[p++] = 0x20;
      p = putDecAt(out, p, view, body + 8, end, le);
      // The values are where the longest of formats has them, whatever the format.
      const { readFormat } = context;
      READ_VALUES.forEach(([bit, label], i) => {
        if (!(readFormat & bit)) return;
        p = putAscii(out, p, label);
        p = putDecAt(out, p, view, body + 16 + 8 * i, end, le);
      });
      break;
    }
    case 11: { // AUX
      p = putAscii(out, p, " offset: ");
      p = putHexAt(out, p, view, body, end, le);
      p = putAscii(out, p, " size: ");
      p = putHexAt(out, p, view, body + 8, end, le);
      p = putAscii(out, p, " flags: ");
      p = putHexAt(out, p, view, body + 16, end, le);
      p = putAscii(out, p, " [");
      const flags = low(view, body + 16, end, le);
      if (flags & 1) to[p++] = 0x54;
      if (flags & 2) to[p++] = 0x4f;
      if (flags & 4) to[p++] = 0x50;
      to[p++] = 0x5d;
      break;
    }
    case 12: // ITRACE_START
      p = putAscii(out, p, " pid: ");
      p = putDecimal(out, p, u32(view, body, end, le));
      p = putAscii(out, p, " tid: ");
      p = putDecimal(out, p, u32(view, body + 4, end, le));
      break;
    case 13: // LOST_SAMPLES
      p = putAscii(out, p, ": id:");
      p = putAscii(out, p, String(context.id));
      p = putAscii(out, p, ": lost samples :");
      p = putDecAt(out, p, view, body, end, le);
      break;
    case 14: // SWITCH
    case 15: { // SWITCH_CPU_WIDE
      const leaves = (misc & 0x2000) !== 0;
      p = putAscii(
        out,
        p,
        !leaves ? " IN         " : misc & 0x4000 ? " OUT preempt" : " OUT        ",
      );
      if (type === 14) break;
      p = putAscii(out, p, leaves ? "  next pid/tid: " : "  prev pid/tid: ");
      p = putAscii(out, p, String(i32(view, body, end, le)).padStart(5));
      to[p++] = 0x2f;
      p = putAscii(out, p, String(i32(view, body + 4, end, le)).padEnd(5));
      break;
    }
    case 16: { // NAMESPACES
      const n = low(view, body + 8, end, le);
      to[p++] = 0x20;
      p = putDecimal(out, p, i32(view, body, end, le));
      to[p++] = 0x2f;
      p = putDecimal(out, p, i32(view, body + 4, end, le));
      p = putAscii(out, p, " - nr_namespaces: ");
      p = putDecimal(out, p, n);
      p = putAscii(out, p, "\n\t\t[");
      const held = Math.min(n, Math.floor((end - body - 16) / 16));
      for (let i = 0; i < held; i++) {
        if (i > 0) p = putAscii(out, p, i % 4 === 0 ? ", \n\t\t " : ", ");
        p = putDecimal(out, p, i);
        to[p++] = 0x2f;
        p = putAscii(out, p, NAMESPACES[i] ?? "UNKNOWN");
        p = putAscii(out, p, ": ");
        p = putDecAt(out, p, view, body + 16 + 16 * i, end, le);
        to[p++] = 0x2f;
        p = putHexAt(out, p, view, body + 24 + 16 * i, end, le);
      }
      to[p++] = 0x5d;
      break;
    }
    case 17: // KSYMBOL
      p = putAscii(out, p, " addr ");
      p = putHex(out, p, high(view, body, end, le), low(view, body, end, le));
      p = putAscii(out, p, " len ");
      p = putDecimal(out, p, u32(view, body + 8, end, le));
      p = putAscii(out, p, " type ");
      p = putDecimal(out, p, u16(view, body + 12, end, le));
      p = putAscii(out, p, " flags 0x");
      p = putHex(out, p, 0, u16(view, body + 14, end, le));
      p = putAscii(out, p, " name ");
      p = putUntilNul(out, p, bytes, body + 16, end);
      break;
    case 18: // BPF_EVENT
      p = putAscii(out, p, " type ");
      p = putDecimal(out, p, u16(view, body, end, le));
      p = putAscii(out, p, ", flags ");
      p = putDecimal(out, p, u16(view, body + 2, end, le));
      p = putAscii(out, p, ", id ");
      p = putDecimal(out, p, u32(view, body + 4, end, le));
      break;
    case 19: // CGROUP
      p = putAscii(out, p, " cgroup: ");
      p = putDecAt(out, p, view, body, end, le);
      to[p++] = 0x20;
      p = putUntilNul(out, p, bytes, body + 8, end);
      break;
    case 20: { // TEXT_POKE
      to[p++] = 0x20;
      p = putHex(out, p, high(view, body, end, le), low(view, body, end, le));
      to[p++] = 0x20;
      const symbol = context.symbol(high(view, body, end, le), low(view, body, end, le));
      if (symbol !== undefined) p = putAscii(out, p, symbol);
      const oldLength = u16(view, body + 8, end, le);
      const newLength = u16(view, body + 10, end, le);
      p = putAscii(out, p, " old len ");
      p = putDecimal(out, p, oldLength);
      p = putAscii(out, p, " new len ");
      p = putDecimal(out, p, newLength);
      to[p++] = 0x0a;
      const old = body + 12;
      p = putPoke(out, p, "            Old bytes:", bytes, old, Math.min(old + oldLength, end));
      const fresh = Math.min(old + oldLength, end);
      return putPoke(
        out,
        p,
        "            New bytes:",
        bytes,
        fresh,
        Math.min(fresh + newLength, end),
      );
    }
    case 21: // AUX_OUTPUT_HW_ID
      p = putAscii(out, p, " hw_id: ");
      p = putHexAt(out, p, view, body, end, le);
      break;
    case 5: // THROTTLE
    case 6: // UNTHROTTLE
      p = putAscii(out, p, ": unhandled!");
      break;
  }
  to[p] = 0x0a;
  return p + 1;
}

/** The values of a READ record and the bits of `read_format` that ask for them. */
const READ_VALUES: readonly (readonly [number, string])[] = [
  [1, "\n... time enabled : "],
  [2, "\n... time running : "],
  [4, "\n... id           : "],
  [16, "\n... lost         : "],
];

// What a record is too short for is 0.

function u32(view: DataView, at: number, end: number, le: boolean): number {
  return at + 4 <= end ? view.getUint32(at, le) : 0;
}

function i32(view: DataView, at: number, end: number, le: boolean): number {
  return at + 4 <= end ? view.getInt32(at, le) : 0;
}

/** The high half of a 64-bit word. */
function high(view: DataView, at: number, end: number, le: boolean): number {
  return at + 8 <= end ? view.getUint32(le ? at + 4 : at, le) : 0;
}

/** The low half of a 64-bit word. */
function low(view: DataView, at: number, end: number, le: boolean): number {
  return at + 8 <= end ? view.getUint32(le ? at : at + 4, le) : 0;
}

/** `%#lx` of the 64-bit word at `at`. */
function putHexAt(
  out: TextBytes,
  p: number,
  view: DataView,
  at: number,
  end: number,
  le: boolean,
): number {
  if (at + 8 <= end) return putPrefixedHexAt(out, p, view, at, le);
  out.bytes[p] = 0x30;
  return p + 1;
}

/** `%lu` of the 64-bit word at `at`. */
function putDecAt(
  out: TextBytes,
  p: number,
  view: DataView,
  at: number,
  end: number,
  le: boolean,
): number {
  if (at + 8 <= end) return putDecimal64At(out, p, view, at, le);
  out.bytes[p] = 0x30;
  return p + 1;
}

function u16(view: DataView, at: number, end: number, le: boolean): number {
  return at + 2 <= end ? view.getUint16(at, le) : 0;
}

/** `%02x`: at least two digits. */
function putMinHex2(out: TextBytes, p: number, n: number): number {
  return n < 256 ? putHex2(out, p, n) : putHex(out, p, 0, n);
}

/** The bytes of a TEXT_POKE, 16 a line. */
function putPoke(
  out: TextBytes,
  p: number,
  label: string,
  bytes: Uint8Array,
  from: number,
  to: number,
): number {
  for (let at = from; at < to; at += 16) {
    p = putAscii(out, p, label);
    for (let i = at; i < Math.min(at + 16, to); i++) {
      out.bytes[p++] = 0x20;
      p = putHex2(out, p, bytes[i] as number);
    }
    out.bytes[p++] = 0x0a;
  }
  return p;
}
