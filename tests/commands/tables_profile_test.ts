/** Tables in place of recordings: commands give the same output. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { ignored } from "../support/ignored.ts";
import { parquetFiles } from "../support/parquet_rows.ts";
import { LEFT_AND_RIGHT, noRecording, recordProgram } from "../support/recorded_program.ts";
import { inFolder, tool } from "../support/tool.ts";

const root = new URL("../../", import.meta.url).pathname;
const recorded = `${root}fixtures/recorded`;

async function output(name: string, args: string[]): Promise<string> {
  const { code, out, err } = await tool(name, args);
  assertEquals(code, 0, `${name} ${args.join(" ")}: ${err}`);
  return out;
}

async function exported(folder: string, ...paths: string[]): Promise<void> {
  await output("export", ["parquet", "--names", "-o", folder, ...paths]);
}

/** Weights of stacks in folded text, without marks of trust and names of unnamed code. */
function folded(text: string): Map<string, number> {
  const sums = new Map<string, number>();
  for (const line of text.trimEnd().split("\n")) {
    const at = line.lastIndexOf(" ");
    const stack = line.slice(0, at);
    sums.set(stack, (sums.get(stack) ?? 0) + Number(line.slice(at + 1)));
  }
  return sums;
}

Deno.test("tables as input: stacks, trees and pictures are those of the recording", () =>
  inFolder(async (folder) => {
    let stacks = 0;
    for (const name of ["callchain", "zstd", "two-events"]) {
      const path = `${recorded}/${name}.perf.data`;
      await exported(`${folder}/${name}`, path);
      const both = async (command: string, ...flags: string[]) =>
        [
          await output(command, [...flags, `${folder}/${name}`]),
          await output(command, [...flags, path]),
        ] as const;
      // Callers are at their calls, as if lines or inlined functions were requested.
      const [ofTables, ofRecording] = await both("export", "folded", "--inline", "-o", "-");
      const sums = folded(ofTables);
      assertEquals(sums, folded(ofRecording), name);
      stacks += sums.size;
      const [tree, expected] = await both("tree", "--inline", "--json");
      assertEquals(tree.split("\n").sort(), expected.split("\n").sort(), name);
      const boxes = (svg: string) =>
        [...svg.matchAll(/<title>([^<]*)<\/title>/g)].map(([, text]) => text).slice(1).sort();
      const [picture, other] = await both("flame", "--svg", "-o", "-");
      assertEquals(boxes(picture), boxes(other), name);
      assert(boxes(picture).length > 0);
      const page = await output("flame", ["-o", "-", `${folder}/${name}`]);
      assertStringIncludes(page, "<html");
      // The formats that may show the calls of a trace look for one first.
      const [chrome, slices] = await both("export", "chrome", "-o", "-");
      const lengths = (text: string) =>
        (JSON.parse(text).traceEvents as { ts?: number; dur?: number; name: string }[])
          .filter(({ ts }) => ts !== undefined).map(({ ts, dur }) => `${ts} ${dur}`).sort();
      assertEquals(lengths(chrome), lengths(slices), name);
    }
    assert(stacks > 20, `${stacks} stacks`);
  }));

/** Rows of funcs by subject. Unnamed code has no address in tables. */
function functionRows(text: string): [string, number[]][] {
  const sums = new Map<string, number[]>();
  for (const line of text.trimEnd().split("\n")) {
    const row = JSON.parse(line) as Record<string, unknown>;
    const { samples, period, children_samples, children_period } = row;
    const isNamed = !/^(0x|\[unknown\]$)/.test(`${row["sym"]}`);
    const keys = ["event", "comm", "pid", "tid", "cpu", "dso", "inlined", "level"];
    const key = [...keys.map((name) => row[name]), isNamed ? row["sym"] : "no name"].join(" ");
    const known = sums.get(key) ?? [0, 0, 0, 0];
    const values = [samples, period];
    // Two unnamed addresses may be on one stack.
    if (isNamed) values.push(children_samples, children_period);
    sums.set(key, known.map((sum, i) => sum + Number(values[i] ?? 0)));
  }
  // A row that was only a caller exists for each of its addresses.
  return [...sums].filter(([, sum]) => sum.some((value) => value > 0))
    .sort(([a], [b]) => a < b ? -1 : 1);
}

const WAYS = [
  ...[[], ["--no-inline"], ["--children"], ["--sort", "pid,tid,cpu,sym"], ["--sort", "dso"]],
  ...[["--comm", "a"], ["--percent-limit", "1"]],
];

/** Compares funcs of tables with funcs of their recording. Returns the compared rows. */
async function sameFunctions(
  tables: string,
  path: string,
  flags: readonly (readonly string[])[],
): Promise<number> {
  let rows = 0;
  for (const more of flags) {
    const [ofTables, ofRecording] = await Promise.all([tables, path].map(async (of) => {
      const { out } = await tool("funcs", ["--json", ...more, of]);
      return out === "" ? [] : functionRows(out);
    }));
    if (more.includes("--percent-limit") && ofRecording?.some(([key]) => key.endsWith("no name"))) {
      continue;
    }
    assertEquals(ofTables, ofRecording, `${path}: funcs ${more.join(" ")}`);
    rows += ofTables?.length ?? 0;
  }
  return rows;
}

