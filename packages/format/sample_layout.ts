import type { PerfEventAttr } from "./attr.ts";
import {
  PERF_FORMAT_GROUP,
  PERF_FORMAT_ID,
  PERF_FORMAT_LOST,
  PERF_FORMAT_TOTAL_TIME_ENABLED,
  PERF_FORMAT_TOTAL_TIME_RUNNING,
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_AUX,
  PERF_SAMPLE_BRANCH_COUNTERS,
  PERF_SAMPLE_BRANCH_HW_INDEX,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_CGROUP,
  PERF_SAMPLE_CODE_PAGE_SIZE,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_DATA_PAGE_SIZE,
  PERF_SAMPLE_DATA_SRC,
  PERF_SAMPLE_ID,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_PHYS_ADDR,
  PERF_SAMPLE_RAW,
  PERF_SAMPLE_READ,
  PERF_SAMPLE_REGS_INTR,
  PERF_SAMPLE_REGS_USER,
  PERF_SAMPLE_STACK_USER,
  PERF_SAMPLE_STREAM_ID,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_SAMPLE_TRANSACTION,
  PERF_SAMPLE_WEIGHT,
  PERF_SAMPLE_WEIGHT_STRUCT,
} from "./perf_event.ts";

/**
 * Where the fields of an event's samples lie, for loops over many records.
 *
 * Each number is a byte offset from the start of the record (its 8-byte header included), or -1
 * where the sample has no such field. The fields up to `period` are always at the same place; what
 * follows has to be walked (see {@link SampleFields}).
 */
export interface SampleLayout {
  /** Low 32 bits of `sample_type`. */
  readonly sampleType: number;
  /** u64 `identifier`. */
  readonly identifier: number;
  /** u64 `ip`. */
  readonly ip: number;
  /** u32 `pid`; u32 `tid` follows it. */
  readonly pid: number;
  /** u64 `time`. */
  readonly time: number;
  /** u64 `addr`. */
  readonly addr: number;
  /** u64 `id`. */
  readonly id: number;
  /** u64 `stream_id`. */
  readonly stream_id: number;
  /** u32 `cpu`. */
  readonly cpu: number;
  /** u64 `period`. */
  readonly period: number;
  /** First byte after the fields above. */
  readonly fixedSize: number;
  /** Where the fields of the `sample_id` trailer lie in the event's other records. */
  readonly trailer: TrailerLayout;
}

/**
 * Where the fields of a `sample_id` trailer lie: byte offsets from the END of the record
 * (a field at -8 is the last word), or 0 where there is no such field.
 */
export interface TrailerLayout {
  /** Bytes of the trailer; 0 without `sample_id_all`. */
  readonly size: number;
  /** u32 `pid`; u32 `tid` follows it. */
  readonly pid: number;
  /** u64 `time`. */
  readonly time: number;
  /** u64 `id`. */
  readonly id: number;
  /** u64 `stream_id`. */
  readonly stream_id: number;
  /** u32 `cpu`. */
  readonly cpu: number;
  /** u64 `identifier`. */
  readonly identifier: number;
}

/**
 * Computes where the fields of an event's samples and trailers lie.
 *
 * @param attr The event's attr.
 *
 * @example
 * ```ts
 * import { emptyAttr, PERF_SAMPLE_IP, PERF_SAMPLE_TIME, sampleLayout } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const layout = sampleLayout({
 *   ...emptyAttr(),
 *   sample_type: BigInt(PERF_SAMPLE_IP | PERF_SAMPLE_TIME),
 * });
 * assertEquals([layout.ip, layout.pid, layout.time, layout.fixedSize], [8, -1, 16, 24]);
 * ```
 */
export function sampleLayout(attr: Pick<PerfEventAttr, "sample_type" | "flags">): SampleLayout {
  const type = Number(attr.sample_type & 0xffff_ffffn);
  let at = 8;
  const next = (bit: number): number => {
    if (!(type & bit)) return -1;
    at += 8;
    return at - 8;
  };
  return {
    sampleType: type,
    identifier: next(PERF_SAMPLE_IDENTIFIER),
    ip: next(PERF_SAMPLE_IP),
    pid: next(PERF_SAMPLE_TID),
    time: next(PERF_SAMPLE_TIME),
    addr: next(PERF_SAMPLE_ADDR),
    id: next(PERF_SAMPLE_ID),
    stream_id: next(PERF_SAMPLE_STREAM_ID),
    cpu: next(PERF_SAMPLE_CPU),
    period: next(PERF_SAMPLE_PERIOD),
    fixedSize: at,
    trailer: trailerLayout(attr.flags.sample_id_all ? type : 0),
  };
}

