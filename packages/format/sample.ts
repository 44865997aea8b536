import type { PerfEventAttr } from "./attr.ts";
import type { SampleId } from "./record.ts";
import {
  array,
  type AttrMask,
  bitfield,
  type BitfieldValue,
  bytes,
  type Codec,
  countedBy,
  counter,
  doc,
  either,
  enumeration,
  type FixedCodec,
  gathered,
  type HiddenCodec,
  i32,
  ofEvent,
  type OptionalCodec,
  parts64,
  registers,
  reserved,
  specialized,
  struct,
  type StructCodec,
  type StructValue,
  u32,
  u64,
  when,
  x64,
} from "./struct.ts";
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

/** The value of one event in a `read_format`. */
export interface ReadValue {
  /** Events counted. */
  value: bigint;
  /** `PERF_FORMAT_ID`. */
  id?: bigint;
  /** Samples lost; `PERF_FORMAT_LOST`. */
  lost?: bigint;
}

/**
 * Counter values as `read_format` shapes them: one value, or those of a whole group.
 *
 * With `PERF_FORMAT_GROUP` the values are in `values`, one per event of the group; without it
 * `values` has one entry.
 */
export interface ReadFormat {
  /** Time the event was enabled, in ns; `PERF_FORMAT_TOTAL_TIME_ENABLED`. */
  time_enabled?: bigint;
  /** Time the event was counting, in ns; `PERF_FORMAT_TOTAL_TIME_RUNNING`. */
  time_running?: bigint;
  /** The values. */
  values: ReadValue[];
}

/** An entry of the branch stack. */
export type PerfBranchEntry = StructValue<typeof BRANCH_ENTRY_FIELDS>;

const BRANCH_FLAGS = {
  mispred: 1,
  predicted: 1,
  in_tx: 1,
  abort: 1,
  cycles: 16,
  type: 4,
  spec: 2,
  new_type: 4,
  priv: 3,
} as const;

const BRANCH_ENTRY_FIELDS = {
  from: [x64, "Address of the branch."],
  to: [x64, "Where it went."],
  flags: [
    bitfield("perf_branch_entry flags", BRANCH_FLAGS) as FixedCodec<
      BitfieldValue<typeof BRANCH_FLAGS>
    >,
    "What kind of branch it was and how it was predicted.",
  ],
} as const;

/** `perf_branch_entry` of `include/uapi/linux/perf_event.h`. */
export const perfBranchEntry: StructCodec<typeof BRANCH_ENTRY_FIELDS> = struct(
  "perf_branch_entry",
  BRANCH_ENTRY_FIELDS,
);

/** The last branches before a sample. */
export interface BranchStack {
  /** Index of the newest entry in the hardware's registers; `PERF_SAMPLE_BRANCH_HW_INDEX`. */
  hw_idx?: bigint;
  /** The branches, newest first. */
  entries: PerfBranchEntry[];
  /** Occurrences of events for each entry; `PERF_SAMPLE_BRANCH_COUNTERS`. */
  counters?: bigint[];
}

/** Registers at a sample. */
export interface SampleRegs {
  /** 0: none, 1: 32-bit, 2: 64-bit (`PERF_SAMPLE_REGS_ABI_*`). */
  abi: bigint;
  /** Values by register name, in the order of the mask's bits; missing where `abi` is 0. */
  regs?: Record<string, bigint>;
}

/** A copy of the user stack. */
export interface StackUser {
  /** The bytes from the stack pointer up. */
  data: Uint8Array;
  /** How many of them the kernel could read; missing where the dump is empty. */
  dyn_size?: bigint;
}

/** `perf_sample_weight`: the cost of an access in three parts. */
export interface SampleWeight {
  /** Low 32 bits: on x86 the latency of the load. */
  var1_dw: number;
  /** Bits 32–47: on x86 the latency of the instruction. */
  var2_w: number;
  /** Bits 48–63. */
  var3_w: number;
}

