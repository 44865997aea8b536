/** `script` compared with the installed `perf script`, on fixtures and the corpus. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { emptyAttr, KERNEL_RECORDS, PerfDataWriter, RecordCodec } from "@perfdata/format/records";
import { memorySink } from "@perfdata/format/bytes";
import {
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import { wordsRecord } from "../../fixtures/synthesize/recording.ts";
import { corpusFiles } from "../support/corpus.ts";
import { noPerf, perfText } from "../support/perf.ts";
import { tool } from "../support/tool.ts";
import { ignored, skipped } from "../support/ignored.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

/** Known differences, in which perf is wrong or uses this machine's symbols: see docs/script.md. */
function comparable(text: string): string[] {
  return text.split("\n").map((line) =>
    line
      .replace(/ (\S+@plt|@plt)(\+0x[0-9a-f]+)? \(/, " PLT (")
      // Symbols of the running kernel and vdso, not of the recorded ones.
      .replace(/ \S+ \((\[kernel\.kallsyms\]|\[vdso\])\)/, " SYM ($1)")
      // A module is named by path or name.
      .replace(/\((?:\S*\/)?([\w-]+)\.ko\)/, (_, name) => `([${name.replaceAll("-", "_")}])`)
  );
}

async function compare(path: string, args: readonly string[]): Promise<number | undefined> {
  const theirs = await perfText(["script", ...args], path);
  if (theirs === undefined || theirs.stdout === "" || theirs.code !== 0) return undefined;
  const ours = await tool("script", [...args, path]);
  const latin = Array.from(ours.stdout, (byte) => String.fromCharCode(byte)).join("");
  assertEquals(comparable(latin), comparable(theirs.stdout), `${path} ${args.join(" ")}`);
  return ours.out.split("\n").length;
}

const FIXTURES = [
  "addr",
  "all-cpus",
  "breakpoint",
  "callchain",
  "clock",
  "directory",
  "group",
  "overwrite",
  "per-thread",
  "pipe",
  "pipe-zstd",
  "pipe-tracepoint",
  "read",
  "regs",
  "rounds",
  "sample-types",
  "tracepoint",
  "two-events",
  "zstd",
];

const FIELDS: readonly (readonly [string, readonly string[]])[] = [
  ["addr", ["-F", "comm,pid,tid,time,event,ip,sym,symoff,dso"]],
  ["all-cpus", ["-F", "ip,sym", "--ns"]],
  ["all-cpus", ["-F", "comm,tid,cpu,time,period,flags,event"]],
  ["callchain", ["-G"]],
  ["two-events", ["-F", "+misc"]],
];

Deno.test("script: fixtures give the text of perf script", ignored(noPerf()), async () => {
  let lines = 0;
  let files = 0;
  for (const [name, args] of [...FIXTURES.map((name) => [name, []] as const), ...FIELDS]) {
    const compared = await compare(`${ROOT}fixtures/recorded/${name}.perf.data`, args);
    if (compared === undefined) continue;
    lines += compared;
    files++;
  }
  console.log(`script: ${files} outputs, ${lines} lines compared with perf`);
  assert(files >= 21, `only ${files} compared`);
});

/** All flags that print records among the samples. */
const SHOWN = ["mmap", "task", "switch", "namespace", "cgroup", "lost", "bpf"].map((kind) =>
  `--show-${kind}-events`
);

Deno.test("script: flags for other records print them as in perf", ignored(noPerf()), async () => {
  const own = ["callchain", "switch", "namespaces", "all-cpus", "per-thread", "pipe"]
    .map((name) => `${ROOT}fixtures/recorded/${name}.perf.data`);
  const wanted = [
    "simpleperf/testdata/perf_b.data",
    "testdata/perf.data.intel_pt-4.14",
    "testdata/perf.data.ctx_switch_namespaces-4.14",
    "testdata/perf.data.piped.ctx_switch_namespaces-4.14",
    "testdata/perfnew.data",
  ];
  const others = corpusFiles().filter(({ name }) => wanted.some((end) => name.endsWith(end)))
    .map(({ path }) => path);
  let [files, lines] = [0, 0];
  for (const path of [...own, ...others]) {
    const theirs = await perfText(["script", ...SHOWN], path);
    const { stdout } = await tool("script", [...SHOWN, path]);
    const records = (text: string) =>
      text.split("\n").filter((line) => line.includes("PERF_RECORD_"));
    const latin = Array.from(stdout, (byte) => String.fromCharCode(byte)).join("");
    const ours = records(latin);
    assertEquals(ours, records(theirs?.stdout ?? ""), path);
    files++;
    lines += ours.length;
  }
  for (const args of [["--show-mmap-events"], ["--show-task-events", "-F", "+misc,+pid"]]) {
    lines += await compare(`${ROOT}fixtures/recorded/two-events.perf.data`, args) ?? 0;
  }
  console.log(`script: ${files} files, ${lines} records are shown as perf shows them`);
  assert(files >= 6 && lines > 150, `${files} files, ${lines} lines`);
});

/**
 * Recordings of the corpus: kernels of many versions, branches, several events, old and new perfs.
 */
const CORPUS = [
  "google__perf_data_converter/src/quipper/testdata/perf.data.branch-3.8@043391b",
  "google__perf_data_converter/src/quipper/testdata/perf.data.forkexit-3.8",
  "google__perf_data_converter/src/quipper/testdata/perf.data.systemwide.5-3.8",
  "GrapheneOS__platform_system_extras/simpleperf/testdata/perf_b.data",
];

Deno.test(
  "script: recordings of the corpus give the text of perf script",
  ignored(noPerf()),
  async (t) => {
    const known = new Set(corpusFiles().map(({ path }) => path));
    let files = 0;
    for (const path of [...known].filter((path) => CORPUS.some((name) => path.endsWith(name)))) {
      if (await compare(path, []) !== undefined) files++;
      if (!path.endsWith("perf_b.data")) continue;
      assert((await compare(path, ["-F", "comm,time,ip,brstack"]) ?? 0) > 100);
    }
    if (known.size === 0) return await skipped(t, "no corpus");
    console.log(`script: ${files} files of the corpus compared with perf`);
    assert(files >= 3, `only ${files} compared`);
  },
);

const HIGH = 0xffff_ffff_ffff_ffffn;
const KERNEL = HIGH - 127n;
const USER = HIGH - 511n;

/** Samples with random call chains, the same in each run. */
async function chainsRecording(): Promise<Uint8Array> {
  const sampleType = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
  const attr = {
    ...emptyAttr(),
    // The limit of perf 6.1.
    size: 128,
    sample_period: 1n,
    sample_type: BigInt(sampleType),
    flags: { ...emptyAttr().flags, sample_id_all: true },
  };
  const sink = memorySink();
  const writer = await PerfDataWriter.file(sink, { events: [{ attr }] });
  const body = { pid: 7, tid: 7, addr: 0x1000n, len: 0x9000n, pgoff: 0n, filename: "/bin/no-such" };
  const mmap = new RecordCodec(KERNEL_RECORDS).encode({ type: 1, name: "MMAP", misc: 2, body });
  const words = new BigUint64Array(mmap.slice(8).buffer);
  await writer.write(wordsRecord(1, 2, [...words, 7n << 32n | 7n, 1n]));
  let seed = 11;
  const random = (below: number): number => {
    seed = Math.imul(seed, 1103515245) + 12345 | 0;
    return (seed >>> 16) % below;
  };
  const mapped = () => 0x1000n + BigInt(random(0x9000));
  // Unmapped addresses of both halves and of neither; markers; words that resemble markers.
  const others = [
    ...[0n, 1n, 0x7f00_1234_5678n, 0xffff_8000_0000_0000n, 0xffff_ffff_8100_0000n],
    ...[0x8000_0000_0000_1000n, 0x1234_5678_9abc_def0n, HIGH - 0xffff_ff00n, HIGH - 4095n],
    ...[KERNEL, USER, KERNEL, USER, USER],
  ];
  for (let i = 0; i < 1500; i++) {
    const ip = mapped();
    const length = random(30) === 0 ? 120 + random(20) : random(8);
    const chain = Array.from({ length }, () => {
      const kind = random(40);
      // Markers without a meaning.
      if (length < 100 && kind === 0) return HIGH;
      return kind < 12 ? others[random(others.length)] as bigint : mapped();
    });
    if (random(4) > 0) chain.unshift(USER, ip);
    await writer.write(wordsRecord(9, 2, [
      ...[ip, 7n << 32n | 7n, 1000n + BigInt(i), BigInt(chain.length)],
      ...chain,
    ]));
  }
  await writer.close();
  return sink.bytes();
}

Deno.test(
  "script: call chains with any words print as in perf",
  ignored(noPerf()),
  async () => {
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-script-" });
    try {
      const path = `${folder}/perf.data`;
      Deno.writeFileSync(path, await chainsRecording());
      for (const args of [["--ns"], ["-F", "time,ip,sym"], ["-F", "ip", "--verbose"]]) {
        const lines = await compare(path, args);
        console.log(`script ${args.join(" ")}: ${lines} lines of call chains compared with perf`);
        assert((lines ?? 0) > 8000, `only ${lines} compared`);
      }
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
);

Deno.test("script: unmapped addresses are printed, whether they are separate places or not", async () => {
  const others = corpusFiles().map(({ path }) => path)
    .filter((path) => /cpp-inlining\.perf\.data$|perf\.lbr\.data$/.test(path));
  const fixtures = ["dwarf", "callchain", "addr"];
  const paths = [
    ...fixtures.map((name) => `${ROOT}fixtures/recorded/${name}.perf.data`),
    ...others,
  ];
  for (const path of paths) {
    // With --verbose they are counted, so each one is a place.
    const counted = await tool("script", ["--verbose", path]);
    const plain = await tool("script", [path]);
    assertEquals(plain.out, counted.out, path);
    assert(plain.out.length > 1000, path);
  }
  console.log(`script: ${paths.length} files with and without places of what is not mapped`);
});

Deno.test("script: a pipe gives the text of its file, and wrong fields are wrong usage", async () => {
  const path = `${ROOT}fixtures/recorded/callchain.perf.data`;
  const file = await tool("script", [path]);
  const stream = await tool("script", ["-"], { input: Deno.readFileSync(path) });
  assertEquals([stream.code, stream.out], [0, file.out]);
  const wrong = await tool("script", ["-F", "comm,tit", path]);
  assertEquals([wrong.code, wrong.out], [2, ""]);
  assertStringIncludes(wrong.err, "did you mean tid");
  const missing = await tool("script", ["-F", "addr", path]);
  assertEquals(missing.code, 2);
  assertStringIncludes(missing.err, "samples of cpu-clock have no addr");
  assert(!missing.err.includes("did you mean"), missing.err);
  const other = await tool("script", ["-F", "comm,cpu", path]);
  assertEquals(other.code, 0);
  assertStringIncludes(other.err, "its samples have no cpu");
});
