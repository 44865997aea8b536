import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { decodeFeature, encodeFeature, type Feature, FEATURES } from "./feature.ts";
import { FEATURE_NAMES } from "./names.ts";
import * as names from "./names.ts";
import { buildIdText } from "./build_id.ts";
import { bpfProgArrays } from "./bpf.ts";
import { emptyAttr } from "../header/attr.ts";
import { PerfDataError } from "../error.ts";

/** Builder for a section, in either byte order. */
class Bytes {
  readonly #littleEndian: boolean;
  readonly #bytes: number[] = [];

  constructor(littleEndian: boolean) {
    this.#littleEndian = littleEndian;
  }

  #number(size: number, value: number | bigint): this {
    const bytes = Array.from(
      { length: size },
      (_, i) => Number(BigInt(value) >> BigInt(8 * i) & 255n),
    );
    this.#bytes.push(...(this.#littleEndian ? bytes : bytes.reverse()));
    return this;
  }
  u8(...values: number[]): this {
    this.#bytes.push(...values);
    return this;
  }
  u16(value: number): this {
    return this.#number(2, value);
  }
  u32(...values: number[]): this {
    for (const value of values) this.#number(4, value);
    return this;
  }
  u64(...values: (number | bigint)[]): this {
    for (const value of values) this.#number(8, value);
    return this;
  }
  /** Text padded with zeros to `size` bytes. */
  text(text: string, size: number): this {
    for (let i = 0; i < size; i++) this.#bytes.push(i < text.length ? text.charCodeAt(i) : 0);
    return this;
  }
  /** A length of 64, and text padded to it, as perf writes short strings. */
  string(...texts: string[]): this {
    for (const text of texts) this.u32(64).text(text, 64);
    return this;
  }
  done(): Uint8Array {
    return Uint8Array.from(this.#bytes);
  }
}

const TAG = [0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0];
const ID = Array.from({ length: 20 }, (_, i) => i + 0xa0);

interface Case {
  id: number;
  write: (b: Bytes) => Bytes;
  value: unknown;
}

