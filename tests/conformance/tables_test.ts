/**
 * Tables of recordings: their contents compared with perf; readers; and files left after failures.
 */
import { existsSync } from "node:fs";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { tableFromIPC } from "@uwdata/flechette";
import { shortName } from "@perfdata/session";
import { withColumns } from "../../docs/make_tables.ts";
import { corpusFiles } from "../support/corpus.ts";
import { ignored } from "../support/ignored.ts";
import { parquetFiles, type ParquetRow, parquetRows, tableRows } from "../support/parquet_rows.ts";
import { noPerf, perfText } from "../support/perf.ts";
import { noModules, python } from "../support/python.ts";
import {
  LEFT_AND_RIGHT,
  noRecording,
  recordProgram,
  reportedPeriods,
  runIn,
} from "../support/recorded_program.ts";
import { inFolder, tool, toolArguments } from "../support/tool.ts";

const root = new URL("../../", import.meta.url).pathname;
const recorded = `${root}fixtures/recorded`;
const TABLES = [
  "frames",
  "mappings",
  "recordings",
  "samples",
  "stacks",
  "switches",
  "threads",
  "tracepoints",
];

/** Exports recordings. The export must succeed. */
async function exported(folder: string, files: readonly string[], ...flags: string[]) {
  const result = await tool("export", ["parquet", "-o", folder, ...flags, ...files]);
  assertEquals(result.code, 0, result.err);
  return result;
}

/** A line for each sample, as perf script prints its fields. */
async function perfSamples(path: string): Promise<string[] | undefined> {
  const args = ["script", "-F", "comm,pid,tid,cpu,time,event,ip,period", "--ns", "-G"];
  const result = await perfText([...args, "--show-kernel-path"], path);
  if (result === undefined || result.code !== 0 || result.stdout === "") return undefined;
  const lines: string[] = [];
  for (const line of result.stdout.trimEnd().split("\n")) {
    const match =
      /^(.*?)\s+(-?\d+)\/(-?\d+)\s+\[(\d+)\]\s+(\d+)\.(\d{9}):\s+(\d+)\s+(\S.*?):\s+([0-9a-f]+)$/
        .exec(line.trim());
    if (match === null) return undefined;
    const [, comm, pid, tid, cpu, s, ns, period, event, ip] = match;
    const time = BigInt(s as string) * 1_000_000_000n + BigInt(ns as string);
    lines.push([comm, pid, tid, Number(cpu), time, period, event, ip].join(" "));
  }
  return lines.sort();
}

function sampleLine({ comm, pid, tid, cpu, ts, period, event, ip }: ParquetRow): string {
  const address = BigInt.asUintN(64, ip as bigint).toString(16);
  return [comm ?? `:${tid}`, pid, tid, cpu, ts, period, event, address].join(" ");
}

/** Small, undamaged recordings in perf's own format. */
function recordings(): string[] {
  const fixtures = [...Deno.readDirSync(recorded)].filter(({ isFile, name }) =>
    isFile && name.endsWith(".perf.data")
  ).map(({ name }) => `${recorded}/${name}`);
  const corpus = corpusFiles().filter(({ sound, path }) => sound && Deno.statSync(path).size < 2e6);
  return [...fixtures.sort(), ...corpus.map(({ path }) => path)];
}

Deno.test({
  name: "export parquet: the table samples has the rows of perf script",
  ...ignored(noPerf()),
  fn: async () => {
    let [files, rows, others] = [0, 0, 0];
    for (const path of recordings()) {
      const expected = await perfSamples(path);
      if (expected === undefined) {
        // No samples, or without a compared field.
        others++;
        continue;
      }
      await inFolder(async (folder) => {
        const { code, err } = await tool("export", ["parquet", "-o", folder, path]);
        assertEquals(code, 0, `${path}: ${err}`);
        const found = (await tableRows(folder, "samples")).map(sampleLine).sort();
        assertEquals(found, expected, path);
        rows += found.length;
        files++;
      });
    }
    console.log(
      `tables: ${rows} samples of ${files} recordings are as perf script prints them; ` +
        `${others} recordings lack fields that are compared`,
    );
    assert(files >= 8 && rows >= 500, `${files} files, ${rows} rows`);
  },
});

