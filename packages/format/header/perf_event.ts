/**
 * Names and numbers of the kernel's perf ABI (`include/uapi/linux/perf_event.h`).
 *
 * @module
 */

export * from "../records/record_types.ts";

/** `sample_type` bit: instruction pointer. */
export const PERF_SAMPLE_IP = 0x1;
/** `sample_type` bit: process and thread id. */
export const PERF_SAMPLE_TID = 0x2;
/** `sample_type` bit: time in ns. */
export const PERF_SAMPLE_TIME = 0x4;
/** `sample_type` bit: data address. */
export const PERF_SAMPLE_ADDR = 0x8;
/** `sample_type` bit: counter values, shaped by `read_format`. */
export const PERF_SAMPLE_READ = 0x10;
/** `sample_type` bit: call chain. */
export const PERF_SAMPLE_CALLCHAIN = 0x20;
/** `sample_type` bit: id of the event. */
export const PERF_SAMPLE_ID = 0x40;
/** `sample_type` bit: CPU number. */
export const PERF_SAMPLE_CPU = 0x80;
/** `sample_type` bit: events since the previous sample. */
export const PERF_SAMPLE_PERIOD = 0x100;
/** `sample_type` bit: id of the event on this CPU or thread. */
export const PERF_SAMPLE_STREAM_ID = 0x200;
/** `sample_type` bit: raw data of a tracepoint or PMU. */
export const PERF_SAMPLE_RAW = 0x400;
/** `sample_type` bit: branch stack. */
export const PERF_SAMPLE_BRANCH_STACK = 0x800;
/** `sample_type` bit: user registers. */
export const PERF_SAMPLE_REGS_USER = 0x1000;
/** `sample_type` bit: copy of the user stack. */
export const PERF_SAMPLE_STACK_USER = 0x2000;
/** `sample_type` bit: cost of the access, one word. */
export const PERF_SAMPLE_WEIGHT = 0x4000;
/** `sample_type` bit: source of the data. */
export const PERF_SAMPLE_DATA_SRC = 0x8000;
/** `sample_type` bit: id of the event, at a fixed position. */
export const PERF_SAMPLE_IDENTIFIER = 0x10000;
/** `sample_type` bit: transaction flags. */
export const PERF_SAMPLE_TRANSACTION = 0x20000;
/** `sample_type` bit: registers at the interrupt. */
export const PERF_SAMPLE_REGS_INTR = 0x40000;
/** `sample_type` bit: physical address of the data. */
export const PERF_SAMPLE_PHYS_ADDR = 0x80000;
/** `sample_type` bit: snapshot of the AUX area. */
export const PERF_SAMPLE_AUX = 0x100000;
/** `sample_type` bit: cgroup id. */
export const PERF_SAMPLE_CGROUP = 0x200000;
/** `sample_type` bit: page size at the data address. */
export const PERF_SAMPLE_DATA_PAGE_SIZE = 0x400000;
/** `sample_type` bit: page size at the instruction pointer. */
export const PERF_SAMPLE_CODE_PAGE_SIZE = 0x800000;
/** `sample_type` bit: cost of the access, three parts. */
export const PERF_SAMPLE_WEIGHT_STRUCT = 0x1000000;
/** Names of the bits of `sample_type`, without their prefix. */
export const PERF_SAMPLE_NAMES: Readonly<Record<number, string>> = {
  0x1: "IP",
  0x2: "TID",
  0x4: "TIME",
  0x8: "ADDR",
  0x10: "READ",
  0x20: "CALLCHAIN",
  0x40: "ID",
  0x80: "CPU",
  0x100: "PERIOD",
  0x200: "STREAM_ID",
  0x400: "RAW",
  0x800: "BRANCH_STACK",
  0x1000: "REGS_USER",
  0x2000: "STACK_USER",
  0x4000: "WEIGHT",
  0x8000: "DATA_SRC",
  0x10000: "IDENTIFIER",
  0x20000: "TRANSACTION",
  0x40000: "REGS_INTR",
  0x80000: "PHYS_ADDR",
  0x100000: "AUX",
  0x200000: "CGROUP",
  0x400000: "DATA_PAGE_SIZE",
  0x800000: "CODE_PAGE_SIZE",
  0x1000000: "WEIGHT_STRUCT",
};

