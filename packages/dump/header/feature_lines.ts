import type { EventDescs, Feature, FeatureOf } from "@perfdata/format/features";
import { eventName } from "@perfdata/format/constants";
import type { PerfEvent } from "@perfdata/format/records";
import { bpfBtfLines, bpfProgInfoLines } from "./header_bpf.ts";
import { eventDescLines } from "./header_events.ts";

const NS = 1_000_000_000n;

/** Formats nanoseconds as seconds with microseconds. */
function seconds(ns: bigint): string {
  return `${ns / NS}.${String(ns % NS / 1000n).padStart(6, "0")}`;
}

const CLOCKS: Readonly<Record<number, string>> = {
  0: "realtime",
  1: "monotonic",
  4: "monotonic_raw",
  7: "boottime",
  11: "tai",
};

function clockDataLines(data: FeatureOf<"CLOCK_DATA">["value"]): string[] {
  const clock = CLOCKS[data.clockid] ?? "(not found)";
  const wall = new Date(Number(data.wall_clock_ns / 1_000_000n));
  const two = (n: number) => String(n).padStart(2, "0");
  const date = `${wall.getFullYear()}-${two(wall.getMonth() + 1)}-${two(wall.getDate())} ${
    two(wall.getHours())
  }:${two(wall.getMinutes())}:${two(wall.getSeconds())}`;
  const tod = seconds(data.wall_clock_ns);
  const time = `${data.clockid_time_ns / NS}.${String(data.clockid_time_ns % NS).padStart(9, "0")}`;
  return [
    `# clockid: ${clock} (${data.clockid})`,
    `# reference time: ${date}.${tod.slice(-6)} = ${tod} (TOD) = ${time} (${clock})`,
  ];
}

/** First and last of consecutive numbers. */
type Range = readonly [number, number];

/**
 * Formats ranges: `0-3,8`. They are never expanded, since few bytes can state any number of CPUs.
 */
function rangesText(ranges: readonly Range[]): string {
  return ranges.map(([from, to]) => from === to ? `${from}` : `${from}-${to}`).join(",");
}

/** Adds a range whose start is not below the last one's. */
function addRange(ranges: Range[], from: number, to: number): void {
  const last = ranges.at(-1);
  if (last === undefined || from > last[1] + 1) ranges.push([from, to]);
  else ranges[ranges.length - 1] = [last[0], Math.max(last[1], to)];
}

/** Normalizes a CPU list as perf does: sorted, -1 if empty. */
function cpuList(text: string): string {
  if (text === "") return "-1";
  const given: Range[] = [];
  for (const part of text.split(",")) {
    const [from, to] = part.split("-").map(Number) as [number, number?];
    // Lists that perf refuses are printed unchanged.
    if (!Number.isInteger(from) || (to !== undefined && !(to - from <= 1 << 16))) return text;
    if (from <= (to ?? from)) given.push([from, to ?? from]);
  }
  const ranges: Range[] = [];
  for (const [from, to] of given.sort(([a], [b]) => a - b)) addRange(ranges, from, to);
  return rangesText(ranges);
}

function memTopologyLines(topology: FeatureOf<"MEM_TOPOLOGY">["value"]): string[] {
  const block = topology.block_size_bytes;
  const lines = [
    `# memory nodes (nr ${topology.nodes.length}, block size 0x${block.toString(16)}):`,
  ];
  for (const { node, size, set } of topology.nodes) {
    const blocks: Range[] = [];
    let count = 0n;
    // Blocks beyond the bitmap do not exist, whatever size says.
    const end = Math.min(Number(size), 64 * set.length);
    for (let i = 0; i < end; i++) {
      if ((((set[i >> 6] as bigint) >> BigInt(i & 63)) & 1n) === 0n) continue;
      addRange(blocks, i, i);
      count++;
    }
    let bytes = block * count;
    let unit = 0;
    for (; bytes / 1024n > 1n && unit < 3; unit++) bytes /= 1024n;
    // perf truncates the list to 99 characters.
    const list = rangesText(blocks.slice(0, 50)).slice(0, 99);
    lines.push(`#  ${String(node).padStart(3)} [${bytes}${"BKMG"[unit]}]: ${list}`);
  }
  return lines;
}

/** Formats an id as `%d`. */
function signed(id: number): string {
  return String(id | 0);
}

function cpuTopologyLines(
  topology: FeatureOf<"CPU_TOPOLOGY">["value"],
  cpus: number | undefined,
): string[] {
  const { dies } = topology;
  const lines = topology.package_cpus_list.map((list) => `# sibling sockets : ${list}`);
  for (const list of dies?.die_cpus_list ?? []) lines.push(`# sibling dies    : ${list}`);
  for (const list of topology.core_cpus_list) lines.push(`# sibling threads : ${list}`);
  if (topology.cpus.length === 0) {
    lines.push(
      `# Core ID${dies === undefined ? "" : ", Die ID"} and Socket ID information is not available`,
    );
    return lines;
  }
  topology.cpus.slice(0, cpus).forEach(({ core_id, socket_id }, i) => {
    const die = dies === undefined ? "" : `Die ID ${signed(dies.die_ids[i] ?? 0)}, `;
    lines.push(`# CPU ${i}: Core ID ${signed(core_id)}, ${die}Socket ID ${signed(socket_id)}`);
  });
  return lines;
}

function pmuCapsLine(pmu: string, caps: readonly { name: string; value: string }[]): string {
  return caps.length === 0
    ? `# ${pmu} pmu capabilities: not available`
    : `# ${pmu} pmu capabilities: ${caps.map(({ name, value }) => `${name}=${value}`).join(", ")}`;
}

