import type { PerfEventAttr } from "../header/attr.ts";
import { PERF_EVENT_HEADER_SIZE } from "../records/record_types.ts";
import { perfBranchEntry } from "./sample_parts.ts";
import { readFormat, sampleBody, sampleIdTrailer, type SampleShape } from "./sample.ts";
import { samplePrefixSize, SampleWalk } from "./sample_walk.ts";
import { type Layout, layoutOf, prefixSize } from "../struct/layout.ts";

/**
 * Offsets of the fields of an event's samples, for loops over many records.
 *
 * Each number is a byte offset from the start of the record (including its 8-byte header), or -1 if the
 * sample has no such field. The fields up to `period` have fixed offsets; later fields have to be
 * walked (see {@link SampleFields}).
 */
export interface SampleLayout extends Omit<TrailerLayout, "size"> {
  /** Low 32 bits of `sample_type`. */
  readonly sampleType: number;
  /** u64 `ip`. */
  readonly ip: number;
  /** u64 `addr`. */
  readonly addr: number;
  /** u64 `period`. */
  readonly period: number;
  /** First byte after the fields above. */
  readonly fixedSize: number;
  /** Offsets of the `sample_id` trailer's fields in the event's other records. */
  readonly trailer: TrailerLayout;
}

/** Offsets of a `sample_id` trailer's fields from the END of the record: the last is at -8; 0 if missing. */
export interface TrailerLayout {
  /** Bytes of the trailer; 0 without `sample_id_all`. */
  readonly size: number;
  /** u32 `pid`. */
  readonly pid: number;
  /** u32 `tid`. */
  readonly tid: number;
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
 * Computes the offsets of the fields of an event's samples and trailers.
 *
 * @param attr The event's attr.
 *
 * @example
 * ```ts
 * import { emptyAttr } from "@perfdata/format";
 * import { PERF_SAMPLE_IP, PERF_SAMPLE_TIME } from "@perfdata/format/constants";
 * import { sampleLayout } from "@perfdata/format/records";
 * import { assertEquals } from "@std/assert";
 *
 * const layout = sampleLayout({
 *   ...emptyAttr(),
 *   sample_type: BigInt(PERF_SAMPLE_IP | PERF_SAMPLE_TIME),
 * });
 * assertEquals([layout.ip, layout.pid, layout.time, layout.fixedSize], [8, -1, 16, 24]);
 * ```
 */
export function sampleLayout(attr: SampleShape & Pick<PerfEventAttr, "flags">): SampleLayout {
  const body = sampleBody(attr);
  const offsets: Layout<unknown> = layoutOf({ body });
  const offsetOf = (name: string): number => offsets[name] ?? -1;
  return {
    sampleType: Number(attr.sample_type & 0xffff_ffffn),
    identifier: offsetOf("identifier"),
    ip: offsetOf("ip"),
    pid: offsetOf("pid"),
    tid: offsetOf("tid"),
    time: offsetOf("time"),
    addr: offsetOf("addr"),
    id: offsetOf("id"),
    stream_id: offsetOf("stream_id"),
    cpu: offsetOf("cpu"),
    period: offsetOf("period"),
    fixedSize: PERF_EVENT_HEADER_SIZE + samplePrefixSize(body),
    trailer: trailerLayout(attr.flags.sample_id_all ? attr.sample_type : 0n),
  };
}

function trailerLayout(sampleType: bigint): TrailerLayout {
  const trailer = sampleIdTrailer(sampleType);
  const { size } = trailer;
  const offsets: Layout<unknown> = layoutOf(trailer);
  const offsetOf = (name: string): number => (offsets[name] ?? size) - size;
  return {
    size,
    pid: offsetOf("pid"),
    tid: offsetOf("tid"),
    time: offsetOf("time"),
    id: offsetOf("id"),
    stream_id: offsetOf("stream_id"),
    cpu: offsetOf("cpu"),
    identifier: offsetOf("identifier"),
  };
}

/** Offsets of the values of a `read_format`, in bytes from its start; -1 for missing values. */
export interface ReadLayout {
  /** Whether the values are those of a group: a u64 count and an entry for each event. */
  readonly group: boolean;
  /** u64 `time_enabled`. */
  readonly time_enabled: number;
  /** u64 `time_running`. */
  readonly time_running: number;
  /** Offset of the first entry. */
  readonly head: number;
  /** Bytes of an entry; its u64 value comes first. */
  readonly entry: number;
  /** Offset of the u64 `id` in an entry. */
  readonly id: number;
  /** Offset of the u64 `lost` in an entry. */
  readonly lost: number;
}

/**
 * Computes the offsets of the values of a `read_format`, for loops over many records.
 *
 * @param format `read_format` of the event's attr.
 *
 * @example
 * ```ts
 * import { PERF_FORMAT_GROUP, PERF_FORMAT_ID } from "@perfdata/format/constants";
 * import { readLayout } from "@perfdata/format/records";
 * import { assertEquals } from "@std/assert";
 *
 * const { group, head, entry, id, lost } = readLayout(PERF_FORMAT_GROUP | PERF_FORMAT_ID);
 * assertEquals({ group, head, entry, id, lost }, { group: true, head: 8, entry: 16, id: 8, lost: -1 });
 * ```
 */
export function readLayout(format: number): ReadLayout {
  const codec = readFormat(format);
  const whole: Layout<unknown> = layoutOf(codec);
  const { shape } = codec.parts?.["values"] ?? {};
  const element = shape?.kind === "array" ? shape.element : undefined;
  const entry: Layout<unknown> = element === undefined ? whole : layoutOf(element);
  return {
    group: element !== undefined,
    time_enabled: whole["time_enabled"] ?? -1,
    time_running: whole["time_running"] ?? -1,
    head: whole["values"] ?? 0,
    entry: prefixSize(element ?? codec),
    id: entry["id"] ?? -1,
    lost: entry["lost"] ?? -1,
  };
}

/** Offsets of the fields in a branch stack entry, and its size in bytes. */
export const BRANCH_ENTRY: Readonly<Record<"from" | "to" | "flags" | "size", number>> = {
  ...layoutOf(perfBranchEntry),
  size: prefixSize(perfBranchEntry),
};

// Slots of the fields in a walk's positions.
const AT_READ = SampleWalk.slot("read");
const AT_CALLCHAIN = SampleWalk.slot("callchain");
const AT_RAW = SampleWalk.slot("raw");
const AT_BRANCH_STACK_ENTRIES = SampleWalk.slot("branch_stack.entries");
const AT_BRANCH_STACK_HW_IDX = SampleWalk.slot("branch_stack.hw_idx");
const AT_BRANCH_STACK_COUNTERS = SampleWalk.slot("branch_stack.counters");
const AT_REGS_USER = SampleWalk.slot("regs_user");
const AT_REGS_USER_VALUES = SampleWalk.slot("regs_user.regs");
const AT_STACK_USER_DATA = SampleWalk.slot("stack_user.data");
const AT_STACK_USER_DYN_SIZE = SampleWalk.slot("stack_user.dyn_size");
const AT_WEIGHT = SampleWalk.slot("weight");
const AT_DATA_SRC = SampleWalk.slot("data_src");
const AT_TRANSACTION = SampleWalk.slot("transaction");
const AT_REGS_INTR = SampleWalk.slot("regs_intr");
const AT_REGS_INTR_VALUES = SampleWalk.slot("regs_intr.regs");
const AT_PHYS_ADDR = SampleWalk.slot("phys_addr");
const AT_CGROUP = SampleWalk.slot("cgroup");
const AT_DATA_PAGE_SIZE = SampleWalk.slot("data_page_size");
const AT_CODE_PAGE_SIZE = SampleWalk.slot("code_page_size");
const AT_AUX = SampleWalk.slot("aux");
const AT_WEIGHT_STRUCT = SampleWalk.slot("weight_struct");

/**
 * Locates the fields of a sample without a fixed offset.
 *
 * One object serves any number of samples: {@link SampleFields.locate} overwrites the positions,
 * which are indices into the given bytes, or -1 for missing fields.
 *
 * @example
 * ```ts
 * import { emptyAttr } from "@perfdata/format";
 * import { PERF_SAMPLE_CALLCHAIN } from "@perfdata/format/constants";
 * import { SampleFields } from "@perfdata/format/records";
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
export class SampleFields extends SampleWalk {
  /** Position of the `read_format`. */
  get read(): number {
    return this.positions[AT_READ] as number;
  }
  /** Position of the call chain's addresses, u64 each. */
  get callchain(): number {
    return this.positions[AT_CALLCHAIN] as number;
  }
  /** Number of addresses in the call chain. */
  get callchainLength(): number {
    return this.counts[AT_CALLCHAIN] as number;
  }
  /** Position of the raw data's bytes. */
  get raw(): number {
    return this.positions[AT_RAW] as number;
  }
  /** Number of bytes of raw data. */
  get rawSize(): number {
    return this.counts[AT_RAW] as number;
  }
  /** Position of the branch stack's entries, 24 bytes each. */
  get branchStack(): number {
    return this.positions[AT_BRANCH_STACK_ENTRIES] as number;
  }
  /** Number of entries in the branch stack. */
  get branchStackLength(): number {
    return this.counts[AT_BRANCH_STACK_ENTRIES] as number;
  }
  /** Position of the u64 `hw_idx` of the branch stack. */
  get branchHwIdx(): number {
    return this.positions[AT_BRANCH_STACK_HW_IDX] as number;
  }
  /** Position of the branch stack's counters, u64 each. */
  get branchCounters(): number {
    return this.positions[AT_BRANCH_STACK_COUNTERS] as number;
  }
  /** Position of the u64 `abi` of the user registers; their values follow unless it is 0. */
  get regsUser(): number {
    return this.positions[AT_REGS_USER] as number;
  }
  /** Position of the user registers' values, u64 each. */
  get regsUserValues(): number {
    return this.positions[AT_REGS_USER_VALUES] as number;
  }
  /** Number of user registers in the event's samples that have any. */
  get regsUserLength(): number {
    return this.counts[AT_REGS_USER_VALUES] as number;
  }
  /** Position of the user stack's bytes. */
  get stackUser(): number {
    return this.positions[AT_STACK_USER_DATA] as number;
  }
  /** Number of bytes of user stack. */
  get stackUserSize(): number {
    return this.counts[AT_STACK_USER_DATA] as number;
  }
  /** Position of the u64 `dyn_size` of the user stack. */
  get stackUserDynSize(): number {
    return this.positions[AT_STACK_USER_DYN_SIZE] as number;
  }
  /** Position of the u64 `weight`, or of `perf_sample_weight`. */
  get weight(): number {
    return Math.max(
      this.positions[AT_WEIGHT] as number,
      this.positions[AT_WEIGHT_STRUCT] as number,
    );
  }
  /** The weight of the sample that was located: 64 bits, or the lower 32 of `perf_sample_weight`; -1 if it has none. */
  weightValue(view: DataView, littleEndian: boolean): number {
    const at = this.weight;
    if (at < 0) return -1;
    const low = view.getUint32(littleEndian ? at : at + 4, littleEndian);
    if (at === this.positions[AT_WEIGHT_STRUCT]) return low;
    return view.getUint32(littleEndian ? at + 4 : at, littleEndian) * 2 ** 32 + low;
  }
  /** Position of the u64 `data_src`. */
  get dataSrc(): number {
    return this.positions[AT_DATA_SRC] as number;
  }
  /** Position of the u64 `transaction`. */
  get transaction(): number {
    return this.positions[AT_TRANSACTION] as number;
  }
  /** Position of the u64 `abi` of the interrupt registers. */
  get regsIntr(): number {
    return this.positions[AT_REGS_INTR] as number;
  }
  /** Position of the interrupt registers' values, u64 each. */
  get regsIntrValues(): number {
    return this.positions[AT_REGS_INTR_VALUES] as number;
  }
  /** Number of interrupt registers in the event's samples that have any. */
  get regsIntrLength(): number {
    return this.counts[AT_REGS_INTR_VALUES] as number;
  }
  /** Position of the u64 `phys_addr`. */
  get physAddr(): number {
    return this.positions[AT_PHYS_ADDR] as number;
  }
  /** Position of the u64 `cgroup`. */
  get cgroup(): number {
    return this.positions[AT_CGROUP] as number;
  }
  /** Position of the u64 `data_page_size`. */
  get dataPageSize(): number {
    return this.positions[AT_DATA_PAGE_SIZE] as number;
  }
  /** Position of the u64 `code_page_size`. */
  get codePageSize(): number {
    return this.positions[AT_CODE_PAGE_SIZE] as number;
  }
  /** Position of the AUX snapshot's bytes. */
  get aux(): number {
    return this.positions[AT_AUX] as number;
  }
  /** Number of bytes in the AUX snapshot. */
  get auxSize(): number {
    return this.counts[AT_AUX] as number;
  }
}