/** Each section as bytes and as a value, both written by hand from `header.c`. */
const CASES: Record<string, Case> = {
  HOSTNAME: { id: 3, write: (b) => b.string("build-7"), value: "build-7" },
  OSRELEASE: { id: 4, write: (b) => b.string("6.1.0-13-amd64"), value: "6.1.0-13-amd64" },
  VERSION: { id: 5, write: (b) => b.string("6.1.55"), value: "6.1.55" },
  ARCH: { id: 6, write: (b) => b.string("x86_64"), value: "x86_64" },
  NRCPUS: { id: 7, write: (b) => b.u32(2, 1), value: { nr_cpus_avail: 2, nr_cpus_online: 1 } },
  CPUDESC: { id: 8, write: (b) => b.string("Some CPU @ 2.0GHz"), value: "Some CPU @ 2.0GHz" },
  CPUID: { id: 9, write: (b) => b.string("GenuineIntel,6,61,4"), value: "GenuineIntel,6,61,4" },
  TOTAL_MEM: { id: 10, write: (b) => b.u64(0x1_0000_0002n), value: 0x1_0000_0002n },
  CMDLINE: {
    id: 11,
    write: (b) => b.u32(3).string("/usr/bin/perf", "record", "it's"),
    value: { argv: ["/usr/bin/perf", "record", "it's"] },
  },
  CPU_TOPOLOGY: {
    id: 13,
    write: (b) =>
      b.u32(1).string("0-1").u32(2).string("0", "1").u32(0, 0, 1, 0)
        .u32(2).string("0", "1").u32(0, 1),
    value: {
      package_cpus_list: ["0-1"],
      core_cpus_list: ["0", "1"],
      cpus: [{ core_id: 0, socket_id: 0 }, { core_id: 1, socket_id: 0 }],
      dies: { die_cpus_list: ["0", "1"], die_ids: [0, 1] },
    },
  },
  NUMA_TOPOLOGY: {
    id: 14,
    write: (b) => b.u32(1, 0).u64(8000n, 4000n).string("0-1"),
    value: { nodes: [{ node: 0, mem_total: 8000n, mem_free: 4000n, cpus: "0-1" }] },
  },
  BRANCH_STACK: { id: 15, write: (b) => b, value: {} },
  PMU_MAPPINGS: {
    id: 16,
    write: (b) => b.u32(2, 8).string("intel_pt").u32(1).string("software"),
    value: { pmus: [{ type: 8, name: "intel_pt" }, { type: 1, name: "software" }] },
  },
  AUXTRACE: {
    id: 18,
    write: (b) => b.u64(2, 0x29c0, 48, 0x7788, 48),
    value: { entries: [{ file_offset: 0x29c0n, sz: 48n }, { file_offset: 0x7788n, sz: 48n }] },
  },
  STAT: { id: 19, write: (b) => b, value: {} },
  CACHE: {
    id: 20,
    write: (b) => b.u32(1, 1).u32(1, 64, 128, 8).string("Data", "64K", "0-1"),
    value: {
      version: 1,
      caches: [
        { level: 1, line_size: 64, sets: 128, ways: 8, type: "Data", size: "64K", map: "0-1" },
      ],
    },
  },
  SAMPLE_TIME: {
    id: 21,
    write: (b) => b.u64(65_149_467_765_000n, 65_149_479_616_999n),
    value: { first_sample_time: 65_149_467_765_000n, last_sample_time: 65_149_479_616_999n },
  },
  MEM_TOPOLOGY: {
    id: 22,
    write: (b) => b.u64(1, 0x800_0000, 1).u64(0, 66, 66, 0xffn, 0b10),
    value: {
      version: 1n,
      block_size_bytes: 0x800_0000n,
      nodes: [{ node: 0n, size: 66n, nbits: 66n, set: [0xffn, 0b10n] }],
    },
  },
  CLOCKID: { id: 23, write: (b) => b.u64(4), value: 4n },
  DIR_FORMAT: { id: 24, write: (b) => b.u64(1), value: 1n },
  BPF_BTF: {
    id: 26,
    write: (b) => b.u32(1, 9, 3).u8(0x9f, 0xeb, 1),
    value: { btfs: [{ id: 9, data: Uint8Array.of(0x9f, 0xeb, 1) }] },
  },
  COMPRESSED: {
    id: 27,
    write: (b) => b.u32(1, 1, 3, 58, 528384),
    value: { version: 1, type: 1, level: 3, ratio: 58, mmap_len: 528384 },
  },
  CPU_PMU_CAPS: {
    id: 28,
    write: (b) => b.u32(2).string("branches", "32", "pmu_name", "skylake"),
    value: { caps: [{ name: "branches", value: "32" }, { name: "pmu_name", value: "skylake" }] },
  },
  CLOCK_DATA: {
    id: 29,
    write: (b) => b.u32(1, 4).u64(1_600_000_000_123_456_789n, 77_000_000_042n),
    value: {
      version: 1,
      clockid: 4,
      wall_clock_ns: 1_600_000_000_123_456_789n,
      clockid_time_ns: 77_000_000_042n,
    },
  },
  HYBRID_TOPOLOGY: {
    id: 30,
    write: (b) => b.u32(2).string("cpu_core", "0-1", "cpu_atom", "2-5"),
    value: {
      nodes: [{ pmu_name: "cpu_core", cpus: "0-1" }, { pmu_name: "cpu_atom", cpus: "2-5" }],
    },
  },
  PMU_CAPS: {
    id: 31,
    write: (b) => b.u32(2, 1).string("branches", "32", "cpu_core").u32(0).string("cpu_atom"),
    value: {
      pmus: [
        { caps: [{ name: "branches", value: "32" }], pmu_name: "cpu_core" },
        { caps: [], pmu_name: "cpu_atom" },
      ],
    },
  },
  CPU_DOMAIN_INFO: {
    id: 32,
    write: (b) =>
      b.u32(17, 2).u32(0, 2).u32(0).string("SMT", "3", "0-1").u32(1).string("MC", "f", "0-3")
        .u32(1, 0),
    value: {
      schedstat_version: 17,
      max_sched_domains: 2,
      cpus: [
        {
          cpu: 0,
          domains: [
            { domain: 0, dname: "SMT", cpumask: "3", cpulist: "0-1" },
            { domain: 1, dname: "MC", cpumask: "f", cpulist: "0-3" },
          ],
        },
        { cpu: 1, domains: [] },
      ],
    },
  },
  E_MACHINE: { id: 33, write: (b) => b.u32(62, 5), value: { e_machine: 62, e_flags: 5 } },
  CLN_SIZE: { id: 34, write: (b) => b.u32(64), value: 64 },
  GROUP_DESC: {
    id: 17,
    write: (b) => b.u32(1).string("{anon_group}").u32(0, 2),
    value: { groups: [{ name: "{anon_group}", leader_idx: 0, nr_members: 2 }] },
  },
  BUILD_ID: {
    id: 2,
    write: (b) =>
      b.u32(0).u16(0x8001).u16(100).u32(0xffff_ffff).u8(...ID).u8(8, 0, 0, 0)
        .text("[kernel.kallsyms]", 64)
        .u32(0).u16(2).u16(100).u32(0xffff_ffff).u8(...ID).u32(0).text("/bin/true", 64),
    value: [
      {
        type: 0,
        misc: 0x8001,
        pid: -1,
        build_id: Uint8Array.from(ID),
        build_id_size: 8,
        filename: "[kernel.kallsyms]",
      },
      { type: 0, misc: 2, pid: -1, build_id: Uint8Array.from(ID), filename: "/bin/true" },
    ],
  },
  EVENT_DESC: {
    id: 12,
    write: (b) => {
      const attr = (config: number) => b.u32(1, 64).u64(config, 4000, 7, 4, 0).u32(0, 0).u64(0);
      b.u32(2, 64);
      attr(0);
      b.u32(2).string("cpu-clock").u64(0x21, 0x22);
      attr(3);
      return b.u32(0).string("context-switches");
    },
    value: {
      attr_size: 64,
      events: [
        {
          attr: {
            ...emptyAttr(),
            type: 1,
            size: 64,
            sample_period: 4000n,
            sample_type: 7n,
            read_format: 4n,
          },
          name: "cpu-clock",
          ids: [0x21n, 0x22n],
        },
        {
          attr: {
            ...emptyAttr(),
            type: 1,
            size: 64,
            config: 3n,
            sample_period: 4000n,
            sample_type: 7n,
            read_format: 4n,
          },
          name: "context-switches",
          ids: [],
        },
      ],
    },
  },
  BPF_PROG_INFO: {
    id: 25,
    // The first 104 bytes of bpf_prog_info, as in kernel 4.18, and two arrays.
    write: (b) =>
      b.u32(1).u32(104, 16).u64(0x104)
        .u32(5, 42).u8(...TAG).u32(0, 64).u64(0, 0, 123_456).u32(1000, 2).u64(0)
        .text("sys_enter", 16).u32(0, 1).u64(0, 0)
        .u32(7, 9).u8(...TAG),
    value: {
      progs: [{
        info_len: 104,
        arrays: 0x104n,
        info: {
          type: 5,
          id: 42,
          tag: Uint8Array.from(TAG),
          jited_prog_len: 0,
          xlated_prog_len: 64,
          jited_prog_insns: 0n,
          xlated_prog_insns: 0n,
          load_time: 123_456n,
          created_by_uid: 1000,
          nr_map_ids: 2,
          map_ids: 0n,
          name: "sys_enter",
          ifindex: 0,
          gpl_compatible: 1,
          netns_dev: 0n,
          netns_ino: 0n,
          nr_jited_ksyms: 0,
          nr_jited_func_lens: 0,
          jited_ksyms: 0n,
          jited_func_lens: 0n,
          btf_id: 0,
          func_info_rec_size: 0,
          func_info: 0n,
          nr_func_info: 0,
          nr_line_info: 0,
          line_info: 0n,
          jited_line_info: 0n,
          nr_jited_line_info: 0,
          line_info_rec_size: 0,
          jited_line_info_rec_size: 0,
          nr_prog_tags: 0,
          prog_tags: 0n,
          run_time_ns: 0n,
          run_cnt: 0n,
          recursion_misses: 0n,
          verified_insns: 0,
          attach_btf_obj_id: 0,
          attach_btf_id: 0,
        },
        data: undefined, // depends on the byte order; checked below
      }],
    },
  },
  SP_META_INFO: {
    id: 129,
    write: (b) => b.text("clockid", 8).text("monotonic", 10),
    value: [{ key: "clockid", value: "monotonic" }],
  },
  SP_FILE: {
    id: 128,
    write: (b) =>
      b.u32(5 + 4 + 8 + 4 + 16 + 8).text("/a.s", 5).u32(2).u64(0x1000).u32(1)
        .u64(0x1040).u32(32).text("_Zf", 4).u64(0x400),
    value: [{
      path: "/a.s",
      type: 2,
      min_vaddr: 0x1000n,
      symbols: [{ start_vaddr: 0x1040n, len: 32, name: "_Zf" }],
      file_offset_of_min_vaddr: 0x400n,
    }],
  },
  SP_FILE2: {
    id: 132,
    write: (b) => b.u32(2).u8(10, 0).u32(0),
    value: [Uint8Array.of(10, 0), new Uint8Array()],
  },
  HI_FILES_SYMBOL: {
    id: 192,
    write: (b) =>
      b.u32(1).u32(3).text("/a", 3).u32(2).u64(0x1000, 0x400).u32(3).text("ab", 3).u32(1)
        .u64(0x1040).u32(32).u32(2).text("f", 2),
    value: {
      files: [{
        path: "/a",
        path_pad: Uint8Array.of(0),
        type: 2,
        text_exec_vaddr: 0x1000n,
        text_exec_vaddr_file_offset: 0x400n,
        build_id: "ab",
        build_id_pad: Uint8Array.of(0),
        symbols: [{ vaddr: 0x1040n, len: 32, name: "f", name_pad: Uint8Array.of(0) }],
      }],
    },
  },
  HI_WORKLOAD_CMD: { id: 193, write: (b) => b.string("ls"), value: "ls" },
  HI_RECORD_TIME: {
    id: 194,
    write: (b) => b.string("Wed Sep 22 14:59:31 2021"),
    value: "Wed Sep 22 14:59:31 2021",
  },
};

