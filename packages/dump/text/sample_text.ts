import {
  BRANCH_ENTRY,
  type PerfEvent,
  type ReadLayout,
  readLayout,
  type SampleFields,
  type SampleLayout,
} from "@perfdata/format/records";
import {
  PERF_BRANCH_TYPE_NAMES,
  PERF_CONTEXT_USER,
  PERF_SAMPLE_BRANCH_CALL_STACK,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CODE_PAGE_SIZE,
  PERF_SAMPLE_DATA_PAGE_SIZE,
  PERF_SAMPLE_DATA_SRC,
  PERF_SAMPLE_PHYS_ADDR,
  PERF_SAMPLE_READ,
  PERF_SAMPLE_REGS_INTR,
  PERF_SAMPLE_REGS_USER,
  PERF_SAMPLE_STACK_USER,
  PERF_SAMPLE_TRANSACTION,
  PERF_SAMPLE_WEIGHT,
  PERF_SAMPLE_WEIGHT_STRUCT,
  perfRegisterName,
} from "@perfdata/format/constants";
import {
  DECIMAL4,
  floatAt,
  intAt,
  Piece,
  piece,
  putAscii,
  putDecimal,
  putDecimal64,
  putDecimal64At,
  putHex,
  putHex16At,
  putPrefixedHexAt,
} from "@perfdata/format/bytes";
import type { PrintedRecord, RecordHead } from "./record_head.ts";
import type { ThreadText } from "./thread_text.ts";

const CONTEXT_USER_LO = Number(PERF_CONTEXT_USER & 0xffff_ffffn);
const NEW_BRANCH_TYPES = [
  "FAULT_ALGN",
  "FAULT_DATA",
  "FAULT_INST",
  "ARCH_1",
  "ARCH_2",
  "ARCH_3",
  "ARCH_4",
  "ARCH_5",
];
const ABIS = ["none", "32-bit", "64-bit"];

const CHAIN = "... FP chain: nr:";

/** The registers of a mask: text before each value. */
interface Registers {
  /** Text before the ABI. */
  readonly head: Piece;
  readonly lines: readonly Piece[];
}

function registers(kind: string, mask: bigint, arch: string | undefined): Registers {
  const lines: Piece[] = [];
  for (let bit = 0; bit < 64; bit++) {
    if (!(mask >> BigInt(bit) & 1n)) continue;
    lines.push(piece(`.... ${perfRegisterName(arch, bit).padEnd(5)} 0x`));
  }
  return { head: piece(`... ${kind} regs: mask 0x${mask.toString(16)} ABI `), lines };
}

/**
 * Writes the samples of one event in the format of `perf report -D`. Fields are in perf's order
 * (`dump_sample` of tools/perf/util/session.c), which differs from the record's order.
 */
export class SampleText {
  /** Byte order of the samples. */
  readonly littleEndian: boolean;
  /** Offsets of the fields of the last sample. */
  readonly fields: SampleFields;
  /** Offsets of the fields with a fixed offset. */
  readonly layout: SampleLayout;
  readonly #head: RecordHead;
  readonly #threads: ThreadText;
  readonly #event: PerfEvent;
  readonly #type: number;
  readonly #read: ReadLayout;
  readonly #callStack: boolean;
  readonly #userRegisters: Registers;
  readonly #interruptRegisters: Registers;
  // Text between the fields, and instead of fields that the samples lack.
  readonly #beforePeriod: Piece;
  readonly #beforeAddr: Piece;
  readonly #afterAddr: Piece;