/** Periods by function, for a recording with local symbols. */
function functionSums(samples: readonly ParquetRow[], frames: readonly ParquetRow[]) {
  const names = new Map(frames.map(({ frame_id, function: name }) => [frame_id, name]));
  const sums = new Map<string, bigint>();
  for (const { frame_id, period } of samples) {
    const name = names.get(frame_id);
    if (typeof name !== "string") continue;
    sums.set(name, (sums.get(name) ?? 0n) + (period as bigint));
  }
  return sums;
}

Deno.test({
  name: "export parquet: sums by function are those of perf report",
  ...ignored(noRecording()),
  fn: () =>
    inFolder(async (folder) => {
      const events = ["-e", "cpu-clock:u", "-F", "5000"];
      const data = await recordProgram(folder, LEFT_AND_RIGHT, events);
      const expected = await reportedPeriods(data);
      await exported(`${folder}/t`, [data], "--names");
      const samples = await tableRows(`${folder}/t`, "samples");
      const sums = functionSums(samples, await tableRows(`${folder}/t`, "frames"));
      for (const [name, sum] of expected) assertEquals(sums.get(name), sum, name);
      assert((expected.get("leaf") ?? 0n) > 0n && expected.size >= 2, `${[...expected.keys()]}`);
      assert(samples.length > 100);
      await stacksHold(`${folder}/t`);
    }),
});

/** Key of a sum. Versions of perf name PLT stubs differently, or not at all. */
function sumKey(place: string, name: string | undefined): string {
  return `${place}\t${name === undefined || name.endsWith("@plt") ? "no name" : name}`;
}

/** Periods by command, object and function in perf report, for named functions. */
async function reportRows(data: string): Promise<Map<string, bigint> | undefined> {
  const args = [
    "report",
    "--stdio",
    "--no-children",
    "-g",
    "none",
    "-s",
    "comm,dso,sym",
    "-t",
    "|",
  ];
  const fields = ["-F", "period,comm,dso,sym", "--no-inline", "--no-branch-stack", "--no-itrace"];
  const result = await perfText([...args, ...fields], data);
  if (result === undefined || result.code !== 0) return undefined;
  const rows = new Map<string, bigint>();
  for (const line of result.stdout.split("\n")) {
    const match = /^\s*(\d+)\s*\|(.*?)\s*\|(.*?)\s*\|\[.\] (.*?)\s*$/.exec(line);
    if (match === null) continue;
    const [, period = "", comm, dso, sym = ""] = match;
    const key = sumKey(`${comm}\t${dso}`, /^0x[0-9a-f]+$/.test(sym) ? undefined : sym);
    rows.set(key, (rows.get(key) ?? 0n) + BigInt(period));
  }
  return rows;
}

/** The same from tables. */
async function tableSums(folder: string): Promise<Map<string, bigint>> {
  const frames = new Map((await tableRows(folder, "frames")).map((row) => [row["frame_id"], row]));
  const sums = new Map<string, bigint>();
  for (const { comm, tid, frame_id, period } of await tableRows(folder, "samples")) {
    const { object, kind, function: name } = frames.get(frame_id) ?? {};
    const isKernel = kind === "kernel" || kind === "module" || kind === "bpf";
    const dso = typeof object !== "string"
      ? "[unknown]"
      : shortName({ name: object, kernel: isKernel });
    const key = sumKey(`${comm ?? `:${tid}`}\t${dso}`, (name as string | null) ?? undefined);
    sums.set(key, (sums.get(key) ?? 0n) + (period as bigint));
  }
  return sums;
}