const ORDERS = [true, false];

Deno.test("FEATURES: each feature except TRACING_DATA has a case in this file", () => {
  const declared = FEATURES.map(({ name }) => name as string).filter((name) =>
    name !== "TRACING_DATA"
  );
  assertEquals(Object.keys(CASES).sort(), declared.sort());
});

for (const [name, { id, write, value }] of Object.entries(CASES)) {
  Deno.test(`decodeFeature, ${name}: encodeFeature restores either byte order, bytes behind the value, and a section cut anywhere`, () => {
    for (const littleEndian of ORDERS) {
      const bytes = write(new Bytes(littleEndian)).done();
      const feature = decodeFeature(id, bytes, { littleEndian });
      const expected = name === "BPF_PROG_INFO"
        ? { progs: [{ ...(value as { progs: object[] }).progs[0], data: bytes.slice(-16) }] }
        : value;
      assertEquals(feature, { id, name, value: expected } as Feature);
      assertEquals(encodeFeature(feature, { littleEndian }), bytes);
      // A new value does not have the padding of the decoded one.
      assertEquals(
        encodeFeature({ id, name, value: expected } as Feature, { littleEndian }),
        bytes,
      );
      for (let length = 0; length < bytes.length; length++) {
        const cut = bytes.subarray(0, length);
        assertEquals(
          encodeFeature(decodeFeature(id, cut, { littleEndian }), { littleEndian }),
          cut,
        );
      }
      const longer = Uint8Array.of(...bytes, 0, 0, 0);
      const padded = decodeFeature(id, longer, { littleEndian });
      assertEquals(encodeFeature(padded, { littleEndian }), longer);
      if (!["SP_META_INFO", "SP_FILE2"].includes(name)) {
        assertEquals(padded, { ...feature, tail: Uint8Array.of(0, 0, 0) } as Feature);
      }
    }
  });
}

