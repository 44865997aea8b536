/**
 * `stat` compared with `perf stat report`, on recordings made here, and with perf's output during
 * the recording.
 */
import { assert, assertEquals } from "@std/assert";
import { emptyAttr, type PerfEventAttr } from "@perfdata/format/records";
import type { Feature } from "@perfdata/format/features";
import {
  asFile,
  asPipe,
  type Item,
  Numbers,
  type Recording,
} from "../../fixtures/synthesize/recording.ts";
import { ignored, skipped } from "../support/ignored.ts";
import { newerPerfText, noNewerPerf, noPerf, perfText } from "../support/perf.ts";
import { testSeed } from "../support/seed.ts";
import { inFolder, tool } from "../support/tool.ts";

const TEST_SEED = testSeed();
const ROOT = new URL("../../", import.meta.url).pathname;

/** Aggregation modes: number in perf 6.1, name for `--by`, and perf's flag. */
const MODES = [
  { mode: 0, by: "cpu", flags: ["-A"] },
  { mode: 1, by: "all", flags: [] },
  { mode: 2, by: "socket", flags: ["--per-socket"] },
  { mode: 3, by: "die", flags: ["--per-die"] },
  { mode: 4, by: "core", flags: ["--per-core"] },
  { mode: 7, by: "node", flags: ["--per-node"] },
] as const;
/** perf does not know CPUs that this machine lacks. */
const CPUS = Math.min(4, navigator.hardwareConcurrency);
const CPU_NUMBERS = Array.from({ length: CPUS }, (_, cpu) => cpu);
const CACHE = { line_size: 64, sets: 64, ways: 8, size: "32K" };
/** Scale of RAPL's energy counts in Joules. */
const ENERGY = 2 ** -32;

/** An event to count: its attr, and the share of the time with a counter. */
interface Counted {
  readonly name: string;
  readonly type: number;
  readonly config: bigint;
  readonly flags?: Partial<PerfEventAttr["flags"]>;
  readonly most: number;
  readonly ran?: number;
  readonly unit?: string;
  readonly scale?: number;
}

const hardware = (name: string, config: number, most: number, more: Partial<Counted> = {}) => ({
  ...{ name, type: 0, config: BigInt(config), most },
  ...more,
});
const cache = (name: string, config: number, most: number): Counted => ({
  ...{ name, type: 3, config: BigInt(config), most },
});
const user = { flags: { exclude_kernel: true, exclude_hv: true } };
const MISS = 1 << 16;

/** All events from which perf computes metrics. */
const EVENTS: readonly Counted[] = [
  { name: "task-clock", type: 1, config: 1n, most: 9e8, unit: "msec", scale: 1e-6 },
  { name: "context-switches", type: 1, config: 3n, most: 40 },
  { name: "page-faults", type: 1, config: 2n, most: 2e6 },
  hardware("cycles", 0, 2e9, { ran: 0.62 }),
  hardware("instructions", 1, 5e9, { ran: 0.37 }),
  hardware("cache-references", 2, 1e8),
  hardware("cache-misses", 3, 1e7),
  hardware("branches", 4, 1e9),
  hardware("branch-misses", 5, 1e8),
  hardware("bus-cycles", 6, 1e8),
  hardware("stalled-cycles-frontend", 7, 1e9),
  hardware("stalled-cycles-backend", 8, 1e9),
  hardware("ref-cycles", 9, 1e9, { ran: 0 }),
  hardware("cycles:u", 0, 1e9, user),
  hardware("instructions:u", 1, 3e9, user),
  hardware("branch-misses:u", 5, 3e5, user),
  ...["L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB"].flatMap((name, i) => [
    cache(`${name}-loads`, i, 1e9),
    cache(`${name}-load-misses`, i | MISS, 1e7),
  ]),
  cache("L1-dcache-stores", 1 << 8, 1e9),
  ...["topdown-retiring", "topdown-bad-spec", "topdown-fe-bound", "topdown-be-bound"].map((
    name,
    i,
  ) => ({ name, type: 4, config: BigInt(0x8000 + 256 * i), most: 1e9 })),
  { name: "cpu/cycles-t/", type: 4, config: 0x10000003cn, most: 1e9 },
  { name: "cpu/tx-start/", type: 4, config: 0x1c9n, most: 1e5 },
  { name: "raw", type: 4, config: 0x1234n, most: 1e5 },
  { name: "power/energy-pkg/", type: 9, config: 2n, most: 2 ** 40, unit: "Joules", scale: ENERGY },
];