Deno.test({
  name:
    "export parquet: sums by command, object and function of a compile are those of perf report",
  ...ignored(noRecording()),
  fn: () =>
    inFolder(async (folder) => {
      await Deno.writeTextFile(`${folder}/a.c`, LEFT_AND_RIGHT);
      const record = ["record", "-q", "-g", "-e", "cpu-clock:u", "-F", "20000", "-o", "data"];
      const compile = "for i in 1 2 3 4 5 6; do gcc -O3 -g -c -o a.o a.c; done";
      runIn(folder, "perf", ...record, "--", "sh", "-c", compile);
      await exported(`${folder}/t`, [`${folder}/data`], "--names");
      const expected = await reportRows(`${folder}/data`);
      const sums = await tableSums(`${folder}/t`);
      assertEquals([...sums].sort(), [...expected ?? []].sort());
      const named = [...sums.keys()].filter((key) => !key.endsWith("no name"));
      console.log(`tables: ${sums.size} sums of a compile, ${named.length} of functions`);
      assert(named.length > 10, `${named.length} functions`);
    }),
});

Deno.test({
  name: "export parquet: sums by object of corpus recordings are those of perf report",
  ...ignored(noPerf() ?? (corpusFiles().length > 0 ? undefined : "no corpus")),
  fn: async () => {
    let [files, sums, others] = [0, 0, 0];
    for (const { path, sound } of corpusFiles()) {
      // perf reads recordings of other systems' tools only partly.
      if (!sound || Deno.statSync(path).size > 3e5 || /simpleperf|hiperf/.test(path)) continue;
      const expected = await reportRows(path);
      await inFolder(async (folder) => {
        const { code } = await tool("export", ["parquet", "-o", folder, path]);
        const rows = code === 0 ? await tableSums(folder) : new Map<string, bigint>();
        // Samples that perf synthesizes from AUX data are not in the recording.
        if (expected === undefined || expected.size === 0 || rows.size === 0) {
          others++;
          return;
        }
        // Files of one build are one object, whatever their names.
        const ids = (await perfText(["buildid-list"], path))?.stdout.match(/^[0-9a-f]+/gm) ?? [];
        const isOne = new Set(ids).size === ids.length;
        // A thread that was named later has no name in a table; perf report goes back.
        const place = (key: string) => {
          const [comm, dso] = key.split("\t");
          return isOne ? dso : comm;
        };
        const joined = (from: Map<string, bigint>): [string | undefined, bigint][] => {
          const found = new Map<string | undefined, bigint>();
          for (const [key, sum] of from) found.set(place(key), (found.get(place(key)) ?? 0n) + sum);
          return [...found].sort();
        };
        assertEquals(joined(rows), joined(expected), path);
        files++;
        sums += joined(rows).length;
      });
    }
    console.log(
      `tables: ${sums} sums of ${files} recordings are perf report's; ${others} have none`,
    );
    assert(files >= 10 && sums >= 30, `${files} files, ${sums} sums`);
  },
});

/** References between tables are valid, and rows are unique. */
async function stacksHold(folder: string): Promise<number> {
  const frames = new Set<unknown>();
  for (const { frame_id } of await tableRows(folder, "frames")) {
    assert(!frames.has(frame_id), `${frame_id} is there twice`);
    frames.add(frame_id);
  }
  const stacks = new Map<unknown, ParquetRow>();
  for (const row of await tableRows(folder, "stacks")) stacks.set(row["stack_id"], row);
  for (const { parent_id, frame_id, depth } of stacks.values()) {
    assert(frames.has(frame_id));
    const parent = (parent_id ?? null) === null ? undefined : stacks.get(parent_id);
    assertEquals(depth, parent === undefined ? 0 : parent["depth"] as number + 1);
    assertEquals(parent === undefined, (parent_id ?? null) === null);
  }
  for (const { stack_id, frame_id } of await tableRows(folder, "samples")) {
    if ((stack_id ?? null) !== null) assertEquals(stacks.get(stack_id)?.["frame_id"], frame_id);
    if ((frame_id ?? null) !== null) assert(frames.has(frame_id));
  }
  return stacks.size;
}

Deno.test("export parquet: stacks lead to their outermost frames, and each frame occurs once", () =>
  inFolder(async (folder) => {
    let stacks = 0;
    for (const name of ["callchain", "dwarf", "addr", "sample-types", "zstd"]) {
      await exported(`${folder}/${name}`, [`${recorded}/${name}.perf.data`], "--names");
      stacks += await stacksHold(`${folder}/${name}`);
    }
    assert(stacks > 100, `${stacks} stacks`);
  }));

