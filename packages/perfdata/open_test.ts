import { assert, assertEquals, assertRejects } from "@std/assert";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { bytesSource, PerfDataError, streamSource } from "@perfdata/format/bytes";
import { memoryFile, PerfDataReader } from "@perfdata/format/records";
import { SampleCollector } from "@perfdata/profile";
import { SymbolResolver } from "@perfdata/symbols";
import { copyRecording, DROP, FileOutput, KEEP } from "@perfdata/edit";
import { ignored } from "../../tests/support/ignored.ts";
import { noPerf, perfText } from "../../tests/support/perf.ts";
import { pathSink, pathSource } from "./doors/files.ts";
import { open, type OpenOptions, type RecordingInput } from "./mod.ts";

const recorded = (name: string) =>
  new URL(`../../fixtures/recorded/${name}.perf.data`, import.meta.url);
const NAME = "callchain";

/** A recording in each form that `open` accepts. */
function inputs(): readonly (readonly [string, () => RecordingInput])[] {
  const url = recorded(NAME);
  const bytes = Deno.readFileSync(url);
  return [
    ["path", () => url.pathname],
    ["URL", () => url],
    ["bytes", () => bytes],
    ["Blob", () => new Blob([bytes])],
    ["stream", () => new Blob([bytes]).stream()],
    ["gzip", () => new Uint8Array(gzipSync(bytes))],
    ["zstd", () => new Uint8Array(zstdCompressSync(bytes))],
  ];
}

const NONE: OpenOptions = { symbols: "none" };

/** The results of all methods for a recording, as text. */
async function answers(input: RecordingInput): Promise<string> {
  using recording = await open(input, NONE);
  const { samples, records } = await recording.info();
  const functions = await recording.functions();
  const all = await Array.fromAsync(recording.samples());
  const tree = await recording.callTree();
  const folded = await new Blob(await Array.fromAsync(recording.exportAs("folded"))).text();
  return JSON.stringify(
    [samples, records, functions, all, [...tree.period], tree.names, folded],
    (_, value) => typeof value === "bigint" ? `${value}` : value,
  );
}

Deno.test("open: a path, a URL, bytes, a Blob, a stream and a compressed file give the same answers", async () => {
  const [, ...others] = inputs();
  const expected = await answers(recorded(NAME).pathname);
  assert(expected.length > 10_000);
  for (const [name, input] of others) assertEquals(await answers(input()), expected, name);
  assertEquals(others.length, 6);
});

Deno.test("samples: they are in order of time, and their periods add up to those of functions()", async () => {
  using recording = await open(recorded(NAME), NONE);
  const all = await Array.fromAsync(recording.samples());
  const { samples } = await recording.info();
  assertEquals(all.length, samples);
  const sums = await recording.functions();
  assertEquals(
    all.reduce((sum, { period }) => sum + period, 0),
    sums.reduce((sum, { period }) => sum + period, 0),
  );
  for (let i = 1; i < all.length; i++) {
    assert((all[i]?.time ?? 0n) >= (all[i - 1]?.time ?? 0n));
  }
});

Deno.test("samples: they equal those of perf script", ignored(noPerf()), async () => {
  let compared = 0;
  for (const name of ["callchain", "two-events", "all-cpus", "zstd"]) {
    const path = recorded(name).pathname;
    const perf = await perfText(["script", "--ns", "-G", "-F", "comm,pid,tid,time,event"], path);
    const theirs = (perf?.stdout ?? "").trimEnd().split("\n").map((line) => {
      const found = /^\s*(.*?)\s+(-?\d+)\/(-?\d+)\s+(\d+)\.(\d{9}):\s+(\S+):/.exec(line);
      const [, comm, pid, tid, seconds, ns, event] = found ?? [];
      return [comm, pid, tid, `${BigInt(`${seconds}${ns}`)}`, event].join(" ");
    });
    using recording = await open(path, NONE);
    const ours: string[] = [];
    for await (const { comm, pid, tid, time, event } of recording.samples()) {
      ours.push([comm, pid, tid, time, event].join(" "));
    }
    assertEquals(ours, theirs, name);
    compared += ours.length;
  }
  console.log(`${compared} samples compared`);
  assert(compared > 100, `${compared}`);
});