/** TRACING_DATA has its own byte order. */
function tracing(littleEndian: boolean, version: string): Uint8Array {
  const b = new Bytes(littleEndian).u8(0x17, 0x08, 0x44).text("tracing", 7)
    .text(version, version.length + 1).u8(littleEndian ? 0 : 1, 8).u32(4096)
    .text("header_page", 12).u64(3).text("hp\n", 3).text("header_event", 13).u64(3).text("he\n", 3)
    .u32(1).u64(2).text("f\n", 2)
    .u32(1).text("sched", 6).u32(2).u64(3).text("a\0b", 3).u64(0)
    .u32(0).u32(4).text("pk\n", 4);
  if (version === "0.6") b.u64(7).text("1 init\n", 7);
  return b.done();
}

Deno.test("TRACING_DATA: is decoded in its own byte order, in versions 0.5 and 0.6", () => {
  const value = {
    bigendian: 0,
    long_size: 8,
    page_size: 4096,
    header_page: "hp\n",
    header_event: "he\n",
    ftrace_formats: ["f\n"],
    systems: [{ name: "sched", formats: ["a\0b", ""] }],
    kallsyms: "",
    printk_formats: "pk\n\0",
  };
  for (const littleEndian of ORDERS) {
    const feature = decodeFeature(1, tracing(true, "0.5"), { littleEndian });
    assertEquals(feature, { id: 1, name: "TRACING_DATA", value: { version: "0.5", ...value } });
    assertEquals(encodeFeature(feature, { littleEndian }), tracing(true, "0.5"));
    const later = decodeFeature(1, tracing(false, "0.6"), { littleEndian });
    assertEquals(later, {
      id: 1,
      name: "TRACING_DATA",
      value: { version: "0.6", ...value, bigendian: 1, saved_cmdlines: "1 init\n" },
    });
    assertEquals(encodeFeature(later, { littleEndian }), tracing(false, "0.6"));
    const bytes = tracing(true, "0.6");
    for (let length = 0; length < bytes.length; length++) {
      const cut = bytes.subarray(0, length);
      const read = decodeFeature(1, cut, { littleEndian });
      assertEquals(read.name, "RAW");
      assertEquals(encodeFeature(read, { littleEndian }), cut);
    }
  }
  const other = tracing(true, "0.5").with(3, 0x54);
  const raw = decodeFeature(1, other, { base: 0x100 });
  assert(raw.name === "RAW");
  assertEquals(
    raw.error?.located(),
    '0x100: tracing data: found "\\u0017\\bDTracing", expected "\\u0017\\bDtracing"',
  );
});

