/** `sql`: its sums equal perf's, and a query reads only its tables. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { parquetRows } from "../support/parquet_rows.ts";
import { ignored } from "../support/ignored.ts";
import { perfText } from "../support/perf.ts";
import {
  LEFT_AND_RIGHT,
  noRecording,
  recordProgram,
  reportedPeriods,
} from "../support/recorded_program.ts";
import { inFolder, tool } from "../support/tool.ts";

const root = new URL("../../", import.meta.url).pathname;
const callchain = `${root}fixtures/recorded/callchain.perf.data`;

/** Rows of a result; 64-bit numbers are strings here. */
async function rows(query: string, ...files: string[]): Promise<Record<string, unknown>[]> {
  const { code, out, err } = await tool("sql", ["--json", query, ...files]);
  assertEquals(code, 0, err);
  return out.trimEnd().split("\n").filter(Boolean).map((line) =>
    JSON.parse(line.replace(/:(-?\d{16,})(?=[,}])/g, ':"$1"'))
  );
}

/** Fails unless the output is one line on standard error. */
async function refused(args: string[], code: number, text: string): Promise<void> {
  const result = await tool("sql", args);
  assertEquals([result.code, result.out], [code, ""], `${args.join(" ")}: ${result.err}`);
  assertStringIncludes(result.err, text);
  assertEquals(result.err.trimEnd().split("\n").length, 1, result.err);
  assertMatch(result.err, /^sql: /);
}

Deno.test({
  name: "sql: functions, callers and seconds equal those of perf report and perf script",
  ...ignored(noRecording()),
  fn: () =>
    inFolder(async (folder) => {
      const events = ["-e", "cpu-clock:u", "-F", "5000"];
      const data = await recordProgram(folder, LEFT_AND_RIGHT, events);
      const tables = `${folder}/tables`;
      const expected = await reportedPeriods(data);
      // From the recording, and from the tables that this leaves.
      const query = "SELECT function, sum(period)::BIGINT AS period FROM functions GROUP BY 1";
      const kept = await tool("sql", ["--keep", tables, "--csv", query, data]);
      assertEquals(kept.code, 0, kept.err);
      const sums = new Map<string, bigint>();
      for (const { function: name, period } of await rows(query, tables)) {
        sums.set(name as string, BigInt(period as number));
        assertStringIncludes(`${kept.out}`, `${name},${period}\n`);
      }
      for (const [name, sum] of expected) assertEquals(sums.get(name), sum, name);
      assert((expected.get("leaf") ?? 0n) > 0n && expected.size >= 2, `${[...expected.keys()]}`);

      const total = [...sums.values()].reduce((sum, period) => sum + period, 0n);
      const [all] = await rows("SELECT sum(period)::BIGINT AS period FROM samples", tables);
      assertEquals(BigInt(all?.["period"] as number), total);

      // The innermost frame and its caller in each chain of perf script.
      const script = await perfText(["script", "-F", "period,ip,sym", "--no-inline"], data);
      const pairs = new Map<string, number>();
      for (const block of script?.stdout.trim().split("\n\n") ?? []) {
        const [head = "", ...frames] = block.split("\n");
        const [leaf, caller] = frames.map((line) => line.trim().split(" ")[1]);
        if (!/^[a-z]+$/.test(`${leaf}${caller}`) || caller === undefined) continue;
        const key = `${leaf} < ${caller}`;
        pairs.set(key, (pairs.get(key) ?? 0) + Number(head));
      }
      const callers = new Map(
        (await rows("FROM callers", tables)).map((
          row,
        ) => [`${row["function"]} < ${row["caller"]}`, Number(row["period"])]),
      );
      const compared = [...pairs.keys()].filter((key) => key.startsWith("leaf < "));
      assert(compared.length > 0, [...pairs.keys()].join());
      for (const key of compared) assertEquals(callers.get(key), pairs.get(key), key);

      const times = await perfText(["script", "-F", "time", "--ns", "-G"], data);
      const stamps = times?.stdout.trim().split("\n").map((line) => {
        const [s, ns] = line.trim().replace(":", "").split(".");
        return BigInt(s as string) * 1_000_000_000n + BigInt(ns as string);
      }) ?? [];
      const seconds = new Map<number, number>();
      for (const stamp of stamps) {
        const second = Number((stamp - (stamps[0] as bigint)) / 1_000_000_000n);
        seconds.set(second, (seconds.get(second) ?? 0) + 1);
      }
      assertEquals(
        (await rows("FROM by_second", tables)).map(({ second, samples }) => [second, samples]),
        [...seconds],
      );
    }),
});