Deno.test("records, auxStreams, edit: a trace's records, AUX data and a changed copy can be read", async () => {
  using traced = await open(
    new URL("../../fixtures/synthesized/pt-cpus.perf.data", import.meta.url),
  );
  const streams = await traced.auxStreams();
  assertEquals(streams.map(({ cpu }) => cpu), [0, 1, 3]);
  for (const stream of streams) {
    const bytes = await stream.read();
    assertEquals(bytes.length, stream.size);
    assert(bytes.length > 0);
  }
  using recording = await open(recorded(NAME), NONE);
  let comms = 0;
  let all = 0;
  for await (const { name } of recording.records()) {
    all++;
    if (name === "COMM") comms++;
  }
  assert(comms > 0);
  // PERF_RECORD_COMM is 3.
  const { bytes, stats } = await recording.edit({
    record: (batch, i) => batch.type(i) === 3 ? DROP : KEEP,
  });
  using copy = await open(bytes, NONE);
  let left = 0;
  for await (const { name } of copy.records()) {
    assert(name !== "COMM");
    left++;
  }
  assertEquals([stats.dropped, left], [comms, all - comms]);
});

Deno.test("open: progress rises to 1 in each method, and an abort signal ends it", async () => {
  const shares: number[] = [];
  using recording = await open(recorded(NAME), {
    ...NONE,
    progress: (share) => shares.push(share),
  });
  for (const ask of ["info", "functions", "callTree", "edit"] as const) {
    shares.length = 0;
    await recording[ask]({});
    assertEquals([shares.toSorted((a, b) => a - b), shares.at(-1)], [shares, 1], ask);
    assert(shares.length > 1, ask);
  }
  const controller = new AbortController();
  using ended = await open(recorded(NAME), { ...NONE, signal: controller.signal });
  controller.abort(new Error("enough"));
  await assertRejects(() => ended.functions(), Error, "enough");
  await assertRejects(() => Array.fromAsync(ended.samples()), Error, "enough");
  const { signal } = controller;
  await assertRejects(() => open(recorded(NAME), { signal }), Error, "enough");
  const later = new AbortController();
  const endless = new ReadableStream<Uint8Array>({ pull: () => new Promise(() => {}) });
  const opening = open(endless, { signal: later.signal });
  later.abort(new Error("too slow"));
  await assertRejects(() => opening, Error, "too slow");
});

Deno.test("close: a closed recording throws, and a second close() does not affect other recordings", async () => {
  const { pathname } = recorded(NAME);
  const recording = await open(pathname, NONE);
  recording.close();
  const other = await open(pathname, NONE);
  recording.close();
  await assertRejects(() => recording.info(), TypeError, "it was closed");
  assert((await other.info()).samples > 0);
  other.close();
});