  /**
   * @param arch Architecture (`uname -m`), for the names of registers.
   * @param head Has the `combinedType` of all events.
   * @param threads Text of threads and binaries.
   */
  constructor(
    event: PerfEvent,
    littleEndian: boolean,
    arch: string | undefined,
    head: RecordHead,
    threads: ThreadText,
  ) {
    const { attr } = event;
    this.#head = head;
    this.#threads = threads;
    this.#event = event;
    this.fields = event.sampleFields();
    this.layout = event.layout;
    this.littleEndian = littleEndian;
    this.#type = event.layout.sampleType | (event.hasChain ? PERF_SAMPLE_CALLCHAIN : 0);
    this.#read = readLayout(event.readFormat);
    this.#callStack = (attr.branch_sample_type & BigInt(PERF_SAMPLE_BRANCH_CALL_STACK)) !== 0n;
    this.#userRegisters = registers("user", attr.sample_regs_user, arch);
    this.#interruptRegisters = registers("intr", attr.sample_regs_intr, arch);
    const { period, addr } = this.layout;
    const chain = this.#type & PERF_SAMPLE_CALLCHAIN && !this.#hasBranchChain ? CHAIN : "";
    const afterAddr = `\n${chain}`;
    const beforeAddr = ` addr: ${addr < 0 ? `0${afterAddr}` : ""}`;
    this.#afterAddr = piece(afterAddr);
    this.#beforeAddr = piece(beforeAddr);
    this.#beforePeriod = piece(
      ` period: ${period < 0 ? `${attr.sample_period}${beforeAddr}` : ""}`,
    );
  }

  /** Whether call chains are made from branch stacks, and printed before the kernel's. */
  get #hasBranchChain(): boolean {
    return this.#callStack && (this.#type & PERF_SAMPLE_BRANCH_STACK) !== 0;
  }

  /** Locates the fields of the sample in `[start, end)`. Returns whether they fit into it. */
  locate(view: DataView, start: number, end: number): boolean {
    return this.fields.locate(view, start, end, this.littleEndian);
  }

  /**
   * Writes all of the sample that was located last.
   *
   * @param slot Slot of its thread's text.
   * @param binary Index of its address's binary.
   * @param explained Lines about its raw data.
   */
  put(
    out: DataView,
    p: number,
    record: PrintedRecord,
    slot: number,
    binary: number,
    explained = "",
  ): number {
    const threads = this.#threads;
    p = this.#head.putSample(out, p, record, this.layout, explained);
    const { source, start, end } = record;
    p = this.putFields(out, threads.putIds(out, p, slot), source.view, start, end);
    return threads.putBinary(out, threads.putLine(out, p, slot), binary);
  }

  /**
   * Writes the fields of the sample that was located last, from the address on.
   *
   * @param putSymbols Writes the lines of a call chain with symbols.
   */
  putFields(
    out: DataView,
    p: number,
    view: DataView,
    start: number,
    end: number,
    putSymbols?: (out: DataView, p: number, fields: SampleFields) => number,
  ): number {
    const le = this.littleEndian;
    const { layout, fields } = this;
    const { period, addr } = layout;
    const type = this.#type;
    const ip = this.#event.ipAt(view, start, end, le);
    if (ip < 0) out.setUint8(p++, 0x30);
    else p = putPrefixedHexAt(out, p, view, ip, le);
    p = this.#beforePeriod.put(out, p);
    if (period >= 0) {
      p = putDecimal64At(out, p, view, this.#event.periodAt(view, start, end, le), le);
      p = this.#beforeAddr.put(out, p);
    }
    if (addr >= 0) {
      p = putPrefixedHexAt(out, p, view, start + addr, le);
      p = this.#afterAddr.put(out, p);
    }
    if (type & PERF_SAMPLE_CALLCHAIN) {
      if (this.#hasBranchChain) p = putAscii(out, this.#putBranchCallChain(out, p, view), CHAIN);
      p = putDecimal(out, p, fields.callchainLength);
      out.setUint8(p, 0x0a);
      p = putSymbols?.(out, p + 1, fields) ??
        putAddressLines(out, p + 1, view, fields.callchain, fields.callchainLength, le);
    }
    if ((type & REST) !== 0) p = this.#putRest(out, p, view, start);
    return p;
  }

  /** Writes the fields that most samples lack. */
  #putRest(out: DataView, p: number, view: DataView, start: number): number {
    const le = this.littleEndian;
    const low = le ? 0 : 4;
    const high = 4 - low;
    const type = this.#type;
    const { fields } = this;
    const hi = (at: number): number => view.getUint32(at + high, le);
    const lo = (at: number): number => view.getUint32(at + low, le);
    const line = (p: number, label: string, at: number): number => {
      p = putHex(out, putAscii(out, p, label), hi(at), lo(at));
      out.setUint8(p, 0x0a);
      return p + 1;
    };
    if (type & PERF_SAMPLE_BRANCH_STACK) p = this.#putBranchStack(out, p, view);
    if (type & PERF_SAMPLE_REGS_USER) {
      const { regsUser, regsUserValues } = fields;
      p = this.#putRegisters(out, p, view, this.#userRegisters, regsUser, regsUserValues);
    }
    if (type & PERF_SAMPLE_REGS_INTR) {
      const { regsIntr, regsIntrValues } = fields;
      p = this.#putRegisters(out, p, view, this.#interruptRegisters, regsIntr, regsIntrValues);
    }
    if (type & PERF_SAMPLE_STACK_USER) {
      p = putAscii(out, p, "... ustack: size ");
      const at = fields.stackUserDynSize;
      p = at < 0 ? putDecimal(out, p, 0) : putDecimal64(out, p, hi(at), lo(at));
      p = putAscii(out, p, ", offset 0x");
      p = putHex(out, p, 0, fields.stackUser - 8 - start);
      out.setUint8(p++, 0x0a);
    }
    if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)) {
      p = putAscii(out, p, "... weight: ");
      const at = fields.weight;
      if (type & PERF_SAMPLE_WEIGHT) {
        p = putDecimal64(out, p, hi(at), lo(at));
      } else {
        p = putDecimal(out, p, lo(at));
      }
      if (type & PERF_SAMPLE_WEIGHT_STRUCT) {
        // The third part has a meaning only on other machines.
        p = putHex(
          out,
          putAscii(out, p, ",0x"),
          0,
          type & PERF_SAMPLE_WEIGHT ? 0 : hi(at) & 0xffff,
        );
        p = putAscii(out, p, ",0x0");
      }
      out.setUint8(p++, 0x0a);
    }
    if (type & PERF_SAMPLE_DATA_SRC) p = line(p, " . data_src: 0x", fields.dataSrc);
    if (type & PERF_SAMPLE_PHYS_ADDR) p = line(p, " .. phys_addr: 0x", fields.physAddr);
    if (type & PERF_SAMPLE_DATA_PAGE_SIZE) {
      p = putAscii(out, p, " .. data page size: ");
      p = putPageSize(out, p, hi(fields.dataPageSize), lo(fields.dataPageSize));
    }
    if (type & PERF_SAMPLE_CODE_PAGE_SIZE) {
      p = putAscii(out, p, " .. code page size: ");
      p = putPageSize(out, p, hi(fields.codePageSize), lo(fields.codePageSize));
    }
    if (type & PERF_SAMPLE_TRANSACTION) p = line(p, "... transaction: ", fields.transaction);
    if (type & PERF_SAMPLE_READ) p = this.#putRead(out, p, view);
    return p;
  }

  #putBranchStack(out: DataView, p: number, view: DataView): number {
    const le = this.littleEndian;
    const { branchStack, branchStackLength: n } = this.fields;
    const address = (p: number, at: number): number => putHex16At(out, p, view, at, le);
    if (this.#callStack) {
      p = putDecimal(out, putAscii(out, p, "... branch callstack: nr:"), n + 1);
      out.setUint8(p++, 0x0a);
      for (let i = 0; i < n; i++) {
        const at = branchStack + BRANCH_ENTRY.size * i;
        if (i === 0) {
          p = address(putIndex(out, p, 0), at + BRANCH_ENTRY.to);
          out.setUint8(p++, 0x0a);
        }
        p = address(putIndex(out, p, i + 1), at + BRANCH_ENTRY.from);
        out.setUint8(p++, 0x0a);
      }
      return p;
    }
    p = putDecimal(out, putAscii(out, p, "... branch stack: nr:"), n);
    out.setUint8(p++, 0x0a);
    for (let i = 0; i < n; i++) {
      const at = branchStack + BRANCH_ENTRY.size * i;
      p = address(putIndex(out, p, i), at + BRANCH_ENTRY.from);
      p = address(putAscii(out, p, " -> "), at + BRANCH_ENTRY.to);
      out.setUint8(p++, 0x20);
      // perf_branch_entry's flags are a bit-field, which begins at the other end on big-endian
      // machines: mispred, predicted, in_tx, abort, cycles:16, type:4, spec:2, new_type:4, priv:3.
      const first = view.getUint32(at + BRANCH_ENTRY.flags, le);
      const second = view.getUint32(at + BRANCH_ENTRY.flags + 4, le);
      const bits = (from: number, size: number): number =>
        (le ? first >>> from : first >>> (32 - from - size)) & (1 << size) - 1;
      p = putDecimal(out, p, bits(4, 16));
      p = putAscii(out, p, " cycles ");
      out.setUint8(p++, bits(0, 1) ? 0x4d : 0x20);
      out.setUint8(p++, bits(1, 1) ? 0x50 : 0x20);
      out.setUint8(p++, bits(3, 1) ? 0x41 : 0x20);
      out.setUint8(p++, bits(2, 1) ? 0x54 : 0x20);
      out.setUint8(p++, 0x20);
      p = putHex(out, p, 0, le ? second >>> 1 : second & 0x7fff_ffff);
      out.setUint8(p++, 0x20);
      const type = bits(20, 4);
      const name = type < 15
        ? PERF_BRANCH_TYPE_NAMES[type] as string
        : NEW_BRANCH_TYPES[bits(26, 4)] ?? "(null)";
      p = putAscii(out, p, name);
      out.setUint8(p++, 0x0a);
    }
    return p;
  }

  /** Writes the call chain made from the branch stack of a call stack recording. */
  #putBranchCallChain(out: DataView, p: number, view: DataView): number {
    const le = this.littleEndian;
    const low = le ? 0 : 4;
    const high = 4 - low;
    const { callchain, callchainLength, branchStack, branchStackLength } = this.fields;
    let kernel = 0;
    while (
      kernel < callchainLength &&
      (view.getUint32(callchain + 8 * kernel + low, le) !== CONTEXT_USER_LO ||
        view.getUint32(callchain + 8 * kernel + high, le) !== 0xffff_ffff)
    ) kernel++;
    if (kernel === callchainLength || branchStackLength === 0) return p;
    p = putAscii(out, p, "... LBR call chain: nr:");
    p = putDecimal(out, p, kernel + 1 + branchStackLength + 1);
    out.setUint8(p++, 0x0a);
    p = putAddressLines(out, p, view, callchain, kernel + 1, le);
    for (let i = 0; i <= branchStackLength; i++) {
      const at = i === 0
        ? branchStack + BRANCH_ENTRY.to
        : branchStack + BRANCH_ENTRY.size * (i - 1) + BRANCH_ENTRY.from;
      p = putHex16At(out, putIndex(out, p, kernel + 1 + i), view, at, le);
      out.setUint8(p++, 0x0a);
    }
    return p;
  }

  #putRegisters(
    out: DataView,
    p: number,
    view: DataView,
    { head, lines }: Registers,
    abiAt: number,
    values: number,
  ): number {
    const le = this.littleEndian;
    const low = le ? 0 : 4;
    const high = 4 - low;
    const abi = view.getUint32(abiAt + low, le);
    const abiHi = view.getUint32(abiAt + high, le);
    if ((abi | abiHi) === 0) return p;
    p = putAscii(out, head.put(out, p), ABIS[abiHi === 0 ? abi : 3] ?? "unknown");
    out.setUint8(p++, 0x0a);
    for (let i = 0; i < lines.length; i++) {
      p = (lines[i] as Piece).put(out, p);
      p = putHex16At(out, p, view, values + 8 * i, le);
      out.setUint8(p++, 0x0a);
    }
    return p;
  }

  #putRead(out: DataView, p: number, view: DataView): number {
    const le = this.littleEndian;
    const { group, time_enabled, time_running, head, entry, id, lost } = this.#read;
    const first = this.fields.read;
    const word = (p: number, label: string, at: number): number =>
      putHex16At(out, putAscii(out, p, label), view, at, le);
    const line = (p: number, label: string, at: number): number => {
      p = word(p, label, at);
      out.setUint8(p, 0x0a);
      return p + 1;
    };
    const n = group ? view.getUint32(le ? first : first + 4, le) : 1;
    p = putAscii(out, p, "... sample_read:\n");
    if (time_enabled >= 0) p = line(p, "...... time enabled ", first + time_enabled);
    if (time_running >= 0) p = line(p, "...... time running ", first + time_running);
    if (group) {
      p = putDecimal(out, putAscii(out, p, ".... group nr "), n);
      out.setUint8(p++, 0x0a);
    }
    for (let i = 0; i < n; i++) {
      const at = first + head + entry * i;
      p = id < 0 ? putAscii(out, p, "..... id 0000000000000000") : word(p, "..... id ", at + id);
      p = word(p, ", value ", at);
      if (lost >= 0) p = putDecimal64At(out, putAscii(out, p, ", lost "), view, at + lost, le);
      out.setUint8(p++, 0x0a);
    }
    return p;
  }
}