const lines = (rows: readonly ParquetRow[]): string[] =>
  rows.map((row) =>
    JSON.stringify(row, (_, value) => typeof value === "bigint" ? `${value}` : value)
  ).sort();

Deno.test("export parquet: two exports are equal bytes, and a pipe gives the rows of its file", () =>
  inFolder(async (folder) => {
    let rows = 0;
    for (const name of ["callchain", "two-events", "switch", "read", "tracepoint"]) {
      const path = `${recorded}/${name}.perf.data`;
      await exported(`${folder}/${name}1`, [path]);
      await exported(`${folder}/${name}2`, [path]);
      const files = [...parquetFiles(`${folder}/${name}1`)];
      assertEquals(files.length, TABLES.length);
      for (const file of files) {
        const other = file.replace(`/${name}1/`, `/${name}2/`);
        assertEquals(Deno.readFileSync(file), Deno.readFileSync(other), file);
      }
      const { stdout, code } = await tool("convert", ["-o", "-", path]);
      assertEquals(code, 0);
      const flags = ["parquet", "-o", `${folder}/${name}3`, "-"];
      const piped = await tool("export", flags, { input: stdout });
      assertEquals(piped.code, 0, piped.err);
      for (const table of TABLES.filter((table) => table !== "recordings")) {
        const [file, pipe] = [
          lines(await tableRows(`${folder}/${name}1`, table)),
          lines(await tableRows(`${folder}/${name}3`, table)),
        ];
        assertEquals(pipe, file, `${name}: ${table}`);
        rows += file.length;
      }
    }
    assert(rows > 300, `${rows} rows`);
  }));

/** All rows of a table in an Arrow stream, read by Arrow. */
function arrowRows(folder: string, table: string): ParquetRow[] {
  const [file = ""] = [...Deno.readDirSync(`${folder}/${table}`)].map(({ name }) => name);
  const bytes = Deno.readFileSync(`${folder}/${table}/${file}`);
  const read = tableFromIPC(bytes, { useBigInt: true, useDate: true });
  assertEquals(read.schema.metadata?.get("perfdata.tables"), "1");
  return read.toArray().map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        value instanceof BigInt64Array ? [...value] : value ?? undefined,
      ]),
    )
  );
}

Deno.test("export arrow: streams have the rows and types of Parquet files", () =>
  inFolder(async (folder) => {
    let [rows, values] = [0, 0];
    const files = ["callchain", "two-events", "switch", "clock", "tracepoint", "sample-types"]
      .map((name) => `${recorded}/${name}.perf.data`);
    const branches = corpusFiles().find(({ path }) => /lbr|branch/.test(path));
    if (branches !== undefined) files.push(branches.path);
    for (const [number, path] of files.entries()) {
      await exported(`${folder}/${number}`, [path], "--names");
      const made = ["arrow", "-o", `${folder}/${number}a`, "--names", path];
      const { code, err } = await tool("export", made);
      assertEquals(code, 0, err);
      for (const table of TABLES) {
        const expected = await tableRows(`${folder}/${number}`, table);
        const found = arrowRows(`${folder}/${number}a`, table);
        assertEquals(lines(found), lines(expected.map(present)), `${path}: ${table}`);
        rows += found.length;
        values += found.reduce((sum, row) => sum + Object.values(present(row)).length, 0);
      }
    }
    console.log(`tables: ${values} values of ${rows} rows are the same in Arrow and in Parquet`);
    assert(rows > 400 && values > 3000, `${rows} rows, ${values} values`);
  }));

/** A row without columns that have no value. */
function present(row: ParquetRow): ParquetRow {
  return Object.fromEntries(
    Object.entries(row).filter(([, value]) => value !== null && value !== undefined),
  );
}

