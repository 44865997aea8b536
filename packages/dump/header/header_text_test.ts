import { assert, assertEquals } from "@std/assert";
import { BPF_INFO_FIELDS, encodeFeature, type Feature } from "@perfdata/format/features";
import { bytesSource, memorySink } from "@perfdata/format/bytes";
import {
  type Codec,
  codecsOf,
  emptyAttr,
  PerfDataReader,
  PerfDataWriter,
} from "@perfdata/format/records";
import { eventName } from "@perfdata/format/constants";
import { headerLines } from "@perfdata/dump";

const MTIME = new Date(2024, 1, 3, 4, 5, 6);

async function perfRuns(): Promise<boolean> {
  try {
    return (await new Deno.Command("perf", { args: ["--version"] }).output()).success;
  } catch {
    return false;
  }
}
const hasPerf = await perfRuns();
if (!hasPerf) console.log("ignored: headers of files made here against perf: no perf");

const ATTR = { ...emptyAttr(), type: 1, size: 128, config: 1n, sample_type: 0x47n };

async function fileOf(features: readonly Feature[]): Promise<Uint8Array<ArrayBuffer>> {
  const sink = memorySink();
  const writer = await PerfDataWriter.file(sink, {
    events: [{ attr: ATTR, ids: [1n] }, { attr: ATTR, ids: [2n] }, { attr: ATTR, ids: [3n] }],
    attrSize: 128,
  });
  await writer.write(Uint8Array.of(68, 0, 0, 0, 0, 0, 8, 0));
  await writer.close(
    features.map((feature) => ({ id: feature.id, bytes: encodeFeature(feature) })),
  );
  return sink.bytes();
}

async function linesOf(file: Uint8Array, more = false): Promise<string[]> {
  const reader = await PerfDataReader.open(bytesSource(file));
  return await Array.fromAsync(headerLines(reader, { mtime: MTIME, more }));
}

/** A BPF program of two functions whose names are in its type information. */
function bpfFeatures(): Feature[] {
  const data = new Uint8Array(16 + 8 + 16 + 16);
  const view = new DataView(data.buffer);
  view.setBigUint64(0, 0xffffffffc0001000n, true); // jited_ksyms
  view.setBigUint64(8, 0xffffffffc0002000n, true);
  view.setUint32(16, 100, true); // jited_func_lens
  view.setUint32(20, 200, true);
  data.set([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255], 24); // prog_tags
  view.setUint32(40, 0, true); // func_info: insn_off, type_id
  view.setUint32(44, 1, true);
  view.setUint32(48, 5, true);
  view.setUint32(52, 2, true);
  const info = Object.fromEntries(
    Object.entries(codecsOf(BPF_INFO_FIELDS)).map(([name, codec]) => {
      const any = codec as Codec<unknown>;
      if (any.type === "u64") return [name, 0n];
      if (any.type === "u32") return [name, 0];
      return [name, any.display.as === "text" ? "main_prog" : new Uint8Array(any.size ?? 0)];
    }),
  );
  Object.assign(info, {
    id: 17,
    btf_id: 5,
    nr_jited_ksyms: 2,
    nr_jited_func_lens: 2,
    nr_prog_tags: 2,
    nr_func_info: 2,
    func_info_rec_size: 8,
    jited_ksyms: 0n,
    jited_func_lens: 16n,
    prog_tags: 24n,
    func_info: 40n,
  });
  // BTF: two FUNCs that refer to a FUNC_PROTO.
  const strings = new TextEncoder().encode("\0first\0second\0");
  const btf = new Uint8Array(24 + 36 + strings.length);
  const types = new DataView(btf.buffer);
  types.setUint16(0, 0xeb9f, true);
  types.setUint8(2, 1);
  types.setUint32(4, 24, true);
  types.setUint32(12, 36, true); // type_len
  types.setUint32(16, 36, true); // str_off
  types.setUint32(20, strings.length, true);
  types.setUint32(24, 1, true);
  types.setUint32(28, 12 << 24, true);
  types.setUint32(32, 3, true);
  types.setUint32(36, 7, true);
  types.setUint32(40, 12 << 24, true);
  types.setUint32(44, 3, true);
  types.setUint32(52, 13 << 24, true);
  btf.set(strings, 60);
  return [
    {
      id: 25,
      name: "BPF_PROG_INFO",
      value: { progs: [{ info_len: 232, arrays: 0x138n, info, data }] },
    } as unknown as Feature,
    { id: 26, name: "BPF_BTF", value: { btfs: [{ id: 5, data: btf }] } },
  ];
}

