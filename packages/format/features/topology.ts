import type { ByteReader, Residue } from "../struct/cursor.ts";
import {
  array,
  type Codec,
  countedBy,
  counter,
  doc,
  headerString,
  type HiddenCodec,
  i32,
  type OptionalCodec,
  probe,
  repeated,
  struct,
  type StructValue,
  u32,
  u64,
  when,
} from "../struct/mod.ts";

/** The fields of NRCPUS. */
export const NRCPUS_FIELDS = {
  nr_cpus_avail: [u32, "CPUs that the machine can have: one more than the highest number."],
  nr_cpus_online: [u32, "CPUs that were online when the file was written."],
} as const;

/** NRCPUS: numbers of CPUs. The available ones come first on disk. */
export type NrCpus = StructValue<typeof NRCPUS_FIELDS>;

export const nrCpus: Codec<NrCpus> = struct("nr_cpus", NRCPUS_FIELDS);

const CPU_FIELDS = {
  core_id: [i32, "Core of the CPU, numbered within its package; -1: unknown."],
  socket_id: [i32, "Package of the CPU, as the platform numbers it; -1: unknown."],
} as const;

/** Dies of a machine that has several in a package. */
export interface DieTopology {
  /** The CPUs of each die, as `0-3,8`. */
  die_cpus_list: string[];
  /** Padding of the lists, unless it is all zeros. */
  die_cpus_list_pad?: Residue;
  /** Die of each CPU, in CPU order. */
  die_ids: number[];
}

const dieTopology: Codec<DieTopology> = struct("die_topology", {
  nr_dies: doc("Number of CPU lists.", counter(u32, "die_cpus_list")),
  die_cpus_list: doc(
    "The CPUs of each die, as `0-3,8`.",
    array(headerString, countedBy("nr_dies")),
  ),
  // The encoder derives the number of ids from the length of the array.
  die_ids: doc("Die of each CPU, in CPU order.", array(i32, { field: "../layout.cpus" })),
});

/** Whether the `length` bytes at `at` are a list of CPUs as sysfs writes it, padded with zeros. */
function isCpuList(bytes: Uint8Array, at: number, length: number): boolean {
  let i = at;
  for (; i < at + length; i++) {
    const byte = bytes[i] as number;
    if (byte === 0) break;
    if (!((byte >= 0x30 && byte <= 0x39) || byte === 0x2c || byte === 0x2d)) return false;
  }
  return i > at && i < at + length && bytes[at + length - 1] === 0;
}

/** Whether `cpus` pairs of ids are followed by lists of CPUs and a die id for each CPU. */
function diesFollow(r: ByteReader, cpus: number): boolean {
  const listsEnd = r.end - 4 * cpus;
  let at = r.pos + 8 * cpus;
  if (at + 4 > listsEnd) return false;
  const lists = r.view.getUint32(at, r.littleEndian);
  at += 4;
  if (lists === 0 || lists > cpus) return false;
  for (let i = 0; i < lists; i++) {
    if (at + 4 > listsEnd) return false;
    const length = r.view.getUint32(at, r.littleEndian);
    at += 4;
    if (length > listsEnd - at || !isCpuList(r.bytes, at, length)) return false;
    at += length;
  }
  return true;
}

/**
 * Determines the number of id pairs, and whether dies follow. The section states neither; perf uses
 * NRCPUS. Here both follow from the bytes: the pairs end at the section's end or at the lists of the dies' CPUs,
 * which cannot be mistaken for pairs.
 */
function cpuLayout(r: ByteReader): { cpus: number; dies: boolean } {
  for (let cpus = 1; 12 * cpus < r.left; cpus++) {
    if (diesFollow(r, cpus)) return { cpus, dies: true };
  }
  return { cpus: Math.floor(r.left / 8), dies: false };
}

/** The fields of CPU_TOPOLOGY. */
export const CPU_TOPOLOGY_FIELDS = {
  nr_packages: [counter(u32, "package_cpus_list") as HiddenCodec, "Number of CPU lists."],
  package_cpus_list: [
    array(headerString, countedBy("nr_packages")) as Codec<string[]>,
    'The CPUs of each package: perf\'s "sibling sockets". A list such as `0-3,8-11`.',
  ],
  nr_cores: [counter(u32, "core_cpus_list") as HiddenCodec, "Number of CPU lists."],
  core_cpus_list: [
    array(headerString, countedBy("nr_cores")) as Codec<string[]>,
    'The hardware threads of each core: perf\'s "sibling threads".',
  ],
  layout: [
    probe(cpuLayout) as HiddenCodec,
    "Not on disk: how many CPUs follow, and whether dies do.",
  ],
  cpus: [
    array(struct("cpu_topology_map", CPU_FIELDS), { field: "layout.cpus" }) as Codec<
      StructValue<typeof CPU_FIELDS>[]
    >,
    "Core and package of each CPU, in CPU order; none in files before Linux 4.4.",
  ],
  dies: [
    when({ field: "layout.dies", is: true }, dieTopology) as OptionalCodec<DieTopology>,
    "Dies, if the machine has more than one in a package; since Linux 5.3.",
  ],
} as const;

