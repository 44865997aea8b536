/** A sample of the sweep: recordings whole, truncated and through a pipe, in each tool. */
import { assert, assertEquals } from "@std/assert";
import { Profile } from "pprof-format";
import { corpusFiles } from "../support/corpus.ts";
import { tool } from "../support/tool.ts";
import {
  COUNTING,
  fixtureFiles,
  impossibleLine,
  impossibleRow,
  impossibleWord,
  sweep,
  type SweepOptions,
  SWEPT,
} from "./sweep.ts";

const FIXTURES = new URL("../../fixtures/", import.meta.url).pathname;

async function wrong(options: SweepOptions): Promise<[runs: number, wrong: string[]]> {
  const found: string[] = [];
  let runs = 0;
  for await (const row of sweep(options)) {
    runs++;
    if (row.wrong !== undefined) found.push(`${row.file} ${row.form} ${row.tool}: ${row.wrong}`);
  }
  return [runs, found];
}

Deno.test("sweep: whole and truncated at 13 places, each tool ends with a result or an error line", async () => {
  const fixtures = ["recorded/zstd", "synthesized/pt-cpus-pipe", "synthesized/records-be"];
  const corpus = corpusFiles().filter((_, i) => i % 70 === 7).map(({ path }) => path);
  const files = [...fixtures.map((name) => `${FIXTURES}${name}.perf.data`), ...corpus];
  const [runs, found] = await wrong({ files, cuts: 13, inProcess: true });
  console.log(`${files.length} files, ${runs} runs`);
  assertEquals(found, []);
  assertEquals(runs, files.length * 14 * SWEPT.length);
});

Deno.test("impossibleLine: finds negative counts and shares above 100 %", () => {
  assertEquals(impossibleLine("OVERHEAD  SAMPLES\n 100.00%  10  main  -5 a\n"), undefined);
  assertEquals(impossibleLine(" 50.00%  10  a\n10550.00%  10  main\n"), "10550.00%  10  main");
  assertEquals(impossibleLine("  1.00%  -10  main\n"), "  1.00%  -10  main");
});

Deno.test("impossibleRow: finds negative counts, shares above all and marked names in JSON", () => {
  const of = (row: unknown) => impossibleRow(`${JSON.stringify(row)}\n`)?.split(" in ")[0];
  assertEquals(of({ overhead: 100, cpu: -1, change: -0.5, interval: [-1, 1] }), undefined);
  assertEquals(of({ sym: "operator?:", share: 1, comm: "?" }), undefined);
  assertEquals(of({ overhead: 100.1 }), "overhead 100.1");
  assertEquals(of({ self_share: 1.01 }), "self_share 1.01");
  assertEquals(of({ total: { loads: [1, -1] } }), "loads -1");
  assertEquals(of({ sym: "fib?" }), "sym fib?");
});

Deno.test("impossibleWord: finds marked and negative frames and cells", () => {
  assertEquals(impossibleWord("demo;main;fib 3\n1.00,fib,-\n"), undefined);
  assertEquals(impossibleWord("demo;main?;fib 3\n"), "main?");
  assertEquals(impossibleWord("demo;main;fib? 3\n"), "fib?");
  assertEquals(impossibleWord("1.00,fib?,demo\n"), "fib?");
  assertEquals(impossibleWord("demo;main 5\ndemo;fib -5\n"), "-5");
  assertEquals(impossibleWord("-1.00,fib,demo\n"), "-1.00");
});

/** Limit of the file size; `sweep.ts --counts --corpus` has none. */
const MOST_BYTES = 300_000;

/** All fixtures, and every nth of the corpus's small files. */
const smallFiles = (oneOf: number): string[] => [
  ...fixtureFiles(),
  ...corpusFiles().map(({ path }) => path)
    .filter((path) => Deno.statSync(path).size < MOST_BYTES)
    .filter((_, i) => i % oneOf === 0),
];

Deno.test("sweep: no command prints a negative number, a share above 100 %, or a mark in data", async () => {
  const files = smallFiles(3);
  const [runs, found] = await wrong({ files, cuts: 0, inProcess: true, tools: COUNTING });
  assertEquals(found.filter((line) => line.includes("cannot be")), []);
  assertEquals(runs, files.length * COUNTING.length);
});