function trailerLayout(type: number): TrailerLayout {
  // Laid out from the end: the last field of the trailer first.
  let at = 0;
  const next = (bit: number): number => {
    if (type & bit) at -= 8;
    return type & bit ? at : 0;
  };
  const identifier = next(PERF_SAMPLE_IDENTIFIER);
  const cpu = next(PERF_SAMPLE_CPU);
  const stream_id = next(PERF_SAMPLE_STREAM_ID);
  const id = next(PERF_SAMPLE_ID);
  const time = next(PERF_SAMPLE_TIME);
  const pid = next(PERF_SAMPLE_TID);
  return { size: -at, pid, time, id, stream_id, cpu, identifier };
}

function popcount(word: bigint): number {
  let n = 0;
  for (let rest = BigInt.asUintN(64, word); rest !== 0n; rest &= rest - 1n) n++;
  return n;
}

/** A 64-bit count; one whose high half is set cannot fit into a record of at most 64 KB. */
function countAt(view: DataView, pos: number, littleEndian: boolean): number {
  return view.getUint32(littleEndian ? pos + 4 : pos, littleEndian) !== 0
    ? 0x7fff_ffff
    : view.getInt32(littleEndian ? pos : pos + 4, littleEndian) & 0x7fff_ffff;
}

/**
 * Finds the fields of a sample that have no fixed place.
 *
 * One object serves any number of samples: {@link SampleFields.locate} overwrites the positions,
 * which are indices into the bytes it was given, or -1 where the sample has no such field.
 *
 * @example
 * ```ts
 * import { emptyAttr, PERF_SAMPLE_CALLCHAIN, SampleFields } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const attr = { ...emptyAttr(), sample_type: BigInt(PERF_SAMPLE_CALLCHAIN) };
 * const fields = new SampleFields(attr);
 * const record = new DataView(new ArrayBuffer(24)); // header, nr, one address
 * record.setUint32(8, 1, true);
 * assertEquals(fields.locate(record, 0, 24, true), true);
 * assertEquals([fields.callchain, fields.callchainLength], [16, 1]);
 * ```
 */
export class SampleFields {
  /** The `read_format`. */
  read: number = -1;
  /** The addresses of the call chain, u64 each. */
  callchain: number = -1;
  /** How many addresses the call chain has. */
  callchainLength: number = 0;
  /** The bytes of the raw data. */
  raw: number = -1;
  /** How many bytes of raw data there are. */
  rawSize: number = 0;
  /** The entries of the branch stack, 24 bytes each. */
  branchStack: number = -1;
  /** How many entries the branch stack has. */
  branchStackLength: number = 0;
  /** u64 `hw_idx` of the branch stack. */
  branchHwIdx: number = -1;
  /** The counters of the branch stack, u64 each. */
  branchCounters: number = -1;
  /** u64 `abi` of the user registers; their values follow unless it is 0. */
  regsUser: number = -1;
  /** The bytes of the user stack. */
  stackUser: number = -1;
  /** How many bytes of user stack there are. */
  stackUserSize: number = 0;
  /** u64 `dyn_size` of the user stack. */
  stackUserDynSize: number = -1;
  /** u64 `weight`, or `perf_sample_weight`. */
  weight: number = -1;
  /** u64 `data_src`. */
  dataSrc: number = -1;
  /** u64 `transaction`. */
  transaction: number = -1;
  /** u64 `abi` of the interrupt registers. */
  regsIntr: number = -1;
  /** u64 `phys_addr`. */
  physAddr: number = -1;
  /** u64 `cgroup`. */
  cgroup: number = -1;
  /** u64 `data_page_size`. */
  dataPageSize: number = -1;
  /** u64 `code_page_size`. */
  codePageSize: number = -1;
  /** The bytes of the AUX snapshot. */
  aux: number = -1;
  /** How many bytes the AUX snapshot has. */
  auxSize: number = 0;
  /** First byte after the last field. */
  end: number = 0;

  readonly #type: number;
  readonly #fixedSize: number;
  readonly #readGroup: boolean;
  readonly #readHead: number;
  readonly #readEntry: number;
  readonly #hwIdx: boolean;
  readonly #counters: boolean;
  readonly #regsUser: number;
  readonly #regsIntr: number;