/** CPU_TOPOLOGY: the CPUs of each core, die and package. */
export type CpuTopology = StructValue<typeof CPU_TOPOLOGY_FIELDS>;

export const cpuTopology: Codec<CpuTopology> = struct("cpu_topology", CPU_TOPOLOGY_FIELDS);

const NUMA_NODE_FIELDS = {
  node: [u32, "Number of the node in sysfs; there may be gaps."],
  mem_total: [u64, "Memory of the node, in kB."],
  mem_free: [u64, "Memory of the node that was free when the file was written, in kB."],
  cpus: [headerString, "The node's CPUs, as `0-3,8-11`; may be empty."],
} as const;
/** The fields of NUMA_TOPOLOGY. */
export const NUMA_TOPOLOGY_FIELDS = {
  nr: [counter(u32, "nodes") as HiddenCodec, "Number of nodes."],
  nodes: [
    array(struct("numa_topology_node", NUMA_NODE_FIELDS), countedBy("nr")) as Codec<
      StructValue<typeof NUMA_NODE_FIELDS>[]
    >,
    "The nodes that were online.",
  ],
} as const;

/** NUMA_TOPOLOGY: memory and CPUs of each node. */
export type NumaTopology = StructValue<typeof NUMA_TOPOLOGY_FIELDS>;

export const numaTopology: Codec<NumaTopology> = struct("numa_topology", NUMA_TOPOLOGY_FIELDS);

const HYBRID_NODE_FIELDS = {
  pmu_name: [headerString, "PMU of these CPUs: `cpu_core`, `cpu_atom`."],
  cpus: [headerString, "The CPUs of this kind, as `0-15`."],
} as const;
/** The fields of HYBRID_TOPOLOGY. */
export const HYBRID_TOPOLOGY_FIELDS = {
  nr: [counter(u32, "nodes") as HiddenCodec, "Number of kinds."],
  nodes: [
    array(struct("hybrid_topology_node", HYBRID_NODE_FIELDS), countedBy("nr")) as Codec<
      StructValue<typeof HYBRID_NODE_FIELDS>[]
    >,
    "The kinds of CPU.",
  ],
} as const;

/** HYBRID_TOPOLOGY: the CPUs of each kind. */
export type HybridTopology = StructValue<typeof HYBRID_TOPOLOGY_FIELDS>;

export const hybridTopology: Codec<HybridTopology> = struct(
  "hybrid_topology",
  HYBRID_TOPOLOGY_FIELDS,
);

/** First version of `/proc/schedstat` with names of domains. */
const SCHEDSTAT_NAMES = 17;

/** A scheduling domain of a CPU. */
export interface SchedDomain {
  /** Level of the domain: 0 is the innermost. */
  domain: number;
  /** Name of the level (`SMT`, `MC`, `PKG`); since version 17. */
  dname?: string;
  /** Padding of `dname`, unless it is all zeros. */
  dname_pad?: Residue;
  /** The domain's CPUs in hexadecimal. */
  cpumask: string;
  /** Padding of `cpumask`, unless it is all zeros. */
  cpumask_pad?: Residue;
  /** The same CPUs as a list: `0-3,8`. */
  cpulist: string;
  /** Padding of `cpulist`, unless it is all zeros. */
  cpulist_pad?: Residue;
}

/** The scheduling domains of a CPU. */
export interface CpuDomainMap {
  /** Number of the CPU. */
  cpu: number;
  /** The CPU's domains, from the innermost outwards. */
  domains: SchedDomain[];
}

const schedDomain: Codec<SchedDomain> = struct("domain_info", {
  domain: doc("Level of the domain: 0 is the innermost.", u32),
  dname: doc(
    "Name of the level (`SMT`, `MC`, `PKG`); since version 17.",
    when({ field: "../../schedstat_version", least: SCHEDSTAT_NAMES }, headerString),
  ),
  cpumask: doc("The domain's CPUs in hexadecimal, as in `/proc/schedstat`.", headerString),
  cpulist: doc("The same CPUs as a list: `0-3,8`.", headerString),
});

const cpuDomainMap: Codec<CpuDomainMap> = struct("cpu_domain_map", {
  cpu: doc("Number of the CPU.", u32),
  nr_domains: doc("Number of domains.", counter(u32, "domains")),
  domains: doc(
    "The domains in which the scheduler balances this CPU, from the innermost outwards.",
    array(schedDomain, countedBy("nr_domains")),
  ),
});

/** The fields of CPU_DOMAIN_INFO. */
export const CPU_DOMAIN_INFO_FIELDS = {
  schedstat_version: [u32, "Version in the first line of `/proc/schedstat`."],
  max_sched_domains: [u32, "One more than the highest level of a domain."],
  cpus: [
    repeated(cpuDomainMap, 8) as Codec<CpuDomainMap[]>,
    "The CPUs that were online, up to the end of the section.",
  ],
} as const;

/** CPU_DOMAIN_INFO: the scheduling domains of each CPU. */
export type CpuDomainInfo = StructValue<typeof CPU_DOMAIN_INFO_FIELDS>;

export const cpuDomainInfo: Codec<CpuDomainInfo> = struct(
  "cpu_domain_info",
  CPU_DOMAIN_INFO_FIELDS,
);