/** JSON rows of a command; empty if it fails. */
async function rows(
  name: string,
  ...args: readonly string[]
): Promise<Readonly<Record<string, unknown>>[]> {
  const { out } = await tool(name, args);
  return out.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

/**
 * Lifetime of each thread in ns: from its FORK or the first record to the last record after its
 * EXIT, or the last of all.
 */
async function lives(path: string): Promise<Map<number, number>> {
  const begin = new Map<number, number>();
  const seen = new Map<number, number>();
  const gone = new Set<number>();
  let [first, last] = [Infinity, 0];
  for (const { type, body, tid, time } of await rows("records", path)) {
    const at = Number(time ?? 0);
    if (at === 0) continue;
    first = Math.min(first, at);
    last = Math.max(last, at);
    const { tid: own } = (body ?? {}) as { readonly tid?: number };
    for (const known of [Number(tid), own ?? -1]) {
      seen.set(known, Math.max(seen.get(known) ?? 0, at));
    }
    if (own === undefined) continue;
    if (type === "FORK" && !begin.has(own)) begin.set(own, at);
    if (type === "EXIT") gone.add(own);
  }
  return new Map(Array.from(seen, ([tid, at]) => {
    const end = gone.has(tid) ? at : last;
    return [tid, end - (begin.get(tid) ?? first)] as const;
  }));
}

Deno.test("off-CPU times: no thread has more time on and off CPUs than its lifetime", async () => {
  let threads = 0;
  const found: string[] = [];
  for (const path of smallFiles(1)) {
    const own = await rows("funcs", "--json", "--weight", "wall", "--sort", "tid", path);
    if (own.length === 0) continue;
    const known = await lives(path);
    for (const { tid, period } of own) {
      // Idle tasks share tid 0 on all CPUs.
      if (typeof tid !== "number" || tid <= 0) continue;
      threads++;
      const life = known.get(tid) ?? 0;
      // Times beyond 2^53 are rounded.
      if (Number(period) > life * (1 + 1e-9)) found.push(`${path}: ${tid}: ${period} of ${life}`);
    }
  }
  console.log(`${threads} threads`);
  assert(threads > 20, `${threads} threads`);
  assertEquals(found, []);
});

/** The sums of a pprof file by the names of its sample types. */
async function pprofSums(path: string): Promise<Map<string, number>> {
  const unpacked = new Blob([Deno.readFileSync(path)]).stream()
    .pipeThrough(new DecompressionStream("gzip"));
  const profile = Profile.decode(new Uint8Array(await new Response(unpacked).arrayBuffer()));
  const sums = new Map<string, number>();
  for (const [i, { type }] of profile.sampleType.entries()) {
    const name = profile.stringTable.strings[Number(type)] ?? "";
    const sum = profile.sample.reduce((all, { value }) => all + Number(value[i]), 0);
    sums.set(name, (sums.get(name) ?? 0) + sum);
  }
  return sums;
}

Deno.test("export: sums of pprof and of folded stacks equal those of funcs", async () => {
  const folder = await Deno.makeTempDir({ prefix: "perfdata-sums-" });
  let compared = 0;
  const found: string[] = [];
  try {
    const symfs = ["--symfs", folder];
    for (const path of smallFiles(3)) {
      const all = new Map<string, number>();
      for (const { event, samples } of await rows("funcs", "--json", ...symfs, path)) {
        const name = `${event}_samples`;
        all.set(name, (all.get(name) ?? 0) + Number(samples));
      }
      if (all.size === 0) continue;
      const to = `${folder}/profile.pb.gz`;
      const written = await tool("export", ["pprof", "-f", "-o", to, ...symfs, path]);
      assert(written.code < 2, `${path}: ${written.err}`);
      // Stacks of damaged samples are dropped.
      if (/samples are damaged/.test(written.err)) continue;
      const sums = await pprofSums(to);
      for (const [name, samples] of all) {
        // A single event's sample types have the names that pprof knows.
        const sum = sums.get(all.size === 1 && !sums.has(name) ? "samples" : name);
        if (sum !== samples) found.push(`${path}: ${name}: ${sum} in pprof, ${samples} in funcs`);
      }
      const roots = (await rows("tree", "--json", ...symfs, path)).filter(({ depth }) =>
        depth === 0
      );
      const folded = await tool("export", ["folded", "--samples", ...symfs, path]);
      const ends = folded.out.matchAll(/ (-?\d+)$/gm);
      const sum = [...ends].reduce((total, [, count]) => total + Number(count), 0);
      const own = roots.reduce((total, { samples }) => total + Number(samples), 0);
      if (sum !== own) found.push(`${path}: ${sum} in folded stacks, ${own} in tree`);
      compared++;
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  assertEquals(found, []);
  assert(compared > 40, `${compared} files`);
});

Deno.test("sweep: as a process, from a file and through a pipe, each tool uses little memory", async () => {
  const files = [`${FIXTURES}recorded/callchain.perf.data`];
  const tools = SWEPT.filter(([name]) => ["dump", "records", "funcs", "header"].includes(name));
  const [runs, found] = await wrong({ files, cuts: 1, tools });
  assertEquals(found, []);
  assertEquals(runs, 12);
});
