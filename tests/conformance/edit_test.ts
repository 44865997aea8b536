/** Edited recordings, read back by perf and by our reader. */
import {
  AddBuildIds,
  ByteOrder,
  CompressedOutput,
  copyRecording,
  FileOutput,
  filesWithoutBuildId,
  ForPerf,
  KERNEL,
  perfKnowledge,
  PipeOutput,
  repairRecording,
} from "@perfdata/edit";
import { chooseSamples, mergeRecordings, type NameConditions, Slice } from "@perfdata/edit/slice";
import { bytesSource, memorySink } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { PERF_RECORD_SAMPLE } from "@perfdata/format/constants";
import { buildIdOfNotes, ElfFile } from "@perfdata/symbols";
import { openBinaryFile } from "@perfdata/symbols/files";
import { assert, assertEquals } from "@std/assert";
import { zstdCompressSync } from "node:zlib";
import { corpusFiles } from "../support/corpus.ts";
import { noPerf, perfText, perfVersion } from "../support/perf.ts";
import { ignored, skipped } from "../support/ignored.ts";

const fixtures = new URL("../../fixtures/", import.meta.url).pathname;

/** The fixtures that are a single file. */
function fixtureFiles(): string[] {
  return ["recorded", "synthesized"].flatMap((folder) =>
    Array.from(Deno.readDirSync(fixtures + folder))
      .filter(({ name, isFile }) => isFile && name.endsWith(".data"))
      .map(({ name }) => `${fixtures}${folder}/${name}`)
  ).sort();
}

function open(bytes: Uint8Array, tolerant = false): Promise<PerfDataReader> {
  return PerfDataReader.open(bytesSource(bytes), tolerant ? { diagnostics: () => {} } : {});
}

async function copied(bytes: Uint8Array, form: "file" | "pipe"): Promise<Uint8Array> {
  const sink = memorySink();
  const output = form === "file" ? new FileOutput(sink) : new PipeOutput(sink);
  // With a neutral edit, a file is laid out again; without an edit its gaps stay.
  const edit = { after: () => Promise.resolve() };
  await copyRecording(await open(bytes, true), output, { keepCompressed: true, edit });
  return sink.bytes();
}

