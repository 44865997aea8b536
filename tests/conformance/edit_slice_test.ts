/** Functions of slices compared with those of the whole recording under the same conditions. */
import { chooseSamples, mergeRecordings, Slice } from "@perfdata/edit/slice";
import { copyRecording, FileOutput } from "@perfdata/edit";
import { bytesSource, memorySink } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { PERF_RECORD_SAMPLE, PERF_SAMPLE_READ } from "@perfdata/format/constants";
import type { NamedFunctionRow } from "@perfdata/report";
import { functions } from "../../packages/report/functions/testing.ts";
import type { SymbolResolver } from "@perfdata/symbols";
import { openResolver } from "@perfdata/symbols/files";
import { assert, assertEquals } from "@std/assert";
import { corpusFiles } from "../support/corpus.ts";
import { perfVersion } from "../support/perf.ts";
import { tool } from "../support/tool.ts";
import { skipped } from "../support/ignored.ts";

const fixtures = new URL("../../fixtures/recorded/", import.meta.url).pathname;
const KEYS = ["pid", "tid", "cpu", "comm", "dso", "sym"] as const;
const tolerant = { diagnostics: () => {} };

interface Conditions {
  readonly time?: readonly [bigint, bigint];
  readonly pids?: ReadonlySet<number>;
  readonly tids?: ReadonlySet<number>;
  readonly cpus?: ReadonlySet<number>;
  readonly events?: ReadonlySet<number>;
  readonly comm?: string;
  readonly dso?: string;
  readonly sym?: string;
}

const open = (bytes: Uint8Array) => PerfDataReader.open(bytesSource(bytes), tolerant);

/** Rows as texts, without their share, which depends on the total. */
function texts(rows: readonly NamedFunctionRow[]): string[] {
  return rows.map(({ overhead: _, ...row }) => JSON.stringify(row)).sort();
}

async function rowsOf(
  bytes: Uint8Array,
  symbols: SymbolResolver | undefined,
  { comm, dso, sym, events, ...filter }: Conditions = {},
): Promise<NamedFunctionRow[]> {
  const is = (name: string | undefined) =>
    name === undefined ? undefined : (other: string) => other === name;
  const rows = await functions(await open(bytes), {
    sort: KEYS,
    ...tolerant,
    ...(symbols === undefined ? {} : { symbols }),
    filter,
    only: { comm: is(comm), dso: is(dso), sym: is(sym) },
  });
  return events === undefined ? rows : rows.filter(({ event }) => events.has(event));
}

async function sliceOf(
  bytes: Uint8Array,
  symbols: SymbolResolver | undefined,
  { comm, dso, sym, ...filter }: Conditions,
): Promise<Uint8Array> {
  const is = (name: string | undefined) =>
    name === undefined ? undefined : (other: string) => other === name;
  const names = { comm: is(comm), dso: is(dso), symbol: is(sym) };
  const chosen = (comm ?? dso ?? sym) === undefined ? {} : {
    records: (await chooseSamples(
      await open(bytes),
      names,
      symbols && (() => symbols),
      tolerant,
    )).records,
  };
  const reader = await open(bytes);
  const sink = memorySink();
  await copyRecording(reader, new FileOutput(sink), {
    edit: new Slice(reader, { ...filter, ...chosen }),
    lostFeature: () => {},
  });
  return sink.bytes();
}

