import { bytesSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { recordingOf, resolverOf } from "../../profile/testing.ts";
import type { FunctionOptions, NamedFunctionRow } from "./function_options.ts";
import { functions, type FunctionsOptions } from "./testing.ts";

const FIXTURES = new URL("../../../fixtures/", import.meta.url);

/** Rows of a recording in fixtures/recorded. */
async function rowsOf(name: string, options: FunctionsOptions): Promise<NamedFunctionRow[]> {
  const bytes = Deno.readFileSync(new URL(`recorded/${name}.perf.data`, FIXTURES));
  return await functions(await PerfDataReader.open(bytesSource(bytes)), options);
}

/** Converts a cell of perf's table: a process to its number, a CPU to one without leading zeros. */
function cell(key: string, text: string): string {
  return key === "pid" ? text.replace(/:.*/, "") : key === "cpu" ? String(Number(text)) : text;
}

let compared = 0;
for (const { name: file } of Deno.readDirSync(new URL("printed/report/", FIXTURES))) {
  const [, name = "", keys = ""] = /^([^.]+)\.(.*)\.txt$/.exec(file) ?? [];
  const sort = keys.split(",") as NonNullable<FunctionOptions["sort"]>;
  Deno.test(`functions: ${name} sorted by ${keys} has the rows of perf report`, async () => {
    const expected = Deno.readTextFileSync(new URL(`printed/report/${file}`, FIXTURES))
      .trimEnd().split("\n").map((line) => {
        const [event, samples, period, ...cells] = line.split("|");
        return [event, samples, period, ...sort.map((key, i) => cell(key, cells[i] ?? ""))].join(
          "|",
        );
      });
    const rows = await rowsOf(name, { sort });
    const ours = rows.map((row) =>
      [row.eventName, row.samples, row.period, ...sort.map((key) => row[key])].join("|")
    );
    assertEquals(ours.toSorted(), expected.toSorted());
    compared += ours.length;
  });
}

Deno.test("fixtures/printed/report: at least fifteen rows of perf were compared", () => {
  assert(compared >= 15, `${compared} rows`);
});

Deno.test("functions: the shares of each event's rows sum up to 1, the largest first", async () => {
  const rows = await rowsOf("two-events", { sort: ["dso", "sym"] });
  for (const event of new Set(rows.map((row) => row.event))) {
    const shares = rows.filter((row) => row.event === event).map(({ overhead }) => overhead);
    assertAlmostEquals(shares.reduce((sum, share) => sum + share, 0), 1, 1e-12);
    assertEquals(shares, shares.toSorted((a, b) => b - a));
  }
});

Deno.test("functions: a limit keeps the first rows of each event", async () => {
  const all = await rowsOf("two-events", { sort: ["dso"] });
  const limited = await rowsOf("two-events", { sort: ["dso"], limit: 1 });
  const firsts = [...new Set(all.map(({ event }) => event))].map((event) =>
    all.find((row) => row.event === event)
  );
  assertEquals(limited, firsts as NamedFunctionRow[]);
});

Deno.test("functions: with children, a caller has its callees' samples, at most the total", async () => {
  const rows = await rowsOf("callchain", { sort: ["sym"], children: true });
  const own = rows.reduce((sum, { samples }) => sum + samples, 0);
  // 13 samples, as perf script prints them.
  assertEquals(own, 13);
  for (const { samples, children } of rows) {
    assert(children !== undefined && children.samples >= samples && children.samples <= 13);
    assert(children.overhead <= 1);
  }
  // The outermost frames are in all samples of their process.
  assert(Math.max(...rows.map(({ children }) => children?.samples ?? 0)) > 7);
});

Deno.test("functions: a filter by thread drops the samples of others", async () => {
  const rows = await rowsOf("two-events", { sort: ["tid"] });
  const [first] = rows;
  assert(first?.tid !== undefined);
  const filtered = await rowsOf("two-events", {
    sort: ["tid"],
    filter: { tids: new Set([first.tid]) },
  });
  assertEquals(
    filtered.map(({ tid, samples }) => [tid, samples]),
    rows.filter(({ tid }) => tid === first.tid).map(({ tid, samples }) => [tid, samples]),
  );
});

Deno.test("functions: a function that only debug information has is a row of its name, as in trees", async () => {
  const frame = {
    ...{ name: "ghost", function: "ghost", linkageName: undefined, file: "a.c", line: 5 },
    ...{ column: 0, discriminator: 0, inlined: false },
  };
  const symbols = resolverOf([0x20, 0x30].map((address) => [
    { path: "/bin/small", kind: "elf" },
    address,
    { symbol: undefined, frames: [frame], cause: undefined },
  ]));
  const samples = [0x1020n, 0x1030n].map((ip, i) => ({ tid: 7, time: BigInt(i + 1), ips: [ip] }));
  const reader = await PerfDataReader.open(bytesSource(await recordingOf({ samples })));
  const rows = await functions(reader, { symbols, sort: ["dso", "sym"] });
  assertEquals(rows.map(({ dso, sym, samples }) => [dso, sym, samples]), [["small", "ghost", 2]]);
});
