import type { PerfEventAttr } from "./attr.ts";
import { PerfDataError } from "./error.ts";
import type { SampleId } from "./record.ts";
import { registerName } from "./registers.ts";
import {
  array,
  bitfield,
  bytes,
  choice,
  type Codec,
  countedBy,
  counter,
  doc,
  enumeration,
  type Fields,
  reserved,
  type Scope,
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

const BRANCH_ENTRY_FIELDS = {
  from: doc("Address of the branch.", x64),
  to: doc("Where it went.", x64),
  flags: doc(
    "What kind of branch it was and how it was predicted.",
    bitfield("perf_branch_entry flags", {
      mispred: 1,
      predicted: 1,
      in_tx: 1,
      abort: 1,
      cycles: 16,
      type: 4,
      spec: 2,
      new_type: 4,
      priv: 3,
    }),
  ),
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

/** The structure of one counter value under `read_format`. */
function readValue(format: number): Codec<ReadValue> {
  return struct("read_value", {
    value: doc("Events counted.", u64),
    ...(format & PERF_FORMAT_ID ? { id: doc("Id of the event.", u64) } : {}),
    ...(format & PERF_FORMAT_LOST ? { lost: doc("Samples lost by the event.", u64) } : {}),
  }) as Codec<unknown> as Codec<ReadValue>;
}

const readCodecs = new Map<number, Codec<ReadFormat>>();

/**
 * Declares `struct read_format` for the bits in `format`, in all its shapes.
 *
 * @param format `read_format` of the event's attr.
 */
export function readFormat(format: number): Codec<ReadFormat> {
  let codec = readCodecs.get(format);
  if (codec !== undefined) return codec;
  const times: Fields = {
    ...(format & PERF_FORMAT_TOTAL_TIME_ENABLED
      ? { time_enabled: doc("Time the event was enabled, ns.", u64) }
      : {}),
    ...(format & PERF_FORMAT_TOTAL_TIME_RUNNING
      ? { time_running: doc("Time the event was counting, ns.", u64) }
      : {}),
  };
  const value = readValue(format);
  if (format & PERF_FORMAT_GROUP) {
    codec = struct("read_format", {
      nr: counter(u64, "values"),
      ...times,
      values: array(value, countedBy("nr")),
    }) as Codec<unknown> as Codec<ReadFormat>;
  } else {
    // The kernel puts the times between `value` and `id`.
    const fields: Fields = {
      value: doc("Events counted.", u64),
      ...times,
      ...(format & PERF_FORMAT_ID ? { id: doc("Id of the event.", u64) } : {}),
      ...(format & PERF_FORMAT_LOST ? { lost: doc("Samples lost by the event.", u64) } : {}),
    };
    const flat = struct("read_format", fields) as Codec<unknown> as Codec<
      ReadValue & Omit<ReadFormat, "values">
    >;
    codec = {
      ...flat as Codec<unknown>,
      decode(r, scope) {
        const { value, id, lost, ...rest } = flat.decode(r, scope);
        return {
          ...rest,
          values: [{
            value,
            ...(id === undefined ? {} : { id }),
            ...(lost === undefined ? {} : { lost }),
          }],
        };
      },
      encode(w, read, scope) {
        const { values, ...rest } = read;
        flat.encode(w, { ...rest, ...values[0] ?? { value: 0n } }, scope);
      },
    };
  }
  readCodecs.set(format, codec);
  return codec;
}

/** `perf_sample_weight` seen as three parts; they are parts of one u64 in either byte order. */
const sampleWeight: Codec<SampleWeight> = {
  type: "perf_sample_weight",
  size: 8,
  display: { as: "struct" },
  decode(r, scope) {
    const word = u64.decode(r, scope);
    return {
      var1_dw: Number(word & 0xffff_ffffn),
      var2_w: Number((word >> 32n) & 0xffffn),
      var3_w: Number(word >> 48n),
    };
  },
  encode(w, value, scope) {
    const word = (BigInt(value.var3_w) << 48n) | (BigInt(value.var2_w) << 32n) |
      BigInt(value.var1_dw);
    u64.encode(w, word, scope);
  },
};

function registers(mask: bigint, arch: string | undefined): Codec<SampleRegs> {
  const regs: Record<string, Codec<bigint>> = {};
  for (let bit = 0; bit < 64; bit++) {
    if ((mask >> BigInt(bit)) & 1n) regs[registerName(arch, bit)] = x64;
  }
  return struct("perf_regs", {
    abi: doc("Width of the registers.", enumeration(u64, { 0: "NONE", 1: "32", 2: "64" })),
    regs: when(({ abi }: Scope) => abi !== 0n, struct("regs", regs)),
  }) as Codec<unknown> as Codec<SampleRegs>;
}

const stackUser = struct("perf_stack_user", {
  size: counter(u64, "data"),
  data: doc("The bytes from the stack pointer up.", bytes(countedBy("size"))),
  dyn_size: when(
    (scope) => (scope["data"] as Uint8Array).length > 0,
    doc("How many of the bytes the kernel could read.", u64),
  ),
});

function branchStack(branchSampleType: bigint): Codec<BranchStack> {
  const type = Number(branchSampleType & 0xffff_ffffn);
  return struct("perf_branch_stack", {
    nr: counter(u64, "entries"),
    ...(type & PERF_SAMPLE_BRANCH_HW_INDEX
      ? { hw_idx: doc("Index of the newest entry in the hardware.", u64) }
      : {}),
    entries: array(perfBranchEntry, countedBy("nr")),
    ...(type & PERF_SAMPLE_BRANCH_COUNTERS
      ? { counters: array(x64, (scope) => (scope["entries"] as unknown[]).length) }
      : {}),
  }) as Codec<unknown> as Codec<BranchStack>;
}

// The fields that both a sample and a `sample_id` trailer may have.
const IDENTIFIER: Fields = { identifier: doc("Id of the event.", u64) };
const TID: Fields = { pid: doc("Process id.", u32), tid: doc("Thread id.", u32) };
const TIME: Fields = { time: doc("Time in ns of the event's clock.", u64) };
const ID: Fields = { id: doc("Id of the event.", u64) };
const STREAM_ID: Fields = { stream_id: doc("Id of the event in this context.", u64) };
const CPU: Fields = { cpu: doc("CPU number.", u32), cpu_reserved: reserved(4) };

/** What a sample's layout depends on. */
export type SampleShape = Pick<
  PerfEventAttr,
  "sample_type" | "read_format" | "branch_sample_type" | "sample_regs_user" | "sample_regs_intr"
>;

/**
 * Declares the body of a SAMPLE record of an event.
 *
 * The order of the fields is that of `perf_output_sample` in `kernel/events/core.c`.
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
  const type = Number(attr.sample_type & 0xffff_ffffn);
  const fields: Record<string, Codec<unknown>> = {};
  const add = (bit: number, declared: Fields) => {
    if (type & bit) Object.assign(fields, declared);
  };
  add(PERF_SAMPLE_IDENTIFIER, IDENTIFIER);
  add(PERF_SAMPLE_IP, { ip: doc("Instruction pointer.", x64) });
  add(PERF_SAMPLE_TID, TID);
  add(PERF_SAMPLE_TIME, TIME);
  add(PERF_SAMPLE_ADDR, { addr: doc("Data address.", x64) });
  add(PERF_SAMPLE_ID, ID);
  add(PERF_SAMPLE_STREAM_ID, STREAM_ID);
  add(PERF_SAMPLE_CPU, CPU);
  add(PERF_SAMPLE_PERIOD, { period: doc("Events since the previous sample.", u64) });
  add(PERF_SAMPLE_READ, { read: readFormat(Number(attr.read_format & 0xffff_ffffn)) });
  add(PERF_SAMPLE_CALLCHAIN, {
    callchain_nr: counter(u64, "callchain"),
    callchain: doc("Call chain, innermost first.", array(x64, countedBy("callchain_nr"))),
  });
  add(PERF_SAMPLE_RAW, {
    raw_size: counter(u32, "raw"),
    raw: doc("Raw data of a tracepoint or PMU.", bytes(countedBy("raw_size"))),
  });
  add(PERF_SAMPLE_BRANCH_STACK, { branch_stack: branchStack(attr.branch_sample_type) });
  add(PERF_SAMPLE_REGS_USER, { regs_user: registers(attr.sample_regs_user, arch) });
  add(PERF_SAMPLE_STACK_USER, { stack_user: stackUser });
  // Two views of one word; the kernel refuses both bits at once (PERF_SAMPLE_WEIGHT_TYPE).
  if (type & PERF_SAMPLE_WEIGHT_STRUCT) fields["weight_struct"] = sampleWeight;
  else add(PERF_SAMPLE_WEIGHT, { weight: doc("Cost of the access.", u64) });
  add(PERF_SAMPLE_DATA_SRC, { data_src: doc("Where the data came from.", x64) });
  add(PERF_SAMPLE_TRANSACTION, { transaction: doc("Transaction flags.", x64) });
  add(PERF_SAMPLE_REGS_INTR, { regs_intr: registers(attr.sample_regs_intr, arch) });
  add(PERF_SAMPLE_PHYS_ADDR, { phys_addr: doc("Physical address of the data.", x64) });
  add(PERF_SAMPLE_CGROUP, { cgroup: doc("Cgroup id.", u64) });
  add(PERF_SAMPLE_DATA_PAGE_SIZE, {
    data_page_size: doc("Page size at the data address.", u64),
  });
  add(PERF_SAMPLE_CODE_PAGE_SIZE, {
    code_page_size: doc("Page size at the instruction pointer.", u64),
  });
  add(PERF_SAMPLE_AUX, {
    aux_size: counter(u64, "aux"),
    aux: doc("Snapshot of the AUX area.", bytes(countedBy("aux_size"))),
  });
  return struct("perf_record_sample", fields) as Codec<unknown> as Codec<Sample>;
}

/**
 * Declares the `sample_id` trailer of an event's other records (`sample_id_all`).
 *
 * @param sampleType `sample_type` of the event's attr.
 */
export function sampleIdTrailer(sampleType: bigint): FixedSampleId {
  const type = Number(sampleType & 0xffff_ffffn);
  const fields: Record<string, Codec<unknown>> = {};
  const add = (bit: number, declared: Fields) => {
    if (type & bit) Object.assign(fields, declared);
  };
  add(PERF_SAMPLE_TID, TID);
  add(PERF_SAMPLE_TIME, TIME);
  add(PERF_SAMPLE_ID, ID);
  add(PERF_SAMPLE_STREAM_ID, STREAM_ID);
  add(PERF_SAMPLE_CPU, CPU);
  add(PERF_SAMPLE_IDENTIFIER, IDENTIFIER);
  const size = 8 * [
    PERF_SAMPLE_TID,
    PERF_SAMPLE_TIME,
    PERF_SAMPLE_ID,
    PERF_SAMPLE_STREAM_ID,
    PERF_SAMPLE_CPU,
    PERF_SAMPLE_IDENTIFIER,
  ].filter((bit) => type & bit).length;
  const codec = struct("sample_id", fields) as Codec<unknown> as Codec<SampleId>;
  return { ...codec, size };
}

/** A trailer has the same size in all records of an event. */
export type FixedSampleId = Codec<SampleId> & { readonly size: number };

/** The body of a SAMPLE record, as the event in the context declares it. */
export const sampleRecord: Codec<Sample> = choice("perf_record_sample", (_scope, { sample }) => {
  if (sample === undefined) throw new PerfDataError("SAMPLE: its event is not known");
  return sample;
});