/** Description of a machine with two sockets and two nodes. */
function features(cmdline: readonly string[]): Feature[] {
  return [
    { id: 7, name: "NRCPUS", value: { nr_cpus_avail: CPUS, nr_cpus_online: CPUS } },
    { id: 11, name: "CMDLINE", value: { argv: [...cmdline] } },
    {
      id: 13,
      name: "CPU_TOPOLOGY",
      value: {
        package_cpus_list: CPU_NUMBERS.map(String),
        core_cpus_list: CPU_NUMBERS.map(String),
        cpus: CPU_NUMBERS.map((cpu) => ({ core_id: cpu >> 1, socket_id: cpu & 1 })),
        dies: { die_cpus_list: [`0-${CPUS - 1}`], die_ids: CPU_NUMBERS.map(() => 0) },
      },
    },
    {
      id: 14,
      name: "NUMA_TOPOLOGY",
      value: {
        nodes: [
          { node: 0, mem_total: 1024n, mem_free: 512n, cpus: "0" },
          ...(CPUS > 1
            ? [{ node: 1, mem_total: 1024n, mem_free: 512n, cpus: `1-${CPUS - 1}` }]
            : []),
        ],
      },
    },
    { id: 19, name: "STAT", value: {} },
    {
      id: 20,
      name: "CACHE",
      value: {
        version: 1,
        caches: [
          ...CPU_NUMBERS.map((cpu) => ({ ...CACHE, level: 1, type: "Data", map: String(cpu) })),
          { ...CACHE, level: 3, type: "Unified", map: `0-${CPUS - 1}` },
        ],
      },
    },
  ] as Feature[];
}

/** A recording in the format of `perf stat record -a`, of some intervals or of one count. */
function counts(seed: number, mode: number, interval: number): Recording {
  const numbers = new Numbers(seed);
  const item = (type: number, name: string, body: unknown): Item =>
    ({ record: { type, name, misc: 0, body } }) as Item;
  const id = (event: number, cpu: number) => BigInt(100 * (event + 1) + cpu);
  const items: Item[] = [];
  EVENTS.forEach(({ unit, scale, name }, i) => {
    if (unit !== undefined) items.push(item(78, "EVENT_UPDATE", { type: 0n, id: id(i, 0), unit }));
    if (scale !== undefined) {
      items.push(item(78, "EVENT_UPDATE", { type: 1n, id: id(i, 0), scale }));
    }
    items.push(item(78, "EVENT_UPDATE", { type: 2n, id: id(i, 0), name }));
  });
  items.push(
    item(73, "THREAD_MAP", { entries: [{ pid: -1n, comm: "" }] }),
    item(74, "CPU_MAP", { type: 0, cpus_data: { cpu: CPU_NUMBERS } }),
    item(75, "STAT_CONFIG", {
      data: [
        { tag: 0n, val: BigInt(mode) },
        { tag: 1n, val: BigInt(interval) },
        { tag: 2n, val: 1n },
      ],
    }),
  );
  const rounds = interval === 0 ? 1 : 4;
  const stands = new Map<string, { val: bigint; ena: bigint; run: bigint }>();
  let time = 0n;
  for (let round = 1; round <= rounds; round++) {
    const span = 100_000_000n + BigInt(numbers.below(1_000_000));
    time += span;
    EVENTS.forEach(({ most, ran = 1 }, event) => {
      for (let cpu = 0; cpu < CPUS; cpu++) {
        const key = `${event} ${cpu}`;
        const before = stands.get(key) ?? { val: 0n, ena: 0n, run: 0n };
        const share = ran === 1 ? 1 : ran * (0.5 + numbers.below(1000) / 1000);
        const now = {
          val: before.val + BigInt(Math.floor(numbers.below(1e6) / 1e6 * most)),
          ena: before.ena + span,
          run: before.run + BigInt(Math.floor(Number(span) * Math.min(1, share))),
        };
        stands.set(key, now);
        items.push(item(76, "STAT", { id: id(event, cpu), cpu, thread: 0, ...now }));
      }
    });
    items.push(item(77, "STAT_ROUND", { type: interval === 0 ? 1n : 0n, time }));
  }
  return {
    events: EVENTS.map(({ type, config, flags }, i) => {
      const attr = emptyAttr();
      return {
        attr: {
          ...attr,
          ...{ size: 120, type, config, sample_type: 1n << 16n, read_format: 3n },
          flags: { ...attr.flags, ...flags },
        },
        ids: CPU_NUMBERS.map((cpu) => id(i, cpu)),
      };
    }),
    items,
    features: features(["perf", "stat", "record", "-a"]),
  };
}