Deno.test("export parquet: several recordings become partitions with any number of threads", () =>
  inFolder(async (folder) => {
    const files = ["callchain", "two-events", "clock", "zstd"].map((name) =>
      `${recorded}/${name}.perf.data`
    );
    const flags = ["--partition", "date,service=web"];
    await exported(`${folder}/one`, files, ...flags);
    await exported(`${folder}/two`, files, ...flags, "--jobs", "2");
    const paths = [...parquetFiles(`${folder}/one`)].sort();
    assertEquals(paths.length, files.length * TABLES.length);
    for (const path of paths) {
      const name = path.slice(`${folder}/one/`.length);
      assertMatch(
        name,
        /^[a-z]+\/date=(unknown|\d{4}-\d\d-\d\d)\/service=web\/[0-9a-f]{16}\.parquet$/,
      );
      assertEquals(Deno.readFileSync(path), Deno.readFileSync(`${folder}/two/${name}`), name);
    }
    // One of the recordings has a time-of-day clock.
    assert(paths.some((path) => /date=20/.test(path)) && paths.some((p) => /=unknown/.test(p)));
  }));

Deno.test("export parquet: recordings that differ only in samples get different ids", () =>
  inFolder(async (folder) => {
    let parts = 0;
    for (const name of ["callchain", "two-events", "clock"]) {
      const path = `${recorded}/${name}.perf.data`;
      const files = [path];
      const ways = [
        ...[["--sample-every", "2"], ["--sample-every", "3"]],
        ...["0%-40%", "40%-60%", "60%-80%", "80%-100%"].map((time) => ["--time", time]),
      ];
      for (const [number, way] of ways.entries()) {
        const part = `${folder}/${name}${number}.data`;
        if ((await tool("slice", [...way, "-o", part, path])).code === 0) files.push(part);
      }
      const out = `${folder}/${name}`;
      await exported(out, files);
      const ids = await tableRows(out, "recordings");
      assertEquals(new Set(ids.map((row) => row["recording_id"])).size, files.length, name);
      const samples = ids.reduce((sum, row) => sum + (row["samples"] as bigint), 0n);
      assertEquals(BigInt((await tableRows(out, "samples")).length), samples, name);
      parts += files.length;
    }
    assert(parts > 12, `${parts} recordings`);
  }));

Deno.test("export parquet: switches, threads, mappings and tracepoints equal the records", () =>
  inFolder(async (folder) => {
    const records = async (path: string, types: string): Promise<Record<string, unknown>[]> => {
      const { out } = await tool("records", ["--type", types, "--u64", "string", path]);
      return out.trimEnd().split("\n").filter(Boolean).map((line) => JSON.parse(line));
    };
    const counts: Record<string, number> = {};
    const cases = [
      ["switch", "SWITCH,SWITCH_CPU_WIDE", "switches"],
      ["callchain", "MMAP,MMAP2", "mappings"],
      ["tracepoint", "SAMPLE", "tracepoints"],
    ] as const;
    for (const [name, types, table] of cases) {
      const path = `${recorded}/${name}.perf.data`;
      await exported(`${folder}/${name}`, [path]);
      const found = await tableRows(`${folder}/${name}`, table);
      const expected = await records(path, types);
      assertEquals(found.length, expected.length, table);
      counts[table] = found.length;
      if (table === "tracepoints") {
        for (const { fields } of found) {
          assert(Object.keys(JSON.parse(fields as string)).length > 0);
        }
      }
    }
    const threads = await tableRows(`${folder}/callchain`, "threads");
    const tids = new Set((await records(`${recorded}/callchain.perf.data`, "COMM,FORK"))
      .map(({ body }) => (body as { tid: number }).tid));
    assertEquals(new Set(threads.map(({ tid }) => tid)), tids);
    assert(Object.values(counts).every((count) => count > 0), JSON.stringify(counts));
  }));

Deno.test("export parquet: SIGKILL leaves only complete files", () =>
  inFolder(async (folder) => {
    const path = `${recorded}/callchain.perf.data`;
    let [kills, whole] = [0, 0];
    for (let turn = 0; turn < 8; turn++) {
      const out = `${folder}/${turn}`;
      const child = new Deno.Command(Deno.execPath(), {
        args: [...toolArguments("export"), "parquet", "--names", "-o", out, path],
        env: { PERFDATA_CWD: "" },
        stdout: "null",
        stderr: "null",
      }).spawn();
      // Killed once a table was begun, and once one has its name, so at different stages.
      const isFar = () =>
        turn < 4
          ? existsSync(`${out}/${TABLES[turn]}`)
          : existsSync(out) && [...parquetFiles(out)].length > 0;
      const ended = child.status.then(() => true);
      while (!isFar()) {
        if (await Promise.race([ended, new Promise((r) => setTimeout(() => r(false), 1))])) break;
      }
      try {
        child.kill("SIGKILL");
      } catch {
        // It has ended.
      }
      if (!(await child.status).success) kills++;
      for (const file of parquetFiles(out)) {
        await parquetRows(Deno.readFileSync(file));
        whole++;
      }
    }
    assert(kills > 0, "no export was killed");
    console.log(`tables: ${kills} exports were killed, ${whole} files were whole`);
  }));