/** A sample; which fields it has depends on `sample_type` of its event. */
export interface Sample {
  /** Event id at a fixed place; `PERF_SAMPLE_IDENTIFIER`. */
  identifier?: bigint;
  /** Instruction pointer; `PERF_SAMPLE_IP`. */
  ip?: bigint;
  /** Process id; `PERF_SAMPLE_TID`. */
  pid?: number;
  /** Thread id; `PERF_SAMPLE_TID`. */
  tid?: number;
  /** Time in ns of the event's clock; `PERF_SAMPLE_TIME`. */
  time?: bigint;
  /** Data address; `PERF_SAMPLE_ADDR`. */
  addr?: bigint;
  /** Event id; `PERF_SAMPLE_ID`. */
  id?: bigint;
  /** Id of the event in this context; `PERF_SAMPLE_STREAM_ID`. */
  stream_id?: bigint;
  /** CPU number; `PERF_SAMPLE_CPU`. */
  cpu?: number;
  /** The word beside the CPU number, where it is not zero. */
  cpu_reserved?: Uint8Array;
  /** Events since the previous sample; `PERF_SAMPLE_PERIOD`. */
  period?: bigint;
  /** Counter values; `PERF_SAMPLE_READ`. */
  read?: ReadFormat;
  /** Call chain, innermost first, with context markers; `PERF_SAMPLE_CALLCHAIN`. */
  callchain?: bigint[];
  /** Raw data of a tracepoint or PMU; `PERF_SAMPLE_RAW`. */
  raw?: Uint8Array;
  /** Branch stack; `PERF_SAMPLE_BRANCH_STACK`. */
  branch_stack?: BranchStack;
  /** User registers; `PERF_SAMPLE_REGS_USER`. */
  regs_user?: SampleRegs;
  /** User stack; `PERF_SAMPLE_STACK_USER`. */
  stack_user?: StackUser;
  /** Cost of the access; `PERF_SAMPLE_WEIGHT`. */
  weight?: bigint;
  /** Cost of the access in parts; `PERF_SAMPLE_WEIGHT_STRUCT`. */
  weight_struct?: SampleWeight;
  /** Where the data came from (`perf_mem_data_src`); `PERF_SAMPLE_DATA_SRC`. */
  data_src?: bigint;
  /** Transaction flags (`PERF_TXN_*`); `PERF_SAMPLE_TRANSACTION`. */
  transaction?: bigint;
  /** Registers at the interrupt; `PERF_SAMPLE_REGS_INTR`. */
  regs_intr?: SampleRegs;
  /** Physical address of the data; `PERF_SAMPLE_PHYS_ADDR`. */
  phys_addr?: bigint;
  /** Cgroup id; `PERF_SAMPLE_CGROUP`. */
  cgroup?: bigint;
  /** Page size at the data address; `PERF_SAMPLE_DATA_PAGE_SIZE`. */
  data_page_size?: bigint;
  /** Page size at the instruction pointer; `PERF_SAMPLE_CODE_PAGE_SIZE`. */
  code_page_size?: bigint;
  /** Snapshot of the AUX area; `PERF_SAMPLE_AUX`. */
  aux?: Uint8Array;
}

const READ_VALUE_FIELDS = {
  value: [u64, "Events counted."],
  id: when(
    { attr: "read_format", bits: PERF_FORMAT_ID },
    doc("Id of the event.", u64),
  ) as OptionalCodec<bigint>,
  lost: when(
    { attr: "read_format", bits: PERF_FORMAT_LOST },
    doc("Samples lost by the event.", u64),
  ) as OptionalCodec<bigint>,
} as const;

const READ_TIME_FIELDS = {
  time_enabled: when(
    { attr: "read_format", bits: PERF_FORMAT_TOTAL_TIME_ENABLED },
    doc("Time the event was enabled, ns.", u64),
  ) as OptionalCodec<bigint>,
  time_running: when(
    { attr: "read_format", bits: PERF_FORMAT_TOTAL_TIME_RUNNING },
    doc("Time the event was counting, ns.", u64),
  ) as OptionalCodec<bigint>,
} as const;

/** The values of a group of events. */
const readGroup = struct("read_format", {
  nr: counter(u64, "values"),
  ...READ_TIME_FIELDS,
  values: array(struct("read_value", READ_VALUE_FIELDS), countedBy("nr")),
});

/** One value; the kernel puts the times between it and its id. */
const readOne: Codec<ReadFormat> = gathered(
  struct("read_format", {
    value: READ_VALUE_FIELDS.value,
    ...READ_TIME_FIELDS,
    id: READ_VALUE_FIELDS.id,
    lost: READ_VALUE_FIELDS.lost,
  }) as Codec<unknown>,
  "values",
  Object.keys(READ_VALUE_FIELDS),
);

/** `struct read_format` of `include/uapi/linux/perf_event.h`, in all its shapes. */
export const readFormatDeclaration: Codec<ReadFormat> = either(
  "read_format",
  { attr: "read_format", bits: PERF_FORMAT_GROUP },
  readGroup,
  readOne,
);

const NO_MASKS: Readonly<Record<AttrMask, bigint>> = {
  sample_type: 0n,
  read_format: 0n,
  branch_sample_type: 0n,
  sample_regs_user: 0n,
  sample_regs_intr: 0n,
};