Deno.test("sql: a query cannot read other files, nor write any", () =>
  inFolder(async (folder) => {
    const tables = `${folder}/tables`;
    assertEquals((await tool("export", ["parquet", "-o", tables, callchain])).code, 0);
    await Deno.writeTextFile(`${folder}/secret.csv`, "a\n1\n");
    const before = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
    const other = `${folder}/secret.csv`;
    const disabled = "file system operations are disabled";
    const refusals = [
      [`SELECT * FROM read_csv('${other}')`, disabled],
      [`SELECT * FROM '${other}'`, disabled],
      [`SELECT * FROM read_text('${other}')`, disabled],
      [`SELECT * FROM read_blob('${tables}/../secret.csv')`, disabled],
      ["SELECT * FROM read_text('/etc/passwd')", disabled],
      ["SELECT * FROM glob('/etc/*')", disabled],
      [`COPY samples TO '${folder}/out.csv'`, "COPY is no question"],
      [`COPY samples TO '${tables}/out.csv'`, "COPY is no question"],
      [`EXPLAIN ANALYZE COPY samples TO '${tables}/out.csv'`, "EXPLAIN is no question"],
      [`ATTACH '${folder}/new.db'`, "ATTACH is no question"],
      [`EXPORT DATABASE '${folder}/new'`, "EXPORT is no question"],
      [`EXPORT DATABASE '${tables}/new'`, "EXPORT is no question"],
      ["/* a */ -- b\n (CREATE TABLE a AS FROM samples)", "syntax error"],
      ["WITH a AS (SELECT 1) DELETE FROM samples", "sql: "],
      ["SET enable_external_access = true", "is no question"],
      ["INSTALL httpfs", "is no question"],
      ["LOAD httpfs", "is no question"],
      ["CREATE TABLE a AS FROM samples", "CREATE is no question"],
      ["SELECT 1; SELECT 2", "2 statements, expected one"],
    ] as const;
    const input = new TextEncoder().encode(refusals.map(([query]) => `${query};\n`).join(""));
    const asked = await tool("sql", [tables], { input });
    assertEquals([asked.code, asked.out], [1, ""]);
    const lines = asked.err.trimEnd().split("\n");
    assertEquals(lines.length, refusals.length, asked.err);
    refusals.forEach(([query, reason], i) => assertStringIncludes(lines[i] ?? "", reason, query));
    // Only the result is written.
    const parquet = ["--parquet", `${folder}/out.parquet`];
    for (
      const [query, reason] of [
        [`SELECT * FROM read_text('${other}')`, disabled],
        [`COPY samples TO '${tables}/out.csv'`, "COPY is no question"],
        [`SELECT 1) TO '${folder}/out.csv' (FORMAT csv); --`, "syntax error"],
      ] as const
    ) await refused([...parquet, query, tables], 1, reason);
    // The tables themselves can be queried.
    assert((await rows("FROM functions", tables)).length > 0);
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), before);
    assertEquals([...Deno.readDirSync(tables)].length, 8);
  }));

