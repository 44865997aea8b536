import {
  decodeFeature,
  type EventDescs,
  eventName,
  type Feature,
  FEATURE_NAMES,
  featureIds,
  featureName,
  type FeatureOf,
  HEADER_PMU_CAPS,
  PERF_RECORD_USER_TYPE_START,
  PerfDataError,
  type PerfDataReader,
  type PerfEvent,
  sectionRange,
} from "@perfdata/format";
import { streamFeature } from "@perfdata/session";
import { bpfBtfLines, bpfProgInfoLines } from "./header_bpf.ts";
import { eventDescLines } from "./header_events.ts";
import { moreFeatureLines } from "./header_more.ts";

/** Largest section that is read into memory; none that perf writes comes near. */
const MAX_SECTION = 1 << 30;

const NS = 1_000_000_000n;
const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** How the header is printed. */
export interface HeaderOptions {
  /** When the file was written last: the line `captured on`. Local time. */
  readonly mtime?: Date;
  /** Whether to print the features that perf 6.1 omits as well. */
  readonly more?: boolean;
}

/** A time as `ctime` writes it. */
function ctime(date: Date): string {
  const two = (n: number) => String(n).padStart(2, "0");
  return `${DAYS[date.getDay()]} ${MONTHS[date.getMonth()]} ${String(date.getDate()).padStart(2)} ${
    two(date.getHours())
  }:${two(date.getMinutes())}:${two(date.getSeconds())} ${date.getFullYear()}`;
}

/** Seconds with six digits of microseconds. */
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

/** First and last of some numbers that follow each other. */
type Range = readonly [number, number];

/** Ranges as text: `0-3,8`. They are never expanded: a few bytes stand for as many as they like. */
function rangesText(ranges: readonly Range[]): string {
  return ranges.map(([from, to]) => from === to ? `${from}` : `${from}-${to}`).join(",");
}

/** Adds a range to those before it, none of which begins after it. */
function addRange(ranges: Range[], from: number, to: number): void {
  const last = ranges.at(-1);
  if (last === undefined || from > last[1] + 1) ranges.push([from, to]);
  else ranges[ranges.length - 1] = [last[0], Math.max(last[1], to)];
}

/** A list of CPUs as perf prints it again: in order, and -1 where there is none. */
function cpuList(text: string): string {
  if (text === "") return "-1";
  const given: Range[] = [];
  for (const part of text.split(",")) {
    const [from, to] = part.split("-").map(Number) as [number, number?];
    // A list that perf would refuse is shown as it is.
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
    // Blocks beyond the bitmap are none, whatever size says.
    const end = Math.min(Number(size), 64 * set.length);
    for (let i = 0; i < end; i++) {
      if ((((set[i >> 6] as bigint) >> BigInt(i & 63)) & 1n) === 0n) continue;
      addRange(blocks, i, i);
      count++;
    }
    let bytes = block * count;
    let unit = 0;
    for (; bytes / 1024n > 1n && unit < 3; unit++) bytes /= 1024n;
    // perf formats the list into 100 bytes.
    const list = rangesText(blocks.slice(0, 50)).slice(0, 99);
    lines.push(`#  ${String(node).padStart(3)} [${bytes}${"BKMG"[unit]}]: ${list}`);
  }
  return lines;
}

/** perf prints ids as C's `%d` does. */
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

/** What the lines of a feature depend on beyond the feature itself. */
interface Session {
  readonly littleEndian: boolean;
  readonly events: readonly PerfEvent[];
  names: EventDescs | undefined;
  cpus: number | undefined;
  btfs: FeatureOf<"BPF_BTF">["value"] | undefined;
}

