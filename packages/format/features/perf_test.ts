import { assert, assertEquals } from "@std/assert";
import { emptyAttr } from "../header/attr.ts";
import { buildIdText } from "./build_id.ts";
import { decodeFeature, type Feature, type FeatureOf } from "./feature.ts";
import * as names from "./names.ts";
import { fileOf, hasPerf, headerText, perf, perfLines } from "./testing.ts";

const attr = { ...emptyAttr(), type: 1, size: 128, sample_type: 0x107n, sample_period: 1000n };

/** One of each feature that perf 6.1 prints without a directory or records. */
const FEATURES: Feature[] = [
  { id: names.HEADER_HOSTNAME, name: "HOSTNAME", value: "build-7" },
  { id: names.HEADER_OSRELEASE, name: "OSRELEASE", value: "6.1.0-13-amd64" },
  { id: names.HEADER_VERSION, name: "VERSION", value: "6.1.55" },
  { id: names.HEADER_ARCH, name: "ARCH", value: "x86_64" },
  { id: names.HEADER_NRCPUS, name: "NRCPUS", value: { nr_cpus_avail: 4, nr_cpus_online: 3 } },
  // Longer than the standard padding.
  { id: names.HEADER_CPUDESC, name: "CPUDESC", value: "A CPU with a name that goes on ".repeat(5) },
  { id: names.HEADER_CPUID, name: "CPUID", value: "GenuineIntel,6,61,4" },
  { id: names.HEADER_TOTAL_MEM, name: "TOTAL_MEM", value: 0x1_0000_0002n },
  {
    id: names.HEADER_CMDLINE,
    name: "CMDLINE",
    value: { argv: ["/usr/bin/perf", "record", "it's", "'"] },
  },
  {
    id: names.HEADER_EVENT_DESC,
    name: "EVENT_DESC",
    value: {
      attr_size: 128,
      events: [
        { attr, name: "cpu-clock", ids: [0x21n, 0x22n] },
        { attr: { ...attr, config: 1n }, name: "task-clock:u", ids: [0xffff_ffff_ffffn] },
      ],
    },
  },
  {
    id: names.HEADER_CPU_TOPOLOGY,
    name: "CPU_TOPOLOGY",
    value: {
      package_cpus_list: ["0-3"],
      core_cpus_list: ["0-1", "2-3"],
      cpus: [0, 0, 1, 1].map((core_id) => ({ core_id, socket_id: 0 })),
      dies: { die_cpus_list: ["0-1", "2-3"], die_ids: [0, 0, 1, 1] },
    },
  },
  {
    id: names.HEADER_NUMA_TOPOLOGY,
    name: "NUMA_TOPOLOGY",
    value: {
      nodes: [
        { node: 0, mem_total: 8000n, mem_free: 4000n, cpus: "0-1" },
        { node: 2, mem_total: 0x1_0000_0000n, mem_free: 1n, cpus: "2-3" },
      ],
    },
  },
  { id: names.HEADER_BRANCH_STACK, name: "BRANCH_STACK", value: {} },
  {
    id: names.HEADER_PMU_MAPPINGS,
    name: "PMU_MAPPINGS",
    value: { pmus: [{ type: 8, name: "intel_pt" }, { type: 1, name: "software" }] },
  },
  {
    id: names.HEADER_GROUP_DESC,
    name: "GROUP_DESC",
    value: { groups: [{ name: "both", leader_idx: 0, nr_members: 2 }] },
  },
  { id: names.HEADER_AUXTRACE, name: "AUXTRACE", value: { entries: [] } },
  { id: names.HEADER_STAT, name: "STAT", value: {} },
  {
    id: names.HEADER_CACHE,
    name: "CACHE",
    value: {
      version: 1,
      caches: [
        { level: 1, line_size: 64, sets: 128, ways: 8, type: "Data", size: "64K", map: "0-1" },
        { level: 3, line_size: 64, sets: 9, ways: 4, type: "Unified", size: "4096K", map: "0-3" },
      ],
    },
  },
  {
    id: names.HEADER_SAMPLE_TIME,
    name: "SAMPLE_TIME",
    value: { first_sample_time: 65_149_467_765_000n, last_sample_time: 65_149_479_616_999n },
  },
  {
    id: names.HEADER_MEM_TOPOLOGY,
    name: "MEM_TOPOLOGY",
    value: {
      version: 1n,
      block_size_bytes: 0x800_0000n,
      nodes: [
        { node: 0n, size: 66n, nbits: 66n, set: [0xf0ffn, 0b10n] },
        { node: 1n, size: 3n, nbits: 3n, set: [0b101n] },
      ],
    },
  },
  { id: names.HEADER_CLOCKID, name: "CLOCKID", value: 4n },
  {
    id: names.HEADER_COMPRESSED,
    name: "COMPRESSED",
    value: { version: 1, type: 1, level: 3, ratio: 58, mmap_len: 528384 },
  },
  {
    id: names.HEADER_CPU_PMU_CAPS,
    name: "CPU_PMU_CAPS",
    value: { caps: [{ name: "branches", value: "32" }, { name: "pmu_name", value: "skylake" }] },
  },
  {
    id: names.HEADER_CLOCK_DATA,
    name: "CLOCK_DATA",
    value: {
      version: 1,
      clockid: 4,
      wall_clock_ns: 1_600_000_000_123_456_789n,
      clockid_time_ns: 77_000_000_042n,
    },
  },
  {
    id: names.HEADER_HYBRID_TOPOLOGY,
    name: "HYBRID_TOPOLOGY",
    value: {
      nodes: [{ pmu_name: "cpu_core", cpus: "0-1" }, { pmu_name: "cpu_atom", cpus: "2-3" }],
    },
  },
  {
    id: names.HEADER_PMU_CAPS,
    name: "PMU_CAPS",
    value: {
      pmus: [
        { caps: [{ name: "branches", value: "32" }], pmu_name: "cpu_core" },
        { caps: [], pmu_name: "cpu_atom" },
      ],
    },
  },
];