/**
 * Lines without trailing blanks, and without perf's advice after the time on machines with a
 * watchdog.
 */
function lines(text: string): string[] {
  const all = text.trimEnd().split("\n").map((line) => line.trimEnd());
  const last = all.findIndex((line) => line.endsWith(" seconds time elapsed"));
  return last < 0 ? all : all.slice(0, last + 1);
}

Deno.test({
  name:
    "stat: counts and metrics equal those of perf stat report, by CPU, core, die, socket and node",
  ...ignored(noPerf()),
  async fn() {
    let compared = 0;
    await inFolder(async (folder) => {
      for (const [i, { mode, by, flags }] of MODES.entries()) {
        const path = `${folder}/${by}.data`;
        Deno.writeFileSync(path, await asFile(counts(TEST_SEED + i, mode, 0), true));
        const perf = await perfText(["stat", "report", ...flags], path);
        // perf misaligns columns for units with more than four letters.
        const blanks = (line: string) => line.trim().replace(/ +/g, " ");
        const { out, err, code } = await tool("stat", [path]);
        assertEquals([code, err], [0, ""], by);
        assertEquals(lines(out).map(blanks), lines(perf?.stderr ?? "").map(blanks), by);
        const flagged = await tool("stat", ["--by", by, path]);
        assertEquals(flagged.out, out, by);
        compared += lines(out).filter((line) => / # /.test(line)).length;
      }
    });
    console.log(`stat: ${compared} metrics of ${MODES.length} ways to sum up compared with perf's`);
    assert(compared > 150, `${compared}`);
  },
});

Deno.test({
  name: "stat: intervals have the counts of perf stat report",
  ...ignored(noPerf()),
  async fn() {
    let compared = 0;
    await inFolder(async (folder) => {
      for (const { mode, by } of MODES) {
        const path = `${folder}/${by}.data`;
        Deno.writeFileSync(path, await asFile(counts(TEST_SEED + mode, mode, 100), true));
        const perf = await perfText(["stat", "report"], path);
        // perf divides by the means of all intervals so far; metrics are compared on a program
        // below.
        const plain = (text: string) =>
          lines(text).filter((line) => !/^ +[\d.]+ (?:[SN]\d\S* +\d+ |CPU\d+)? +#/.test(line))
            .map((line) => line.replace(/ +(#|\().*/, "").trim().replace(/ +/g, " "))
            .filter((line) => line !== "" && !line.startsWith("# time"));
        const { out } = await tool("stat", [path]);
        assertEquals(plain(out), plain(perf?.stderr ?? ""), by);
        compared += plain(out).length;
      }
    });
    console.log(`stat: ${compared} counts of intervals compared with perf's`);
    assert(compared > 700, `${compared}`);
  },
});

/** Recordings of perf stat: flags, and a program that takes a while. */
const RECORDED: readonly (readonly string[])[] = [
  ["-e", "task-clock,page-faults,context-switches,cycles"],
  ["-a", "-A", "-e", "cpu-clock,page-faults"],
  ["-a", "--per-core", "-I", "30", "-e", "task-clock,page-faults:u"],
  ["-a", "--per-socket", "-I", "30", "-e", "task-clock,minor-faults"],
  ["-I", "30", "-e", "task-clock,page-faults,context-switches"],
];
/** A row: time, CPU or core, count, unit, event. */
const ROW =
  /^ *(?:\d+\.\d{9} +)?(?:CPU\d+ +|S\d\S* +\d+ +)?(?:[\d.]+|<not \w+>) (?:msec| {4}) [a-z-]+/;
const PROGRAM = ["sh", "-c", "for i in 1 2 3 4 5 6; do sleep 0.01; ls / >/dev/null; done"];

Deno.test({
  name: "stat: a recording gives the output of perf stat during the recording",
  ...ignored(noPerf()),
  async fn(t) {
    let compared = 0;
    await inFolder(async (folder) => {
      for (const [i, flags] of RECORDED.entries()) {
        const path = `${folder}/${i}.data`;
        const { success, stderr } = new Deno.Command("perf", {
          args: ["stat", "record", "-o", path, ...flags, "--", ...PROGRAM],
          env: { LC_ALL: "C" },
          stdin: "null",
        }).outputSync();
        if (!success) return await skipped(t, `perf cannot count here: ${flags.join(" ")}`);
        const { out, err } = await tool("stat", [path]);
        assertEquals(err, "");
        // perf assumes the nominal length of an interval; the last one always differs.
        const rows = (text: string) =>
          lines(text).filter((line) => ROW.test(line))
            .map((line) => flags.includes("-I") ? line.replace(/ +#.*CPUs utilized/, "") : line);
        const live = rows(new TextDecoder().decode(stderr));
        assertEquals(rows(out), live, flags.join(" "));
        compared += live.length;
        // Otherwise it equals perf's output for the file.
        const report = await perfText(["stat", "report"], path);
        if (!flags.includes("-I")) assertEquals(lines(out), lines(report?.stderr ?? ""));
      }
    });
    console.log(`stat: ${compared} rows compared with what perf printed`);
    assert(compared >= 20, `${compared}`);
  },
});

Deno.test("stat: sums of CPUs equal the total; JSON and CSV have every count", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/counts.data`;
    Deno.writeFileSync(path, await asFile(counts(TEST_SEED, 0, 100), true));
    const json = async (...args: string[]) => {
      const { out, code } = await tool("stat", ["--json", ...args, path]);
      assertEquals(code, 0);
      return lines(out).map((line) => JSON.parse(line));
    };
    const cpus = await json();
    assertEquals(cpus.length, 4 * CPUS * EVENTS.length);
    let compared = 0;
    for (const by of ["all", "core", "cache", "die", "socket", "node"]) {
      for (const event of EVENTS.filter(({ ran = 1 }) => ran === 1).map(({ name }) => name)) {
        const sum = (rows: { event: string; count: number }[]) =>
          rows.filter((row) => row.event === event).reduce((all, { count }) => all + count, 0);
        assertEquals(sum(await cached(by)), sum(cpus), `${by} ${event}`);
        compared++;
      }
    }
    assert(compared > 100);
    const caches = new Set((await cached("cache")).map(({ group }) => group));
    assertEquals(caches, new Set(CPU_NUMBERS.slice(0, 2).map((socket) => `S${socket}-D0-L3-ID0`)));
    const { out } = await tool("stat", ["--csv", path]);
    const [head = "", ...rows] = out.trimEnd().split(/\r?\n/);
    assertEquals(head.split(",").slice(0, 4), ["time", "duration", "group", "cpus"]);
    const counted = rows.filter((row) => row.split(",")[5] !== "metric");
    assertEquals(counted.length, cpus.length);
    const metrics = cpus.reduce((all, { metrics }) => all + metrics.length, 0);
    assertEquals(rows.filter((row) => !row.endsWith(",,")).length, metrics);

    async function cached(by: string) {
      return await (known[by] ??= json("--by", by));
    }
  });
});
const known: Record<string, Promise<{ event: string; group: string; count: number }[]>> = {};

Deno.test({
  name: "stat: modes of perf 6.12 with other numbers, and its caches, are known",
  ...ignored(noNewerPerf()),
  fn: (t) =>
    inFolder(async (folder) => {
      let compared = 0;
      for (const flag of ["-A", "--per-core", "--per-cache", "--per-cache=L1", "--per-node"]) {
        const path = `${folder}/counts.data`;
        const { success } = new Deno.Command(Deno.env.get("PERFDATA_NEWER_PERF") ?? "", {
          args: ["stat", "record", "-a", flag, "-o", path, "-e", "cpu-clock,faults", "--", "true"],
          ...{ stdin: "null", stdout: "null", stderr: "null" },
        }).outputSync();
        if (!success) return await skipped(t, `perf cannot count here: ${flag}`);
        const { out } = await tool("stat", [path]);
        const plain = (text: string) => lines(text).map((line) => line.replace(/ +/g, " "));
        assertEquals(plain(out), plain((await newerPerfText(["stat", "report"], path)).stderr));
        compared += lines(out).length;
      }
      assert(compared > 20, `${compared}`);
    }),
});

Deno.test("stat: a pipe and a file of either byte order have the same counts", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/counts.data`;
    const recording = counts(TEST_SEED + 1, 4, 100);
    Deno.writeFileSync(path, await asFile(recording, true));
    const { out } = await tool("stat", [path]);
    Deno.writeFileSync(path, await asFile(recording, false));
    assertEquals((await tool("stat", [path])).out, out);
    const pipe = await tool("stat", ["-"], { input: await asPipe(recording, true) });
    assertEquals([pipe.code, pipe.out, pipe.err], [0, out, ""]);
    assert(lines(out).length > 4 * CPUS * EVENTS.length, "there are rows and headings");
  });
});

Deno.test("stat: positions in the CPU map, as in perf before 5.17, become CPU numbers", async () => {
  await inFolder(async (folder) => {
    const recording = counts(TEST_SEED + 2, 0, 0);
    const moved = (offset: number): Recording => ({
      ...recording,
      items: recording.items.map((item) => {
        const { record } = item;
        if (record.name === "CPU_MAP") {
          const cpus_data = { cpu: CPU_NUMBERS.map((cpu) => cpu + CPUS) };
          return { ...item, record: { ...record, body: { ...record.body, cpus_data } } };
        }
        if (record.name !== "STAT") return item;
        const body = { ...record.body, cpu: record.body.cpu + offset };
        return { ...item, record: { ...record, body } };
      }),
    });
    const path = `${folder}/counts.data`;
    Deno.writeFileSync(path, await asFile(moved(CPUS), true));
    const { out } = await tool("stat", [path]);
    Deno.writeFileSync(path, await asFile(moved(0), true));
    assertEquals((await tool("stat", [path])).out, out);
    assert(out.includes(`\nCPU${2 * CPUS - 1} `), out.slice(0, 500));
  });
});

Deno.test("stat: unsupported aggregations, truncated recordings and other files are reported", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/counts.data`;
    const whole = counts(TEST_SEED + 3, 1, 0);
    const last = whole.items.findIndex(({ record }) => record.name === "STAT_ROUND");
    Deno.writeFileSync(path, await asFile({ ...whole, items: whole.items.slice(0, last) }, true));
    const cut = await tool("stat", [path]);
    assertEquals(cut.code, 1);
    assert(cut.err.includes("the recording was cut off"), cut.err);
    assert(cut.out.includes("context-switches"), cut.out);
    Deno.writeFileSync(path, await asFile({ ...whole, features: [] }, true));
    const cores = await tool("stat", ["--by", "core", path]);
    assert(/does not say what counts by core are; they are by cpu/.test(cores.err), cores.err);
    assert(cores.out.includes(`CPU${CPUS - 1} `), cores.out);
    const other = await tool("stat", [`${ROOT}fixtures/recorded/callchain.perf.data`]);
    assertEquals([other.code, other.out], [1, ""]);
    assert(other.err.endsWith("no counts; record with perf stat record\n"), other.err);
    assertEquals((await tool("stat", ["--by", "core,die", path])).code, 2);
  });
});

Deno.test("stat --svg draws a level line for each interval of each CPU", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/counts.data`;
    Deno.writeFileSync(path, await asFile(counts(TEST_SEED + 4, 0, 100), true));
    const { code, err } = await tool("stat", ["--svg", `${folder}/out.svg`, path], { cwd: folder });
    assertEquals([code, err], [0, ""]);
    const svg = Deno.readTextFileSync(`${folder}/out.svg`);
    const shown = EVENTS.filter(({ ran = 1 }) => ran > 0).length;
    const drawn = [...svg.matchAll(/<polyline [^>]*points="([^"]+)"/g)].map(([, points = ""]) =>
      points.split(" ").length
    );
    assertEquals(drawn, Array(shown * CPUS).fill(8));
    for (const { name } of EVENTS) assert(svg.includes(`>${name}`), name);
  });
});