Deno.test("BUILD_ID: events without a pid are recognized by the kernel's file name", () => {
  for (const littleEndian of ORDERS) {
    const bytes = new Bytes(littleEndian)
      .u32(0).u16(2).u16(96).u8(...ID).u32(0).text("/usr/lib/libc.so.6", 64)
      .u32(0).u16(1).u16(96).u8(...ID).u32(0).text("[kernel.kallsyms]", 64)
      .done();
    const feature = decodeFeature(2, bytes, { littleEndian });
    const build_id = Uint8Array.from(ID);
    assertEquals(feature, {
      id: 2,
      name: "BUILD_ID",
      value: [
        { type: 0, misc: 2, build_id, filename: "/usr/lib/libc.so.6" },
        { type: 0, misc: 1, build_id, filename: "[kernel.kallsyms]" },
      ],
    });
    assertEquals(encodeFeature(feature, { littleEndian }), bytes);
  }
  assertThrows(
    () =>
      encodeFeature({
        id: 2,
        name: "BUILD_ID",
        value: [{ type: 0, misc: 0, build_id: new Uint8Array(20), filename: "x".repeat(65500) }],
      }),
    RangeError,
    "at most 65535",
  );
});

Deno.test("buildIdText: an event with build_id_size gives that many bytes in hexadecimal", () => {
  const build_id = Uint8Array.from(ID);
  assertEquals(buildIdText({ build_id }), "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3");
  assertEquals(buildIdText({ build_id, build_id_size: 3 }), "a0a1a2");
  assertEquals(buildIdText({ build_id, build_id_size: 0 }), "");
});