/** `read_format` bit: time for which the event was enabled, in ns. */
export const PERF_FORMAT_TOTAL_TIME_ENABLED = 0x1;
/** `read_format` bit: time for which the event was counting, in ns. */
export const PERF_FORMAT_TOTAL_TIME_RUNNING = 0x2;
/** `read_format` bit: id of each event. */
export const PERF_FORMAT_ID = 0x4;
/** `read_format` bit: values of the whole group. */
export const PERF_FORMAT_GROUP = 0x8;
/** `read_format` bit: samples lost by each event. */
export const PERF_FORMAT_LOST = 0x10;
/** Names of the bits of `read_format`, without their prefix. */
export const PERF_FORMAT_NAMES: Readonly<Record<number, string>> = {
  0x1: "TOTAL_TIME_ENABLED",
  0x2: "TOTAL_TIME_RUNNING",
  0x4: "ID",
  0x8: "GROUP",
  0x10: "LOST",
};

/** Names of the bits of `branch_sample_type`, without their `PERF_SAMPLE_BRANCH_` prefix. */
export const PERF_SAMPLE_BRANCH_NAMES: Readonly<Record<number, string>> = {
  0x1: "USER",
  0x2: "KERNEL",
  0x4: "HV",
  0x8: "ANY",
  0x10: "ANY_CALL",
  0x20: "ANY_RETURN",
  0x40: "IND_CALL",
  0x80: "ABORT_TX",
  0x100: "IN_TX",
  0x200: "NO_TX",
  0x400: "COND",
  0x800: "CALL_STACK",
  0x1000: "IND_JUMP",
  0x2000: "CALL",
  0x4000: "NO_FLAGS",
  0x8000: "NO_CYCLES",
  0x10000: "TYPE_SAVE",
  0x20000: "HW_INDEX",
  0x40000: "PRIV_SAVE",
  0x80000: "COUNTERS",
};
/** `branch_sample_type` bit: record calls that have not returned. */
export const PERF_SAMPLE_BRANCH_CALL_STACK = 0x800;
/** `branch_sample_type` bit: the branch stack begins with `hw_idx`. */
export const PERF_SAMPLE_BRANCH_HW_INDEX = 0x20000;
/** `branch_sample_type` bit: record all taken branches. */
export const PERF_SAMPLE_BRANCH_ANY = 0x8;
/** `branch_sample_type` bit: a word of counters for each entry follows the branch stack. */
export const PERF_SAMPLE_BRANCH_COUNTERS = 0x80000;

/** Lowest value of a call chain entry that is a context marker and not an address. */
export const PERF_CONTEXT_MAX = 0xffff_ffff_ffff_f001n;
/** Call chain: the hypervisor's frames follow. */
export const PERF_CONTEXT_HV = 0xffff_ffff_ffff_ffe0n;
/** Call chain: the kernel's frames follow. */
export const PERF_CONTEXT_KERNEL = 0xffff_ffff_ffff_ff80n;
/** Call chain: the user's frames follow. */
export const PERF_CONTEXT_USER = 0xffff_ffff_ffff_fe00n;
/** Call chain: the user's frames are in a later CALLCHAIN_DEFERRED record; its cookie follows the marker. */
export const PERF_CONTEXT_USER_DEFERRED = 0xffff_ffff_ffff_fd80n;
/** Call chain: a guest's frames follow. */
export const PERF_CONTEXT_GUEST = 0xffff_ffff_ffff_f800n;
/** Call chain: frames of a guest's kernel follow. */
export const PERF_CONTEXT_GUEST_KERNEL = 0xffff_ffff_ffff_f780n;
/** Call chain: frames of a guest's user follow. */
export const PERF_CONTEXT_GUEST_USER = 0xffff_ffff_ffff_f600n;
/** Context markers in call chains, without their `PERF_CONTEXT_` prefix. */
export const PERF_CONTEXT_NAMES: ReadonlyMap<bigint, string> = new Map([
  [PERF_CONTEXT_HV, "HV"],
  [PERF_CONTEXT_KERNEL, "KERNEL"],
  [PERF_CONTEXT_USER, "USER"],
  [PERF_CONTEXT_USER_DEFERRED, "USER_DEFERRED"],
  [PERF_CONTEXT_GUEST, "GUEST"],
  [PERF_CONTEXT_GUEST_KERNEL, "GUEST_KERNEL"],
  [PERF_CONTEXT_GUEST_USER, "GUEST_USER"],
]);

