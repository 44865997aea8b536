/** Recordings for one question each (fixtures/README.md), with answers known by hand. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { inFolder, tool, type ToolResult } from "../support/tool.ts";

const CASES = new URL("../../fixtures/cases/", import.meta.url).pathname;

const pathOf = (name: string): string => `${CASES}${name}.perf.data`;

/** Runs a command on cases without this machine's files. It has to succeed. */
async function run(
  name: string,
  args: readonly string[],
  ...cases: readonly string[]
): Promise<ToolResult> {
  const result = await tool(name, [...args, ...cases.map(pathOf)]);
  assertEquals(result.code, 0, result.err);
  return result;
}

/** A row of `funcs --json` or a line of `diff --json`. */
type Row = Readonly<Record<string, unknown>>;

const rowsOf = ({ out }: ToolResult): Row[] =>
  out.trim().split("\n").map((line): Row => JSON.parse(line));

/** Rows of `funcs` without symbols of this machine. */
const funcs = async (name: string, ...args: readonly string[]): Promise<Row[]> =>
  rowsOf(await run("funcs", ["--json", "--symfs", CASES, ...args], name));

const pick = (rows: readonly Row[], ...keys: readonly string[]): unknown[][] =>
  rows.map((row) => keys.map((key) => row[key]));

Deno.test("kvm-host-guest: 60 % are in the host's kernel, 40 % in the guest's, in every command", async () => {
  const expected = [["[kernel.kallsyms]", "k", 60, 60], ["[guest.kernel.kallsyms]", "g", 40, 40]];
  const rows = await funcs("kvm-host-guest");
  assertEquals(pick(rows, "dso", "level", "samples", "overhead"), expected);
  const machines = await funcs("kvm-host-guest", "--sort", "machine");
  assertEquals(pick(machines, "machine", "samples"), [["host", 60], ["guest 500", 40]]);
  const tree = await run("tree", ["--symfs", CASES], "kvm-host-guest");
  assertMatch(tree.out, /^ *60\.00% .* 60 .*\[kernel\.kallsyms\]$/m);
  assertMatch(tree.out, /^ *40\.00% .* 40 .*\[guest\.kernel\.kallsyms\]$/m);
  const folded = await run("export", ["--symfs", CASES, "folded"], "kvm-host-guest");
  const counts = folded.out.trim().split("\n").map((line) => Number(/ (\d+)$/.exec(line)?.[1]));
  // Each sample has a period of 1,000.
  assertEquals(counts.sort((a, b) => a - b), [40_000, 60_000]);
});

for (
  const [name, text] of [
    ["kvm-host-guest", "40 samples (40.0%) of 1 guest;"],
    ["guest-map", "1 sample (33.3%) of 1 guest;"],
    ["read-inherit", undefined],
  ] as const
) {
  Deno.test(`${name}: info says ${text ?? "nothing about guests"}`, async () => {
    const { out } = await run("info", [], name);
    const [, line] = /^guests +(.*)$/m.exec(out) ?? [];
    assertEquals(line?.slice(0, text?.length), text);
  });
}

Deno.test("guest-map: kernels of host and guest at the same addresses keep their samples", async () => {
  assertEquals(pick(await funcs("guest-map", "--sort", "dso"), "dso", "samples"), [
    ["[kernel.kallsyms]", 2],
    ["[guest.kernel.kallsyms]", 1],
  ]);
});

Deno.test("read-inherit: counters of a group are kept by id and thread", async () => {
  const rows = await funcs("read-inherit", "--sort", "comm");
  assertEquals(pick(rows, "event", "comm", "period"), [
    ["cycles", "main", 10_000_000],
    ["cycles", "worker", 10_000_000],
    ["instructions", "main", 20_000_000],
    ["instructions", "worker", 1_000_000],
  ]);
  assertEquals(rows.map(({ overhead }) => Number(overhead).toFixed(1)), [
    ...["50.0", "50.0"],
    ...["95.2", "4.8"],
  ]);
});

Deno.test("hybrid: an event of two PMUs counts as one", async () => {
  const tree = await run("tree", ["--symfs", CASES], "hybrid-a");
  assertMatch(tree.out, /^cycles:P: 503 samples/m);
  const folded = await run("export", ["--symfs", CASES, "folded"], "hybrid-a");
  const sum = folded.out.trim().split("\n")
    .reduce((all, line) => all + Number(/ (\d+)$/.exec(line)?.[1]), 0);
  // 500 samples with a period of a million, three of a thousand.
  assertEquals(sum, 500_003_000);
  const [all] = rowsOf(
    await run("diff", ["--json", "--symfs", CASES], "hybrid-a", "hybrid-b"),
  );
  const samples = [all?.before, all?.after].map((side) => (side as Row | undefined)?.samples);
  assertEquals(samples, [503, 500]);
});

Deno.test("data-src: memory levels 5 to 9 have their names and the recorded weights", async () => {
  const rows = await funcs("data-src", "--sort", "mem");
  const weights = new Map(rows.map(({ mem, samples, period }) => [mem, [samples, period]]));
  assertEquals(
    ["L0", "Memory-side Cache", "L2 MHB", "Uncached", "CXL"].map((name) =>
      weights.get(`${name} hit`)
    ),
    [[1, 100], [1, 101], [1, 102], [1, 103], [1, 104]],
  );
  // 100 to 109, one of each.
  assertEquals(rows.reduce((sum, { period }) => sum + Number(period), 0), 1045);
});