const FEATURES: readonly Feature[] = [
  { id: 3, name: "HOSTNAME", value: "a host" },
  { id: 6, name: "ARCH", value: "x86_64" },
  { id: 7, name: "NRCPUS", value: { nr_cpus_avail: 4, nr_cpus_online: 3 } },
  { id: 10, name: "TOTAL_MEM", value: 12345678901n },
  { id: 11, name: "CMDLINE", value: { argv: ["/usr/bin/perf", "record", "it's 'quoted'", ""] } },
  {
    id: 12,
    name: "EVENT_DESC",
    value: {
      attr_size: 128,
      events: ["one", "two", "three"].map((name, i) => ({
        attr: {
          ...ATTR,
          sample_type: 0x1ff_ffffn,
          read_format: 0x1fn,
          branch_sample_type: 0x7_ffffn,
          sample_regs_user: 0xff0fffn,
          clockid: -1,
          config1: 0x10n,
          config2: 4n,
          bp_type: 3,
          wakeup_events: 1,
          sig_data: 77n,
          sample_max_stack: 127,
          flags: { ...ATTR.flags, precise_ip: 2, sigtrap: true, inherit: true, freq: true },
        },
        name,
        ids: i === 1 ? [] : [BigInt(i), (1n << 64n) - 1n],
      })),
    },
  } as unknown as Feature,
  {
    id: 13,
    name: "CPU_TOPOLOGY",
    value: {
      package_cpus_list: ["0-3"],
      core_cpus_list: ["0-1", "2-3"],
      cpus: [0, 0, 1, 1].map((core_id) => ({ core_id, socket_id: 0 })),
      dies: { die_cpus_list: ["0-1", "2-3"], die_ids: [0, 0, 1, 1] },
    },
  },
  {
    id: 14,
    name: "NUMA_TOPOLOGY",
    value: {
      nodes: [
        { node: 0, mem_total: 100n, mem_free: 50n, cpus: "8,0-3,9" },
        { node: 2, mem_total: 1n, mem_free: 0n, cpus: "" },
      ],
    },
  },
  { id: 15, name: "BRANCH_STACK", value: {} },
  { id: 16, name: "PMU_MAPPINGS", value: { pmus: [{ type: 1, name: "software" }] } },
  {
    id: 17,
    name: "GROUP_DESC",
    value: { groups: [{ name: "mine", leader_idx: 1, nr_members: 2 }] },
  },
  { id: 19, name: "STAT", value: {} },
  {
    id: 20,
    name: "CACHE",
    value: {
      version: 1,
      caches: [{
        level: 1,
        line_size: 64,
        sets: 64,
        ways: 8,
        type: "Data",
        size: "32K",
        map: "0-1",
      }],
    },
  },
  {
    id: 21,
    name: "SAMPLE_TIME",
    value: { first_sample_time: 1234567890123n, last_sample_time: 2345678901234n },
  },
  {
    id: 22,
    name: "MEM_TOPOLOGY",
    value: {
      version: 1n,
      block_size_bytes: 0x8000000n,
      nodes: [
        { node: 0n, size: 70n, nbits: 70n, set: [0xf000_0000_0000_000fn, 0x21n] },
        { node: 1n, size: 128n, nbits: 128n, set: [0x5555555555555555n, 0x5555555555555555n] },
      ],
    },
  },
  { id: 23, name: "CLOCKID", value: 4n },
  ...bpfFeatures(),
  {
    id: 27,
    name: "COMPRESSED",
    value: { version: 1, type: 1, level: 3, ratio: 7, mmap_len: 528384 },
  },
  {
    id: 28,
    name: "CPU_PMU_CAPS",
    value: { caps: [{ name: "branches", value: "32" }, { name: "pmu_name", value: "skylake" }] },
  },
  {
    id: 29,
    name: "CLOCK_DATA",
    value: {
      version: 1,
      clockid: 1,
      wall_clock_ns: 1700000000123456789n,
      clockid_time_ns: 5000000007n,
    },
  },
  {
    id: 30,
    name: "HYBRID_TOPOLOGY",
    value: {
      nodes: [{ pmu_name: "cpu_core", cpus: "0-1" }, { pmu_name: "cpu_atom", cpus: "2-3" }],
    },
  },
  {
    id: 31,
    name: "PMU_CAPS",
    value: {
      pmus: [
        { caps: [{ name: "max_precise", value: "3" }], pmu_name: "cpu_core" },
        { caps: [], pmu_name: "cpu_atom" },
      ],
    },
  },
];