function groupLines(groups: FeatureOf<"GROUP_DESC">["value"], session: Session): string[] {
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

/** The lines that perf 6.1 prints of a feature; none for a feature that it does not know. */
function featureLines(feature: Feature, session: Session): string[] {
  switch (feature.name) {
    case "HOSTNAME":
      return [`# hostname : ${feature.value}`];
    case "OSRELEASE":
      return [`# os release : ${feature.value}`];
    case "VERSION":
      return [`# perf version : ${feature.value}`];
    case "ARCH":
      return [`# arch : ${feature.value}`];
    case "NRCPUS":
      session.cpus = feature.value.nr_cpus_avail;
      return [
        `# nrcpus online : ${feature.value.nr_cpus_online}`,
        `# nrcpus avail : ${feature.value.nr_cpus_avail}`,
      ];
    case "CPUDESC":
      return [`# cpudesc : ${feature.value}`];
    case "CPUID":
      return [`# cpuid : ${feature.value}`];
    case "TOTAL_MEM":
      return [`# total memory : ${feature.value} kB`];
    case "CMDLINE":
      return [`# cmdline : ${cmdlineText(feature.value)}`];
    case "EVENT_DESC":
      session.names = feature.value;
      return eventDescLines(feature.value);
    case "CPU_TOPOLOGY":
      return cpuTopologyLines(feature.value, session.cpus);
    case "NUMA_TOPOLOGY":
      return feature.value.nodes.flatMap(({ node, mem_total, mem_free, cpus }) => [
        `# node${node} meminfo  : total = ${mem_total} kB, free = ${mem_free} kB`,
        `# node${node} cpu list : ${cpuList(cpus)}`,
      ]);
    case "BRANCH_STACK":
      return ["# contains samples with branch stack"];
    case "PMU_MAPPINGS":
      return [
        feature.value.pmus.length === 0
          ? "# pmu mappings: not available"
          : `# pmu mappings: ${
            feature.value.pmus.map(({ name, type }) => `${name} = ${type}`).join(", ")
          }`,
      ];
    case "GROUP_DESC":
      return groupLines(feature.value, session);
    case "AUXTRACE":
      return ["# contains AUX area data (e.g. instruction trace)"];
    case "STAT":
      return ["# contains stat data"];
    case "CACHE":
      return [
        "# CPU cache info:",
        ...feature.value.caches.map(({ level, type, size, map }) =>
          `#  L${level} ${type.padEnd(15)} ${size.padStart(8)} [${map}]`
        ),
      ];
    case "SAMPLE_TIME": {
      const { first_sample_time: first, last_sample_time: last } = feature.value;
      const ms = (Number(BigInt.asUintN(64, last - first)) / 1e6).toFixed(3);
      return [
        `# time of first sample : ${seconds(first)}`,
        `# time of last sample : ${seconds(last)}`,
        `# sample duration : ${ms.padStart(10)} ms`,
      ];
    }
    case "MEM_TOPOLOGY":
      return memTopologyLines(feature.value);
    case "CLOCKID":
      return [`# clockid frequency: ${BigInt.asUintN(64, feature.value * 1000n)} MHz`];
    case "DIR_FORMAT":
      return [`# directory data version : ${feature.value}`];
    case "BPF_PROG_INFO":
      return bpfProgInfoLines(feature.value, session.btfs, session.littleEndian);
    case "BPF_BTF":
      return bpfBtfLines(feature.value);
    case "COMPRESSED": {
      const { type, level, ratio } = feature.value;
      const method = type === 1 ? "Zstd" : "Unknown";
      return [`# compressed : ${method}, level = ${signed(level)}, ratio = ${signed(ratio)}`];
    }
    case "CPU_PMU_CAPS":
      return [pmuCapsLine("cpu", feature.value.caps)];
    case "CLOCK_DATA":
      return clockDataLines(feature.value);
    case "HYBRID_TOPOLOGY":
      return [
        "# hybrid cpu system:",
        ...feature.value.nodes.map(({ pmu_name, cpus }) => `# ${pmu_name} cpu list : ${cpus}`),
      ];
    case "PMU_CAPS":
      return feature.value.pmus.map(({ pmu_name, caps }) => pmuCapsLine(pmu_name, caps));
    default:
      return [];
  }
}

/** Features that come with a pipe stream, as its records are read. */
async function* pipeFeatures(reader: PerfDataReader): AsyncGenerator<Feature, void, void> {
  for await (const batch of reader.batches({ inflate: false })) {
    const { bytes, view, littleEndian } = batch;
    for (let i = 0; i < batch.count; i++) {
      // Features are among perf's own records.
      if (batch.type(i) < PERF_RECORD_USER_TYPE_START) continue;
      const start = batch.start(i);
      const size = batch.size(i);
      const found = streamFeature(reader, bytes, view, start, start + size);
      if (found === undefined) continue;
      yield decodeFeature(found.id, found.payload, {
        littleEndian,
        base: batch.offsetOf(i) + size - found.payload.length,
      });
    }
  }
}

/** The features of a file; one whose bytes are not there comes with the error. */
async function* fileFeatures(reader: PerfDataReader): AsyncGenerator<Feature, void, void> {
  for (const { id, section } of reader.features) {
    const { offset, size } = sectionRange(section);
    try {
      if (size > MAX_SECTION) {
        throw new PerfDataError(
          `feature ${featureName(id)}: ${size} bytes, more than is read into memory`,
          { offset },
        );
      }
      const bytes = await reader.readSection(offset, size, `feature ${featureName(id)}`);
      yield decodeFeature(id, bytes, { littleEndian: reader.littleEndian, base: offset });
    } catch (error) {
      if (!(error instanceof PerfDataError)) throw error;
      yield { id, name: "RAW", raw: new Uint8Array(0), error };
    }
  }
}

/**
 * Tells what a file says about itself and the machine that recorded it: the text of
 * `perf report --header-only -I` of perf 6.1 (`perf_header__fprintf_info` of
 * `tools/perf/util/header.c`), then, with `more`, what that perf leaves out.
 *
 * The lines come as they are known: in a pipe stream the features are records, so this reads the
 * stream to its end. Text that is no UTF-8 is kept as `decodeText` keeps it; write it with
 * `encodeText`.
 *
 * @param reader The file; its records are read where it is a stream.
 * @param options When it was written, and how much to print.
 * @returns Lines, without their ends.
 *
 * @example
 * ```ts
 * import { headerLines } from "@perfdata/dump";
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(16);
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe[8] = 16;
 * const lines = await Array.fromAsync(headerLines(await PerfDataReader.open(bytesSource(pipe))));
 * assertEquals(lines, [
 *   "# ========",
 *   "# header version : 1",
 *   "# data offset    : 0",
 *   "# data size      : 0",
 *   "# feat offset    : 0",
 *   "# ========",
 *   "#",
 * ]);
 * ```
 */
export async function* headerLines(
  reader: PerfDataReader,
  options: HeaderOptions = {},
): AsyncGenerator<string, void, void> {
  const { header } = reader;
  const data = header?.data ?? { offset: 0n, size: 0n };
  yield "# ========";
  if (options.mtime !== undefined) yield `# captured on    : ${ctime(options.mtime)}`;
  // perf counts the versions from 0.
  yield `# header version : ${reader.version - 1}`;
  yield `# data offset    : ${data.offset}`;
  yield `# data size      : ${data.size}`;
  yield `# feat offset    : ${header === undefined ? 0 : data.offset + data.size}`;
  const session: Session = {
    littleEndian: reader.littleEndian,
    events: reader.events.all,
    names: undefined,
    cpus: undefined,
    btfs: undefined,
  };
  const more: string[] = [];
  const take = (feature: Feature): string[] => {
    more.push(...moreFeatureLines(feature));
    return featureLines(feature, session);
  };
  if (header === undefined) {
    yield "# ========";
    yield "#";
    for await (const feature of pipeFeatures(reader)) yield* take(feature);
  } else {
    // The features of a file that arrives as a stream come after its records.
    if (reader.fileSize === undefined) {
      for await (const _ of reader.batches({ inflate: false }));
    }
    const features = await Array.fromAsync(fileFeatures(reader));
    // Names of BPF functions are in a later section than the programs.
    const btfs = features.find((feature) => feature.name === "BPF_BTF");
    if (btfs?.name === "BPF_BTF") session.btfs = btfs.value;
    for (const feature of features) yield* take(feature);
    const ids = featureIds(header, reader.littleEndian);
    const missing = Object.entries(FEATURE_NAMES)
      .filter(([id]) => Number(id) <= HEADER_PMU_CAPS && !ids.includes(Number(id)));
    yield `# missing features: ${missing.map(([, name]) => `${name} `).join("")}`;
    yield "# ========";
    yield "#";
  }
  if (options.more) yield* more;
}