/**
 * `struct read_format` for the bits in `format`.
 *
 * @param format `read_format` of the event's attr.
 */
export function readFormat(format: number): Codec<ReadFormat> {
  const attr = { ...NO_MASKS, read_format: BigInt(format) };
  return specialized(readFormatDeclaration, { attr, arch: undefined }) as Codec<ReadFormat>;
}

/** `perf_sample_weight` seen as three parts; they are parts of one u64 in either byte order. */
const sampleWeight: Codec<SampleWeight> = parts64("perf_sample_weight", {
  var1_dw: 32,
  var2_w: 16,
  var3_w: 16,
});

/** The registers of one of the two kinds. */
function sampleRegs(mask: "sample_regs_user" | "sample_regs_intr"): Codec<SampleRegs> {
  return struct("perf_regs", {
    abi: doc("Width of the registers.", enumeration(u64, { 0: "NONE", 1: "32", 2: "64" })),
    regs: when({ field: "abi", not: 0n }, registers("regs", mask)),
  });
}

const stackUser: Codec<StackUser> = struct("perf_stack_user", {
  size: counter(u64, "data"),
  data: doc("The bytes from the stack pointer up.", bytes(countedBy("size"))),
  dyn_size: when(
    { field: "data.length", least: 1 },
    doc("How many of the bytes the kernel could read.", u64),
  ),
});

const branchStack: Codec<BranchStack> = struct("perf_branch_stack", {
  nr: counter(u64, "entries"),
  hw_idx: when(
    { attr: "branch_sample_type", bits: PERF_SAMPLE_BRANCH_HW_INDEX },
    doc("Index of the newest entry in the hardware.", u64),
  ),
  entries: array(perfBranchEntry, countedBy("nr")),
  counters: when(
    { attr: "branch_sample_type", bits: PERF_SAMPLE_BRANCH_COUNTERS },
    array(x64, { field: "entries.length" }),
  ),
});

/** A field that a sample has where the bit is set in `sample_type`. */
function sampled<T>(bit: number, codec: Codec<T>): OptionalCodec<Exclude<T, undefined>> {
  return when({ attr: "sample_type", bits: bit }, codec);
}

// The fields that both a sample and a `sample_id` trailer may have.
const IDENTIFIER = sampled(PERF_SAMPLE_IDENTIFIER, doc("Id of the event.", u64));
const PID = sampled(PERF_SAMPLE_TID, doc("Process id; -1 of a thread that has exited.", i32));
const TID = sampled(PERF_SAMPLE_TID, doc("Thread id; -1 of a thread that has exited.", i32));
const TIME = sampled(PERF_SAMPLE_TIME, doc("Time in ns of the event's clock.", u64));
const ID = sampled(PERF_SAMPLE_ID, doc("Id of the event.", u64));
const STREAM_ID = sampled(PERF_SAMPLE_STREAM_ID, doc("Id of the event in this context.", u64));
const CPU = sampled(PERF_SAMPLE_CPU, doc("CPU number.", u32));
const CPU_RESERVED = sampled(PERF_SAMPLE_CPU, reserved(4));

/**
 * The fields of a SAMPLE record; which of them there are depends on the event's attr. Their order
 * is that of `perf_output_sample` in `kernel/events/core.c`.
 */
