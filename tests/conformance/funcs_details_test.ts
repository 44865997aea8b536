/** Rare values of samples as keys of `funcs`, compared with `perf report --sort`. */
import { emptyAttr } from "@perfdata/format/records";
import type { Feature } from "@perfdata/format/features";
import {
  PERF_SAMPLE_CGROUP,
  PERF_SAMPLE_CODE_PAGE_SIZE,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_SAMPLE_TRANSACTION,
  PERF_SAMPLE_WEIGHT,
} from "@perfdata/format/constants";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { asFile, asPipe, type Item, Numbers } from "../../fixtures/synthesize/recording.ts";
import { branchRecording, run } from "../support/branch_recording.ts";
import { corpusFiles } from "../support/corpus.ts";
import { ignored, notInstalled } from "../support/ignored.ts";
import { memoryRecording } from "../support/memory_recording.ts";
import { newerPerfText, noNewerPerf, noPerf, perfText } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";

const SEPARATOR = "\x01";
const SAMPLE_TYPE = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
  PERF_SAMPLE_PERIOD | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_CGROUP |
  PERF_SAMPLE_CODE_PAGE_SIZE;

const KEYS = [
  "cgroup",
  "comm,cgroup",
  "addr",
  "transaction",
  "code_page_size,cgroup",
  "local_weight,transaction",
  "comm,cgroup,addr",
  "weight,comm",
  "weight",
  "time",
  "time,comm",
  "socket",
  "socket,cgroup",
];

/** Samples of two processes in named cgroups, an unnamed one, and none. */
async function recordings() {
  const numbers = new Numbers(8);
  const any = <T>(list: readonly T[]): T => list[numbers.below(list.length)] as T;
  const cgroup = (id: bigint, path: string): Item => ({
    record: { type: 19, name: "CGROUP", misc: 0, body: { id, path } },
  } as Item);
  const items: Item[] = [
    ...[7, 8].map((pid): Item => ({
      record: { type: 3, name: "COMM", misc: 0, body: { pid, tid: pid, comm: `work${pid}` } },
    })),
    cgroup(1n, "/"),
    cgroup(0x1_0000_0007n, "/user.slice/app"),
    ...Array.from({ length: 300 }, (_, i): Item => {
      const pid = any([7, 8]);
      return {
        record: {
          type: 9,
          name: "SAMPLE",
          misc: 2,
          body: {
            ...{ ip: BigInt(any([0x401000, 0x401010, 0x7fff12345678])), pid, tid: pid },
            // Up to half a second, beyond the first 32 bits.
            ...{ time: 0xfff00000n + BigInt(1_700_000 * (i + 1)), period: 5n },
            ...{ cpu: numbers.below(3), res: 0 },
            weight: BigInt(numbers.below(4)),
            transaction: any([0n, 1n, 2n, 6n, 8n, 0x42n, 0x85n | 7n << 32n, 0x30n]),
            cgroup: any([0n, 1n, 0x1_0000_0007n, 99n]),
            code_page_size: any([0n, 4096n, 2n << 20n]),
          },
        },
      } as Item;
    }),
    // Named at the end, since perf uses the last record.
    cgroup(0x1_0000_0007n, "/another"),
  ];
  const attr = {
    ...emptyAttr(),
    ...{ size: 120, sample_period: 1n, sample_type: BigInt(SAMPLE_TYPE) },
  };
  const features = [
    { id: 7, name: "NRCPUS", value: { nr_cpus_avail: 3, nr_cpus_online: 3 } },
    {
      id: 13,
      name: "CPU_TOPOLOGY",
      value: {
        package_cpus_list: ["0-1", "2"],
        core_cpus_list: ["0", "1", "2"],
        cpus: [0, 0, 1].map((socket_id, core_id) => ({ core_id, socket_id })),
      },
    },
  ] as Feature[];
  const recording = { events: [{ attr, ids: [1n] }], items, features };
  return {
    little: await asFile(recording, true),
    big: await asFile(recording, false),
    pipe: await asPipe(recording, true),
  };
}

async function ownRows(path: string, keys: string, ...more: string[]): Promise<string[]> {
  const { code, out, err } = await tool("funcs", [
    ...["--sort", keys, "--json", "--no-inline", ...more, path],
  ]);
  assertEquals(code, 0, err);
  return out.trimEnd().split("\n").map((line) => {
    const row = JSON.parse(line);
    return [row.samples, row.period, ...keys.split(",").map((key) => String(row[key]).trim())]
      .join("\t");
  }).sort();
}

/** A cell without surrounding blanks; perf prints sockets with three digits. */
function plain(cell: string): string {
  return cell.trim().replace(/ +/g, " ").replace(/^0+(?=\d+$)/, "");
}