Deno.test("edit: a copy in memory equals one written to a file", async () => {
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-sink-" });
  try {
    const sink = pathSink(`${folder}/copy`);
    const source = pathSource(recorded(NAME).pathname);
    await copyRecording(await PerfDataReader.open(source), new FileOutput(sink), { edit: {} });
    source.close();
    sink.close();
    using recording = await open(recorded(NAME), NONE);
    const { bytes } = await recording.edit({});
    assertEquals(Deno.readFileSync(`${folder}/copy`), bytes);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("open: an input of a wrong type or content throws with the reason", async () => {
  const wrong: readonly (readonly [unknown, string])[] = [
    [7, "not number"],
    [null, "not null"],
    [new ArrayBuffer(9), "not ArrayBuffer"],
    [Promise.resolve(""), "not Promise"],
    [new URL("https://example.org/perf.data"), "fetch it"],
    ["https://example.org/perf.data", "fetch it"],
    ["PERFILE2\0", "a string is a path"],
  ];
  for (const [input, message] of wrong) {
    await assertRejects(() => open(input as RecordingInput), TypeError, message);
  }
  const read = new Blob(["PERFILE2"]).stream();
  read.getReader();
  await assertRejects(() => open(read), TypeError, "locked");
  const symbols = "some" as unknown as "none";
  await assertRejects(() => open(recorded(NAME), { symbols }), TypeError, "not some");
  await assertRejects(() => open(recorded(NAME), { bundle: new Uint8Array(9) }), Error, "bundle");
  await assertRejects(() => open("/no/such/file"), Error, "ENOENT");
  const folder = await assertRejects(() => open(new URL("./", import.meta.url)), PerfDataError);
  assertEquals(folder.code, "not-perf-data");
  const other = await assertRejects(() => open(new Uint8Array(64).fill(1)), PerfDataError, "magic");
  assertEquals([other.code, other.offset], ["not-perf-data", 0n]);
  const whole = Deno.readFileSync(recorded(NAME));
  const short = await assertRejects(() => open(whole.slice(0, 20)), PerfDataError, "file header");
  assertEquals([short.code, short.offset], ["cut", 20n]);
  using cut = await open(whole.slice(0, -5000), NONE);
  const less = await assertRejects(() => Array.fromAsync(cut.records()), PerfDataError);
  assertEquals([less.code, typeof less.offset], ["cut", "bigint"]);
  await assertRejects(
    () => open(new Uint8Array(gzipSync(Deno.readFileSync(recorded(NAME)))).subarray(0, 99)),
    Error,
    "cut",
  );
  using recording = await open(recorded(NAME), NONE);
  await assertRejects(
    () => Array.fromAsync(recording.exportAs("svg" as "folded")),
    RangeError,
    "formats: folded",
  );
});

Deno.test("open: a source of format is read as it is; a stream answers one question", async () => {
  const bytes = Deno.readFileSync(recorded(NAME));
  using file = await open(bytesSource(bytes), NONE);
  const { samples } = await file.info();
  assert(samples > 0);
  assertEquals((await file.info()).samples, samples);
  const shares: (readonly [number, number, number | undefined])[] = [];
  using stream = await open(streamSource(new Blob([bytes]).stream()), {
    ...NONE,
    progress: (...args) => shares.push(args),
  });
  assertEquals((await stream.info()).samples, samples);
  assertEquals(shares.at(-1)?.[0], 1);
  await assertRejects(() => stream.info(), TypeError, "answers one question");
  await assertRejects(() => open(bytesSource(bytes.subarray(0, 9)), NONE), PerfDataError);
});

Deno.test("open: what is wrong with the header is reported once, and the header gives perf's lines", async () => {
  const bytes = Deno.readFileSync(recorded(NAME));
  // The entry of a section beyond the end of the file.
  const view = new DataView(bytes.buffer);
  const [offset, size] = [40, 48].map((at) => view.getBigUint64(at, true));
  view.setBigUint64(Number((offset ?? 0n) + (size ?? 0n)), 1n << 40n, true);
  const faults: string[] = [];
  using recording = await open(bytes, {
    ...NONE,
    diagnostics: ({ message }) => faults.push(message),
  });
  const lines = await Array.fromAsync(recording.header());
  assertEquals(lines[0], "# ========");
  assert(lines.some((line) => line.startsWith("# header version")), lines.join("\n"));
  assert(faults.length > 0);
  assertEquals(new Set(faults).size, faults.length);
});

/** The sum of a profile's periods. */
const sumOf = ({ samples }: { readonly samples: { readonly period: Float64Array } }) =>
  samples.period.reduce((sum, period) => sum + period, 0);

Deno.test("ask: times without a CPU are of the chosen thread only", async () => {
  using recording = await open(recorded("switch"), NONE);
  const weight = "off-cpu" as const;
  const { profile } = await recording.ask({ weight });
  assertEquals(profile.events.map(({ name }) => name), ["off-cpu"]);
  const tids = new Set<number>();
  for (let row = 0; row < profile.samples.length; row++) {
    tids.add(profile.threads.tid(profile.samples.thread[row] as number));
  }
  const [tid = -1] = tids;
  const ofTid = (tid: number) => recording.ask({ weight, filter: { tids: new Set([tid]) } });
  assert(sumOf(profile) > 0);
  assertEquals(tids.size, 1);
  assertEquals(sumOf((await ofTid(tid)).profile), sumOf(profile));
  assertEquals((await ofTid(tid + 1)).profile.samples.length, 0);
});

Deno.test("ask, span: a stream of a file has the times without a CPU and the span of the file", async () => {
  const bytes = Deno.readFileSync(recorded("switch"));
  const stream = () => open(streamSource(new Blob([bytes]).stream()), NONE);
  using file = await open(recorded("switch"), NONE);
  const { profile } = await file.ask({ weight: "off-cpu" });
  assert(sumOf(profile) > 0);
  assertEquals(sumOf((await (await stream()).ask({ weight: "off-cpu" })).profile), sumOf(profile));
  const seen = await stream();
  assertEquals(await seen.span(), await file.span());
  // A stream is held for its span, so that it can be read again.
  assertEquals(sumOf(await seen.profile()), sumOf(await file.profile()));
});

Deno.test("functions: the shares of the latency of all rows add up to 1", async () => {
  using recording = await open(recorded("all-cpus"), NONE);
  const rows = await recording.functions({ latency: true });
  const sum = rows.reduce((all, { latency = NaN }) => all + latency, 0);
  assert(rows.length > 1 && Math.abs(sum - 1) < 1e-9, `${rows.length} rows: ${sum}`);
  assert(rows.some(({ latency, overhead }) => latency !== overhead));
});

Deno.test("ask: without threads, a profile has commands, with the same periods", async () => {
  using recording = await open(recorded(NAME), NONE);
  const { profile } = await recording.ask({ threads: false });
  const all = await recording.profile();
  assertEquals(profile.threads.at(0)?.tid, -1);
  assertEquals(sumOf(profile), sumOf(all));
});

Deno.test("symbols: a function opens the resolver, and is told whether lines are needed", async () => {
  const { SymbolResolver } = await import("@perfdata/symbols");
  const wanted: [string | undefined, boolean][] = [];
  let named = 0;
  using recording = await open(recorded(NAME), {
    naming: (done) => named = done,
    symbols({ machine, lines }) {
      wanted.push([machine.arch, lines]);
      return new SymbolResolver({ open: () => undefined, read: () => undefined });
    },
  });
  const { trust } = await recording.ask({ lines: false });
  await recording.profile();
  assertEquals(wanted, [["x86_64", false], ["x86_64", true]]);
  assert(named > 0);
  assertEquals(trust.resolved.samples, 0);
});

Deno.test("collect: samples of each CPU add up to all samples, and are between the ends of span()", async () => {
  using recording = await open(recorded("all-cpus"), NONE);
  const all = new SampleCollector();
  await recording.collect(all);
  let sum = 0;
  for (let cpu = 0; cpu < 64; cpu++) {
    const one = new SampleCollector();
    await recording.collect(one, { filter: { cpus: new Set([cpu]) } });
    sum += one.samples;
    if (sum === all.samples) break;
  }
  assert(all.samples > 0);
  assertEquals(sum, all.samples);
  const [first, last] = await recording.span();
  for await (const { time = 0n } of recording.samples()) assert(time >= first && time <= last);
  assert(last > first);
});

Deno.test("threads: they are told what to collect, and are not used for times", async () => {
  const told: [string | undefined, boolean][] = [];
  using recording = await open(recorded("switch"), {
    ...NONE,
    threads: ({ collect, isShared }) => {
      told.push([collect?.weight, isShared]);
      // Starting a thread would fail.
      return {
        jobs: 2,
        path: "",
        about: undefined,
        make: () => new SampleCollector(),
        start: () => {
          throw new Error("a thread was started");
        },
      };
    },
  });
  const { collector } = await recording.ask({ weight: "wall" });
  assert(collector.samples >= 0);
  assertEquals(told, [["wall", false]]);
  await assertRejects(() => recording.ask(), Error, "a thread was started");
});

Deno.test("chosen: a file, compressed records and a copied stream give the samples of a command", async () => {
  const inputs: readonly [string, RecordingInput][] = [
    ["all-cpus", pathSource(recorded("all-cpus").pathname)],
    ["zstd-many", pathSource(recorded("zstd-many").pathname)],
    ["all-cpus", streamSource(new Blob([Deno.readFileSync(recorded("all-cpus"))]).stream())],
  ];
  let compared = 0;
  for (const [name, source] of inputs) {
    using known = await open(recorded(name), NONE);
    const all = await Array.fromAsync(known.samples());
    const wanted = all[0]?.comm ?? "";
    const expected = all.filter(({ comm }) => comm === wanted);
    const diagnostics = () => {};
    using recording = await open(source, { ...NONE, diagnostics, temp: memoryFile });
    const filter = await recording.chosen({ comm: (comm) => comm === wanted }, {
      time: await recording.span(),
    });
    assertEquals(await Array.fromAsync(recording.samples({ filter })), expected, name);
    const none = await recording.chosen({ comm: (comm) => comm === wanted, dso: () => false });
    assertEquals(await recording.functions({ filter: none }), [], name);
    compared += expected.length;
  }
  assert(compared > 80, `${compared} samples`);
});

Deno.test("chosen, span: a stream without a temporary file is refused, and can still be read", async () => {
  const source = streamSource(new Blob([Deno.readFileSync(recorded(NAME))]).stream());
  using recording = await open(source, { ...NONE, diagnostics: () => {} });
  await assertRejects(() => recording.chosen({ comm: () => true }), TypeError, "not in a stream");
  assert((await recording.info()).samples > 0);
  const pipe = streamSource(new Blob([Deno.readFileSync(recorded("pipe"))]).stream());
  using piped = await open(pipe, { ...NONE, diagnostics: () => {} });
  await assertRejects(() => piped.span(), RangeError, "a stream");
  assert((await piped.info()).samples > 0);
});

Deno.test("rate: samples of all events are those of info(), and points are of them", async () => {
  using recording = await open(recorded("two-events"), NONE);
  let points = 0;
  const { events, streams } = await recording.rate({ point: () => points++ });
  const count = events.reduce((sum, { samples }) => sum + samples, 0);
  assertEquals(count, (await recording.info()).samples);
  // A counter's first sample has no sample before it.
  assertEquals(points, count - streams.length);
});

Deno.test("dump, writeRecords: they have the records of records(), of a file and a pipe", async () => {
  const decoder = new TextDecoder();
  for (const name of [NAME, "pipe", "two-events"]) {
    using recording = await open(recorded(name), NONE);
    const types = (await Array.fromAsync(recording.records())).map(({ name }) => name);
    let text = "";
    const { count, names } = await recording.writeRecords((block) => text += decoder.decode(block));
    const lines = text.trimEnd().split("\n");
    assertEquals(lines.map((line) => JSON.parse(line).type), types, name);
    assertEquals([count, names], [types.length, undefined]);
    text = "";
    const { printed } = await recording.dump((block) => text += decoder.decode(block), {
      order: "file",
    });
    const dumped = [...text.matchAll(/^.*: event: (\d+)$/gm)];
    assertEquals([printed, dumped.length], [types.length, types.length], name);
  }
});

Deno.test("script: a filter by name prints the samples of a command; an unknown field throws", async () => {
  using recording = await open(recorded("all-cpus"), NONE);
  const comms = (await Array.fromAsync(recording.samples())).map(({ comm }) => comm);
  const wanted = comms[0] ?? "";
  let text = "";
  const { script } = await recording.script(
    (part) => text += new TextDecoder().decode(part),
    { fields: "comm", names: { comm: (comm) => comm === wanted } },
  );
  const lines = text.trimEnd().split("\n").map((line) => line.trim());
  const expected = comms.filter((comm) => comm === wanted);
  assertEquals(lines.map((line) => line.replace(/:$/, "").trim()), expected);
  assertEquals([script.printed, expected.length < comms.length], [expected.length, true]);
  await assertRejects(() => recording.script(() => {}, { fields: "bad" }), Error, "no field");
});

Deno.test("writeRecords: names and source lines are those of the option symbols", async () => {
  const wanted: boolean[] = [];
  using recording = await open(recorded(NAME), {
    symbols: ({ lines }) => {
      wanted.push(lines);
      return new SymbolResolver({ open: () => undefined, read: () => undefined });
    },
  });
  let text = "";
  const { names } = await recording.writeRecords(
    (block) => text += new TextDecoder().decode(block),
    { symbols: true, lines: true },
  );
  assertEquals(wanted, [true]);
  const causes = [...names?.unnamed.keys() ?? []];
  assert(causes.includes("file missing"), causes.join());
  assert(text.includes('"dso":"'), "objects of addresses are written");
  names?.[Symbol.dispose]();
});

Deno.test("stat: the intervals are delivered, and info() is told that its threads collect no samples", async () => {
  const told: unknown[] = [];
  using recording = await open(recorded("stat"), {
    ...NONE,
    threads({ collect }) {
      told.push(collect);
      return undefined;
    },
  });
  let rounds = 0;
  const report = await recording.stat({ round: ({ rows }) => rounds += rows.length > 0 ? 1 : 0 });
  assert(rounds > 0);
  assertEquals(report.rounds, rounds);
  const { records } = await recording.info();
  assert(records > 0);
  assertEquals(told, [undefined]);
});

Deno.test("open: folded stacks, also compressed and as a stream, give their profile, and no records", async () => {
  const text = new TextEncoder().encode("demo;main;work 3\ndemo;main 2\n");
  for (const input of [text, new Uint8Array(gzipSync(text)), new Blob([text]).stream()]) {
    using recording = await open(input, { name: "demo" });
    assertEquals(recording.ready, "folded");
    const folded = await new Blob(await Array.fromAsync(recording.exportAs("folded"))).text();
    assertEquals(folded, "demo;main 2\ndemo;main;work 3\n");
    const { samples, title } = await recording.profile();
    assertEquals([samples.period.reduce((a, b) => a + b), title], [5, "demo"]);
    await assertRejects(() => recording.info(), PerfDataError);
    await assertRejects(
      () => recording.profile({ filter: { time: [0n, 1n] } }),
      RangeError,
      "time is for recordings",
    );
  }
  using once = await open(streamSource(new Blob([text]).stream()));
  assertEquals((await once.profile()).samples.length, 2);
  await assertRejects(() => once.profile({ timed: true }), TypeError, "answers one question");
});