Deno.test("CMDLINE: a section of hiperf decodes to one line", () => {
  const bytes = new Bytes(true).u32(22).text("./hiperf record -d 2\0", 22).done();
  const feature = decodeFeature(11, bytes);
  assertEquals(feature, {
    id: 11,
    name: "CMDLINE",
    value: { line: "./hiperf record -d 2", line_pad: Uint8Array.of(0, 0) },
  });
  assertEquals(encodeFeature(feature), bytes);
});

Deno.test("AUXTRACE: an index of simpleperf, without a count, decodes to its entries", () => {
  for (const littleEndian of ORDERS) {
    const bytes = new Bytes(littleEndian).u64(0x2ca8, 48).done();
    const feature = decodeFeature(18, bytes, { littleEndian });
    assertEquals(feature, {
      id: 18,
      name: "AUXTRACE",
      value: { entries: [{ file_offset: 0x2ca8n, sz: 48n }], uncounted: true },
    });
    assertEquals(encodeFeature(feature, { littleEndian }), bytes);
  }
});

Deno.test("CPU_TOPOLOGY: sections without ids, without dies, or with a pipe's padding are decoded", () => {
  const lists = (b: Bytes) => b.u32(1).string("0-2").u32(1).string("0-2");
  const value = { package_cpus_list: ["0-2"], core_cpus_list: ["0-2"] };
  for (const littleEndian of ORDERS) {
    const decoded = (write: (b: Bytes) => Bytes) =>
      decodeFeature(13, write(new Bytes(littleEndian)).done(), { littleEndian });
    const named = { id: 13, name: "CPU_TOPOLOGY" } as const;
    assertEquals(decoded(lists), { ...named, value: { ...value, cpus: [] } });
    const cpus = [0, 1, 2].map((core_id) => ({ core_id, socket_id: -1 }));
    const ids = (b: Bytes) => lists(b).u32(0, 0xffff_ffff, 1, 0xffff_ffff, 2, 0xffff_ffff);
    assertEquals(decoded(ids), { ...named, value: { ...value, cpus } });
    const dies = (b: Bytes) => ids(b).u32(2).string("0-1", "2").u32(0, 0, 1);
    const withDies = {
      ...value,
      cpus,
      dies: { die_cpus_list: ["0-1", "2"], die_ids: [0, 0, 1] },
    };
    assertEquals(decoded(dies), { ...named, value: withDies });
    assertEquals(decoded((b) => ids(b).u32(0)), {
      ...named,
      value: { ...value, cpus },
      tail: Uint8Array.of(0, 0, 0, 0),
    });
  }
});

