/**
 * `spark/fleet.py` on a cluster of two workers: its results equal those of `sql`, `funcs` and
 * `diff`. It takes a minute, and runs if `PERFDATA_PYTHON` names a Python with pyspark.
 */
import { assert, assertAlmostEquals, assertEquals, assertStringIncludes } from "@std/assert";
import { ignored, notInstalled } from "../support/ignored.ts";
import { tableRows } from "../support/parquet_rows.ts";
import { noModules, python } from "../support/python.ts";
import { compileProgram, noRecording, runIn } from "../support/recorded_program.ts";
import { inFolder, outputOf } from "../support/tool.ts";

const root = new URL("../../", import.meta.url).pathname;
const TABLES = ["frames", "mappings", "recordings", "samples", "stacks", "switches", "threads"];

/** The second number is the run time of the second function. */
const PROGRAM = `
#include <stdlib.h>
volatile unsigned long sum;
__attribute__((noinline)) void steady(void) { for (unsigned i = 0; i < 3000; i++) sum += i * i; }
__attribute__((noinline)) void grown(unsigned n) { for (unsigned i = 0; i < n; i++) sum += i * i; }
int main(int argc, char **argv) {
  for (int i = 0; i < 15000; i++) { steady(); grown(atoi(argv[1])); }
  return 0;
}
`;

function jsonLines(text: string): Record<string, unknown>[] {
  return text.trimEnd().split("\n").filter(Boolean).map((line) => JSON.parse(line));
}

/** Sums by a key, sorted by the key. */
function sums<T>(rows: Iterable<T>, key: (row: T) => string, value: (row: T) => number) {
  const found = new Map<string, number>();
  for (const row of rows) found.set(key(row), (found.get(key(row)) ?? 0) + value(row));
  return [...found].sort(([a], [b]) => a < b ? -1 : 1);
}

const name = ({ function: name }: Readonly<Record<string, unknown>>) => `${name}`;
const period = ({ period }: Readonly<Record<string, unknown>>) => Number(period);
const stacks = (folded: string): string[] => folded.trimEnd().split("\n").sort();

Deno.test({
  name: "Spark on two workers: functions, regressions and a flame graph of a fleet",
  ...ignored(
    noModules("pyspark") ?? notInstalled("java") ?? noRecording(),
  ),
  fn: () =>
    inFolder(async (folder) => {
      await compileProgram(folder, PROGRAM);
      const tables = `${folder}/tables`;
      // As text, 1.10 follows 1.9; as a number it would be 1.1.
      const builds = { "1.9": ["2000", "2050", "1950"], "1.10": ["3000", "3050", "2950"] };
      const sides: Record<string, string[]> = {};
      for (const [build, lengths] of Object.entries(builds)) {
        const files = sides[build] = lengths.map((length) => `${folder}/${length}.data`);
        for (const [i, length] of lengths.entries()) {
          const record = "record -q -g -e cpu-clock:u -F 5000 -o".split(" ");
          runIn(folder, "perf", ...record, files[i] as string, "./a", length);
        }
        const partition = `date,service=web,build=${build}`;
        const flags = ["parquet", "--partition", partition, "-o", tables];
        await outputOf("export", ...flags, ...files);
      }
      // Names of all recordings together.
      await outputOf("symbols", "table", tables);
      const out = `${folder}/out`;
      const cluster = "local-cluster[2,1,1024]";
      const script = `${root}tests/support/tables/fleet_run.py`;
      const answer = runIn(folder, python, script, `${root}spark`, tables, out, cluster, ...TABLES);
      const { codes, read, workers } = JSON.parse(answer.trim().split("\n").at(-1) as string);
      assertEquals(codes, [0, 0, 0, 1]);
      assertEquals(workers, 2);
      // Each table has the rows and columns that another reader finds.
      for (const table of TABLES) {
        const rows = await tableRows(tables, table);
        const columns = jsonLines(await outputOf("sql", "--json", `DESCRIBE ${table}`, tables));
        assertEquals(read[table], [
          rows.length,
          columns.map(({ column_name: column }) => column).sort(),
        ], table);
      }

      const functions = await tableRows(out, "functions");
      const query = "SELECT function, sum(period)::BIGINT AS period FROM functions GROUP BY 1";
      const asked = jsonLines(await outputOf("sql", "--json", query, tables));
      assertEquals(sums(functions, name, period), sums(asked, name, period));
      const counted: Record<string, unknown>[] = [];
      for (const file of Object.values(sides).flat()) {
        counted.push(...jsonLines(await outputOf("funcs", "--no-inline", "--json", file)));
      }
      const known = (rows: [string, number][]) => rows.filter(([name]) => /^[a-z]+$/.test(name));
      const expected = known(sums(counted, ({ sym }) => `${sym}`, period));
      assertEquals(known(sums(functions, name, period)), expected);
      assert(expected.length >= 2);

      const regressions = await tableRows(out, "regressions");
      const [before = [], after = []] = Object.values(sides);
      const all = ["--json", "--all", "--limit", "1000"];
      const diff = jsonLines(await outputOf("diff", ...all, ...before, "vs", ...after));
      let tested = 0;
      for (const row of diff) {
        const { name: of, chance, change } = row;
        const found = regressions.find(({ function: name }) => name === of);
        if (
          found === undefined || found["chance"] === undefined || found["chance"] === null
        ) continue;
        assertAlmostEquals(found["change"] as number, change as number, 1e-9, `${of}`);
        assertAlmostEquals(found["chance"] as number, chance as number, 1e-6, `${of}`);
        tested++;
      }
      assert(tested >= 2, `${tested} functions were tested`);
      const grown = regressions.find(({ function: name }) => name === "grown");
      assertEquals([grown?.["significant"], grown?.["recordings_after"]], [true, 3n]);

      const folded = ["folded", "--inline", "-o", "-"];
      const sum = stacks(await outputOf("export", ...folded, `${out}/flame`));
      assertEquals(sum, stacks(await outputOf("export", ...folded, tables)));
      const svg = await outputOf("flame", "--svg", "-o", "-", `${out}/flame`);
      assertStringIncludes(svg, "grown");
      assertStringIncludes(await outputOf("tree", `${out}/flame`), "grown");
    }),
});