Deno.test("sql: a wrong query or file gives one line", () =>
  inFolder(async (folder) => {
    const tables = `${folder}/tables`;
    assertEquals((await tool("export", ["parquet", "-o", tables, callchain])).code, 0);
    await refused(["SELEC 1", tables], 1, "syntax error");
    await refused(["SELECT nothing FROM samples", tables], 1, "nothing");
    await refused(["FROM nowhere", tables], 1, "nowhere");
    await refused(["FROM samples", `${folder}/none`], 1, "no such file");
    await refused(["--csv", "--json", "FROM samples", tables], 2, "exclude each other");
    await refused(["FROM samples", tables, callchain], 2, "asked alone");
    await refused(["--parquet", `${folder}/x`, tables], 2, "needs a question");
    await refused([tables, "-"], 2, "standard input");
    const moved = `${folder}/frames`;
    await Deno.rename(`${tables}/frames`, moved);
    await refused(["FROM samples", tables], 1, "no table frames");
    await Deno.rename(moved, `${tables}/frames`);
    // A table of another version beside it, written by the engine itself.
    const next = `${folder}/next.parquet`;
    const query = "SELECT * REPLACE (version + 1 AS version) FROM recordings";
    const written = await tool("sql", ["--parquet", next, query, tables]);
    assertEquals([written.code, written.err], [0, ""]);
    await Deno.rename(next, `${tables}/recordings/next.parquet`);
    await refused(["FROM samples", tables], 1, "version 1 and 2, expected 1");
  }));

Deno.test("sql: flags give a table, CSV, JSON or Parquet, and standard input may be the query", () =>
  inFolder(async (folder) => {
    const query = "SELECT 'a,\"b' AS t, 9007199254740993 AS n, NULL AS x, [1, 2] AS l";
    const tables = `${folder}/tables`;
    const print = async (...flags: string[]) => (await tool("sql", [...flags, query, tables])).out;
    assertEquals((await tool("export", ["parquet", "-o", tables, callchain])).code, 0);
    assertEquals(await print("--csv"), 't,n,x,l\n"a,""b",9007199254740993,,"[1,2]"\n');
    assertEquals(
      await print("--json"),
      '{"t":"a,\\"b","n":9007199254740993,"x":null,"l":[1,2]}\n',
    );
    assertEquals(
      await print(),
      't                    n  x  l\na,"b  9007199254740993     [1,2]\n',
    );
    const path = `${folder}/answer.parquet`;
    assertEquals(await print("--parquet", path), "");
    const [row] = await parquetRows(Deno.readFileSync(path));
    assertEquals([row?.["t"], row?.["n"]], ['a,"b', 9007199254740993n]);
    const again = await tool("sql", ["--parquet", path, query, tables]);
    assertStringIncludes(again.err, "exists; --force overwrites it");

    const input = new TextEncoder().encode(".tables\nSELECT 1\n AS a;\nSELEC;\nSELECT 2 AS b\n");
    const asked = await tool("sql", [tables], { input });
    assertEquals(asked.code, 1);
    assert(asked.out.endsWith("a\n1\nb\n2\n"), asked.out);
    assertStringIncludes(asked.out, "samples\n");
    assertEquals(asked.err.trimEnd().split("\n").length, 1, asked.err);
  }));

Deno.test("sql: several recordings are combined without a duplicate frame or stack", () =>
  inFolder(async (folder) => {
    const tables = `${folder}/tables`;
    const other = `${root}fixtures/recorded/two-events.perf.data`;
    const flags = ["parquet", "-o", tables, "--partition", "service=web", callchain, other];
    assertEquals((await tool("export", flags)).code, 0);
    // The same rows in another recording.
    for (const table of ["frames", "stacks"]) {
      const files = `${tables}/${table}/service=web`;
      const [{ name } = { name: "" }] = [...Deno.readDirSync(files)];
      await Deno.copyFile(`${files}/${name}`, `${files}/copy.parquet`);
    }
    const [found] = await rows(
      `SELECT count(*) AS n, (SELECT count(*) FROM samples LEFT JOIN frames USING (frame_id)) AS m,
        (SELECT count(*) - count(DISTINCT frame_id) FROM frames) AS f,
        (SELECT count(*) - count(DISTINCT stack_id) FROM stacks) AS s,
        (SELECT sum(samples) FROM functions)::BIGINT AS v FROM samples WHERE service = 'web'`,
      tables,
    );
    assert((found?.["n"] as number) > 10);
    assertEquals([found?.["m"], found?.["v"], found?.["f"], found?.["s"]], [
      ...[found?.["n"], found?.["n"], 0, 0],
    ]);
  }));