async function perfRows(path: string, keys: string, isNewer = false): Promise<string[]> {
  // With -F, newer perfs use some of these names for columns of averages.
  const what = isNewer ? ["-n", "-F+period", "-s", keys] : ["-F", `sample,period,${keys}`];
  const output = await (isNewer ? newerPerfText : perfText)([
    ...["report", "--stdio", ...what, "-t", SEPARATOR],
    ...["-w", Array(2 + keys.split(",").length).fill(200).join()],
  ], path);
  assertEquals(output?.code, 0, output?.stderr);
  return (output?.stdout ?? "").split("\n")
    .filter((line) => !line.startsWith("#") && line.includes(SEPARATOR))
    .map((line) => line.split(SEPARATOR).slice(isNewer ? 1 : 0).map(plain).join("\t"))
    .sort();
}

Deno.test({
  name: "funcs: cgroup, addr, transaction and similar keys equal those of perf report --sort",
  ...ignored(noPerf()),
  fn: () =>
    inFolder(async (folder) => {
      const { little, big, pipe } = await recordings();
      const path = `${folder}/little.data`;
      Deno.writeFileSync(path, little);
      Deno.writeFileSync(`${folder}/big.data`, big);
      Deno.writeFileSync(`${folder}/pipe.data`, pipe);
      let rows = 0;
      for (const keys of KEYS) {
        const ours = await ownRows(path, keys);
        assertEquals(ours, await perfRows(path, keys), keys);
        assertEquals(await ownRows(`${folder}/big.data`, keys), ours, `${keys}, big-endian`);
        assertEquals(await ownRows(`${folder}/pipe.data`, keys), ours, `${keys}, a pipe`);
        assertEquals(await ownRows(path, keys, "--jobs", "2"), ours, `${keys}, two threads`);
        rows += ours.length;
      }
      console.log(`funcs: ${rows} rows of keys that few samples have are those of perf`);
      assert(rows >= 90, `${rows} rows`);
    }),
});

/** Keys of the three parts of a weight, including those that perf 6.1 does not know. */
const WEIGHT_KEYS = ["local_ins_lat", "ins_lat,comm", "weight,local_ins_lat"];
/** perf 6.1 supports the third part only on POWER. */
const NEWER_KEYS = [
  ...["local_retire_lat", "retire_lat,comm", "local_p_stage_cyc", "p_stage_cyc", "ins_lat,comm"],
];

/** Samples with three-part weights. */
async function weights(): Promise<Uint8Array> {
  const numbers = new Numbers(11);
  const accesses = Array.from({ length: 200 }, () => ({
    ...{ ip: 0x401000n, pid: 7 + numbers.below(2), addr: 0n, data_src: 0n, phys_addr: 0n, cpu: 0 },
    ...{ data_page_size: 0n, code_page_size: 0n },
    weight_struct: {
      var1_dw: numbers.below(3),
      var2_w: 1 + numbers.below(3),
      var3_w: 0x8000 * numbers.below(2) + numbers.below(3),
    },
  }));
  return await memoryRecording({
    mappings: [7, 8].map((pid) => (
      { pid, addr: 0x400000, size: 0x4000, offset: 0, path: "/nowhere/code" }
    )),
    accesses,
  });
}

Deno.test({
  name:
    "funcs: keys of the parts of weights, single and summed up, equal those of perf report --sort",
  ...ignored(noPerf()),
  fn: () =>
    inFolder(async (folder) => {
      const path = `${folder}/weights.data`;
      Deno.writeFileSync(path, await weights());
      let rows = 0;
      for (const keys of WEIGHT_KEYS) {
        const ours = await ownRows(path, keys);
        assertEquals(ours, await perfRows(path, keys), keys);
        rows += ours.length;
      }
      assert(rows >= 10, `${rows} rows`);
    }),
});

Deno.test({
  name: "funcs: the key of the third part of weights equals that of perf report --sort of 6.12",
  ...ignored(noNewerPerf()),
  fn: () =>
    inFolder(async (folder) => {
      const path = `${folder}/weights.data`;
      Deno.writeFileSync(path, await weights());
      let rows = 0;
      for (const keys of NEWER_KEYS) {
        const ours = await ownRows(path, keys);
        assertEquals(ours, await perfRows(path, keys, true), keys);
        rows += ours.length;
      }
      assert(rows >= 8, `${rows} rows`);
    }),
});

const canCompile = notInstalled("gcc", "nm", "objdump");

/** Rows of keys with functions, by key and offset in the checked object. */
async function functionRows(path: string, keys: string): Promise<Map<string, number>> {
  const { code, out, err } = await tool("funcs", [
    ...["--sort", keys, "--json", "--no-inline", path],
  ]);
  assertEquals(code, 0, err);
  return new Map(
    out.trimEnd().split("\n").map((line) => JSON.parse(line)).map((row) => [
      keys.split(",").map((key) => row[key]).join("\t"),
      row.samples,
    ]),
  );
}