const SAMPLE_FIELDS = {
  identifier: IDENTIFIER,
  ip: sampled(PERF_SAMPLE_IP, doc("Instruction pointer.", x64)) as OptionalCodec<bigint>,
  pid: PID,
  tid: TID,
  time: TIME,
  addr: sampled(PERF_SAMPLE_ADDR, doc("Data address.", x64)) as OptionalCodec<bigint>,
  id: ID,
  stream_id: STREAM_ID,
  cpu: CPU,
  cpu_reserved: CPU_RESERVED,
  period: sampled(
    PERF_SAMPLE_PERIOD,
    doc("Events since the previous sample.", u64),
  ) as OptionalCodec<bigint>,
  read: sampled(PERF_SAMPLE_READ, doc("Counter values.", readFormatDeclaration)) as OptionalCodec<
    ReadFormat
  >,
  callchain_nr: sampledCount(PERF_SAMPLE_CALLCHAIN, u64, "callchain") as HiddenCodec,
  callchain: sampled(
    PERF_SAMPLE_CALLCHAIN,
    doc("Call chain, innermost first.", array(x64, countedBy("callchain_nr"))),
  ) as OptionalCodec<bigint[]>,
  raw_size: sampledCount(PERF_SAMPLE_RAW, u32, "raw") as HiddenCodec,
  raw: sampled(
    PERF_SAMPLE_RAW,
    doc("Raw data of a tracepoint or PMU.", bytes(countedBy("raw_size"))),
  ) as OptionalCodec<Uint8Array>,
  branch_stack: sampled(
    PERF_SAMPLE_BRANCH_STACK,
    doc("The last branches.", branchStack),
  ) as OptionalCodec<BranchStack>,
  regs_user: sampled(
    PERF_SAMPLE_REGS_USER,
    doc("User registers.", sampleRegs("sample_regs_user")),
  ) as OptionalCodec<SampleRegs>,
  stack_user: sampled(
    PERF_SAMPLE_STACK_USER,
    doc("A copy of the user stack.", stackUser),
  ) as OptionalCodec<StackUser>,
  weight_struct: sampled(
    PERF_SAMPLE_WEIGHT_STRUCT,
    doc("Cost of the access in three parts.", sampleWeight),
  ) as OptionalCodec<SampleWeight>,
  // The other view of the same word; the kernel refuses both bits at once (PERF_SAMPLE_WEIGHT_TYPE).
  weight: when(
    { attr: "sample_type", noBits: PERF_SAMPLE_WEIGHT_STRUCT },
    sampled(PERF_SAMPLE_WEIGHT, doc("Cost of the access.", u64)),
  ) as OptionalCodec<bigint>,
  data_src: sampled(PERF_SAMPLE_DATA_SRC, doc("Where the data came from.", x64)) as OptionalCodec<
    bigint
  >,
  transaction: sampled(PERF_SAMPLE_TRANSACTION, doc("Transaction flags.", x64)) as OptionalCodec<
    bigint
  >,
  regs_intr: sampled(
    PERF_SAMPLE_REGS_INTR,
    doc("Registers at the interrupt.", sampleRegs("sample_regs_intr")),
  ) as OptionalCodec<SampleRegs>,
  phys_addr: sampled(
    PERF_SAMPLE_PHYS_ADDR,
    doc("Physical address of the data.", x64),
  ) as OptionalCodec<bigint>,
  cgroup: sampled(PERF_SAMPLE_CGROUP, doc("Cgroup id.", u64)) as OptionalCodec<bigint>,
  data_page_size: sampled(
    PERF_SAMPLE_DATA_PAGE_SIZE,
    doc("Page size at the data address.", u64),
  ) as OptionalCodec<bigint>,
  code_page_size: sampled(
    PERF_SAMPLE_CODE_PAGE_SIZE,
    doc("Page size at the instruction pointer.", u64),
  ) as OptionalCodec<bigint>,
  aux_size: sampledCount(PERF_SAMPLE_AUX, u64, "aux") as HiddenCodec,
  aux: sampled(
    PERF_SAMPLE_AUX,
    doc("Snapshot of the AUX area.", bytes(countedBy("aux_size"))),
  ) as OptionalCodec<Uint8Array>,
} as const;

/** The number of elements of a field that a sample has where the bit is set in `sample_type`. */
function sampledCount(
  bit: number,
  codec: Codec<number> | Codec<bigint>,
  of: string,
): HiddenCodec {
  const counted = counter(codec, of);
  return { ...sampled(bit, counted), presence: "hidden", encode: counted.encode };
}

/** All that a SAMPLE record may hold; {@link sampleBody} is what those of one event do. */
export const sampleDeclaration: Codec<Sample> = struct("perf_record_sample", SAMPLE_FIELDS);

/** The `sample_id` trailer; {@link sampleIdTrailer} is that of one event. */
const sampleIdDeclaration: Codec<SampleId> = struct("sample_id", {
  pid: PID,
  tid: TID,
  time: TIME,
  id: ID,
  stream_id: STREAM_ID,
  cpu: CPU,
  cpu_reserved: CPU_RESERVED,
  identifier: IDENTIFIER,
});

/** What a sample's layout depends on. */
export type SampleShape = Pick<PerfEventAttr, AttrMask>;

/**
 * Declares the body of a SAMPLE record of an event.
 *
 * @param attr The event's attr; what counts is `sample_type`, `read_format`,
 * `branch_sample_type` and the register masks.
 * @param arch The machine, as `uname -m` prints it, for the names of registers.
 *
 * @example
 * ```ts
 * import { decode, emptyAttr, PERF_SAMPLE_IP, PERF_SAMPLE_TID, sampleBody } from "@perfdata/format";
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

/** A trailer has the same size in all records of an event. */
export type FixedSampleId = Codec<SampleId> & { readonly size: number };

/** The body of a SAMPLE record, as the event in the context declares it. */
export const sampleRecord: Codec<Sample> = ofEvent("SAMPLE", sampleDeclaration);