/** BPF features of one program. perf reads them only in its own byte order. */
function bpf(): Feature[] {
  const zeros = new Uint8Array(4 + 16 + 232);
  zeros[0] = 1;
  zeros[4] = 232;
  const nothing = decodeFeature(names.HEADER_BPF_PROG_INFO, zeros);
  assert(nothing.name === "BPF_PROG_INFO" && nothing.tail === undefined);
  const data = new Uint8Array(24);
  const view = new DataView(data.buffer);
  view.setBigUint64(0, 0xffff_8000_1234_5678n, true);
  view.setUint32(8, 296, true);
  view.setBigUint64(16, 0xf0de_bc9a_7856_3412n, true);
  return [
    {
      id: names.HEADER_BPF_PROG_INFO,
      name: "BPF_PROG_INFO",
      value: {
        progs: nothing.value.progs.map(({ info }) => ({
          info_len: 232,
          arrays: 0x118n,
          info: {
            ...info,
            id: 7,
            name: "sys_enter",
            nr_jited_ksyms: 1,
            nr_jited_func_lens: 1,
            nr_prog_tags: 1,
            jited_func_lens: 8n,
            prog_tags: 16n,
          },
          data,
        })),
      },
    },
    {
      id: names.HEADER_BPF_BTF,
      name: "BPF_BTF",
      value: { btfs: [{ id: 9, data: Uint8Array.of(0x9f, 0xeb, 1) }] },
    },
  ];
}

async function withFile(bytes: Uint8Array, use: (path: string) => void) {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeFile(`${folder}/perf.data`, bytes);
    use(`${folder}/perf.data`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

for (const littleEndian of [true, false]) {
  const order = littleEndian ? "little" : "big";
  Deno.test({
    name: `encodeFeature: perf prints the encoded features, ${order}-endian`,
    ignore: !hasPerf,
    async fn() {
      const features = [...FEATURES, ...(littleEndian ? bpf() : [])].sort((a, b) => a.id - b.id);
      await withFile(fileOf(features, littleEndian), (path) => {
        const { success, text } = perf(["report", "--header-only", "-I", "-i", path]);
        assert(success);
        assertEquals(perfLines(text), headerText(features));
      });
    },
  });

  Deno.test({
    name: `encodeFeature: perf buildid-list prints the encoded build ids, ${order}-endian`,
    ignore: !hasPerf,
    async fn() {
      const build_id = Uint8Array.from({ length: 20 }, (_, i) => i + 0xa0);
      const short = build_id.map((byte, i) => i < 16 ? byte : 0);
      const events = [
        { type: 0, misc: 1, pid: -1, build_id, filename: "[kernel.kallsyms]" },
        { type: 0, misc: 0x8002, pid: -1, build_id: short, build_id_size: 16, filename: "/bin/a" },
      ];
      const old = events.map(({ pid: _, ...event }) => event);
      for (const value of [events, old]) {
        const feature: FeatureOf<"BUILD_ID"> = { id: 2, name: "BUILD_ID", value };
        await withFile(fileOf([feature], littleEndian), (path) => {
          const { success, text } = perf(["buildid-list", "-i", path]);
          assert(success);
          assertEquals(
            text.trim().split("\n").map((line) => line.trim().replace(/ +/, " ")).sort(),
            events.map((event) => `${buildIdText(event)} ${event.filename}`).sort(),
          );
        });
      }
    },
  });
}