Deno.test({
  name: "funcs: symoff is the distance from a function's start, symbol_size the size in nm -S",
  ...ignored(canCompile),
  fn: () =>
    inFolder(async (folder) => {
      const { data, program } = await branchRecording(folder, false);
      const symbols = run("nm", "-S", "--defined-only", program).split("\n").flatMap((line) => {
        const [, at, size, name] = /^([0-9a-f]+) ([0-9a-f]+) [tT] (\w+)$/.exec(line) ?? [];
        return name === undefined
          ? []
          : [{ at: parseInt(at ?? "", 16), size: parseInt(size ?? "", 16), name }];
      });
      const addresses = await functionRows(data, "addr");
      const expected = new Map<string, number>();
      const sizes = new Map<string, number>();
      for (const [address, samples] of addresses) {
        const at = Number(address);
        const found = symbols.find((symbol) => at >= symbol.at && at < symbol.at + symbol.size);
        assert(found !== undefined, address);
        const key = `${found.name}+0x${(at - found.at).toString(16)}`;
        expected.set(key, (expected.get(key) ?? 0) + samples);
        const size = `${found.size}\t${found.name}`;
        sizes.set(size, (sizes.get(size) ?? 0) + samples);
      }
      assertEquals(
        new Map([...await functionRows(data, "symoff")].sort()),
        new Map([...expected].sort()),
      );
      assertEquals(
        new Map([...await functionRows(data, "symbol_size,sym")].sort()),
        new Map([...sizes].sort()),
      );
      assert(expected.size >= 3 && sizes.size >= 2, `${expected.size} ${sizes.size}`);
    }),
});

/** Recordings with tracepoints: those of the fixtures, and small ones of others. */
const TRACED = [
  ...["tracepoint"].map((name) =>
    new URL(`../../fixtures/recorded/${name}.perf.data`, import.meta.url).pathname
  ),
  ...corpusFiles().filter(({ row, sound }) =>
    row["raw_tracing_data"] === "RAW+TRACING_DATA" && sound && row["report_rc"] === "0"
  ).map(({ path }) => path),
];

Deno.test({
  name: "funcs: trace, the text of tracepoints, equals that of perf report --sort",
  ...ignored(noPerf()),
  fn: async () => {
    let rows = 0;
    for (const path of TRACED) {
      const output = await perfText([
        ...["report", "--stdio", "-n", "-s", "trace", "-t", SEPARATOR, "-w", "9,9,900"],
        ...["--no-children", "--no-group", "-g", "none", "--kallsyms=/dev/null"],
      ], path);
      const [perf, own] = [new Map<string, number>(), new Map<string, number>()];
      const add = (to: Map<string, number>, text: string, samples: number) =>
        void to.set(text.trim(), (to.get(text.trim()) ?? 0) + samples);
      for (const line of (output?.stdout ?? "").split("\n")) {
        if (line.startsWith("#") || !line.includes(SEPARATOR)) continue;
        const [, samples, ...trace] = line.split(SEPARATOR);
        add(perf, trace.join(SEPARATOR), Number(samples));
      }
      const { code, out, err } = await tool("funcs", ["--sort", "trace", "--json", path]);
      assertEquals(code, 0, err);
      for (const line of out.trimEnd().split("\n").map((line) => JSON.parse(line))) {
        add(own, line.trace, line.samples);
      }
      assertEquals(new Map([...own].sort()), new Map([...perf].sort()), path);
      rows += own.size;
    }
    console.log(`funcs: ${rows} texts of tracepoints of ${TRACED.length} files are those of perf`);
    assert(rows >= (corpusFiles().length > 0 ? 100 : 2), `${rows}`);
  },
});

Deno.test("funcs: keys of samples' values are refused for branches and times", async () => {
  const path = new URL("../../fixtures/recorded/switch.perf.data", import.meta.url).pathname;
  for (
    const args of [
      ["--sort", "symbol_from,cgroup"],
      ["-b", "--sort", "addr,symbol_to"],
      ["--weight", "off-cpu", "--sort", "local_weight"],
    ]
  ) {
    const { code, out, err } = await tool("funcs", [...args, path]);
    assertEquals([code, out], [2, ""], args.join(" "));
    assertStringIncludes(err, "exclude each other: the key is of samples");
  }
});

Deno.test("funcs: a key that no sample has a value for is reported", async () => {
  const path = new URL("../../fixtures/recorded/clock.perf.data", import.meta.url).pathname;
  const flags = { cgroup: "--all-cgroups", phys_daddr: "--phys-data", local_weight: "--weight" };
  for (const [key, flag] of Object.entries(flags)) {
    const { code, err } = await tool("funcs", ["--sort", key, path]);
    assertEquals(code, 0);
    assertStringIncludes(err, `perf record ${flag} records it`);
  }
  const { err } = await tool("funcs", ["--sort", "addr", path]);
  assertEquals(err, "");
});
