/**
 * Test helpers of this directory; needs Deno; not exported. Extract a file's feature sections, write a file
 * of feature sections, and print features as `perf report --header-only -I` does.
 *
 * @module
 */
import { bpfProgArrays } from "./bpf.ts";
import { encodeFeature, type Feature, type FeatureOf } from "./feature.ts";
import { emptyAttr, perfEventAttr } from "../header/attr.ts";
import { encode } from "../struct/mod.ts";

/** A feature section, or the payload of a HEADER_FEATURE or HEADER_TRACING_DATA record. */
export interface Section {
  id: number;
  offset: number;
  bytes: Uint8Array;
}

/** Returns the byte order and those feature sections that lie within the file. */
export function sectionsOf(file: Uint8Array): { littleEndian: boolean; sections: Section[] } {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const magic = new TextDecoder().decode(file.subarray(0, 8));
  const littleEndian = magic === "PERFILE2";
  if (!littleEndian && magic !== "2ELIFREP") return { littleEndian, sections: [] };
  const u64 = (at: number) => Number(view.getBigUint64(at, littleEndian));
  const sections: Section[] = [];
  const add = (id: number, offset: number, size: number) => {
    if (offset + size <= file.length) {
      sections.push({ id, offset, bytes: file.subarray(offset, offset + size) });
    }
  };
  const headerSize = file.length >= 16 ? u64(8) : 0;
  if (headerSize >= 104 && file.length >= 104) {
    let entry = u64(40) + u64(48);
    for (let id = 0; id < 256; id++) {
      const word = view.getBigUint64(72 + 8 * (id >> 6), littleEndian);
      if ((word >> BigInt(id & 63) & 1n) === 0n) continue;
      if (entry + 16 > file.length) break;
      add(id, u64(entry), u64(entry + 8));
      entry += 16;
    }
  } else if (headerSize === 16) {
    let at = 16;
    while (at + 8 <= file.length) {
      const type = view.getUint32(at, littleEndian);
      const size = view.getUint16(at + 6, littleEndian);
      if (size < 8 || at + size > file.length) break;
      let payload = 0;
      if (type === 80 && size >= 16) add(u64(at + 8), at + 16, size - 16);
      if (type === 66 && size >= 12 && size <= 16) {
        payload = view.getUint32(at + 8, littleEndian);
        add(1, at + size, payload);
      }
      if (type === 71 && size >= 16) payload = u64(at + 8);
      at += size + payload;
    }
  }
  return { littleEndian, sections };
}

/** Returns a file without records, with the given features and the events of their EVENT_DESC. */
export function fileOf(features: readonly Feature[], littleEndian: boolean): Uint8Array {
  const order = { littleEndian };
  const sorted = features.toSorted((a, b) => a.id - b.id);
  const payloads = sorted.map((feature) => encodeFeature(feature, order));
  const described = features.find((feature) => feature.name === "EVENT_DESC");
  const attrs = described?.value.events.map(({ attr }) => attr) ?? [emptyAttr()];
  const data = 104 + attrs.length * 144;
  const table = data + 16 * sorted.length;
  const file = new Uint8Array(payloads.reduce((sum, bytes) => sum + bytes.length, table));
  const view = new DataView(file.buffer);
  const u64 = (at: number, value: number | bigint) =>
    view.setBigUint64(at, BigInt(value), littleEndian);
  u64(0, 0x32454c4946524550n);
  [104, 144, 104, attrs.length * 144, data, 0].forEach((value, i) => u64(8 + 8 * i, value));
  let bits = 0n;
  for (const { id } of sorted) bits |= 1n << BigInt(id);
  for (let i = 0; i < 4; i++) u64(72 + 8 * i, BigInt.asUintN(64, bits >> BigInt(64 * i)));
  attrs.forEach((attr, i) =>
    file.set(encode(perfEventAttr(128), { ...attr, size: 128 }, order), 104 + 144 * i)
  );
  let at = table;
  payloads.forEach((bytes, i) => {
    u64(data + 16 * i, at);
    u64(data + 16 * i + 8, bytes.length);
    file.set(bytes, at);
    at += bytes.length;
  });
  return file;
}

/** Whether perf is installed. Prints a line if it is not, since comparisons with perf are then skipped. */
export const hasPerf: boolean = (() => {
  try {
    return new Deno.Command("perf", { args: ["--version"] }).outputSync().success;
  } catch {
    console.log("ignored: comparison with perf, which is not installed");
    return false;
  }
})();

/** Runs perf with limits on memory and time; drops its stderr. */
export function perf(args: string[]): { success: boolean; text: string } {
  const { success, stdout } = new Deno.Command("sh", {
    args: ["-c", 'ulimit -v 8000000; exec timeout 300 perf "$@"', "perf", ...args],
    env: { LC_ALL: "C", TZ: "UTC", PERF_BUILDID_DIR: "/nonexistent" },
    stdin: "null",
    stderr: "null",
  }).outputSync();
  return { success, text: new TextDecoder().decode(stdout) };
}