/** The bits of `sample_type` that most samples lack. */
const REST = PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR |
  PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC |
  PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE |
  PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_READ;

/** Writes a page size with its unit: `4K`. */
function putPageSize(out: DataView, p: number, hi: number, lo: number): number {
  let n = BigInt(hi) << 32n | BigInt(lo);
  let unit = 0;
  while (n / 1024n > 1n && unit < 3) {
    n /= 1024n;
    unit++;
  }
  return putAscii(out, p, (hi | lo) === 0 ? "N/A\n" : `${n}${"BKMG"[unit]}\n`);
}

/** Writes `..... %2d: `, the start of a line of a list. */
export function putIndex(out: DataView, p: number, i: number): number {
  if (i < 100) {
    out.setFloat64(p, floatAt(INDEX, i), true);
    out.setUint16(p + 8, 0x203a, true);
    return p + 10;
  }
  out.setInt32(p, 0x2e2e2e2e, true);
  out.setUint16(p + 4, 0x202e, true);
  p = putDecimal(out, p + 6, i);
  out.setUint16(p, 0x203a, true);
  return p + 2;
}

/** `..... %2d` as eight bytes, for a single store. ASCII is never a NaN. */
const INDEX = new Float64Array(100);
{
  const view = new DataView(new ArrayBuffer(8));
  view.setInt32(0, 0x2e2e2e2e, true);
  for (let i = 0; i < 100; i++) {
    view.setInt32(4, 0x202e | (intAt(DECIMAL4, i) >>> 16) << 16, true);
    if (i < 10) view.setUint8(6, 0x20);
    INDEX[i] = view.getFloat64(0, true);
  }
}

/** Writes `n` addresses of a record, one line each: `.....  0: ffffffff81000000`. */
function putAddressLines(
  out: DataView,
  p: number,
  from: DataView,
  at: number,
  n: number,
  le: boolean,
): number {
  for (let i = 0; i < n; i++, at += 8) {
    p = putHex16At(out, putIndex(out, p, i), from, at, le);
    out.setUint8(p++, 0x0a);
  }
  return p;
}
