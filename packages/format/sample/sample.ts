import type { PerfEventAttr } from "../header/attr.ts";
import {
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_AUX,
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
} from "../header/perf_event.ts";
import { NO_MASKS, type ReadFormat, readFormatDeclaration } from "../header/read_format.ts";
import {
  type BranchStack,
  branchStack,
  type SampleRegs,
  sampleRegs,
  type SampleWeight,
  sampleWeight,
  type StackUser,
  stackUser,
} from "./sample_parts.ts";
import {
  array,
  type AttrMask,
  bytes,
  type Codec,
  countedBy,
  counter,
  type HiddenCodec,
  i32,
  ofEvent,
  type OptionalCodec,
  reserved,
  specialized,
  struct,
  type StructValue,
  u32,
  u64,
  when,
  type Writable,
  x64,
} from "../struct/mod.ts";

export {
  type ReadFormat,
  readFormat,
  readFormatDeclaration,
  type ReadValue,
} from "../header/read_format.ts";
export {
  type BranchStack,
  type PerfBranchEntry,
  perfBranchEntry,
  type SampleRegs,
  type SampleWeight,
  type StackUser,
} from "./sample_parts.ts";

/** Declares a field that samples have if the bit is set in `sample_type`. */
function sampled<T>(bit: number, codec: Codec<T>): OptionalCodec<Exclude<T, undefined>> {
  return when({ attr: "sample_type", bits: bit }, codec);
}

/** Declares the hidden length of field `of`, for samples with the bit in `sample_type`. */
function sampledCount(
  bit: number,
  codec: Codec<number> | Codec<bigint>,
  of: string,
): HiddenCodec {
  const counted = counter(codec, of);
  return { ...sampled(bit, counted), presence: "hidden", encode: counted.encode };
}

// Fields of both samples and `sample_id` trailers.
const IDENTIFIER = [
  sampled(PERF_SAMPLE_IDENTIFIER, u64) as OptionalCodec<bigint>,
  "Id of the event.",
] as const;
const PID = [
  sampled(PERF_SAMPLE_TID, i32) as OptionalCodec<number>,
  "Process id; -1 if the thread has exited.",
] as const;
const TID = [
  sampled(PERF_SAMPLE_TID, i32) as OptionalCodec<number>,
  "Thread id; -1 if the thread has exited.",
] as const;
const TIME = [
  sampled(PERF_SAMPLE_TIME, u64) as OptionalCodec<bigint>,
  "Time in ns of the event's clock.",
] as const;
const ID = [
  sampled(PERF_SAMPLE_ID, u64) as OptionalCodec<bigint>,
  "Id of the event.",
] as const;
const STREAM_ID = [
  sampled(PERF_SAMPLE_STREAM_ID, u64) as OptionalCodec<bigint>,
  "Id of the event in this context.",
] as const;
const CPU = [
  sampled(PERF_SAMPLE_CPU, u32) as OptionalCodec<number>,
  "CPU number.",
] as const;
const CPU_RESERVED = [
  sampled(PERF_SAMPLE_CPU, reserved(4)) as OptionalCodec<Uint8Array>,
  "The word after the CPU number, if it is not zero.",
] as const;

/**
 * All fields of a SAMPLE record, in the order of `perf_output_sample` in `kernel/events/core.c`. The event's
 * attr determines the fields that are present.
 */