/** Formats like perf's `unit_number__scnprintf`. */
function units(bytes: bigint): string {
  let i = 0;
  while (bytes / 1024n > 1n && i < 3) {
    bytes /= 1024n;
    i++;
  }
  return `${bytes}${"BKMG"[i]}`;
}

/** Formats set bits as ranges, like `bitmap_scnprintf` with a buffer of 100 bytes. */
function ranges(words: readonly bigint[], bits: number): { text: string; count: bigint } {
  const runs: string[] = [];
  let count = 0n;
  let start = -1;
  for (let bit = 0; bit <= bits; bit++) {
    const set = bit < bits && ((words[bit >> 6] ?? 0n) >> BigInt(bit & 63) & 1n) === 1n;
    if (set) {
      count++;
      if (start < 0) start = bit;
    } else if (start >= 0) {
      runs.push(start === bit - 1 ? `${start}` : `${start}-${bit - 1}`);
      start = -1;
    }
  }
  return { text: runs.join(",").slice(0, 99), count };
}

const SECOND = 1_000_000_000n;
const micros = (time: bigint) => `${time / SECOND}.${`${time % SECOND / 1000n}`.padStart(6, "0")}`;

function caps(pmu: string, list: readonly { name: string; value: string }[]): string {
  const text = list.map(({ name, value }) => `${name}=${value}`).join(", ");
  return `# ${pmu} pmu capabilities: ${list.length > 0 ? text : "not available"}`;
}

const CLOCKS: Readonly<Record<number, string>> = {
  0: "realtime",
  1: "monotonic",
  4: "monotonic_raw",
  7: "boottime",
  11: "tai",
};

