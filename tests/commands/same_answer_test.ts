/**
 * A file and the same file through a pipe give the same results, for each consumer of the engine,
 * alone or with others in one pass.
 */
import { assert, assertEquals } from "@std/assert";
import { profileColumns, recordedProfile, SampleCollector } from "@perfdata/profile";
import { type ByteSource, bytesSource, memorySink, streamSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { openSource } from "@perfdata/format/files";
import { dump, writeRecords } from "@perfdata/dump";
import { dumpByWindows } from "../../packages/dump/parallel.ts";
import { scriptByWindows } from "../../packages/export/script/write_script.ts";
import { recordsByWindows } from "../../packages/dump/records/records_parallel.ts";
import { dumpThread, recordsThread } from "@perfdata/perfdata/workers";
import { copyRecording, PipeOutput } from "@perfdata/edit";
import { callTree, treeLines } from "@perfdata/export/tree";
import { folded } from "@perfdata/export";
import { analyzeRate, Overview, type OverviewRow } from "@perfdata/report/figures";
import { functionTable } from "@perfdata/report";
import { runEngine, symbolTrust } from "@perfdata/session";
import { AddressConsumer } from "@perfdata/session/code";
import { openResolver } from "@perfdata/symbols/files";
import { type Happening, schedulerRecording } from "../../packages/session/intervals/testing.ts";
import type { SymbolFlags } from "../../tools/shared/symbol_flags.ts";
import { scriptHost } from "../../tools/shared/script_host.ts";
import { COMMANDS } from "../../tools/perfdata.ts";
import { busyRecording } from "../support/busy_recording.ts";
import { corpusFiles } from "../support/corpus.ts";
import { perfRecords } from "../support/perf.ts";
import {
  assertShared,
  info,
  profile,
  rows as functionRows,
  Shared,
} from "../support/shared_workers.ts";
import { inFolder, tool } from "../support/tool.ts";

const root = new URL("../../", import.meta.url).pathname;

/** The output of all tools on a recording, as lines. */
async function answers(source: ByteSource, kallsyms: string, together: boolean) {
  const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
  const rows: string[] = [];
  const overview = new Overview(({ nr, ...row }: OverviewRow) =>
    rows.push(`${nr} ${Object.values(row).join(" ")}`)
  );
  const counts = new SampleCollector({ keys: { tid: true } });
  const chains = new SampleCollector({ stacks: true });
  const addresses = new AddressConsumer();
  const profiled = new SampleCollector(profileColumns());
  const consumers = together ? [overview, counts, chains, addresses, profiled] : [counts];
  const engine = await runEngine(reader, consumers, { diagnostics: () => {} });
  const resolver = openResolver({ parameters: false, kallsyms, machine: engine.recorded });
  const table = await functionTable(counts, resolver, {
    sort: ["comm", "dso", "sym", "tid"],
  });
  const found = {
    events: engine.eventNames,
    totals: counts.totals,
    functions: Array.from(table.rows, (row) => JSON.stringify(table.row(row))),
  };
  if (!together) return found;
  const children = await functionTable(chains, resolver);
  const trust = await symbolTrust(addresses.recorded(), resolver);
  const { profile } = await recordedProfile(profiled, { resolver, title: "" });
  const decoder = new TextDecoder();
  return {
    ...found,
    tree: profile.events.flatMap((_, event) =>
      treeLines(callTree(profile, { event, root: "command" }), { leastShare: 0 })
    ),
    folded: [...folded(profile)].map((bytes) => decoder.decode(bytes)).join(""),
    children: Array.from(children.rows, (row) => JSON.stringify(children.row(row))),
    trust: trust.objects.map(({ object, all, resolved, unresolved }) =>
      JSON.stringify([object, all, resolved, [...unresolved]])
    ).sort(),
    records: rows,
    processes: overview.processes.map((process) => Object.values(process).join(" ")),
    types: overview.types,
  };
}

/** The output of tools that do not share a pass: `dump`, `records` and `rate`. */
async function prints(source: () => ByteSource) {
  const open = () => PerfDataReader.open(source(), { diagnostics: () => {} });
  const texts = { dump: "", records: "", rate: "" };
  const into = (what: keyof typeof texts) => {
    const decoder = new TextDecoder("latin1");
    return (bytes: Uint8Array) => void (texts[what] += decoder.decode(bytes));
  };
  await dump(await open(), { path: "data", write: into("dump") });
  await writeRecords(await open(), into("records"), { order: "time" });
  const report = await analyzeRate(await open(), {
    point: (point) => texts.rate += `${Object.values(point).join(" ")}\n`,
    incident: (incident) => texts.rate += `${Object.values(incident).join(" ")}\n`,
  });
  const plain = (_: string, value: unknown) => typeof value === "bigint" ? String(value) : value;
  texts.rate += JSON.stringify(report, plain);
  return texts;
}

/**
 * A text without the parts that depend on features, which come last if a file is read as a stream:
 * names of events and registers, and some statistics of `dump`. docs/dump.md and docs/records.md
 * describe them.
 */
function known(text: string): string {
  return text.replaceAll(/("event":)"[^"]*"/g, "$1")
    .replaceAll(/"regs":\{[^}]*\}/g, (regs) => regs.replaceAll(/"\w+":"/g, '"')).replaceAll(
      /(_READ: \d+ \d+ ).* /g,
      "$1",
    )
    .replace(/\nAggregated stats:[^]*/, "");
}

/** A stream that returns pieces of odd sizes. */
function pipeOf(bytes: Uint8Array): ByteSource {
  let at = 0;
  return streamSource(
    new ReadableStream<Uint8Array>({
      pull(controller) {
        const size = 1 + (at * 7919) % 65_521;
        if (at < bytes.length) controller.enqueue(bytes.slice(at, at + size));
        else controller.close();
        at += size;
      },
    }),
  );
}

function* fixtures(): Generator<{ name: string; path: string }, void, void> {
  for (const folder of ["recorded", "synthesized"]) {
    for (const { name, isFile } of Deno.readDirSync(`${root}fixtures/${folder}`)) {
      if (!isFile || !name.endsWith(".data")) continue;
      yield { name: `fixtures/${folder}/${name}`, path: `${root}fixtures/${folder}/${name}` };
    }
  }
}

/**
 * Limits of the file size, in general and for printed text. Larger files take long, and are
 * similar.
 */
const LARGEST = 8 << 20;
const LARGEST_PRINTED = 1 << 17;

Deno.test("one pass: any file gives the same answer from a pipe and for several consumers at once", async () => {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-same-" });
  const kallsyms = `${folder}/kallsyms`;
  Deno.writeTextFileSync(kallsyms, "");
  let [files, rows, printed] = [0, 0, 0];
  const differing: string[] = [];
  try {
    for (const { name, path } of [...corpusFiles().filter(({ sound }) => sound), ...fixtures()]) {
      const bytes = Deno.readFileSync(path);
      if (bytes.length > LARGEST) continue;
      const expected = await answers(bytesSource(bytes), kallsyms, true);
      const piped = await answers(pipeOf(bytes), kallsyms, true);
      const alone = await answers(pipeOf(bytes), kallsyms, false);
      for (const [what, value] of Object.entries(expected)) {
        const same = JSON.stringify(value) === JSON.stringify(piped[what as keyof typeof piped]) &&
          (!(what in alone) ||
            JSON.stringify(value) === JSON.stringify(alone[what as keyof typeof alone]));
        if (!same) differing.push(`${name}: ${what}`);
      }
      if (bytes.length <= LARGEST_PRINTED) {
        const texts = await prints(() => bytesSource(bytes));
        const piped = await prints(() => pipeOf(bytes));
        for (const what of ["dump", "records", "rate"] as const) {
          if (known(texts[what]) !== known(piped[what])) differing.push(`${name}: ${what}`);
        }
        printed++;
      }
      files++;
      rows += expected.functions.length;
    }
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
  console.log(
    `${files} files, ${rows} rows of functions, ${printed} dumps, records and rates compared: ` +
      `${differing.length} differ`,
  );
  assertEquals(differing, []);
  assert(files > 20 && rows > 300 && printed > 20, "too little was compared");
});

const SCRIPT = `
function spin(n) { let x = 1; for (let i = 0; i < n; i++) x = (x * 1103515245 + 12345) | 0; return x; }
function caller() { let s = 0; for (let i = 0; i < 3000; i++) s ^= spin(60000); return s; }
console.log(caller());
`;

Deno.test({
  name: "jitdump: compiled code gets the same names from a file and from a pipe",
  ignore: !perfRecords(),
  async fn() {
    const folder = Deno.makeTempDirSync({ prefix: "perfdata-same-" });
    try {
      Deno.writeTextFileSync(`${folder}/spin.js`, SCRIPT);
      const program = [Deno.execPath(), "run", "--v8-flags=--perf-prof", "spin.js"];
      const { success, stderr } = new Deno.Command("perf", {
        args: ["record", "-q", "-B", "-k", "mono", "-e", "cpu-clock", "-F", "2000", "-o", "data"]
          .concat(program),
        cwd: folder,
        stdout: "null",
        stderr: "piped",
      }).outputSync();
      assert(success, new TextDecoder().decode(stderr));
      const bytes = Deno.readFileSync(`${folder}/data`);
      const kallsyms = `${folder}/kallsyms`;
      Deno.writeTextFileSync(kallsyms, "");
      const file = await answers(bytesSource(bytes), kallsyms, true);
      assertEquals(await answers(pipeOf(bytes), kallsyms, true), file);
      const compiled = file.functions.map((row) => JSON.parse(row)).filter(({ dso }) =>
        dso.startsWith("[JIT]")
      );
      const named = compiled.filter(({ sym }) => !sym.startsWith("0x"));
      const samples = (rows: { samples: number }[]) =>
        rows.reduce((sum, { samples }) => sum + samples, 0);
      console.log(`${samples(named)} of ${samples(compiled)} samples of compiled code have a name`);
      assert(samples(named) > 0.9 * samples(compiled) && samples(named) > 50);
      assert(named.some(({ sym }) => sym.includes("spin")));
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

/** The pipe form of a file. */
async function piped(bytes: Uint8Array): Promise<Uint8Array> {
  const sink = memorySink();
  await copyRecording(await PerfDataReader.open(bytesSource(bytes)), new PipeOutput(sink));
  return sink.bytes();
}

Deno.test("one pass: threads and maps that change between samples give the same results from a pipe", () =>
  inFolder(async (folder) => {
    const { bytes, samples, changes } = await busyRecording(6000);
    const kallsyms = `${folder}/kallsyms`;
    Deno.writeTextFileSync(kallsyms, "");
    const expected = await answers(bytesSource(bytes), kallsyms, true);
    const alone = await answers(bytesSource(bytes), kallsyms, false);
    const form = await piped(bytes);
    for (const source of [() => pipeOf(bytes), () => pipeOf(form), () => bytesSource(form)]) {
      // The pipe format has additional records.
      const { records, types, ...found } = await answers(source(), kallsyms, true) as
        & Awaited<ReturnType<typeof answers>>
        & Record<string, unknown>;
      assert(records !== undefined && types !== undefined);
      for (const [what, value] of Object.entries(found)) {
        assertEquals(value, expected[what as keyof typeof expected], what);
      }
      assertEquals(await answers(source(), kallsyms, false), alone);
    }
    assertEquals(alone.functions, expected.functions);
    const untimed = bytesSource((await busyRecording(6000, false)).bytes);
    assertEquals(
      (await answers(untimed, kallsyms, false)).functions,
      (await answers(untimed, kallsyms, true)).functions,
    );
    console.log(`${samples} samples, ${changes} changes, ${alone.functions.length} rows`);
    assert(samples > 4500 && changes > 800 && alone.functions.length > 1000);
  }));

/** Text made by windows. */
async function windowed(
  path: string,
  make: (reader: PerfDataReader, write: (text: Uint8Array) => void) => Promise<unknown>,
): Promise<string> {
  const reader = await PerfDataReader.open(openSource(path), { diagnostics: () => {} });
  const decoder = new TextDecoder("latin1");
  let text = "";
  const made = await make(reader, (bytes) => void (text += decoder.decode(bytes)));
  assert(made !== undefined && text !== "", "it has no windows");
  return text;
}

const diagnostics = (): void => {};

const scriptThread = () =>
  new Worker(new URL("../../tools/shared/script_worker.ts", import.meta.url), { type: "module" });

/** Consumers that read a recording in blocks or time windows, with any number of threads. */
const BLOCKS: Readonly<
  Record<string, (path: string, jobs: number, bytes: number) => Promise<unknown>>
> = {
  functions: (path, jobs, bytes) => functionRows(path, { keys: { tid: true } }, jobs, bytes),
  callers: (path, jobs, bytes) =>
    functionRows(path, { stacks: true, keys: { tid: true } }, jobs, bytes),
  profile: (path, jobs, bytes) => profile(path, { timed: true }, jobs, bytes),
  info,
  dump: (path, jobs, windowBytes) =>
    windowed(
      path,
      (reader, write) =>
        dumpByWindows(reader, { path, write, diagnostics }, {
          ...{ jobs, windowBytes },
          start: dumpThread,
        }),
    ),
  records: (path, jobs, windowBytes) =>
    windowed(
      path,
      (reader, write) =>
        recordsByWindows(reader, { path, write, order: "time", diagnostics }, {
          ...{ jobs, windowBytes },
          start: recordsThread,
        }),
    ),
  script: (path, jobs, windowBytes) =>
    windowed(path, (reader, write) => {
      const given = { name: path, flags: { on: {}, value: {} } as SymbolFlags };
      return scriptByWindows(reader, write, { diagnostics }, scriptHost(given), {
        ...{ jobs, windowBytes, path, given },
        start: scriptThread,
      });
    }),
};

/** Other shared work, and the test that compares it. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  lines: "commands/workers_test.ts",
  "Intel PT": "pt/pt_workers_test.ts",
  recordings: "commands/same_answer_test.ts",
};

/**
 * How each command uses threads: an entry of {@link BLOCKS} or {@link ELSEWHERE}, or the reason for
 * a single thread.
 */
const WAYS: Readonly<Record<string, readonly string[] | string>> = {
  info: ["info"],
  header: "reads no records",
  dump: ["dump"],
  records: ["records"],
  hex: "prints bytes in their order",
  report: ["functions", "callers", "profile"],
  funcs: ["functions", "callers"],
  pt: ["Intel PT"],
  rate: "in order of time",
  stat: "in order of time",
  sched: "in order of time",
  lock: "in order of time",
  c2c: ["lines"],
  sql: ["recordings"],
  readperf: "numbers records in order of time",
  view: ["profile", "Intel PT"],
  top: "reads a stream, in order",
  script: ["script"],
  tree: ["profile", "Intel PT"],
  flame: ["profile", "Intel PT"],
  diff: ["profile", "Intel PT"],
  annotate: ["profile", "Intel PT"],
  export: ["profile", "Intel PT", "recordings"],
  "extract-pt": "copies bytes",
  slice: "edits in order",
  merge: "edits in order",
  convert: "edits in order",
  repair: "edits in order",
  redact: "edits in order",
  symbols: "counts addresses, or reads no recording",
  addr2line: "reads no recording",
};

Deno.test("--jobs: each command with the flag is compared for several numbers of threads", async () => {
  const all = [...COMMANDS.values()].flat();
  assertEquals(all.map(({ name }) => name).sort(), Object.keys(WAYS).sort());
  let shared = 0;
  for (const { name, load } of all) {
    const ways = WAYS[name] ?? "";
    const { tool: { flags } } = await load();
    assertEquals("--jobs N" in flags, typeof ways !== "string", name);
    for (const way of typeof ways === "string" ? [] : ways) {
      const other = ELSEWHERE[way];
      if (other === undefined) assert(way in BLOCKS, `${name}: ${way}`);
      else assert(Deno.statSync(`${root}tests/${other}`).isFile, `${name}: ${way}`);
      shared++;
    }
  }
  assert(shared >= 20, `${shared} ways`);
});

for (const [i, [what, make]] of Object.entries(BLOCKS).entries()) {
  // The more threads, the longer they take to start: every third consumer has seven of them.
  const most = i % 3 === 0 ? 7 : 3;
  Deno.test(`${what}: the same result with 1, 2 and ${most} threads, and blocks of 64 KB and 4 MB`, () =>
    inFolder(async (folder) => {
      const path = `${folder}/busy.data`;
      const { bytes } = await busyRecording(12_000);
      Deno.writeFileSync(path, bytes);
      Shared.stretches = 0;
      const expected = await make(path, 1, 1 << 22);
      for (const [jobs, size] of [[1, 1 << 16], [most, 1 << 16], [2, 1 << 22]] as const) {
        const actual = await make(path, jobs, size);
        assertEquals(actual, expected, `${jobs} threads, blocks of ${size} bytes`);
      }
      assert(bytes.length > 10 << 16, `${bytes.length} bytes`);
      // Threads that make text take windows in any order.
      if (!["dump", "records", "script"].includes(what)) assertShared();
    }));
}

/** Threads of three processes that wait for a CPU, wake each other and are preempted. */
function turns(): Happening[] {
  const happenings: Happening[] = [];
  let time = 1000n;
  for (const tid of [7, 8, 9]) happenings.push({ time: time++, tid, task: `t${tid}` });
  for (let i = 0; i < 400; i++) {
    const [tid, to] = [7 + i % 3, 7 + (i + 1) % 3];
    time += BigInt(1000 + 37 * (i % 11));
    happenings.push({ time, tid, wakes: 7 + (i + 2) % 3, cpu: i % 2 });
    happenings.push({ time: time + 100n, tid, to: [to, BigInt(i % 5 === 0 ? 0 : 1)], cpu: i % 2 });
  }
  return happenings;
}

Deno.test("report, sched, export arrow and symbols table: the same from a pipe, with 1, 2, 3, 7 threads", () =>
  inFolder(async (folder) => {
    const out = async (name: string, args: readonly string[], input?: Uint8Array) => {
      const result = await tool(name, args, input === undefined ? {} : { input });
      assertEquals(result.code, 0, `${name} ${args.join(" ")}: ${result.err}`);
      return result.out;
    };
    const path = `${folder}/busy.data`;
    const { bytes } = await busyRecording(12_000);
    Deno.writeFileSync(path, bytes);
    const report = ["--stdio", "--no-inline"];
    const expected = await out("report", [...report, "-"], await piped(bytes));
    for (const jobs of ["1", "2", "7"]) {
      assertEquals(await out("report", [...report, "--jobs", jobs, path]), expected, jobs);
    }
    assert(expected.split("\n").length > 1000);

    const switches = await schedulerRecording(turns());
    const sched = `${folder}/sched.data`;
    Deno.writeFileSync(sched, switches);
    let lines = 0;
    for (const view of ["latency", "timehist", "map", "wakeups"]) {
      const text = await out("sched", [view, sched]);
      assertEquals(await out("sched", [view, "-"], await piped(switches)), text, view);
      lines += text.split("\n").length;
    }
    assert(lines > 800, `${lines} lines`);

    // Recordings are distributed; names that are looked up later depend on the written tables.
    const recordings = ["callchain", "all-cpus", "rounds"].map((name) =>
      `${root}fixtures/recorded/${name}.perf.data`
    );
    let files = 0;
    const tables = async (jobs: string, format: string): Promise<Map<string, Uint8Array>> => {
      const to = `${folder}/${format}${jobs}`;
      await out("export", [format, "-o", to, "--jobs", jobs, ...recordings, path]);
      if (format === "parquet") await out("symbols", ["table", to]);
      const written = new Map<string, Uint8Array>();
      for (const file of filesIn(to)) written.set(file.slice(to.length), Deno.readFileSync(file));
      files = written.size;
      return written;
    };
    for (const [format, others] of [["arrow", ["2"]], ["parquet", ["3"]]] as const) {
      const first = await tables("1", format);
      assert(files >= 12, `${files} files of ${format}`);
      for (const jobs of others) assertEquals(await tables(jobs, format), first, jobs);
    }
  }));

/** Paths of the files below a folder. */
function* filesIn(folder: string): Generator<string, void, void> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    if (isDirectory) yield* filesIn(`${folder}/${name}`);
    else yield `${folder}/${name}`;
  }
}