Deno.test("CACHE, MEM_TOPOLOGY, CLOCK_DATA: an unknown version gives RAW with an error", () => {
  for (
    const [id, bytes] of [
      [20, new Bytes(true).u32(2, 0).done()],
      [22, new Bytes(true).u64(2, 0, 0).done()],
      [29, new Bytes(true).u32(2, 0).u64(0, 0).done()],
    ] as const
  ) {
    const feature = decodeFeature(id, bytes);
    assert(feature.name === "RAW");
    assert(/found 2, expected 1$/.test(feature.error?.message ?? ""), feature.error?.message);
    assertEquals(feature.raw, bytes);
  }
});

Deno.test("bpfProgArrays: a program in either byte order gives the arrays whose bits are set", () => {
  for (const littleEndian of ORDERS) {
    const bytes = new Bytes(littleEndian).u32(1).u32(232, 96).u64(0x1fd)
      .u32(26, 2).u8(...TAG).u32(8, 56).u64(0, 0, 1).u32(0, 1).u64(8).text("p", 16).u32(0, 1)
      .u64(0, 0).u32(1, 1).u64(16, 24).u32(2, 8).u64(32).u32(1, 1).u64(40, 56)
      .u32(2, 16, 8, 1).u64(72, 0, 0, 0).u32(6, 0, 0, 0)
      .u8(1, 2, 3, 4, 5, 6, 7, 8).u32(77, 0).u64(0xffff_8000_1234n).u32(200, 0)
      .u32(0, 5).u8(...Array(16).fill(9)).u64(0xffff_8000_1234n, 0xffff_8000_1238n).u8(...TAG)
      .u64(0, 0)
      .done();
    const feature = decodeFeature(25, bytes, { littleEndian });
    assert(feature.name === "BPF_PROG_INFO", String(feature.name === "RAW" && feature.error));
    const prog = feature.value.progs[0];
    assert(prog !== undefined && feature.tail === undefined);
    assertEquals(encodeFeature(feature, { littleEndian }), bytes);
    const arrays = bpfProgArrays(prog, { littleEndian });
    assertEquals(arrays, {
      jited_insns: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8),
      map_ids: [77],
      jited_ksyms: [0xffff_8000_1234n],
      jited_func_lens: [200],
      func_info: [prog.data.slice(32, 40)],
      line_info: [new Uint8Array(16).fill(9)],
      jited_line_info: [0xffff_8000_1234n, 0xffff_8000_1238n],
      prog_tags: [Uint8Array.from(TAG)],
    });
    for (
      const info of [
        { ...prog.info, prog_tags: 90n },
        { ...prog.info, nr_func_info: 0xffff_ffff, func_info_rec_size: 0 },
        { ...prog.info, jited_line_info_rec_size: 4 },
        { ...prog.info, map_ids: 0xffff_ffff_ffff_ffffn },
      ]
    ) assertThrows(() => bpfProgArrays({ ...prog, info }, { littleEndian }), PerfDataError);
  }
});

Deno.test("decodeFeature: an empty section or an unknown id gives RAW; encodeFeature: a wrong name throws", () => {
  assertEquals(decodeFeature(8, new Uint8Array()), { id: 8, name: "RAW", raw: new Uint8Array() });
  assertEquals(decodeFeature(2, new Uint8Array()), { id: 2, name: "BUILD_ID", value: [] });
  const raw = Uint8Array.of(1, 2, 3);
  assertEquals(decodeFeature(99, raw), { id: 99, name: "RAW", raw });
  assertThrows(() => encodeFeature({ id: 3, name: "ARCH", value: "x" }), TypeError, "feature 3");
});

Deno.test("FEATURE_NAMES: matches the HEADER_ constants and FEATURES", () => {
  const constants = Object.entries(names)
    .filter(([name, value]) =>
      name.startsWith("HEADER_") && name !== "HEADER_FEAT_BITS" && typeof value === "number"
    );
  const byName = Object.fromEntries(constants.map(([name, id]) => [id as number, name.slice(7)]));
  assertEquals(byName, FEATURE_NAMES);
  for (const { id, name } of FEATURES) assertEquals(FEATURE_NAMES[id], name);
});