Deno.test("tables as input: functions are those of the recording", () =>
  inFolder(async (folder) => {
    let rows = 0;
    for (const name of ["callchain", "two-events", "all-cpus"]) {
      const path = `${recorded}/${name}.perf.data`;
      await exported(`${folder}/${name}`, path);
      const ways = name === "callchain" ? WAYS.slice(0, 4) : [["--children"]];
      rows += await sameFunctions(`${folder}/${name}`, path, ways);
    }
    assert(rows > 25, `${rows} rows`);
  }));

Deno.test({
  name: "tables as input: names, lines and stacks of funcs are those of the recording",
  ...ignored(noRecording()),
  fn: () =>
    inFolder(async (folder) => {
      const data = await recordProgram(folder, LEFT_AND_RIGHT, ["-e", "cpu-clock:u", "-F", "5000"]);
      const tables = `${folder}/tables`;
      await exported(tables, data);
      const rows = await sameFunctions(tables, data, WAYS);
      assert(rows > 20, `${rows} rows`);
      const own = (text: string) =>
        text.split("\n").filter((line) => /\ba\.c:|leaf|left/.test(line));
      for (const flags of [["--sort", "srcline"], ["-g", "caller", "--comm", "a", "--dso", "a"]]) {
        const [ofTables, ofRecording] = await Promise.all(
          [tables, data].map(async (of) =>
            own(await output("funcs", ["--no-inline", ...flags, of]))
          ),
        );
        assert((ofRecording?.length ?? 0) > 1, `${ofRecording}`);
        assertEquals(ofTables, ofRecording, flags.join(" "));
      }
    }),
});

Deno.test("tables as input: several recordings add up, and diff compares tables with a recording", () =>
  inFolder(async (folder) => {
    const paths = ["callchain", "zstd"].map((name) => `${recorded}/${name}.perf.data`);
    const tables = `${folder}/t`;
    await exported(tables, ...paths);
    const flags = ["folded", "--inline", "-o", "-"];
    const expected = new Map<string, number>();
    for (const path of paths) {
      for (const [stack, weight] of folded(await output("export", [...flags, path]))) {
        expected.set(stack, (expected.get(stack) ?? 0) + weight);
      }
    }
    const sums = folded(await output("export", [...flags, tables]));
    assertEquals(sums, expected);
    assert(sums.size > 10);
    const [first = ""] = paths;
    await exported(`${folder}/one`, first);
    const same = await output("diff", ["--json", first, `${folder}/one`]);
    const rows = same.trimEnd().split("\n").map((line) => JSON.parse(line));
    assert(rows.length > 1);
    for (const { change } of rows) assertEquals(change, 0, same);
    // A filter by name or number counts the rows that sql counts.
    const [pid] = (await output("sql", ["--csv", "SELECT pid FROM samples LIMIT 1", tables])).split(
      "\n",
    ).slice(1);
    const query = `SELECT sum(period)::BIGINT FROM samples WHERE pid = ${pid}`;
    const sum = (await output("sql", ["--csv", query, tables])).split("\n")[1];
    const some = folded(await output("export", [...flags, "--pid", `${pid}`, tables]));
    assertEquals(`${[...some.values()].reduce((a, b) => a + b)}`, sum);
  }));

Deno.test("tables as input: tables that cannot be read give one line", () =>
  inFolder(async (folder) => {
    const tables = `${folder}/t`;
    await exported(tables, `${recorded}/callchain.perf.data`);
    const refused = async (name: string, args: string[], code: number, reason: string) => {
      const result = await tool(name, args);
      assertEquals([result.code, result.out], [code, ""], result.err);
      assertStringIncludes(result.err, reason);
      assertMatch(result.err, /^[^\n]+\n$/);
    };
    await refused("tree", ["--time", "1s-", tables], 2, "--time is not for tables");
    await refused("flame", ["-o", "-", "--pt", tables], 2, "has tables: only periods");
    await refused("tree", ["--weight", "off-cpu", tables], 2, "has tables: only periods");
    await refused("tree", ["--comm", "nobody", tables], 1, "no samples");
    await refused("funcs", ["-b", tables], 2, "has tables: only samples are counted");
    await refused("funcs", ["--weight", "wall", tables], 2, "has tables: only samples");
    await refused("funcs", ["--event", "nothing", tables], 1, "no event nothing");
    const nobody = await tool("funcs", ["--comm", "nobody", tables]);
    assertEquals(nobody.code, 1);
    assertStringIncludes(nobody.err, "no row is left of 13 samples");
    await refused("funcs", ["--symbols", "x", tables], 2, "perfdata symbols table adds them");
    const others = [`${recorded}/callchain.perf.data`, `${recorded}/zstd.perf.data`];
    await exported(`${folder}/two`, ...others);
    await refused("funcs", ["--sort", "pid,sym", `${folder}/two`], 2, "tables of one recording");
    const [frames = ""] = parquetFiles(`${tables}/frames`);
    const bytes = Deno.readFileSync(frames);
    // Truncated, and with zero pages before the footer.
    for (const damaged of [bytes.slice(0, bytes.length >> 1), bytes.slice().fill(0, 4, 200)]) {
      Deno.writeFileSync(frames, damaged);
      await refused("tree", [tables], 1, "frames/");
    }
    Deno.removeSync(frames);
    await refused("tree", [tables], 1, "no table frames");
    Deno.writeFileSync(frames, bytes);
    const next = `${folder}/next.parquet`;
    const query = "SELECT * REPLACE (version + 1 AS version) FROM recordings";
    await output("sql", ["--parquet", next, query, tables]);
    await Deno.rename(next, `${tables}/recordings/next.parquet`);
    await refused("tree", [tables], 1, "tables of version 2, expected 1");
  }));