Deno.test("cut-in-features: info prints the samples and names the truncated features", async () => {
  const { code, out, err } = await tool("info", [pathOf("cut-in-features")]);
  assertEquals(code, 1);
  assertMatch(out, /^samples +1000 of 1 process, 1 thread$/m);
  assertMatch(out, /^machine +host\.invalid$/m);
  assertMatch(err, /5 of 6 features end beyond the file's 48590 bytes: OSRELEASE, VERSION, /);
});

Deno.test("module-build-ids: modules have the build ids of their MMAP2 records", async () => {
  const { out } = await run("info", [], "module-build-ids");
  assertMatch(out, /^symbols +5 objects, with a build id for 100\.0% of samples$/m);
  const trust = await run("symbols", ["trust", "--symfs", CASES], "module-build-ids");
  for (const [name, digits] of [["sunrpc", "21"], ["nfsd", "22"], ["xfs", "23"]] as const) {
    const lookedFor = trust.out.split(`${name}.ko (20.00%): looked for as\n`)[1] ?? "";
    const own = lookedFor.split(/^ {2}\S/m)[0] ?? "";
    assertStringIncludes(own, `/.build-id/${digits}/${digits.repeat(19)}`);
  }
});

Deno.test("comp2-wrap: data_size is the length; after repair the samples are the same", () =>
  inFolder(async (folder) => {
    const expected = [["0x0000000000002000", 900], ["0x0000000000001000", 100], [
      "0x0000000000003000",
      100,
    ]];
    assertEquals(pick(await funcs("comp2-wrap"), "sym", "samples"), expected);
    const path = `${folder}/repaired.data`;
    const repaired = await tool("repair", ["-o", path, pathOf("comp2-wrap")]);
    assertEquals(repaired.code, 0, repaired.err);
    const again = await tool("funcs", ["--json", "--symfs", CASES, path]);
    assertEquals(pick(rowsOf(again), "sym", "samples"), expected);
    assertMatch((await tool("info", [path])).out, /^samples +1100 of/m);
  }));

Deno.test("deferred: user callers in later records join their samples, also after convert --for-perf 6.1", () =>
  inFolder(async (folder) => {
    const kernel = (offset: number): string =>
      `ffffffff810010${offset.toString(16).padStart(2, "0")}`;
    const expected = [
      ["500", kernel(0), "1000", "1100", "1200"],
      ["600", kernel(16), "2000", "2100"],
      ["500", kernel(32), "1000", "1100", "1200"],
      // The record with the user callers is missing.
      ["500", kernel(0)],
      ["500", "1000", "1100"],
    ];
    const chains = async (path: string): Promise<string[][]> => {
      const { out } = await tool("script", ["--symfs", folder, "-F", "tid,ip", path]);
      return out.trim().split("\n\n").map((sample) => sample.trim().split(/\s+/));
    };
    assertEquals(await chains(pathOf("deferred")), expected);
    const path = `${folder}/converted.data`;
    const { code, err } = await tool("convert", [
      ...["--for-perf", "6.1", "-o", path],
      pathOf("deferred"),
    ]);
    assertEquals(code, 0, err);
    assertStringIncludes(err, "1 samples without user callers");
    assertEquals(await chains(path), expected);
    // perf 6.1 knows neither the record (22) nor the marker of a deferred chain.
    const { out } = await tool("dump", [path]);
    assert(!out.includes("event: 22"), "a CALLCHAIN_DEFERRED record is left");
    assert(!out.includes("fffffffffffffd80"), "a marker is left");
  }));

for (const command of ["info", "funcs", "tree"]) {
  Deno.test(`broken-period: ${command} names the one period that dominates all shares`, async () => {
    const flags = command === "info" ? [] : ["--symfs", CASES];
    const { out, err } = await run(command, flags, "broken-period");
    const text = command === "info" ? out : err;
    assertStringIncludes(text, "one of 1000 samples of cycles has a period of 281474976710655");
  });
}

Deno.test("diff-a, diff-b: a change is significant only if its interval excludes 0", async () => {
  for (const by of ["total", "samples", "time", "period"]) {
    const [all, ...rows] = rowsOf(
      await run("diff", ["--json", "--all", "--by", by, "--symfs", CASES], "diff-a", "diff-b"),
    );
    assertEquals([all?.before, all?.after].map((side) => (side as Row).samples), [479, 647]);
    assert(rows.length >= 2, `${rows.length} rows`);
    for (const { name, interval, change, chance, significant } of rows) {
      const [low = NaN, high = NaN] = interval as number[];
      const text = `--by ${by}, ${name}: ${low} to ${high}, chance ${chance}`;
      assert(low <= Number(change) && Number(change) <= high, `${text}, change ${change}`);
      if (significant !== true) continue;
      assert(low > 0 || high < 0, text);
    }
  }
});

Deno.test("dead-thread: a thread that runs after its EXIT waits 1 ms, not until the end", async () => {
  const waits = await funcs("dead-thread", "--weight", "off-cpu", "--sort", "comm");
  assertEquals(pick(waits, "comm", "period"), [["dies", 1_000_000], ["lives", 1_000_000]]);
  // On a CPU from its sample (10 ms) to 12 ms and from 13 to 14 ms; waiting between.
  const wall = await funcs("dead-thread", "--weight", "wall", "--sort", "comm");
  assertEquals(wall.find(({ comm }) => comm === "dies")?.period, 4_000_000);
});