/** Context of a feature's lines. */
export interface HeaderSession {
  /** Byte order of the file. */
  readonly littleEndian: boolean;
  readonly events: readonly PerfEvent[];
  /** Names of the events, if the file has them. */
  names: EventDescs | undefined;
  cpus: number | undefined;
  /** Names of BPF functions. */
  btfs: FeatureOf<"BPF_BTF">["value"] | undefined;
}

function groupLines(groups: FeatureOf<"GROUP_DESC">["value"], session: HeaderSession): string[] {
  const nameOf = (i: number) => {
    const name = session.names?.events[i]?.name;
    if (name !== undefined) return name;
    const event = session.events[i];
    return event === undefined ? "unknown" : eventName(event.attr);
  };
  return groups.groups.filter(({ nr_members }) => nr_members > 1).map((group) => {
    const members = Array.from(
      { length: Math.min(group.nr_members, session.events.length) },
      (_, i) => nameOf(group.leader_idx + i),
    );
    const name = group.name === "{anon_group}" ? "" : group.name;
    return `# group: ${name}{${members.join(",")}}`;
  });
}

function cmdlineText(command: FeatureOf<"CMDLINE">["value"]): string {
  if ("line" in command) return `${command.line} `;
  return command.argv.map((arg) => `${arg.replaceAll("'", "\\'")} `).join("");
}

/** The lines of perf 6.1 for each feature that it knows. */
const LINES: {
  readonly [N in Exclude<Feature["name"], "RAW">]?: (
    value: FeatureOf<N>["value"],
    session: HeaderSession,
  ) => string[];
} = {
  HOSTNAME: (value) => [`# hostname : ${value}`],
  OSRELEASE: (value) => [`# os release : ${value}`],
  VERSION: (value) => [`# perf version : ${value}`],
  ARCH: (value) => [`# arch : ${value}`],
  NRCPUS: (value, session) => {
    session.cpus = value.nr_cpus_avail;
    return [
      `# nrcpus online : ${value.nr_cpus_online}`,
      `# nrcpus avail : ${value.nr_cpus_avail}`,
    ];
  },
  CPUDESC: (value) => [`# cpudesc : ${value}`],
  CPUID: (value) => [`# cpuid : ${value}`],
  TOTAL_MEM: (value) => [`# total memory : ${value} kB`],
  CMDLINE: (value) => [`# cmdline : ${cmdlineText(value)}`],
  EVENT_DESC: (value, session) => {
    session.names = value;
    return eventDescLines(value);
  },
  CPU_TOPOLOGY: (value, session) => cpuTopologyLines(value, session.cpus),
  NUMA_TOPOLOGY: (value) =>
    value.nodes.flatMap(({ node, mem_total, mem_free, cpus }) => [
      `# node${node} meminfo  : total = ${mem_total} kB, free = ${mem_free} kB`,
      `# node${node} cpu list : ${cpuList(cpus)}`,
    ]),
  BRANCH_STACK: () => ["# contains samples with branch stack"],
  PMU_MAPPINGS: (value) => [
    value.pmus.length === 0
      ? "# pmu mappings: not available"
      : `# pmu mappings: ${value.pmus.map(({ name, type }) => `${name} = ${type}`).join(", ")}`,
  ],
  GROUP_DESC: groupLines,
  AUXTRACE: () => ["# contains AUX area data (e.g. instruction trace)"],
  STAT: () => ["# contains stat data"],
  CACHE: (value) => [
    "# CPU cache info:",
    ...value.caches.map(({ level, type, size, map }) =>
      `#  L${level} ${type.padEnd(15)} ${size.padStart(8)} [${map}]`
    ),
  ],
  SAMPLE_TIME: (value) => {
    const { first_sample_time: first, last_sample_time: last } = value;
    const ms = (Number(BigInt.asUintN(64, last - first)) / 1e6).toFixed(3);
    return [
      `# time of first sample : ${seconds(first)}`,
      `# time of last sample : ${seconds(last)}`,
      `# sample duration : ${ms.padStart(10)} ms`,
    ];
  },
  MEM_TOPOLOGY: memTopologyLines,
  CLOCKID: (value) => [`# clockid frequency: ${BigInt.asUintN(64, value * 1000n)} MHz`],
  DIR_FORMAT: (value) => [`# directory data version : ${value}`],
  BPF_PROG_INFO: (value, session) => bpfProgInfoLines(value, session.btfs, session.littleEndian),
  BPF_BTF: bpfBtfLines,
  COMPRESSED: (value) => {
    const { type, level, ratio } = value;
    const method = type === 1 ? "Zstd" : "Unknown";
    return [`# compressed : ${method}, level = ${signed(level)}, ratio = ${signed(ratio)}`];
  },
  CPU_PMU_CAPS: (value) => [pmuCapsLine("cpu", value.caps)],
  CLOCK_DATA: clockDataLines,
  HYBRID_TOPOLOGY: (value) => [
    "# hybrid cpu system:",
    ...value.nodes.map(({ pmu_name, cpus }) => `# ${pmu_name} cpu list : ${cpus}`),
  ],
  PMU_CAPS: (value) => value.pmus.map(({ pmu_name, caps }) => pmuCapsLine(pmu_name, caps)),
};

/** The lines of perf 6.1 for a feature; empty for features that it does not know. */
export function featureLines(feature: Feature, session: HeaderSession): string[] {
  const { name, value } = feature as { readonly name: keyof typeof LINES; readonly value: unknown };
  const lines = LINES[name] as ((value: unknown, session: HeaderSession) => string[]) | undefined;
  return lines?.(value, session) ?? [];
}
