/** `script` against the installed `perf script`, on fixtures and on the corpus. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { corpusFiles } from "./corpus.ts";
import { perfText, perfVersion } from "./perf.ts";
import { tool } from "./tool.ts";

const ROOT = new URL("../", import.meta.url).pathname;

/** What both may differ in, since perf is wrong there or names symbols of this machine: see docs/script.md. */
function comparable(text: string): string[] {
  return text.split("\n").map((line) =>
    line
      .replace(/ (\S+@plt|@plt)(\+0x[0-9a-f]+)? \(/, " PLT (")
      // Symbols of the kernel and the vdso that runs here, not of the recorded one.
      .replace(/ \S+ \((\[kernel\.kallsyms\]|\[vdso\])\)/, " SYM ($1)")
      // A module goes by its path or its name.
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

Deno.test("script prints what perf prints", async () => {
  if (perfVersion() === undefined) return;
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

/** Of the corpus: kernels of many versions, branches, several events, old and new perfs. */
const CORPUS = [
  "google__perf_data_converter/src/quipper/testdata/perf.data.branch-3.8@043391b",
  "google__perf_data_converter/src/quipper/testdata/perf.data.forkexit-3.8",
  "google__perf_data_converter/src/quipper/testdata/perf.data.systemwide.5-3.8",
  "GrapheneOS__platform_system_extras/simpleperf/testdata/perf_b.data",
];

Deno.test("script prints what perf prints of recordings of others", async () => {
  if (perfVersion() === undefined) return;
  const known = new Set(corpusFiles().map(({ path }) => path));
  let files = 0;
  for (const path of [...known].filter((path) => CORPUS.some((name) => path.endsWith(name)))) {
    if (await compare(path, []) !== undefined) files++;
    if (!path.endsWith("perf_b.data")) continue;
    assert((await compare(path, ["-F", "comm,time,ip,brstack"]) ?? 0) > 100);
  }
  if (known.size === 0) return;
  console.log(`script: ${files} files of the corpus compared with perf`);
  assert(files >= 3, `only ${files} compared`);
});

Deno.test("a pass that prints block by block prints what was held", async () => {
  const { bytesSource, PerfDataReader } = await import("@perfdata/format");
  const { runEngine } = await import("@perfdata/session/engine");
  const { eventFields, ScriptPlaces, ScriptRows, ScriptWriter } = await import("@perfdata/export");
  const { SymbolResolver } = await import("@perfdata/symbols");
  const bytes = Deno.readFileSync(`${ROOT}fixtures/recorded/rounds.perf.data`);
  const needs = { stacks: true, addresses: false, branches: false, records: () => false };
  const resolver = new SymbolResolver({ open: () => undefined, read: () => undefined });
  const texts: [string[], string[]] = [[], []];
  const text = new TextDecoder();
  const reader = await PerfDataReader.open(bytesSource(bytes));
  const held = new ScriptRows(needs);
  const engine = await runEngine(reader, [held]);
  const wants = { inline: false, lines: false };
  const places = await ScriptPlaces.of(engine, resolver, held.samples(), wants);
  const fields = eventFields(reader.events.all, engine.eventNames, undefined);
  const writer = new ScriptWriter(engine, places, { fields });
  for (const block of held.blocks) writer.block(block, (part) => texts[0].push(text.decode(part)));
  texts[0].push(text.decode(writer.text.take()));
  let again: InstanceType<typeof ScriptWriter> | undefined;
  const rows = new ScriptRows(needs, (block) => {
    again ??= new ScriptWriter(rows.engine, places, { fields });
    again.block(block, (part) => texts[1].push(text.decode(part)));
  });
  await runEngine(await PerfDataReader.open(bytesSource(bytes)), [rows]);
  texts[1].push(text.decode(again?.text.take()));
  assert(texts[0].join("").length > 10_000);
  assertEquals(texts[1].join(""), texts[0].join(""));
});

Deno.test("script of a stream is that of its file; wrong fields are wrong usage", async () => {
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
});
