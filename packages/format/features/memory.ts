import {
  array,
  type Codec,
  countedBy,
  counter,
  doc,
  exactly,
  headerString,
  hex,
  struct,
  type StructValue,
  u32,
  u64,
  x64,
} from "../struct.ts";

/** TOTAL_MEM. */
export const totalMem: Codec<bigint> = doc("`MemTotal` of `/proc/meminfo`, in kB.", u64);

/** CLN_SIZE. */
export const clnSize: Codec<number> = doc(
  "Bytes of a cache line of the recorded machine, to group addresses by.",
  u32,
);

const CACHE_LEVEL_FIELDS = {
  level: doc("1 for the cache next to the CPU, and so on outwards.", u32),
  line_size: doc("Bytes of a cache line.", u32),
  sets: doc("Number of sets.", u32),
  ways: doc("Lines in a set.", u32),
  type: doc("`Data`, `Instruction` or `Unified`.", headerString),
  size: doc("Size with its unit, as sysfs prints it: `32K`.", headerString),
  map: doc("The CPUs that share the cache, as `0-1`.", headerString),
};
/** The fields of CACHE. */
export const CACHE_FIELDS = {
  version: doc(
    "Version of the layout; perf reads no other than 1.",
    exactly(u32, 1, "cache version"),
  ),
  nr: doc("Number of caches.", counter(u32, "caches")),
  caches: doc(
    "All distinct caches, by level.",
    array(struct("cpu_cache_level", CACHE_LEVEL_FIELDS), countedBy("nr")),
  ),
} as const;

/** CACHE: the CPU caches. */
export type Cache = StructValue<typeof CACHE_FIELDS>;

/** CACHE. */
export const cache: Codec<Cache> = struct("cache", CACHE_FIELDS);

const MEMORY_NODE_FIELDS = {
  node: doc("Number of the NUMA node.", u64),
  size: doc("One more than the highest block number.", u64),
  nbits: doc("Bits of the bitmap; the same as `size`.", u64),
  set: doc(
    "Blocks that belong to the node: bit `n % 64` of word `n / 64` stands for block `n`.",
    array(x64, { field: "nbits", per: 64 }),
  ),
};
/** The fields of MEM_TOPOLOGY. */
export const MEM_TOPOLOGY_FIELDS = {
  version: doc("Version of the layout; perf reads no other than 1.", exactly(u64, 1n, "version")),
  block_size_bytes: doc("Bytes of a memory block, the unit of memory hotplug.", hex(u64)),
  nr: doc("Number of nodes.", counter(u64, "nodes")),
  nodes: doc(
    "The nodes, by number.",
    array(struct("memory_node", MEMORY_NODE_FIELDS), countedBy("nr")),
  ),
} as const;

/** MEM_TOPOLOGY: which blocks of physical memory each NUMA node has. */
export type MemTopology = StructValue<typeof MEM_TOPOLOGY_FIELDS>;

/** MEM_TOPOLOGY. */
export const memTopology: Codec<MemTopology> = struct("mem_topology", MEM_TOPOLOGY_FIELDS);