/** Returns the lines that perf 6.1 prints for the features, without attrs, in time zone UTC. */
export function headerText(features: readonly Feature[]): string[] {
  const find = <N extends Feature["name"]>(name: N) =>
    features.find((feature) => feature.name === name) as FeatureOf<N> | undefined;
  const cpus = find("NRCPUS")?.value.nr_cpus_avail ?? 0;
  const machine = find("ARCH")?.value ?? "";
  const events = find("EVENT_DESC")?.value.events ?? [];
  const lines: string[] = [];
  for (const feature of features) {
    switch (feature.name) {
      case "HOSTNAME":
        lines.push(`# hostname : ${feature.value}`);
        break;
      case "OSRELEASE":
        lines.push(`# os release : ${feature.value}`);
        break;
      case "VERSION":
        lines.push(`# perf version : ${feature.value}`);
        break;
      case "ARCH":
        lines.push(`# arch : ${feature.value}`);
        break;
      case "CPUDESC":
        lines.push(`# cpudesc : ${feature.value}`);
        break;
      case "CPUID":
        lines.push(`# cpuid : ${feature.value}`);
        break;
      case "NRCPUS":
        lines.push(`# nrcpus online : ${feature.value.nr_cpus_online}`);
        lines.push(`# nrcpus avail : ${feature.value.nr_cpus_avail}`);
        break;
      case "TOTAL_MEM":
        lines.push(`# total memory : ${feature.value} kB`);
        break;
      case "CMDLINE": {
        const words = "argv" in feature.value ? feature.value.argv : [feature.value.line];
        lines.push(
          `# cmdline : ${words.map((word) => word.replaceAll("'", "\\'") + " ").join("")}`,
        );
        break;
      }
      case "EVENT_DESC":
        for (const { name, ids } of feature.value.events) {
          lines.push(
            `# event : name = ${name}, ${ids.length > 0 ? `, id = { ${ids.join(", ")} }` : ""}`,
          );
        }
        break;
      case "CPU_TOPOLOGY": {
        const { package_cpus_list, core_cpus_list, cpus: ids, dies } = feature.value;
        // perf rejects package numbers above the number of CPUs, except on s390 and arm64. It ignores the ids
        // if the lists are padded less than perf pads them.
        const lists = [...package_cpus_list, ...core_cpus_list];
        const assumed = lists.reduce(
          (sum, list) => sum + 4 + 64 * Math.ceil((list.length + 1) / 64),
          8,
        );
        const refused = encodeFeature(feature).length <= assumed ||
          (!/^(s390|aarch64)/.test(machine) &&
            ids.some(({ socket_id }) => socket_id !== -1 && socket_id >>> 0 > cpus));
        for (const list of package_cpus_list) lines.push(`# sibling sockets : ${list}`);
        if (!refused) {
          for (const list of dies?.die_cpus_list ?? []) lines.push(`# sibling dies    : ${list}`);
        }
        for (const list of core_cpus_list) lines.push(`# sibling threads : ${list}`);
        if (refused || ids.length === 0) {
          lines.push("# Core ID and Socket ID information is not available");
          break;
        }
        ids.slice(0, cpus).forEach(({ core_id, socket_id }, cpu) => {
          const die = dies ? `Die ID ${dies.die_ids[cpu]}, ` : "";
          lines.push(`# CPU ${cpu}: Core ID ${core_id}, ${die}Socket ID ${socket_id}`);
        });
        break;
      }
      case "NUMA_TOPOLOGY":
        for (const { node, mem_total, mem_free, cpus } of feature.value.nodes) {
          lines.push(`# node${node} meminfo  : total = ${mem_total} kB, free = ${mem_free} kB`);
          lines.push(`# node${node} cpu list : ${cpus}`);
        }
        break;
      case "BRANCH_STACK":
        lines.push("# contains samples with branch stack");
        break;
      case "PMU_MAPPINGS": {
        const list = feature.value.pmus.map(({ type, name }) => `${name} = ${type}`);
        lines.push(`# pmu mappings: ${list.length > 0 ? list.join(", ") : "not available"}`);
        break;
      }
      case "GROUP_DESC":
        for (const { name, leader_idx, nr_members } of feature.value.groups) {
          const members = events.slice(leader_idx, leader_idx + nr_members);
          lines.push(
            `# group: ${name === "{anon_group}" ? "" : name}{${
              members.map(({ name }) => name).join(",")
            }}`,
          );
        }
        break;
      case "AUXTRACE":
        lines.push("# contains AUX area data (e.g. instruction trace)");
        break;
      case "STAT":
        lines.push("# contains stat data");
        break;
      case "CACHE":
        lines.push("# CPU cache info:");
        for (const { level, type, size, map } of feature.value.caches) {
          lines.push(`#  L${level} ${type.padEnd(15)} ${size.padStart(8)} [${map}]`);
        }
        break;
      case "SAMPLE_TIME": {
        const { first_sample_time: first, last_sample_time: last } = feature.value;
        lines.push(`# time of first sample : ${micros(first)}`);
        lines.push(`# time of last sample : ${micros(last)}`);
        const ms = (Number(last - first) / 1e6).toFixed(3);
        lines.push(`# sample duration : ${ms.padStart(10)} ms`);
        break;
      }
      case "MEM_TOPOLOGY": {
        const { block_size_bytes: block, nodes } = feature.value;
        lines.push(`# memory nodes (nr ${nodes.length}, block size 0x${block.toString(16)}):`);
        for (const { node, nbits, set } of nodes) {
          const { text, count } = ranges(set, Number(nbits));
          lines.push(`#  ${`${node}`.padStart(3)} [${units(block * count)}]: ${text}`);
        }
        break;
      }
      case "CLOCKID":
        lines.push(`# clockid frequency: ${feature.value * 1000n} MHz`);
        break;
      case "BPF_PROG_INFO":
        for (const prog of feature.value.progs) {
          // This text covers programs of one function without type information.
          const { id, name } = prog.info;
          const { jited_ksyms = [], jited_func_lens = [], prog_tags = [] } = bpfProgArrays(prog);
          const tag = Array.from(prog_tags[0] ?? [], (byte) => byte.toString(16).padStart(2, "0"));
          lines.push(
            `# bpf_prog_info ${id}: bpf_prog_${tag.join("")}${name === "" ? "" : `_${name}`} ` +
              `addr 0x${jited_ksyms[0]?.toString(16)} size ${jited_func_lens[0]}`,
          );
        }
        break;
      case "BPF_BTF":
        for (const { id } of feature.value.btfs) lines.push(`# btf info of id ${id}`);
        break;
      case "COMPRESSED": {
        const { type, level, ratio } = feature.value;
        const name = type === 1 ? "Zstd" : "Unknown";
        lines.push(`# compressed : ${name}, level = ${level}, ratio = ${ratio}`);
        break;
      }
      case "CPU_PMU_CAPS":
        lines.push(caps("cpu", feature.value.caps));
        break;
      case "CLOCK_DATA": {
        const { clockid, wall_clock_ns: wall, clockid_time_ns: time } = feature.value;
        const name = CLOCKS[clockid] ?? "unknown";
        const date = new Date(Number(wall / 1_000_000n)).toISOString();
        const day = date.slice(0, 19).replace("T", " ");
        lines.push(`# clockid: ${name} (${clockid})`);
        lines.push(
          `# reference time: ${day}.${micros(wall).split(".")[1]} = ${micros(wall)} (TOD) = ` +
            `${time / SECOND}.${`${time % SECOND}`.padStart(9, "0")} (${name})`,
        );
        break;
      }
      case "HYBRID_TOPOLOGY":
        lines.push("# hybrid cpu system:");
        for (const { pmu_name, cpus } of feature.value.nodes) {
          lines.push(`# ${pmu_name} cpu list : ${cpus}`);
        }
        break;
      case "PMU_CAPS":
        for (const { pmu_name, caps: list } of feature.value.pmus) lines.push(caps(pmu_name, list));
        break;
    }
  }
  return lines;
}

/** Returns the lines of perf's output about features, without attrs and without the lines about empty sections. */
export function perfLines(output: string): string[] {
  const own = /^# ?(captured on|header version|data offset|data size|feat offset|missing features)/;
  return output.split("\n")
    .filter((line) =>
      line.startsWith("# ") && !line.endsWith(": (null)") && !own.test(line) && !/^# =+$/.test(line)
    )
    .map((line) =>
      line
        .replace(/^(# event : name = .*?, )(, id = \{[^}]*\})?(, .*)$/, (_, name, ids) =>
          name + (ids ?? ""))
    );
}
