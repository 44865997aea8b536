/**
 * A file and the same file through a pipe give the same answer, for each consumer of the engine, alone
 * or together with others in one pass.
 */
import { assert, assertEquals } from "@std/assert";
import { type ByteSource, bytesSource, PerfDataReader, streamSource } from "@perfdata/format";
import { dump } from "@perfdata/dump";
import { writeRecords } from "@perfdata/dump/records";
import { callTree, folded } from "@perfdata/export";
import { treeLines } from "@perfdata/export/tree-text";
import { ProfileConsumer } from "@perfdata/profile";
import { analyzeRate, functionTable, Overview, SampleCounts } from "@perfdata/report";
import { type OverviewRow } from "@perfdata/report/processes";
import { runEngine } from "@perfdata/session/engine";
import { AddressConsumer, symbolTrust } from "@perfdata/session/symbols";
import { openResolver } from "@perfdata/symbols/open-resolver";
import { corpusFiles } from "./corpus.ts";
import { perfRecords } from "./perf.ts";

const root = new URL("../", import.meta.url).pathname;

/** What all tools together say of a recording, as lines. */
async function answers(source: ByteSource, kallsyms: string, together: boolean) {
  const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
  const rows: string[] = [];
  const overview = new Overview(({ nr, ...row }: OverviewRow) =>
    rows.push(`${nr} ${Object.values(row).join(" ")}`)
  );
  const counts = new SampleCounts({ keys: { tid: true } });
  const chains = new SampleCounts({ stacks: true });
  const addresses = new AddressConsumer();
  const profiled = new ProfileConsumer();
  const consumers = together ? [overview, counts, chains, addresses, profiled] : [counts];
  const engine = await runEngine(reader, consumers, { diagnostics: () => {} });
  const resolver = openResolver({ parameters: false, kallsyms, machine: engine.recorded });
  const table = await functionTable(engine, counts, resolver, {
    sort: ["comm", "dso", "sym", "tid"],
  });
  const found = {
    events: engine.eventNames,
    totals: counts.totals,
    functions: Array.from(table.rows, (row) => JSON.stringify(table.row(row))),
  };
  if (!together) return found;
  const children = await functionTable(engine, chains, resolver);
  const trust = await symbolTrust(addresses.recorded(), resolver);
  const { profile } = await profiled.profile({ resolver, title: "" });
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

/** What the tools print that do not share a pass: `dump`, `records` and `rate`. */
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
 * A text without what only features say, which come last where a file is a stream: names of events and
 * registers, and in the statistics of `dump` what else is counted. docs/dump.md and docs/records.md say so.
 */
function known(text: string): string {
  return text.replaceAll(/("event":)"[^"]*"/g, "$1")
    .replaceAll(/"regs":\{[^}]*\}/g, (regs) => regs.replaceAll(/"\w+":"/g, '"')).replaceAll(
      /(_READ: \d+ \d+ ).* /g,
      "$1",
    )
    .replace(/\nAggregated stats:[^]*/, "");
}

/** A stream that hands out odd pieces. */
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

/** Larger files take long, and are like the others: of all that is said, and of what is printed. */
const LARGEST = 8 << 20;
const LARGEST_PRINTED = 1 << 17;

Deno.test("any file: the same answer from a pipe, and from one pass for several consumers", async () => {
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
  name: "a recording with a jitdump: names of compiled code from the file as from a pipe",
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