Deno.test("decodeFeature: the trace has one span per field, without gaps", () => {
  const sections = [
    ...Object.values(CASES).map(({ id, write }) => ({
      id,
      bytes: write(new Bytes(true)).done(),
    })),
    { id: 1, bytes: tracing(false, "0.6") },
  ];
  for (const { id, bytes } of sections) {
    const open: number[] = [];
    let end = 0;
    decodeFeature(id, bytes, {
      trace: {
        begin(name, _codec, offset) {
          assert(name !== "");
          if (open.length === 0) assertEquals(offset, end, `feature ${id}: ${name}`);
          open.push(offset);
        },
        end(offset) {
          assert(offset >= (open.pop() ?? Infinity));
          if (open.length === 0) end = offset;
        },
      },
    });
    assertEquals(open, []);
    // A section that is a single text or number has no fields.
    if (end !== 0) assertEquals(end, bytes.length, `feature ${id}`);
  }
});

/** Checks that encoding restores the bytes. Errors other than PerfDataError fail the test. */
function assertIdentity(id: number, bytes: Uint8Array, littleEndian: boolean) {
  const feature = decodeFeature(id, bytes, { littleEndian });
  const again = encodeFeature(feature, { littleEndian });
  if (again.length !== bytes.length || again.some((byte, i) => byte !== bytes[i])) {
    assertEquals(again, bytes, `feature ${id}`);
  }
}

const anyId = fc.constantFrom(...FEATURES.map(({ id }) => id));

Deno.test("encodeFeature: restores random bytes after decoding", () => {
  // Counts and lengths are small numbers, so these are frequent.
  const byte = fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 2, arbitrary: fc.nat(8) },
    { weight: 1, arbitrary: fc.nat(255) },
  );
  const bytes = fc.array(byte, { maxLength: 400 }).map((list) => Uint8Array.from(list));
  fc.assert(fc.property(anyId, bytes, fc.boolean(), assertIdentity), { numRuns: 20_000 });
});

Deno.test("encodeFeature: restores sections with flipped bits, cuts and insertions", () => {
  const sections = (littleEndian: boolean) => [
    ...Object.values(CASES).map(({ id, write }) => ({
      id,
      bytes: write(new Bytes(littleEndian)).done(),
    })),
    { id: 1, bytes: tracing(littleEndian, "0.6") },
  ];
  const all = { le: sections(true), be: sections(false) };
  const edit = fc.tuple(fc.constantFrom("flip", "cut", "insert"), fc.nat(), fc.nat(255));
  fc.assert(
    fc.property(
      fc.nat(all.le.length - 1),
      fc.boolean(),
      fc.array(edit, { minLength: 1, maxLength: 4 }),
      (index, littleEndian, edits) => {
        const section = (littleEndian ? all.le : all.be)[index];
        if (section === undefined) throw new RangeError("no such section");
        const bytes = [...section.bytes];
        for (const [what, where, value] of edits) {
          const at = where % (bytes.length + 1);
          if (what === "flip" && at < bytes.length) {
            bytes[at] = (bytes[at] as number) ^ (1 << (value & 7));
          } else if (what === "cut") bytes.splice(at, 1 + value % 8);
          else bytes.splice(at, 0, value);
        }
        assertIdentity(section.id, Uint8Array.from(bytes), littleEndian);
      },
    ),
    { numRuns: 20_000 },
  );
});

Deno.test("encodeFeature: restores sections of 64 KB whose counts and lengths exceed them", () => {
  for (const value of [0, 1, 4, 12, 64, 200, 1000, 0x3030_3030, 0x7fff_ffff, 0xffff_ffff]) {
    const bytes = new Uint8Array(1 << 16);
    new Uint32Array(bytes.buffer).fill(value);
    for (const { id } of FEATURES) assertIdentity(id, bytes, true);
  }
});