/** Conditions for a recording: the first, the middle and the last value of each kind. */
async function conditionsFor(
  bytes: Uint8Array,
  rows: readonly NamedFunctionRow[],
  limit: number,
): Promise<Conditions[]> {
  const values = <T>(of: (row: NamedFunctionRow) => T | undefined): T[] => {
    const all = [...new Set(rows.flatMap((row) => of(row) ?? []))] as T[];
    return [...new Set([all[0], all[all.length >> 1], all.at(-1)])].slice(0, limit)
      .filter((value) => value !== undefined) as T[];
  };
  const times: bigint[] = [];
  for await (const batch of (await open(bytes)).batches()) {
    for (let i = 0; i < batch.count; i++) {
      const at = batch.type(i) === 9 ? batch.eventOf(i)?.layout.time ?? -1 : -1;
      if (at < 0) continue;
      times.push(batch.view.getBigUint64(batch.start(i) + at, batch.littleEndian));
    }
  }
  times.sort((a, b) => a < b ? -1 : a > b ? 1 : 0);
  const at = (share: number) => times[Math.floor(share * (times.length - 1))] as bigint;
  const ranges = ([[0, 0.3], [0.2, 0.7], [0.6, 1]] as const).slice(0, times.length > 2 ? limit : 0)
    .map(([from, to]) => [at(from), at(to)] as const);
  const [comm] = values(({ comm }) => comm);
  const [dso] = values(({ dso }) => dso);
  return [
    ...ranges.map((time) => ({ time })),
    ...values(({ pid }) => pid).map((pid) => ({ pids: new Set([pid]) })),
    ...values(({ tid }) => tid).map((tid) => ({ tids: new Set([tid]) })),
    ...values(({ cpu }) => cpu).map((cpu) => ({ cpus: new Set([cpu]) })),
    ...values(({ event }) => event).map((event) => ({ events: new Set([event]) })),
    ...values(({ comm }) => comm).map((comm) => ({ comm })),
    ...values(({ dso }) => dso).map((dso) => ({ dso })),
    ...values(({ sym }) => sym?.startsWith("0x") ? undefined : sym).map((sym) => ({ sym })),
    ...ranges.slice(1, 2).flatMap((time) => [
      ...(comm === undefined ? [] : [{ time, comm }]),
      ...(dso === undefined ? [] : [{ time, dso }]),
      ...(comm === undefined || dso === undefined ? [] : [{ time, comm, dso }]),
    ]),
  ];
}