const SAMPLE_FIELDS = {
  identifier: IDENTIFIER,
  ip: [
    sampled(PERF_SAMPLE_IP, x64) as OptionalCodec<bigint>,
    "Instruction pointer.",
  ],
  pid: PID,
  tid: TID,
  time: TIME,
  addr: [
    sampled(PERF_SAMPLE_ADDR, x64) as OptionalCodec<bigint>,
    "Data address.",
  ],
  id: ID,
  stream_id: STREAM_ID,
  cpu: CPU,
  cpu_reserved: CPU_RESERVED,
  period: [
    sampled(PERF_SAMPLE_PERIOD, u64) as OptionalCodec<bigint>,
    "Events since the previous sample.",
  ],
  read: [
    sampled(PERF_SAMPLE_READ, readFormatDeclaration) as OptionalCodec<
      ReadFormat
    >,
    "Counter values.",
  ],
  callchain_nr: sampledCount(PERF_SAMPLE_CALLCHAIN, u64, "callchain") as HiddenCodec,
  callchain: [
    sampled(PERF_SAMPLE_CALLCHAIN, array(x64, countedBy("callchain_nr"))) as OptionalCodec<
      bigint[]
    >,
    "Call chain, innermost first.",
  ],
  raw_size: sampledCount(PERF_SAMPLE_RAW, u32, "raw") as HiddenCodec,
  raw: [
    sampled(PERF_SAMPLE_RAW, bytes(countedBy("raw_size"))) as OptionalCodec<Uint8Array>,
    "Raw data of a tracepoint or PMU.",
  ],
  branch_stack: [
    sampled(PERF_SAMPLE_BRANCH_STACK, branchStack) as OptionalCodec<BranchStack>,
    "The last branches.",
  ],
  regs_user: [
    sampled(PERF_SAMPLE_REGS_USER, sampleRegs("sample_regs_user")) as OptionalCodec<SampleRegs>,
    "User registers.",
  ],
  stack_user: [
    sampled(PERF_SAMPLE_STACK_USER, stackUser) as OptionalCodec<StackUser>,
    "A copy of the user stack.",
  ],
  weight_struct: [
    sampled(PERF_SAMPLE_WEIGHT_STRUCT, sampleWeight) as OptionalCodec<SampleWeight>,
    "Cost of the access in three parts.",
  ],
  // The same word as one number. The kernel rejects both bits at once (PERF_SAMPLE_WEIGHT_TYPE).
  weight: [
    when(
      { attr: "sample_type", noBits: PERF_SAMPLE_WEIGHT_STRUCT },
      sampled(PERF_SAMPLE_WEIGHT, u64),
    ) as OptionalCodec<bigint>,
    "Cost of the access.",
  ],
  data_src: [
    sampled(PERF_SAMPLE_DATA_SRC, x64) as OptionalCodec<
      bigint
    >,
    "Where the data came from.",
  ],
  transaction: [
    sampled(PERF_SAMPLE_TRANSACTION, x64) as OptionalCodec<
      bigint
    >,
    "Transaction flags.",
  ],
  regs_intr: [
    sampled(PERF_SAMPLE_REGS_INTR, sampleRegs("sample_regs_intr")) as OptionalCodec<SampleRegs>,
    "Registers at the interrupt.",
  ],
  phys_addr: [
    sampled(PERF_SAMPLE_PHYS_ADDR, x64) as OptionalCodec<bigint>,
    "Physical address of the data.",
  ],
  cgroup: [
    sampled(PERF_SAMPLE_CGROUP, u64) as OptionalCodec<bigint>,
    "Cgroup id.",
  ],
  data_page_size: [
    sampled(PERF_SAMPLE_DATA_PAGE_SIZE, u64) as OptionalCodec<bigint>,
    "Page size at the data address.",
  ],
  code_page_size: [
    sampled(PERF_SAMPLE_CODE_PAGE_SIZE, u64) as OptionalCodec<bigint>,
    "Page size at the instruction pointer.",
  ],
  aux_size: sampledCount(PERF_SAMPLE_AUX, u64, "aux") as HiddenCodec,
  aux: [
    sampled(PERF_SAMPLE_AUX, bytes(countedBy("aux_size"))) as OptionalCodec<Uint8Array>,
    "Snapshot of the AUX area.",
  ],
} as const;

/** A sample; `sample_type` of its event determines the fields. */
export type Sample = Writable<StructValue<typeof SAMPLE_FIELDS>>;

/** All fields of a SAMPLE record; {@link sampleBody} has the fields of one event's samples. */
export const sampleDeclaration: Codec<Sample> = struct("perf_record_sample", SAMPLE_FIELDS);

const SAMPLE_ID_FIELDS = {
  pid: PID,
  tid: TID,
  time: TIME,
  id: ID,
  stream_id: STREAM_ID,
  cpu: CPU,
  cpu_reserved: CPU_RESERVED,
  identifier: IDENTIFIER,
} as const;

/** The `sample_id` trailer: thread, event, CPU and time of a record. */
export type SampleId = Writable<StructValue<typeof SAMPLE_ID_FIELDS>>;

/** All fields of the trailer; {@link sampleIdTrailer} has those of one event. */
const sampleIdDeclaration: Codec<SampleId> = struct("sample_id", SAMPLE_ID_FIELDS);

/** The parts of an attr that determine a sample's layout. */
export type SampleShape = Pick<PerfEventAttr, AttrMask>;

/**
 * Declares the body of a SAMPLE record of an event.
 *
 * @param attr The event's attr; only `sample_type`, `read_format`,
 * `branch_sample_type` and the register masks matter.
 * @param arch The machine, as `uname -m` prints it, for the names of registers.
 *
 * @example
 * ```ts
 * import { decode, sampleBody } from "@perfdata/format/records";
 * import { emptyAttr } from "@perfdata/format";
 * import { PERF_SAMPLE_IP, PERF_SAMPLE_TID } from "@perfdata/format/constants";
 * import { assertEquals } from "@std/assert";
 *
 * const attr = { ...emptyAttr(), sample_type: BigInt(PERF_SAMPLE_IP | PERF_SAMPLE_TID) };
 * const bytes = Uint8Array.of(0, 0x10, 0x40, 0, 0, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0);
 * assertEquals(decode(sampleBody(attr), bytes).value, { ip: 0x401000n, pid: 7, tid: 8 });
 * ```
 */
export function sampleBody(attr: SampleShape, arch?: string): Codec<Sample> {
  return specialized(sampleDeclaration, { attr, arch }) as Codec<Sample>;
}

/**
 * Declares the `sample_id` trailer of an event's other records (`sample_id_all`).
 *
 * @param sampleType `sample_type` of the event's attr.
 */
export function sampleIdTrailer(sampleType: bigint): FixedSampleId {
  const attr = { ...NO_MASKS, sample_type: sampleType };
  return specialized(sampleIdDeclaration, { attr, arch: undefined }) as FixedSampleId;
}

/** A trailer codec; all of an event's trailers have the same size. */
export type FixedSampleId = Codec<SampleId> & { readonly size: number };

/** The body of a SAMPLE record, specialized for the event in the context. */
export const sampleRecord: Codec<Sample> = ofEvent("SAMPLE", sampleDeclaration);
