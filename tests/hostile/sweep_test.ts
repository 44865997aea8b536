/** A sample of the sweep: recordings whole, cut and through a pipe, in each tool. */
import { assertEquals } from "@std/assert";
import { corpusFiles } from "../support/corpus.ts";
import {
  COUNTING,
  fixtureFiles,
  impossibleLine,
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

Deno.test("whole and cut at 13 places, each tool ends with an answer", async () => {
  const fixtures = ["recorded/zstd", "synthesized/pt-cpus-pipe", "synthesized/records-be"];
  const corpus = corpusFiles().filter((_, i) => i % 70 === 7).map(({ path }) => path);
  const files = [...fixtures.map((name) => `${FIXTURES}${name}.perf.data`), ...corpus];
  const [runs, found] = await wrong({ files, cuts: 13, inProcess: true });
  console.log(`${files.length} files, ${runs} runs`);
  assertEquals(found, []);
  assertEquals(runs, files.length * 14 * SWEPT.length);
});

Deno.test("impossibleLine: finds negative counts and shares above 100 %", () => {
  assertEquals(impossibleLine("OVERHEAD  SAMPLES\n 100.00%  10  main  -5\n"), undefined);
  assertEquals(impossibleLine(" 50.00%  10  a\n10550.00%  10  main\n"), "10550.00%  10  main");
  assertEquals(impossibleLine("  1.00%  -10  main\n"), "  1.00%  -10  main");
});

Deno.test("no command that counts prints a negative number or a share above 100 %", async () => {
  const files = [...fixtureFiles(), ...corpusFiles().map(({ path }) => path)]
    .filter((path) => Deno.statSync(path).size < 4 << 20);
  const [runs, found] = await wrong({ files, cuts: 0, inProcess: true, tools: COUNTING });
  assertEquals(found.filter((line) => line.includes("cannot be")), []);
  assertEquals(runs, files.length * COUNTING.length);
});

Deno.test("in a process of its own, from a file and through a pipe, each tool stays small", async () => {
  const files = [`${FIXTURES}recorded/callchain.perf.data`];
  const tools = SWEPT.filter(([name]) => ["dump", "records", "funcs", "header"].includes(name));
  const [runs, found] = await wrong({ files, cuts: 1, tools });
  assertEquals(found, []);
  assertEquals(runs, 12);
});