/** A recording of this machine, whose functions have names. */
async function ownRecording(): Promise<Uint8Array | undefined> {
  if (perfVersion() === undefined) return undefined;
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-slice-" });
  try {
    const args = ["record", "-q", "-g", "-e", "cpu-clock:u,page-faults", "-F", "3000"];
    const { success } = await new Deno.Command("perf", {
      args: [...args, "-o", "perf.data", "--", "sh", "-c", "ls -lR /usr/share | sort | md5sum"],
      cwd: folder,
      stdout: "null",
      stderr: "null",
    }).output();
    return success ? Deno.readFileSync(`${folder}/perf.data`) : undefined;
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

/** Compares all conditions on a recording. Returns the numbers of cases and rows. */
async function compare(
  name: string,
  bytes: Uint8Array,
  symbols: SymbolResolver | undefined,
  limit: number,
): Promise<{ cases: number; rows: number; sym: number }> {
  const all = await rowsOf(bytes, symbols);
  let [cases, rows, sym] = [0, 0, 0];
  // READ values are differences to a sample that a slice may lack.
  const { events } = await open(bytes);
  if (events.all.some(({ layout }) => layout.sampleType & PERF_SAMPLE_READ)) {
    return { cases, rows, sym };
  }
  for (const conditions of await conditionsFor(bytes, all, limit)) {
    const wanted = texts(await rowsOf(bytes, symbols, conditions));
    const slice = await sliceOf(bytes, symbols, conditions);
    const found = texts(await rowsOf(slice, symbols));
    const what = JSON.stringify(
      conditions,
      (_, value) =>
        value instanceof Set ? [...value] : typeof value === "bigint" ? `${value}` : value,
    );
    assertEquals([name, what, found], [name, what, wanted]);
    cases++;
    rows += wanted.length;
    if (conditions.sym !== undefined) sym++;
  }
  return { cases, rows, sym };
}

Deno.test("slice: the functions of a slice equal those of the whole with the same conditions", async () => {
  let [files, cases, rows] = [0, 0, 0];
  const take = async (name: string, recorded: Uint8Array, limit: number) => {
    // A sample in a compressed record has no file offset, so the tool decompresses first.
    const bytes = await sliceOf(recorded, undefined, {});
    assertEquals(texts(await rowsOf(bytes, undefined)), texts(await rowsOf(recorded, undefined)));
    const done = await compare(name, bytes, undefined, limit);
    if (done.cases > 0) files++;
    cases += done.cases;
    rows += done.rows;
  };
  for (const { name } of Deno.readDirSync(fixtures)) {
    if (!name.endsWith(".perf.data") || name.startsWith("directory")) continue;
    await take(name, Deno.readFileSync(fixtures + name), 2);
  }
  for (const { path, row } of corpusFiles()) {
    if (Number(row["bytes"]) > 120_000 || row["kind"]?.includes("fuzz")) continue;
    const bytes = Deno.readFileSync(path);
    try {
      await rowsOf(bytes, undefined);
    } catch (error) {
      if (error instanceof Error && error.name === "PerfDataError") continue;
      throw error;
    }
    await take(path, bytes, 1);
  }
  console.log(`${cases} slices of ${files} recordings, ${rows} rows compared`);
  const [leastFiles, leastCases] = corpusFiles().length > 0 ? [60, 400] : [18, 200];
  assert(files >= leastFiles && cases >= leastCases, `${files} recordings, ${cases} slices`);
});

Deno.test("slice: slices by function, and merged slices by time, equal the whole", async (t) => {
  const bytes = await ownRecording();
  if (bytes === undefined) return await skipped(t, "perf cannot record here");
  const resolver = openResolver();
  const { cases, rows, sym } = await compare("own", bytes, resolver, 3);
  assert(sym >= 2, `${sym} functions`);
  const all = await rowsOf(bytes, resolver);
  // Three parts of its time add up to the whole.
  const times = (await conditionsFor(bytes, all, 3)).flatMap(({ time }) => time ?? []);
  const cut = times.toSorted((a, b) => a < b ? -1 : 1);
  const [a = 0n, b = 0n] = [cut[cut.length >> 2], cut[cut.length >> 1]];
  const parts = [];
  for (const time of [[0n, a], [a + 1n, b], [b + 1n, 1n << 62n]] as const) {
    parts.push({ name: `${time}`, reader: await open(await sliceOf(bytes, resolver, { time })) });
  }
  const sink = memorySink();
  // The order of the inputs does not matter: rates are read in file order.
  await mergeRecordings([...parts.slice(1), ...parts.slice(0, 1)], new FileOutput(sink));
  assertEquals(texts(await rowsOf(sink.bytes(), resolver)), texts(all));
  const order: number[] = [];
  for await (const batch of (await open(sink.bytes())).batches()) {
    for (let i = 0; i < batch.count; i++) {
      if (batch.type(i) !== PERF_RECORD_SAMPLE) continue;
      const at = batch.start(i) + (batch.eventOf(i)?.layout.identifier ?? 0);
      // The upper half of an id identifies the input.
      const input = batch.view.getUint32(at + 4, batch.littleEndian);
      if (input !== order.at(-1)) order.push(input);
    }
  }
  assertEquals(order, [2, 0, 1]);
  console.log(`${cases} slices, ${rows} rows compared; ${all.length} rows of three merged slices`);
});

/** Samples by the event number in the attr table. */
async function samplesByEvent(bytes: Uint8Array): Promise<number[]> {
  const reader = await open(bytes);
  const counts: number[] = [];
  for await (const batch of reader.batches()) {
    for (let i = 0; i < batch.count; i++) {
      if (batch.type(i) !== PERF_RECORD_SAMPLE) continue;
      const number = reader.events.all.findIndex((event) => event === batch.eventOf(i));
      counts[number] = (counts[number] ?? 0) + 1;
    }
  }
  return reader.events.all.map((_, number) => counts[number] ?? 0);
}

Deno.test("slice --event: names and expressions, of a file and of streams of both forms", async () => {
  const path = `${fixtures}two-events.perf.data`;
  const file = await Deno.readFile(path);
  const pipe = await tool("convert", ["-o", "-", path]);
  assertEquals(pipe.code, 0, pipe.err);
  const [first = 0, second = 0] = await samplesByEvent(file);
  assert(first > 0 && second > 0);
  const cases: readonly (readonly [string, number[]])[] = [
    ["cpu-clock", [first, 0]],
    ["/^page/", [0, second]],
    ["page-faults,cpu-clock", [first, second]],
  ];
  for (const [names, expected] of cases) {
    for (const input of [undefined, file, pipe.stdout]) {
      const words = ["--event", names, "-o", "-", input === undefined ? path : "-"];
      const { code, stdout, err } = await tool(
        "slice",
        words,
        input === undefined ? {} : { input },
      );
      assertEquals([code, err], [0, ""], words.join(" "));
      assertEquals(await samplesByEvent(stdout), expected, words.join(" "));
    }
  }
});
