/** Where the CPUs of a recording are: its features NUMA_TOPOLOGY and CPU_TOPOLOGY, by number of the CPU. */
import { HEADER_CPU_TOPOLOGY, HEADER_NUMA_TOPOLOGY } from "@perfdata/format/feature-names";
import type { PerfDataReader } from "@perfdata/format";
import { recordedFeatures } from "@perfdata/session/recorded-features";

/** More than any machine has: a list of a damaged file ends there. */
const MOST_CPUS = 1 << 16;

/** Features that came as records, by number: those of a pipe. */
export type StreamFeatures = Map<number, Uint8Array>;

/** The core, die and socket that a CPU is of. */
export interface CpuPlace {
  readonly core: number;
  readonly die: number;
  readonly socket: number;
}

/**
 * By CPU: its NUMA node, where the recording says so.
 *
 * @param stream Features that came as records.
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
    for (const range of cpus.split(",")) {
      const [, from, to = from] = /^(\d+)(?:-(\d+))?$/.exec(range.trim()) ?? [];
      if (from === undefined) continue;
      const last = Math.min(Number(to), MOST_CPUS);
      for (let cpu = Number(from); cpu <= last; cpu++) nodes.set(cpu, node);
    }
  }
  return nodes;
}

/**
 * By CPU: its core, die and socket, where the recording says so. Machines with one die in a socket have die 0.
 *
 * @param stream Features that came as records.
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