/** Mask of the CPU mode in `misc`. */
export const PERF_RECORD_MISC_CPUMODE_MASK = 0x7;
/** CPU mode: not known. */
export const PERF_RECORD_MISC_CPUMODE_UNKNOWN = 0;
/** CPU mode: the kernel. */
export const PERF_RECORD_MISC_KERNEL = 1;
/** CPU mode: a user's program. */
export const PERF_RECORD_MISC_USER = 2;
/** CPU mode: the hypervisor. */
export const PERF_RECORD_MISC_HYPERVISOR = 3;
/** CPU mode: the kernel of a guest. */
export const PERF_RECORD_MISC_GUEST_KERNEL = 4;
/** CPU mode: a program in a guest. */
export const PERF_RECORD_MISC_GUEST_USER = 5;
/** `misc`: perf's reading of /proc/PID/maps timed out. */
export const PERF_RECORD_MISC_PROC_MAP_PARSE_TIMEOUT = 0x1000;
/** `misc`: MMAP: a data mapping. */
export const PERF_RECORD_MISC_MMAP_DATA = 0x2000;
/** `misc`: COMM: the name comes from exec. */
export const PERF_RECORD_MISC_COMM_EXEC = 0x2000;
/** `misc`: FORK: reserved for perf's internal use. */
export const PERF_RECORD_MISC_FORK_EXEC = 0x2000;
/** `misc`: SWITCH: the thread leaves the CPU. */
export const PERF_RECORD_MISC_SWITCH_OUT = 0x2000;
/** `misc`: SAMPLE: `ip` is exactly the instruction that caused the sample. */
export const PERF_RECORD_MISC_EXACT_IP = 0x4000;
/** `misc`: SWITCH: the thread was preempted. */
export const PERF_RECORD_MISC_SWITCH_OUT_PREEMPT = 0x4000;
/** `misc`: MMAP2: has a build id. */
export const PERF_RECORD_MISC_MMAP_BUILD_ID = 0x4000;
/** `misc`: HEADER_BUILD_ID, and events of the BUILD_ID feature: the length of the build id is recorded. */
export const PERF_RECORD_MISC_BUILD_ID_SIZE = 0x8000;
/** `misc`: reserved. */
export const PERF_RECORD_MISC_EXT_RESERVED = 0x8000;
/** CPU modes of `misc & PERF_RECORD_MISC_CPUMODE_MASK`. */
export const CPUMODE_NAMES: readonly string[] = [
  "UNKNOWN",
  "KERNEL",
  "USER",
  "HYPERVISOR",
  "GUEST_KERNEL",
  "GUEST_USER",
];

/** `type` of an attr: an event that the kernel defines for all processors. */
export const PERF_TYPE_HARDWARE = 0;
/** `type` of an attr: an event that the kernel counts in software. */
export const PERF_TYPE_SOFTWARE = 1;
/** `type` of an attr: a tracepoint; `config` is its id. */
export const PERF_TYPE_TRACEPOINT = 2;
/** `type` of an attr: a raw code of the CPU's PMU. */
export const PERF_TYPE_RAW = 4;
/** `type` of an attr: a breakpoint of the CPU. */
export const PERF_TYPE_BREAKPOINT = 5;
/** `flags` of an AUX record: data was lost because the buffer was full. */
export const PERF_AUX_FLAG_TRUNCATED = 0x1;
/** `flags` of an AUX record: a snapshot from an overwritten buffer. */
export const PERF_AUX_FLAG_OVERWRITE = 0x2;
/** `flags` of an AUX record: the record has gaps. */
export const PERF_AUX_FLAG_PARTIAL = 0x4;
/** `flags` of an AUX record: the sample collided with another. */
export const PERF_AUX_FLAG_COLLISION = 0x8;
/** `flags` of an AUX record: mask of the PMU-specific format. */
export const PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK = 0xff00;
/** Names of the bits of `flags` of an AUX record, without their prefix. */
export const PERF_AUX_FLAG_NAMES: Readonly<Record<number, string>> = {
  0x1: "TRUNCATED",
  0x2: "OVERWRITE",
  0x4: "PARTIAL",
  0x8: "COLLISION",
};

/** Names of `PERF_BR_*`, the `type` of a branch: `branch_type_name` of tools/perf/util/branch.c. */
export const PERF_BRANCH_TYPE_NAMES: readonly string[] = [
  "",
  "COND",
  "UNCOND",
  "IND",
  "CALL",
  "IND_CALL",
  "RET",
  "SYSCALL",
  "SYSRET",
  "COND_CALL",
  "COND_RET",
  "ERET",
  "IRQ",
  "SERROR",
  "NO_TX",
];
