import {
  array,
  type Codec,
  countedBy,
  counter,
  doc,
  exactly,
  type FixedCodec,
  headerString,
  hex,
  type HiddenCodec,
  struct,
  type StructValue,
  u32,
  u64,
  x64,
} from "../struct/mod.ts";

export const totalMem: Codec<bigint> = doc("`MemTotal` of `/proc/meminfo`, in kB.", u64);

export const clnSize: Codec<number> = doc(
  "Bytes of a cache line of the recorded machine, for grouping addresses.",
  u32,
);

const CACHE_LEVEL_FIELDS = {
  level: [u32, "1 is the cache closest to the CPU."],
  line_size: [u32, "Bytes of a cache line."],
  sets: [u32, "Number of sets."],
  ways: [u32, "Lines in a set."],
  type: [headerString, "`Data`, `Instruction` or `Unified`."],
  size: [headerString, "Size with its unit, as sysfs prints it: `32K`."],
  map: [headerString, "The CPUs that share the cache, as `0-1`."],
} as const;
/** The fields of CACHE. */
export const CACHE_FIELDS = {
  version: [
    exactly(u32, 1, "cache version") as Codec<number>,
    "Version of the layout; perf reads only 1.",
  ],
  nr: [counter(u32, "caches") as HiddenCodec, "Number of caches."],
  caches: [
    array(struct("cpu_cache_level", CACHE_LEVEL_FIELDS), countedBy("nr")) as Codec<
      StructValue<typeof CACHE_LEVEL_FIELDS>[]
    >,
    "All distinct caches, by level.",
  ],
} as const;

/** CACHE: the CPU caches. */
export type Cache = StructValue<typeof CACHE_FIELDS>;

export const cache: Codec<Cache> = struct("cache", CACHE_FIELDS);

const MEMORY_NODE_FIELDS = {
  node: [u64, "Number of the NUMA node."],
  size: [u64, "One more than the highest block number."],
  nbits: [u64, "Bits of the bitmap; the same as `size`."],
  set: [
    array(x64, { field: "nbits", per: 64 }) as Codec<bigint[]>,
    "Blocks that belong to the node: bit `n % 64` of word `n / 64` stands for block `n`.",
  ],
} as const;
/** The fields of MEM_TOPOLOGY. */
export const MEM_TOPOLOGY_FIELDS = {
  version: [
    exactly(u64, 1n, "version") as Codec<bigint>,
    "Version of the layout; perf reads only 1.",
  ],
  block_size_bytes: [
    hex(u64) as FixedCodec<bigint>,
    "Bytes of a memory block, the unit of memory hotplug.",
  ],
  nr: [counter(u64, "nodes") as HiddenCodec, "Number of nodes."],
  nodes: [
    array(struct("memory_node", MEMORY_NODE_FIELDS), countedBy("nr")) as Codec<
      StructValue<typeof MEMORY_NODE_FIELDS>[]
    >,
    "The nodes, by number.",
  ],
} as const;

/** MEM_TOPOLOGY: the blocks of physical memory of each NUMA node. */
export type MemTopology = StructValue<typeof MEM_TOPOLOGY_FIELDS>;

export const memTopology: Codec<MemTopology> = struct("mem_topology", MEM_TOPOLOGY_FIELDS);