Deno.test({
  name: "headerLines: a file with all features has the lines of perf",
  ignore: !hasPerf,
  async fn() {
    const dir = await Deno.makeTempDir();
    const path = `${dir}/perf.data`;
    const file = await fileOf(FEATURES);
    await Deno.writeFile(path, file);
    await Deno.utime(path, MTIME, MTIME);
    const { stdout, stderr } = await new Deno.Command("sh", {
      args: [
        "-c",
        'ulimit -v 8000000; exec timeout 300 perf report --header-only -I -i "$1"',
        "sh",
        path,
      ],
      env: { LC_ALL: "C", PERF_BUILDID_DIR: dir },
      stdin: "null",
    }).output();
    await Deno.remove(dir, { recursive: true });
    const theirs = new TextDecoder().decode(stdout).split("\n").slice(0, -1);
    assert(theirs.length > 30, new TextDecoder().decode(stderr));
    assertEquals(await linesOf(file), theirs);
  },
});

Deno.test("headerLines: functions of BPF programs have the names of their types", async () => {
  const lines = await linesOf(await fileOf(bpfFeatures()));
  assertEquals(lines.filter((line) => /bpf|btf|sub_prog/i.test(line)), [
    "# bpf_prog_info 17:",
    "# \tsub_prog 0: bpf_prog_0102030405060708_first addr 0xffffffffc0001000 size 100",
    "# \tsub_prog 1: bpf_prog_090a0b0c0d0e0fff_second addr 0xffffffffc0002000 size 200",
    "# btf info of id 5",
  ]);
});

Deno.test("headerLines: with `more`, features unknown to perf 6.1 come last", async () => {
  const file = await fileOf([
    {
      id: 2,
      name: "BUILD_ID",
      value: [{
        type: 0,
        misc: 0x8002,
        pid: -1,
        build_id: Uint8Array.from({ length: 20 }, (_, i) => i < 4 ? 0xa0 + i : 0),
        build_id_size: 4,
        filename: "/bin/true",
      }],
    },
    {
      id: 32,
      name: "CPU_DOMAIN_INFO",
      value: {
        schedstat_version: 17,
        max_sched_domains: 2,
        cpus: [{ cpu: 0, domains: [{ domain: 0, dname: "SMT", cpumask: "3", cpulist: "0-1" }] }],
      },
    },
    { id: 33, name: "E_MACHINE", value: { e_machine: 62, e_flags: 0 } },
    { id: 34, name: "CLN_SIZE", value: 64 },
    { id: 200, name: "RAW", raw: new Uint8Array(5) },
    { id: 7, name: "RAW", raw: new Uint8Array(5) },
  ]);
  const lines = await linesOf(file, true);
  const own = await linesOf(file);
  assertEquals(own.slice(-2), ["# ========", "#"]);
  assertEquals(lines.slice(0, own.length), own);
  const more = lines.slice(own.length);
  assertEquals(more.filter((line) => !line.startsWith("# NRCPUS")), [
    "# build id : a0a1a2a3 /bin/true",
    "# schedstat version : 17",
    "# maximum sched domains : 2",
    "# CPU 0: domain 0 (SMT): CPUs 0-1",
    "# e_machine : 62, e_flags : 0x0",
    "# cacheline size : 64",
    "# FEATURE_200 : 5 bytes",
  ]);
  assert(
    more.some((line) => /^# NRCPUS : not readable: 0x[0-9a-f]+: u32: 1 bytes left/.test(line)),
  );
});

Deno.test("headerLines: unnamed events have perf's names", () => {
  const name = (type: number, config: bigint, flags: Partial<typeof ATTR.flags> = {}) =>
    eventName({
      ...emptyAttr(),
      type,
      config,
      flags: { ...ATTR.flags, exclude_guest: true, ...flags },
    });
  assertEquals(name(0, 0n), "cycles");
  assertEquals(name(0, 99n), "unknown-hardware");
  assertEquals(name(0, 1n, { exclude_kernel: true, exclude_hv: true }), "instructions:uH");
  assertEquals(name(0, 0n, { precise_ip: 2 }), "cycles:ppH");
  assertEquals(name(1, 9n), "dummy");
  assertEquals(name(3, 0x10000n), "L1-dcache-load-misses");
  assertEquals(name(3, 0x00102n), "LLC-stores");
  assertEquals(name(3, 0x00101n), "invalid-cache");
  assertEquals(name(4, 0x1c2n), "raw 0x1c2");
  assertEquals(name(2, 5n), "unknown tracepoint");
  assertEquals(name(22, 0n), "unknown attr type: 22");
});