  /** Prepares for the samples of one event. */
  constructor(
    attr: Pick<
      PerfEventAttr,
      | "sample_type"
      | "read_format"
      | "branch_sample_type"
      | "sample_regs_user"
      | "sample_regs_intr"
      | "flags"
    >,
  ) {
    const layout = sampleLayout(attr);
    this.#type = layout.sampleType;
    this.#fixedSize = layout.fixedSize;
    const format = Number(attr.read_format & 0xffff_ffffn);
    const words = (mask: number) =>
      8 * [
        PERF_FORMAT_TOTAL_TIME_ENABLED,
        PERF_FORMAT_TOTAL_TIME_RUNNING,
        PERF_FORMAT_ID,
        PERF_FORMAT_LOST,
      ].filter((bit) => format & mask & bit).length;
    const times = words(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING);
    this.#readGroup = (format & PERF_FORMAT_GROUP) !== 0;
    this.#readHead = 8 + times;
    this.#readEntry = 8 + words(PERF_FORMAT_ID | PERF_FORMAT_LOST);
    const branch = Number(attr.branch_sample_type & 0xffff_ffffn);
    this.#hwIdx = (branch & PERF_SAMPLE_BRANCH_HW_INDEX) !== 0;
    this.#counters = (branch & PERF_SAMPLE_BRANCH_COUNTERS) !== 0;
    this.#regsUser = 8 * popcount(attr.sample_regs_user);
    this.#regsIntr = 8 * popcount(attr.sample_regs_intr);
  }

  /**
   * Finds the fields of the sample record in `[start, end)` of `view`.
   *
   * @returns `false` where a length in the sample does not fit into the record.
   */
  locate(view: DataView, start: number, end: number, littleEndian: boolean): boolean {
    const type = this.#type;
    let at = start + this.#fixedSize;
    this.end = at;
    if (at > end) return false;
    if (type & PERF_SAMPLE_READ) {
      this.read = at;
      if (at + 8 > end) return false;
      at += this.#readGroup
        ? this.#readHead + Math.min(countAt(view, at, littleEndian), 0x10000) * this.#readEntry
        : this.#readHead + this.#readEntry - 8;
      if (at > end) return false;
    }
    if (type & PERF_SAMPLE_CALLCHAIN) {
      if (at + 8 > end) return false;
      this.callchainLength = countAt(view, at, littleEndian);
      this.callchain = at + 8;
      if (this.callchainLength > (end - at - 8) >> 3) return false;
      at += 8 + 8 * this.callchainLength;
    }
    if (type & PERF_SAMPLE_RAW) {
      if (at + 4 > end) return false;
      this.rawSize = view.getUint32(at, littleEndian);
      this.raw = at + 4;
      if (this.rawSize > end - at - 4) return false;
      at += 4 + this.rawSize;
    }
    if (type & PERF_SAMPLE_BRANCH_STACK) {
      if (at + 8 > end) return false;
      const n = countAt(view, at, littleEndian);
      at += 8;
      this.branchHwIdx = this.#hwIdx ? at : -1;
      if (this.#hwIdx) at += 8;
      this.branchStackLength = n;
      this.branchStack = at;
      if (n > (end - at) / 24) return false;
      at += 24 * n;
      this.branchCounters = this.#counters ? at : -1;
      if (this.#counters) at += 8 * n;
      if (at > end) return false;
    }
    if (type & PERF_SAMPLE_REGS_USER) {
      if (at + 8 > end) return false;
      this.regsUser = at;
      at += 8 + (countAt(view, at, littleEndian) === 0 ? 0 : this.#regsUser);
    }
    if (type & PERF_SAMPLE_STACK_USER) {
      if (at + 8 > end) return false;
      const size = countAt(view, at, littleEndian);
      this.stackUser = at + 8;
      this.stackUserSize = size;
      if (size > end - at - 8) return false;
      at += 8 + size;
      this.stackUserDynSize = size > 0 ? at : -1;
      if (size > 0) at += 8;
    }
    if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)) {
      this.weight = at;
      at += 8;
    }
    if (type & PERF_SAMPLE_DATA_SRC) {
      this.dataSrc = at;
      at += 8;
    }
    if (type & PERF_SAMPLE_TRANSACTION) {
      this.transaction = at;
      at += 8;
    }
    if (type & PERF_SAMPLE_REGS_INTR) {
      if (at + 8 > end) return false;
      this.regsIntr = at;
      at += 8 + (countAt(view, at, littleEndian) === 0 ? 0 : this.#regsIntr);
    }
    if (type & PERF_SAMPLE_PHYS_ADDR) {
      this.physAddr = at;
      at += 8;
    }
    if (type & PERF_SAMPLE_CGROUP) {
      this.cgroup = at;
      at += 8;
    }
    if (type & PERF_SAMPLE_DATA_PAGE_SIZE) {
      this.dataPageSize = at;
      at += 8;
    }
    if (type & PERF_SAMPLE_CODE_PAGE_SIZE) {
      this.codePageSize = at;
      at += 8;
    }
    if (type & PERF_SAMPLE_AUX) {
      if (at + 8 > end) return false;
      this.auxSize = countAt(view, at, littleEndian);
      this.aux = at + 8;
      if (this.auxSize > end - at - 8) return false;
      at += 8 + this.auxSize;
    }
    this.end = at;
    return at <= end;
  }
}