/** perf's output for a recording, without the name of the file. */
async function perfOf(
  args: readonly string[],
  bytes: Uint8Array,
): Promise<string | undefined> {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-edit-" });
  try {
    Deno.writeFileSync(`${folder}/perf.data`, bytes);
    return (await perfText(args, `${folder}/perf.data`))?.stdout;
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

const SCRIPT = ["script", "--ns"];

Deno.test("convert: a file converted to a pipe and back is the same", async () => {
  let compared = 0;
  for (const path of fixtureFiles()) {
    const bytes = Deno.readFileSync(path);
    // Gaps between sections, as perf leaves them, vanish with the first copy.
    const form = (await open(bytes, true)).isPipe ? "pipe" : "file";
    const first = await copied(bytes, form);
    const other = await copied(first, form === "file" ? "pipe" : "file");
    const last = await copied(other, form);
    const differs = last.findIndex((byte, at) => byte !== first[at]);
    // perf pads tracing data in a pipe without recording the padding.
    if (path.includes("tracepoint")) continue;
    // These files contain records of pipes.
    if (path.includes("/records")) continue;
    assertEquals([path, differs, last.length], [path, -1, first.length]);
    compared++;
  }
  console.log(`${compared} files compared`);
  assert(compared >= 30);
});

Deno.test("convert: perf prints the same for the other form", ignored(noPerf()), async () => {
  let compared = 0;
  for (const path of fixtureFiles().filter((path) => path.includes("/recorded/"))) {
    const bytes = Deno.readFileSync(path);
    const reader = await open(bytes, true);
    // For a pipe perf prints no names from the build-id table, for example: compare files.
    const file = await copied(bytes, "file");
    const again = await copied(await copied(bytes, "pipe"), "file");
    const text = await perfOf(SCRIPT, reader.isPipe ? file : bytes);
    if (text === undefined || text === "") continue;
    assertEquals(await perfOf(SCRIPT, again), text, path);
    compared++;
  }
  console.log(`${compared} files compared`);
  assert(compared >= 20);
});

Deno.test("convert: perf prints the same for compressed records", ignored(noPerf()), async () => {
  let compared = 0;
  for (const name of ["all-cpus", "callchain", "dwarf", "two-events", "switch", "namespaces"]) {
    const bytes = Deno.readFileSync(`${fixtures}recorded/${name}.perf.data`);
    const sink = memorySink();
    const output = new CompressedOutput(new FileOutput(sink), (piece) => zstdCompressSync(piece));
    await copyRecording(await open(bytes), output);
    assert(sink.bytes().length < bytes.length, name);
    const text = await perfOf(SCRIPT, bytes);
    assertEquals(await perfOf(SCRIPT, sink.bytes()), text, name);
    // COMPRESSED2, which this perf does not know, and COMPRESSED again.
    const aligned = memorySink();
    const zstd = (piece: Uint8Array) => zstdCompressSync(piece);
    const second = new CompressedOutput(new FileOutput(aligned), zstd, 1, true);
    await copyRecording(await open(sink.bytes()), second);
    const again = memorySink();
    await copyRecording(
      await open(aligned.bytes()),
      new CompressedOutput(new FileOutput(again), zstd),
    );
    const sizes = (await places(aligned.bytes())).map(([, size]) => size & 7);
    assertEquals([name, ...sizes.filter((rest) => rest > 0)], [name]);
    assertEquals(await perfOf(SCRIPT, again.bytes()), text, name);
    compared++;
  }
  assertEquals(compared, 6);
});

Deno.test("convert: the other byte order has the same records, also in perf", async () => {
  let compared = 0;
  let printed = 0;
  for (const path of fixtureFiles()) {
    const bytes = Deno.readFileSync(path);
    // These have records and features without a declaration, which are dropped.
    if (path.includes("/records-newer")) continue;
    const { isPipe } = await open(bytes, true);
    const turned = async (from: Uint8Array): Promise<Uint8Array> => {
      const reader = await open(from, true);
      const sink = memorySink();
      const edit = new ByteOrder(reader);
      await copyRecording(reader, isPipe ? new PipeOutput(sink) : new FileOutput(sink), {
        edit,
        keepCompressed: true,
      });
      assertEquals([path, ...edit.left], [path]);
      return sink.bytes();
    };
    const first = await copied(bytes, isPipe ? "pipe" : "file");
    const other = await turned(first);
    assert(other[0] !== first[0]);
    const back = await turned(other);
    assertEquals([path, back.findIndex((byte, at) => byte !== first[at])], [path, -1]);
    compared++;
    // perf does not swap compressed records, and raw data cannot be swapped.
    if (isPipe || /zstd|tracepoint|synthesized/.test(path) || perfVersion() === undefined) continue;
    const text = await perfOf(SCRIPT, first);
    if (text === undefined || text === "") continue;
    assertEquals(await perfOf(SCRIPT, other), text, path);
    printed++;
  }
  console.log(`${compared} files compared, ${printed} of them as perf prints them`);
  assert(compared >= 35 && (perfVersion() === undefined || printed >= 15));
});

Deno.test("convert: build ids are those that perf inject finds", ignored(noPerf()), async (t) => {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-edit-" });
  try {
    const env = { PERF_BUILDID_DIR: `${folder}/cache`, LC_ALL: "C" };
    const run = async (...args: string[]) =>
      await new Deno.Command("timeout", { args: ["300", "perf", ...args], cwd: folder, env })
        .output();
    const recorded = await run(
      "record",
      "-q",
      "-B",
      "-o",
      "perf.data",
      "-e",
      "cpu-clock",
      "-F",
      "5000",
      "--",
      "ls",
      "-lR",
      "/usr/lib",
    );
    if (!recorded.success) {
      await skipped(t, "perf cannot record here");
      return;
    }
    await run("inject", "-b", "--buildid-all", "-i", "perf.data", "-o", "injected.data");
    const list = async (name: string): Promise<Map<string, string>> => {
      const text = new TextDecoder().decode((await run("buildid-list", "-i", name)).stdout);
      return new Map(
        [...text.matchAll(/^([0-9a-f]{10,}) (\/.+|\[kernel.*)$/gm)].map((
          [, id = "", path = ""],
        ) => [path, id]),
      );
    };
    const reader = await open(Deno.readFileSync(`${folder}/perf.data`));
    const files = await filesWithoutBuildId(reader);
    const ids = new Map<string, string>();
    for (const file of files) {
      if (file === KERNEL) {
        const id = buildIdOfNotes(Deno.readFileSync("/sys/kernel/notes"), true, 4);
        if (id !== undefined) ids.set(file, id);
        continue;
      }
      using source = openBinaryFile(file);
      const id = ElfFile.open(source).buildId();
      if (id !== undefined) ids.set(file, id);
    }
    const sink = memorySink();
    await copyRecording(reader, new FileOutput(sink), { edit: new AddBuildIds(reader, ids) });
    Deno.writeFileSync(`${folder}/ours.data`, sink.bytes());
    const [ours, theirs] = [await list("ours.data"), await list("injected.data")];
    let compared = 0;
    for (const [path, id] of theirs) {
      assertEquals([path, ours.get(path)], [path, id]);
      compared++;
    }
    console.log(`${compared} build ids compared`);
    assert(compared >= 2);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("convert: perf 6.1 reads recordings that it refused before", async (t) => {
  const version = perfVersion();
  if (version === undefined) return;
  if (!version.startsWith("perf version 6.1")) {
    await skipped(t, `${version}, the corpus says what 6.1 refuses`);
    return;
  }
  let read = 0;
  for (const { path, row } of corpusFiles()) {
    // simpleperf stores tracepoint formats in its own feature, so perf refuses its events.
    const refused = row["D_err"]?.startsWith("incompatible file format");
    if (!refused || row["kind"]?.includes("simpleperf")) continue;
    const reader = await open(Deno.readFileSync(path), true);
    const sink = memorySink();
    await copyRecording(reader, new FileOutput(sink), {
      edit: new ForPerf(reader, perfKnowledge("6.1")),
    });
    const samples = await sampleCount(sink.bytes());
    if (samples === 0) continue;
    const script = await perfOf(SCRIPT, sink.bytes()) ?? "";
    assert(script.trim() !== "", path);
    read++;
  }
  if (corpusFiles().length === 0) return await skipped(t, "no corpus");
  console.log(`${read} files read`);
  assert(read >= 4);
});

Deno.test(
  "slice: perf prints the lines that it prints for the whole with the same filter",
  ignored(noPerf()),
  async () => {
    let lines = 0;
    for (
      const name of ["all-cpus", "callchain", "two-events", "rounds", "zstd-many", "per-thread"]
    ) {
      const bytes = Deno.readFileSync(`${fixtures}recorded/${name}.perf.data`);
      const whole = await perfOf(SCRIPT, bytes) ?? "";
      const times = [...whole.matchAll(/ (\d+)\.(\d{9}):/g)].map(([, s, ns]) =>
        BigInt(`${s}${ns}`)
      );
      const sorted = times.toSorted((a, b) => a < b ? -1 : 1);
      if (sorted.length < 15) continue;
      const from = sorted[Math.floor(sorted.length * 0.3)] as bigint;
      const to = sorted[Math.floor(sorted.length * 0.7)] as bigint;
      const text = (time: bigint) =>
        `${time / 1_000_000_000n}.${String(time % 1_000_000_000n).padStart(9, "0")}`;
      const wanted = await perfOf([...SCRIPT, "--time", `${text(from)},${text(to)}`], bytes);
      const sink = memorySink();
      const reader = await open(bytes);
      const edit = new Slice(reader, { time: [from, to] });
      await copyRecording(reader, new FileOutput(sink), { edit });
      const found = await perfOf(SCRIPT, sink.bytes());
      assertEquals(found, wanted, name);
      lines += (wanted ?? "").split("\n").length - 1;
    }
    console.log(`${lines} lines compared`);
    assert(lines >= 150);
  },
);

Deno.test(
  "slice: samples of a command, an object, or a function in the stack are those of perf script",
  ignored(noPerf()),
  async () => {
    const bytes = Deno.readFileSync(`${fixtures}recorded/all-cpus.perf.data`);
    const script = ["script", "--ns", "-F", "comm,tid,time,ip,dso"];
    const blocks = (await perfOf(script, bytes) ?? "").split("\n\n").filter((block) =>
      block.trim()
    );
    assert(blocks.length >= 50);
    const dsosOf = (block: string) =>
      [...block.matchAll(/\((.+)\)$/gm)].map(([, path = ""]) => path);
    const cases: [string, NameConditions, (block: string) => boolean][] = [
      ["comm", { comm: (name) => name === "worker b" }, (block) => block.startsWith("worker b ")],
      [
        "dso",
        { dso: (name) => name === "demo" },
        (block) => dsosOf(block)[0]?.endsWith("/demo") === true,
      ],
      [
        "dso in the stack",
        { dso: (name) => name === "libc.so.6", anywhere: true },
        (block) => dsosOf(block).some((path) => path.endsWith("/libc.so.6")),
      ],
    ];
    for (const [what, conditions, holds] of cases) {
      const { records } = await chooseSamples(await open(bytes), conditions, undefined);
      const reader = await open(bytes);
      const sink = memorySink();
      await copyRecording(reader, new FileOutput(sink), { edit: new Slice(reader, { records }) });
      const found = (await perfOf(script, sink.bytes()) ?? "").split("\n\n").filter((b) =>
        b.trim()
      );
      const wanted = blocks.filter(holds);
      assertEquals([what, found], [what, wanted]);
      assert(
        wanted.length > 3 && wanted.length < blocks.length,
        `${what}: ${wanted.length} samples`,
      );
    }
  },
);

async function sampleCount(bytes: Uint8Array): Promise<number> {
  let samples = 0;
  for await (const batch of (await open(bytes, true)).batches()) {
    for (let i = 0; i < batch.count; i++) if (batch.type(i) === PERF_RECORD_SAMPLE) samples++;
  }
  return samples;
}

Deno.test("merge: merged parts of a recording have its samples, also in perf", async () => {
  let merged = 0;
  for (const name of ["all-cpus", "callchain", "two-events", "switch", "sample-types", "read"]) {
    const bytes = Deno.readFileSync(`${fixtures}recorded/${name}.perf.data`);
    const parts: Uint8Array[] = [];
    for (const cpus of [new Set([0]), new Set(Array.from({ length: 64 }, (_, i) => i + 1))]) {
      const reader = await open(bytes);
      if ((reader.events.all[0]?.layout.cpu ?? -1) < 0) break;
      const sink = memorySink();
      await copyRecording(reader, new FileOutput(sink), { edit: new Slice(reader, { cpus }) });
      parts.push(sink.bytes());
    }
    if (parts.length === 0) parts.push(bytes);
    const inputs = await Promise.all(
      parts.map(async (part, i) => ({ name: `part ${i}`, reader: await open(part) })),
    );
    const sink = memorySink();
    const report = await mergeRecordings(inputs, new FileOutput(sink));
    assertEquals(await sampleCount(sink.bytes()), await sampleCount(bytes), name);
    assertEquals(report.losses.filter((loss) => !/differ$/.test(loss)), []);
    merged++;
    const own = await perfOf(SCRIPT, bytes);
    if (own === undefined) continue;
    const sorted = (text = "") => text.split("\n").toSorted();
    assertEquals(sorted(await perfOf(SCRIPT, sink.bytes())), sorted(own), name);
  }
  assertEquals(merged, 6);
});

Deno.test("merge: processes of another host stay distinct, and samples keep their origin", async () => {
  const bytes = Deno.readFileSync(`${fixtures}recorded/two-events.perf.data`);
  const renamed = bytes.slice();
  const at = new TextDecoder("latin1").decode(bytes).indexOf("fixture-host");
  renamed.set(new TextEncoder().encode("another-host"), at);
  const sink = memorySink();
  const report = await mergeRecordings([
    { name: "a", reader: await open(bytes) },
    { name: "b", reader: await open(renamed) },
  ], new FileOutput(sink));
  assertEquals(report.inputs.map(({ host, pidOffset }) => [host, pidOffset]), [
    ["fixture-host", 0],
    ["another-host", 1 << 22],
  ]);
  const reader = await open(sink.bytes());
  const byInput = [0, 0];
  for await (const batch of reader.batches()) {
    for (let i = 0; i < batch.count; i++) {
      if (batch.type(i) !== PERF_RECORD_SAMPLE) continue;
      const { layout } = batch.eventOf(i) ?? {};
      assert(layout !== undefined);
      const input = batch.view.getUint32(batch.start(i) + layout.identifier + 4, true);
      byInput[input] = (byInput[input] ?? 0) + 1;
      const pid = batch.view.getUint32(batch.start(i) + layout.pid, true);
      assertEquals(pid >> 22, input);
    }
  }
  const samples = await sampleCount(bytes);
  assertEquals(byInput, [samples, samples]);
});

/** A generator of numbers below 2^32 (mulberry32) with a fixed sequence. */
function random(seed: number): () => number {
  return () => {
    seed = seed + 0x6d2b79f5 | 0;
    let t = Math.imul(seed ^ seed >>> 15, 1 | seed);
    t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
    return (t ^ t >>> 14) >>> 0;
  };
}

/** Offset and size of each record of a recording. */
async function places(bytes: Uint8Array): Promise<[number, number][]> {
  const found: [number, number][] = [];
  for await (const batch of (await open(bytes, true)).batches({ inflate: false })) {
    for (let i = 0; i < batch.count; i++) found.push([batch.offsetOf(i), batch.size(i)]);
  }
  return found;
}

Deno.test("repair: whole records before and after damage are kept, and the result is intact", async () => {
  const seed = 20261122;
  console.log(`seed ${seed}`);
  const next = random(seed);
  let repaired = 0;
  for (const name of ["all-cpus", "callchain", "dwarf", "two-events", "killed", "tracepoint"]) {
    const bytes = Deno.readFileSync(`${fixtures}recorded/${name}.perf.data`);
    const records = await places(bytes);
    const dataAt = records[0]?.[0] ?? 0;
    const dataEnd = records.reduce((end, [at, size]) => Math.max(end, at + size), 0);
    for (let round = 0; round < 25; round++) {
      const damaged = bytes.slice();
      const from = dataAt + next() % (dataEnd - dataAt);
      const size = 1 + next() % 600;
      const to = Math.min(dataEnd, from + size);
      const zeros = next() % 2 === 0;
      for (let at = from; at < to; at++) damaged[at] = zeros ? 0 : next() & 0xff;
      const sink = memorySink();
      const report = await repairRecording(bytesSource(damaged), new FileOutput(sink));
      const result = await open(sink.bytes());
      let back = 0;
      for await (const batch of result.batches({ inflate: false })) back += batch.count;
      // Three intact records end the damage. Those directly after it may be lost with it.
      const whole = records.filter(([at, size]) => at + size <= from || at >= to).length;
      const hit = records.length - whole;
      assert(
        back >= whole - 3 && back <= records.length + hit,
        `${name}: ${back} of ${whole} sound records are back after damage at ${from}–${to}`,
      );
      assert(report.lost.length <= hit + 2);
      repaired++;
      if (round > 1) continue;
      const printed = await perfOf(["report", "--stdio"], sink.bytes());
      assert(printed === undefined || printed.includes("# Samples: "), `${name}: ${printed}`);
    }
    // Truncated anywhere.
    for (let round = 0; round < 10; round++) {
      const end = dataAt + next() % (dataEnd - dataAt);
      const sink = memorySink();
      await repairRecording(bytesSource(bytes.slice(0, end)), new FileOutput(sink));
      const result = await open(sink.bytes());
      let back = 0;
      for await (const batch of result.batches({ inflate: false })) back += batch.count;
      assertEquals(back, records.filter(([at, size]) => at + size <= end).length, name);
      repaired++;
    }
  }
  console.log(`${repaired} damaged recordings repaired`);
  assert(repaired >= 200);
});

Deno.test("repair: a file without its header is read by its attr table", async () => {
  let repaired = 0;
  for (const name of ["all-cpus", "callchain", "two-events", "group"]) {
    const bytes = Deno.readFileSync(`${fixtures}recorded/${name}.perf.data`);
    const damaged = bytes.slice();
    damaged.fill(0, 0, 104);
    const sink = memorySink();
    const report = await repairRecording(bytesSource(damaged), new FileOutput(sink));
    assertEquals(report.headerRebuilt, true);
    assertEquals(await sampleCount(sink.bytes()), await sampleCount(bytes));
    repaired++;
  }
  assertEquals(repaired, 4);
});

Deno.test("convert: a file that ends within AUX data becomes a complete one", async () => {
  const bytes = Deno.readFileSync(`${fixtures}synthesized/pt-cpus.perf.data`);
  let cut = 0;
  for await (const { payload } of (await open(bytes)).batches()) {
    if (payload?.type !== 71 || payload.size < 32) continue;
    const part = bytes.slice(0, payload.offset + 17);
    for (const form of ["file", "pipe"] as const) {
      // Strict: an AUXTRACE record whose data is truncated would be an error.
      const again = await open(await copied(part, form));
      let left = 0;
      for await (const { payload } of again.batches()) {
        if (payload?.type === 71) left = await payload.read(new Uint8Array(1 << 16));
      }
      assertEquals(left, 17);
      cut++;
    }
  }
  assert(cut >= 4, `${cut} files`);
});

Deno.test("convert: every corpus file is copied in either form, or one line has the reason", async () => {
  let whole = 0;
  let refused = 0;
  for (const { path, row } of corpusFiles()) {
    if (Number(row["bytes"]) > 1_000_000) continue;
    const bytes = Deno.readFileSync(path);
    for (const form of ["file", "pipe"] as const) {
      try {
        const reader = await open(bytes, true);
        const sink = memorySink();
        await copyRecording(
          reader,
          form === "file" ? new FileOutput(sink) : new PipeOutput(sink),
          { lostFeature: () => {} },
        );
        const again = await open(sink.bytes(), true);
        assertEquals(
          again.events.all.length === 0 && !again.isPipe,
          reader.events.all.length === 0 && form === "file",
        );
        whole++;
      } catch (error) {
        assert(error instanceof Error && error.name === "PerfDataError", `${path}: ${error}`);
        refused++;
      }
    }
  }
  if (whole === 0) return;
  console.log(`${whole} copies, ${refused} refused`);
  assert(whole >= 200 && refused <= 40);
});
