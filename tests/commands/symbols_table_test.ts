/** `symbols table`: names that are looked up later equal those of `export --names`. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { ignored } from "../support/ignored.ts";
import { parquetFiles, type ParquetRow, tableRows } from "../support/parquet_rows.ts";
import { LEFT_AND_RIGHT, noRecording, recordProgram, runIn } from "../support/recorded_program.ts";
import { inFolder, outputOf, tool } from "../support/tool.ts";

const recorded = new URL("../../fixtures/recorded", import.meta.url).pathname;

function exported(folder: string, path: string, ...flags: string[]): Promise<string> {
  return outputOf("export", "parquet", "-o", folder, ...flags, path);
}

/** Rows as texts, sorted. Of rows with one id, the one with a name. */
function named(rows: readonly ParquetRow[]): string[] {
  const byId = new Map<unknown, ParquetRow>();
  for (const row of rows) {
    const { frame_id: id } = row;
    if (!byId.has(id) || (row["function"] ?? null) !== null) byId.set(id, row);
  }
  return [...byId.values()].map((row) =>
    JSON.stringify(row, (_, value) => typeof value === "bigint" ? `${value}` : value ?? null)
  ).sort();
}

/** Objects that another machine can name. */
const ofBuilds = (rows: readonly ParquetRow[]): ParquetRow[] =>
  rows.filter(({ build_id: id }) => (id ?? null) !== null);

Deno.test({
  name: "symbols table: tables without names joined with it equal tables with names",
  ...ignored(noRecording()),
  fn: () =>
    inFolder(async (folder) => {
      const own = ["leaf", "left", "right", "main"];
      const record = async () => {
        const flags = ["-e", "cpu-clock:u", "-F", "5000"];
        const data = await recordProgram(folder, LEFT_AND_RIGHT, flags);
        await exported(`${folder}/named`, data, "--names");
        const all = await tableRows(`${folder}/named`, "frames");
        const found = new Set(all.map((row) => row["function"]));
        return { data, all, missing: [...own, "more"].filter((name) => !found.has(name)) };
      };
      let { data, all, missing } = await record();
      // On a busy machine the program gets few samples, and is recorded again.
      for (let tries = 0; missing.length > 0; tries++) {
        assert(tries < 5, `${missing} was not recorded`);
        Deno.removeSync(`${folder}/named`, { recursive: true });
        ({ data, all, missing } = await record());
      }
      const expected = named(ofBuilds(all));

      // Written beside the tables: any engine that reads both gives the same result.
      await exported(`${folder}/plain`, data);
      const plain = await tableRows(`${folder}/plain`, "frames");
      for (const { function: name } of plain) assertEquals(name ?? null, null);
      await outputOf("symbols", "table", "-o", `${folder}/names`, `${folder}/plain`);
      const names = await tableRows(`${folder}/names`, "frames");
      assertEquals(named([...ofBuilds(plain), ...names]), expected);
      const inlined = names.filter(({ inline_of: of }) => (of ?? null) !== null);
      assert(inlined.length > 0, "nothing was inlined");

      // Written into the tables, which then have names.
      const said = await outputOf("symbols", "table", `${folder}/plain`);
      assertMatch(said, /frames\/names-[0-9a-f]{16}\.parquet: \d+ of \d+ frames have names\n$/);
      const query = `FROM functions WHERE function IN ('${own.join("','")}')`;
      const ask = (tables: string) => outputOf("sql", "--csv", query, `${folder}/${tables}`);
      assertEquals(await ask("plain"), await ask("named"));
      const tree = (tables: string) =>
        outputOf("tree", "--inline", "--json", "--focus", "leaf", `${folder}/${tables}`);
      assertEquals(
        (await tree("plain")).split("\n").sort(),
        (await tree("named")).split("\n").sort(),
      );
      // Each row exists once, and nothing is left to look up.
      const joined = "SELECT count(*) AS n FROM samples LEFT JOIN frames USING (frame_id)";
      const samples = (await tableRows(`${folder}/plain`, "samples")).length;
      assertEquals(await outputOf("sql", "--csv", joined, `${folder}/plain`), `n\n${samples}\n`);
      const files = [...parquetFiles(`${folder}/plain/frames`)];
      const again = await outputOf("symbols", "table", `${folder}/plain`);
      assertMatch(again, /^\d+ frames have names; none is left|^no name was found/);
      assertEquals([...parquetFiles(`${folder}/plain/frames`)], files);

      // In partitioned tables, names belong to no partition, and equal names have equal bytes.
      await exported(`${folder}/parts`, data, "--partition", "date,service=web");
      await outputOf("symbols", "table", `${folder}/parts`);
      const none = "__HIVE_DEFAULT_PARTITION__";
      const [file = ""] = files.filter((path) => path.includes("/names-"));
      const part = `${folder}/parts/frames/date=${none}/service=${none}`;
      const same = `${part}/${file.slice(file.lastIndexOf("/") + 1)}`;
      assertEquals(Deno.readFileSync(same), Deno.readFileSync(file));
      assertEquals(await ask("parts"), await ask("named"));
      const web = "SELECT count(*) AS n FROM samples WHERE service = 'web'";
      assertEquals(await outputOf("sql", "--csv", web, `${folder}/parts`), `n\n${samples}\n`);

      // Without the program, a bundle has its names.
      const bundle = `${folder}/perf.symbols`;
      await outputOf("symbols", "bundle", "-o", bundle, data);
      await Deno.remove(`${folder}/a`);
      await exported(`${folder}/far`, data);
      await outputOf("symbols", "table", "--symbols", bundle, `${folder}/far`);
      assertEquals(named(ofBuilds(await tableRows(`${folder}/far`, "frames"))), expected);
      // Without the bundle, there are no names: another build at the path is not used.
      await exported(`${folder}/none`, data);
      runIn(folder, "gcc", "-O2", "-Wl,--build-id", "-o", "a", "a.c");
      const without = await tool("symbols", ["table", `${folder}/none`]);
      assertEquals(without.code, 0, without.err);
      assertStringIncludes(without.err, "build id differs");
      const left = await tableRows(`${folder}/none`, "frames");
      assert(!left.some(({ function: name }) => name === "leaf"));
      console.log(`symbols table: ${expected.length} frames, ${inlined.length} inlined functions`);
    }),
});

Deno.test("symbols table: no tables, or damaged ones, give one line", () =>
  inFolder(async (folder) => {
    const tables = `${folder}/t`;
    await exported(tables, `${recorded}/callchain.perf.data`);
    const refused = async (args: string[], code: number, reason: string) => {
      const result = await tool("symbols", ["table", ...args]);
      assertEquals([result.code, result.out], [code, ""], result.err);
      assertStringIncludes(result.err, reason);
      assertEquals(result.err.trimEnd().split("\n").length, 1, result.err);
    };
    await refused([], 2, "no tables are given");
    await refused([`${folder}/none`], 1, "no tables: perfdata export parquet");
    await refused([`${recorded}/callchain.perf.data`], 1, "no tables: perfdata export parquet");
    const [frames = ""] = parquetFiles(`${tables}/frames`);
    const bytes = Deno.readFileSync(frames);
    Deno.writeFileSync(frames, bytes.slice(0, bytes.length >> 1));
    await refused([tables], 1, "frames/");
  }));