Deno.test("export parquet: a signal leaves complete recordings or no folder", () =>
  inFolder(async (folder) => {
    const some = ["callchain", "two-events", "switch", "clock", "zstd", "addr", "regs", "read"];
    const files = some.map((name) => `${recorded}/${name}.perf.data`);
    let [interrupted, gone] = [0, 0];
    for (let turn = 0; turn < 8; turn++) {
      const out = `${folder}/${turn}/made`;
      const jobs = ["--jobs", `${1 + turn % 2}`];
      const inputs = turn < 2 ? files.slice(0, 1) : files;
      const child = new Deno.Command(Deno.execPath(), {
        args: [...toolArguments("export"), "parquet", "--names", ...jobs, "-o", out, ...inputs],
        env: { PERFDATA_CWD: "" },
        stdout: "null",
        stderr: "piped",
      }).spawn();
      const ended = child.status.then(() => true);
      const isFar = () =>
        turn < 2
          ? existsSync(`${out}/samples`)
          : existsSync(out) && (turn < 6 || [...parquetFiles(out)].length > turn);
      while (!isFar()) {
        if (await Promise.race([ended, new Promise((r) => setTimeout(() => r(false), 1))])) break;
      }
      try {
        child.kill(turn % 3 === 0 ? "SIGTERM" : "SIGINT");
      } catch {
        // It has ended.
      }
      const { code } = await child.status;
      const said = await new Response(child.stderr).text();
      if (code !== 0) interrupted++;
      assert([0, 130, 143].includes(code), `${code}: ${said}`);
      if (!existsSync(out)) {
        assert(code !== 0, said);
        gone++;
        continue;
      }
      const names = TABLES.map((table) =>
        existsSync(`${out}/${table}`)
          ? [...Deno.readDirSync(`${out}/${table}`)].map(({ name }) => name).sort()
          : []
      );
      // The others have the recordings in `recordings`, and no temporary file is left.
      const of = names[TABLES.indexOf("recordings")] ?? [];
      for (const these of names) {
        assert(of.every((name) => these.includes(name)), `${these}: ${of}`);
        assert(these.every((name) => /^[0-9a-f]{16}\.parquet$/.test(name)), `${these}`);
      }
      assert(names.some((these) => these.length > 0), "an empty folder was left");
      for (const file of parquetFiles(out)) await parquetRows(Deno.readFileSync(file));
    }
    assert(interrupted > 0, "no export was interrupted");
    // A failure midway leaves none, either.
    const [path = ""] = files;
    await exported(`${folder}/whole`, [path]);
    const [{ name } = { name: "" }] = [...Deno.readDirSync(`${folder}/whole/threads`)];
    await Deno.mkdir(`${folder}/part/threads`, { recursive: true });
    await Deno.writeTextFile(`${folder}/part/threads/${name}`, "mine");
    const failed = await tool("export", ["parquet", "-o", `${folder}/part`, path]);
    assertEquals(failed.code, 1);
    assertStringIncludes(failed.err, "exists; --force overwrites it");
    assertEquals([...Deno.readDirSync(`${folder}/part`)].map(({ name }) => name), ["threads"]);
    assertEquals([...Deno.readDirSync(`${folder}/part/threads`)].length, 1);
    console.log(`tables: ${interrupted} exports were interrupted, ${gone} left no folder`);
  }));

