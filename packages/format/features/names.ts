/**
 * Numbers and names of the feature sections (`tools/perf/util/header.h`).
 *
 * @module
 */

/** Tracepoint formats, in the layout of a `trace.dat`. */
export const HEADER_TRACING_DATA = 1;
/** Build ids of the binaries that were hit. */
export const HEADER_BUILD_ID = 2;
/** Name of the machine. */
export const HEADER_HOSTNAME = 3;
/** Release of the kernel. */
export const HEADER_OSRELEASE = 4;
/** Version of the perf tool that recorded. */
export const HEADER_VERSION = 5;
/** Machine architecture, as `uname -m` prints it. */
export const HEADER_ARCH = 6;
/** Number of CPUs. */
export const HEADER_NRCPUS = 7;
/** CPU model in words. */
export const HEADER_CPUDESC = 8;
/** CPU model in numbers. */
export const HEADER_CPUID = 9;
/** Memory of the machine. */
export const HEADER_TOTAL_MEM = 10;
/** Command line of the recording. */
export const HEADER_CMDLINE = 11;
/** Attrs, ids and names of the events. */
export const HEADER_EVENT_DESC = 12;
/** CPUs of each core, die and package. */
export const HEADER_CPU_TOPOLOGY = 13;
/** NUMA nodes: memory and CPUs. */
export const HEADER_NUMA_TOPOLOGY = 14;
/** Flag: samples have branch stacks. The section is empty. */
export const HEADER_BRANCH_STACK = 15;
/** Numbers and names of the PMUs. */
export const HEADER_PMU_MAPPINGS = 16;
/** Groups of events. */
export const HEADER_GROUP_DESC = 17;
/** File offsets of the AUXTRACE records. */
export const HEADER_AUXTRACE = 18;
/** Flag: the file was written by `perf stat record`. The section is empty. */
export const HEADER_STAT = 19;
/** CPU caches. */
export const HEADER_CACHE = 20;
/** Times of the first and the last sample. */
export const HEADER_SAMPLE_TIME = 21;
/** Memory blocks of each NUMA node. */
export const HEADER_MEM_TOPOLOGY = 22;
/** Resolution of the clock that was chosen with `-k`. */
export const HEADER_CLOCKID = 23;
/** Version of the directory layout, if the file is part of a directory. */
export const HEADER_DIR_FORMAT = 24;
/** BPF programs that were loaded. */
export const HEADER_BPF_PROG_INFO = 25;
/** Type information of BPF programs. */
export const HEADER_BPF_BTF = 26;
/** Compression method of the records. */
export const HEADER_COMPRESSED = 27;
/** Capabilities of the PMU `cpu`. */
export const HEADER_CPU_PMU_CAPS = 28;
/** A pair of times taken together: time of day and the clock chosen with `-k`. */
export const HEADER_CLOCK_DATA = 29;
/** CPUs of each kind, on a hybrid machine. */
export const HEADER_HYBRID_TOPOLOGY = 30;
/** Capabilities of the other PMUs. */
export const HEADER_PMU_CAPS = 31;
/** Scheduling domains of each CPU. */
export const HEADER_CPU_DOMAIN_INFO = 32;
/** ELF machine and flags of the recorded programs. */
export const HEADER_E_MACHINE = 33;
/** Size of a cache line. */
export const HEADER_CLN_SIZE = 34;
/** simpleperf: files and their symbols. */
export const HEADER_SP_FILE = 128;
/** simpleperf: properties of the recording and its device. */
export const HEADER_SP_META_INFO = 129;
/** simpleperf: the byte range of each file in {@link HEADER_SP_DEBUG_UNWIND_FILE}. */
export const HEADER_SP_DEBUG_UNWIND = 130;
/** simpleperf: contents of files needed for unwinding. */
export const HEADER_SP_DEBUG_UNWIND_FILE = 131;
/** simpleperf: files and their symbols, as protobuf messages. */
export const HEADER_SP_FILE2 = 132;
/** simpleperf: branches decoded from ETM data. */
export const HEADER_SP_ETM_BRANCH_LIST = 133;
/** simpleperf: maps at the start of the recording. */
export const HEADER_SP_INIT_MAP = 134;
/** hiperf: files and their symbols. */
export const HEADER_HI_FILES_SYMBOL = 192;
/** hiperf: command that was run. */
export const HEADER_HI_WORKLOAD_CMD = 193;
/** hiperf: time of the recording. */
export const HEADER_HI_RECORD_TIME = 194;
/** hiperf: flag of an off-CPU recording. */
export const HEADER_HI_CPU_OFF = 195;
/** hiperf: flag of a recording with a device host; call stacks in older versions. */
export const HEADER_HI_HM_DEVHOST = 196;
/** hiperf: call stacks without duplicates. */
export const HEADER_HI_FILES_UNISTACK_TABLE = 197;

/** Bits of the feature bitmap in the file header. */
export const HEADER_FEAT_BITS = 256;

/** Names of the features, without their prefix. */
export const FEATURE_NAMES: Readonly<Record<number, string>> = {
  1: "TRACING_DATA",
  2: "BUILD_ID",
  3: "HOSTNAME",
  4: "OSRELEASE",
  5: "VERSION",
  6: "ARCH",
  7: "NRCPUS",
  8: "CPUDESC",
  9: "CPUID",
  10: "TOTAL_MEM",
  11: "CMDLINE",
  12: "EVENT_DESC",
  13: "CPU_TOPOLOGY",
  14: "NUMA_TOPOLOGY",
  15: "BRANCH_STACK",
  16: "PMU_MAPPINGS",
  17: "GROUP_DESC",
  18: "AUXTRACE",
  19: "STAT",
  20: "CACHE",
  21: "SAMPLE_TIME",
  22: "MEM_TOPOLOGY",
  23: "CLOCKID",
  24: "DIR_FORMAT",
  25: "BPF_PROG_INFO",
  26: "BPF_BTF",
  27: "COMPRESSED",
  28: "CPU_PMU_CAPS",
  29: "CLOCK_DATA",
  30: "HYBRID_TOPOLOGY",
  31: "PMU_CAPS",
  32: "CPU_DOMAIN_INFO",
  33: "E_MACHINE",
  34: "CLN_SIZE",
  128: "SP_FILE",
  129: "SP_META_INFO",
  130: "SP_DEBUG_UNWIND",
  131: "SP_DEBUG_UNWIND_FILE",
  132: "SP_FILE2",
  133: "SP_ETM_BRANCH_LIST",
  134: "SP_INIT_MAP",
  192: "HI_FILES_SYMBOL",
  193: "HI_WORKLOAD_CMD",
  194: "HI_RECORD_TIME",
  195: "HI_CPU_OFF",
  196: "HI_HM_DEVHOST",
  197: "HI_FILES_UNISTACK_TABLE",
};

/**
 * Returns the name of a feature without its `HEADER_` prefix, or `FEATURE_<id>` if the id is unknown.
 *
 * @param id Bit of the feature bitmap, or `feat_id` of a HEADER_FEATURE record.
 *
 * @example
 * ```ts
 * import { featureName } from "@perfdata/format/constants";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(featureName(3), "HOSTNAME");
 * assertEquals(featureName(99), "FEATURE_99");
 * ```
 */
export function featureName(id: number): string {
  return FEATURE_NAMES[id] ?? `FEATURE_${id}`;
}
