/** Topology of CPUs and memory, from the features NUMA_TOPOLOGY, CPU_TOPOLOGY and MEM_TOPOLOGY. */
import {
  HEADER_CACHE,
  HEADER_CPU_TOPOLOGY,
  HEADER_MEM_TOPOLOGY,
  HEADER_NUMA_TOPOLOGY,
} from "@perfdata/format/constants";
import type { PerfDataReader } from "@perfdata/format/records";
import { recordedFeatures } from "./recorded_features.ts";

/** Limit of the CPUs in a list, which bounds the work for a damaged file. */
const MOST_CPUS = 1 << 16;

/** Feature sections of a pipe's records, by number. */
export type StreamFeatures = Map<number, Uint8Array>;

/** The core, die and socket of a CPU. */
export interface CpuPlace {
  /** Number of the core in its die. */
  readonly core: number;
  /** Number of the die in its socket. */
  readonly die: number;
  /** Number of the socket. */
  readonly socket: number;
}

/**
 * Reads the NUMA node of each CPU, if it is recorded.
 *
 * @param stream Features from a pipe's records.
 */
export async function recordedNodes(
  reader: PerfDataReader,
  stream: StreamFeatures,
): Promise<Map<number, number>> {
  const features = await recordedFeatures(reader, new Set([HEADER_NUMA_TOPOLOGY]), stream);
  const found = features.get(HEADER_NUMA_TOPOLOGY) as
    | { readonly nodes: readonly { readonly node: number; readonly cpus: string }[] }
    | undefined;
  const nodes = new Map<number, number>();
  for (const { node, cpus } of found?.nodes ?? []) {
    for (const cpu of cpusIn(cpus)) nodes.set(cpu, node);
  }
  return nodes;
}

/**
 * Reads core, die and socket of each CPU, if they are recorded. Machines with one die per socket
 * have die 0.
 *
 * @param stream Features from a pipe's records.
 */
export async function recordedCpus(
  reader: PerfDataReader,
  stream: StreamFeatures,
): Promise<readonly CpuPlace[]> {
  const features = await recordedFeatures(reader, new Set([HEADER_CPU_TOPOLOGY]), stream);
  const found = features.get(HEADER_CPU_TOPOLOGY) as
    | {
      readonly cpus: readonly { readonly core_id: number; readonly socket_id: number }[];
      readonly dies?: { readonly die_ids: readonly number[] };
    }
    | undefined;
  return (found?.cpus ?? []).map(({ core_id, socket_id }, cpu) => ({
    core: core_id,
    die: found?.dies?.die_ids[cpu] ?? 0,
    socket: socket_id,
  }));
}

/** A cache. It is identified by its level and the first CPU that shares it. */
export interface CpuCache {
  /** Level of the cache, 1 being next to the CPU. */
  readonly level: number;
  /** First CPU that shares it. */
  readonly first: number;
}

/**
 * Reads the data caches of each CPU, outermost last, if they are recorded.
 *
 * @param stream Features from a pipe's records.
 */
export async function recordedCaches(
  reader: PerfDataReader,
  stream: StreamFeatures,
): Promise<Map<number, CpuCache[]>> {
  const features = await recordedFeatures(reader, new Set([HEADER_CACHE]), stream);
  const found = features.get(HEADER_CACHE) as
    | {
      readonly caches: readonly {
        readonly level: number;
        readonly type: string;
        readonly map: string;
      }[];
    }
    | undefined;
  const caches = new Map<number, CpuCache[]>();
  for (const { level, type, map } of found?.caches ?? []) {
    if (type === "Instruction") continue;
    const cpus = cpusIn(map);
    const first = Math.min(...cpus);
    for (const cpu of cpus) caches.set(cpu, [...caches.get(cpu) ?? [], { level, first }]);
  }
  for (const list of caches.values()) list.sort((a, b) => a.level - b.level);
  return caches;
}

/** The CPUs in a list such as `0-3,8`. */
function cpusIn(list: string): number[] {
  const cpus: number[] = [];
  for (const range of list.split(",")) {
    const [, from, to = from] = /^(\d+)(?:-(\d+))?$/.exec(range.trim()) ?? [];
    if (from === undefined) continue;
    const last = Math.min(Number(to), MOST_CPUS);
    for (let cpu = Number(from); cpu <= last && cpus.length < MOST_CPUS; cpu++) cpus.push(cpu);
  }
  return cpus;
}

/**
 * Reads the NUMA nodes of physical memory, if they are recorded.
 *
 * @param stream Features from a pipe's records.
 * @returns A function that finds the node of an address given in two halves; -1 if it is unknown.
 */
export async function recordedMemory(
  reader: PerfDataReader,
  stream: StreamFeatures,
): Promise<(hi: number, lo: number) => number> {
  const features = await recordedFeatures(reader, new Set([HEADER_MEM_TOPOLOGY]), stream);
  const found = features.get(HEADER_MEM_TOPOLOGY) as
    | {
      readonly block_size_bytes: bigint;
      readonly nodes: readonly {
        readonly node: bigint;
        readonly size: bigint;
        readonly set: readonly bigint[];
      }[];
    }
    | undefined;
  const size = found?.block_size_bytes ?? 0n;
  return (hi, lo) => {
    if (found === undefined || size <= 0n) return -1;
    const block = (BigInt(hi >>> 0) << 32n | BigInt(lo >>> 0)) / size;
    const word = block >> 6n;
    const bit = 1n << (block & 63n);
    const node = found.nodes.find(({ set, size }) =>
      block < size && word < set.length && ((set[Number(word)] as bigint) & bit) !== 0n
    );
    return node === undefined ? -1 : Number(node.node);
  };
}