Deno.test("export parquet: wrong inputs and outputs give one line", () =>
  inFolder(async (folder) => {
    const path = `${recorded}/callchain.perf.data`;
    const mine = `${folder}/mine`;
    await Deno.writeTextFile(mine, "mine");
    const cases: [args: string[], code: number, line: string][] = [
      [[path], 2, "parquet needs a directory: -o DIR"],
      [["-o", "-", path], 2, "parquet is a directory: -o DIR"],
      [["-o", folder, "--comm", "a", path], 2, "--comm is not for parquet"],
      [["-o", folder, "--partition", "a/b=c", path], 2, "--partition has a/b=c, expected date or"],
      [["-o", folder, "--partition", "day", path], 2, "--partition has day, expected date or"],
      [["-o", folder, `${folder}/none`], 1, "no such file or directory"],
      [["-o", `${folder}/pt`, "--pt-calls", path], 1, "no AUX data; record with"],
      [["-o", mine, path], 1, "is not a directory"],
    ];
    for (const [args, code, line] of cases) {
      const result = await tool("export", ["parquet", ...args]);
      assertEquals([result.code, result.out], [code, ""], args.join(" "));
      assertStringIncludes(result.err, line);
      assertEquals(result.err.trimEnd().split("\n").length, 1, result.err);
    }
    assert(!existsSync(`${folder}/pt`), "a folder was left");
    assertEquals(await Deno.readTextFile(mine), "mine", "what is no folder stays as it is");
    const names = await tool("export", ["folded", "--names", path]);
    assertStringIncludes(names.err, "--names is for the formats parquet or arrow");
    await exported(`${folder}/t`, [path]);
    const again = await tool("export", ["parquet", "-o", `${folder}/t`, path]);
    assertEquals(again.code, 1);
    assertStringIncludes(again.err, "exists; --force overwrites it");
    await exported(`${folder}/t`, [path], "--force");
    // An error in one does not stop the others.
    const some = await tool("export", ["parquet", "-o", `${folder}/s`, `${folder}/none`, path]);
    assertEquals(some.code, 1);
    assertStringIncludes(some.err, "1 of 2 files were left out");
    assertEquals((await tableRows(`${folder}/s`, "recordings")).length, 1);
  }));

Deno.test("docs/tables.md: columns equal the declarations", () => {
  const page = Deno.readTextFileSync(`${root}docs/tables.md`);
  assertEquals(page, withColumns(page), "deno run -A docs/make_tables.ts");
  assert(page.includes("| `stack_id`"));
});

Deno.test({
  name: "export parquet: DuckDB, Arrow and Polars read equal values from all tables",
  ...ignored(noModules("duckdb", "pyarrow", "polars")),
  fn: () =>
    inFolder(async (folder) => {
      let rows = 0;
      for (const name of ["callchain", "two-events", "switch", "tracepoint", "sample-types"]) {
        const out = `${folder}/${name}`;
        const path = `${recorded}/${name}.perf.data`;
        await exported(out, [path], "--names");
        const streams = await tool("export", ["arrow", "-o", out, "--names", path]);
        assertEquals(streams.code, 0, streams.err);
        const { success, stdout, stderr } = new Deno.Command(python, {
          args: [`${root}tests/support/tables/readers.py`, out, ...TABLES],
        }).outputSync();
        assert(success, new TextDecoder().decode(stderr));
        const read = JSON.parse(new TextDecoder().decode(stdout)) as Record<string, string[][]>;
        for (const table of TABLES) {
          const own = lines(await tableRows(out, table));
          const [duckdb, arrow, polars, stream, ofPolars] = [
            ...["duckdb", "pyarrow", "polars", "arrow-stream", "polars-stream"],
          ].map((reader) => read[`${reader} ${table}`]);
          assertEquals(duckdb?.length, own.length, `${name} ${table}`);
          assertEquals(arrow, duckdb, `pyarrow: ${name} ${table}`);
          assertEquals(polars, duckdb, `polars: ${name} ${table}`);
          assertEquals(stream, duckdb, `stream: ${name} ${table}`);
          assertEquals(ofPolars, duckdb, `stream of polars: ${name} ${table}`);
          rows += own.length;
        }
      }
      assert(rows > 300, `${rows} rows`);
    }),
});
