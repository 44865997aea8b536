import { PERF_SAMPLE_BRANCH_COUNTERS, PERF_SAMPLE_BRANCH_HW_INDEX } from "../header/perf_event.ts";
import {
  array,
  bitfield,
  type BitfieldValue,
  bytes,
  type Codec,
  countedBy,
  counter,
  doc,
  enumeration,
  type FixedCodec,
  parts64,
  registers,
  struct,
  type StructCodec,
  type StructValue,
  u64,
  when,
  x64,
} from "../struct/mod.ts";

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
  to: [x64, "Target of the branch."],
  flags: [
    bitfield("perf_branch_entry flags", BRANCH_FLAGS) as FixedCodec<
      BitfieldValue<typeof BRANCH_FLAGS>
    >,
    "Type and prediction of the branch.",
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
  /** Counts of events for each entry; `PERF_SAMPLE_BRANCH_COUNTERS`. */
  counters?: bigint[];
}

/** Registers at a sample. */
export interface SampleRegs {
  /** 0: none, 1: 32-bit, 2: 64-bit (`PERF_SAMPLE_REGS_ABI_*`). */
  abi: bigint;
  /** Values by register name, in the order of the mask's bits; missing if `abi` is 0. */
  regs?: Record<string, bigint>;
}

/** A copy of the user stack. */
export interface StackUser {
  /** The bytes from the stack pointer up. */
  data: Uint8Array;
  /** The count of bytes that the kernel could read; missing if the dump is empty. */
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

/** `perf_sample_weight` as three parts of one u64, in either byte order. */
export const sampleWeight: Codec<SampleWeight> = parts64("perf_sample_weight", {
  var1_dw: 32,
  var2_w: 16,
  var3_w: 16,
});

/** Declares the user registers or the interrupt registers of a sample. */
export function sampleRegs(mask: "sample_regs_user" | "sample_regs_intr"): Codec<SampleRegs> {
  return struct("perf_regs", {
    abi: doc("Width of the registers.", enumeration(u64, { 0: "NONE", 1: "32", 2: "64" })),
    regs: when({ field: "abi", not: 0n }, registers("regs", mask)),
  });
}

/** Codec of {@link StackUser}. */
export const stackUser: Codec<StackUser> = struct("perf_stack_user", {
  size: counter(u64, "data"),
  data: doc("The bytes from the stack pointer up.", bytes(countedBy("size"))),
  dyn_size: when(
    { field: "data.length", least: 1 },
    doc("Number of bytes that the kernel could read.", u64),
  ),
});

/** Codec of {@link BranchStack}. */
export const branchStack: Codec<BranchStack> = struct("perf_branch_stack", {
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
