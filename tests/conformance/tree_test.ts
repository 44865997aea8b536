/** `tree` as a user runs it. On a recording made here, each node is compared with perf's stacks. */
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { perfText, perfVersion } from "../support/perf.ts";
import { OWN_START, WITHOUT_LIBRARIES } from "../support/recorded_program.ts";
import { inFolder, tool } from "../support/tool.ts";
import { runs } from "../support/unwound.ts";
import { skipped } from "../support/ignored.ts";

const FIXTURES = new URL("../../fixtures", import.meta.url).pathname;

const PROGRAM = `${OWN_START}
volatile long sink;
__attribute__((noinline)) long spin(long n) { long s = 0; for (long i = 0; i < n; i++) s += i ^ sink; return s; }
__attribute__((noinline)) long left(int d) { return d == 0 ? spin(9000) : left(d - 1) + 1; }
__attribute__((noinline)) long right(int d) { sink += spin(3000); return left(d) + 1; }
__attribute__((noinline)) long busy(void) { long s = 0; for (int i = 0; i < 9000; i++) s += i * sink; return s; }
int main(void) { for (int i = 0; i < 4000; i++) sink += left(i % 4) + right(i % 3) + busy(); return 0; }
`;

interface Row {
  id: number;
  parent: number | null;
  name: string;
  dso: string;
  samples: number;
  self_samples?: number;
  start_samples?: number;
  share: number;
}

/** Samples by path of functions: `a;b;c`, outermost first. */
function paths(rows: readonly Row[]): Map<string, number> {
  const names: string[] = [];
  const found = new Map<string, number>();
  for (const { id, parent, name, samples } of rows) {
    names[id] = parent === null ? name : `${names[parent]};${name}`;
    // Functions of one name may be in several objects.
    found.set(names[id] as string, (found.get(names[id] as string) ?? 0) + samples);
  }
  return found;
}

/** The same from the text of `perf script -F ip,sym,dso`, by prefix of stacks. */
function perfPaths(text: string, callers: boolean): Map<string, number> {
  const found = new Map<string, number>();
  for (const block of text.split("\n\n")) {
    const frames = block.split("\n").filter((line) => line.trim() !== "").flatMap((line) => {
      const [, address, symbol = "", dso = ""] = /^\s*([0-9a-f]+) (.+) \((.*)\)$/.exec(line) ?? [];
      if (address === undefined || address === "ffffffffffffffff") return [];
      const short = dso.slice(dso.lastIndexOf("/") + 1).replace(/^\[|\]$/g, "");
      return [symbol === "[unknown]" ? `[${short}]` : symbol];
    });
    if (frames.length === 0) continue;
    if (!callers) frames.reverse();
    for (let end = 1; end <= frames.length; end++) {
      const path = frames.slice(0, end).join(";");
      found.set(path, (found.get(path) ?? 0) + 1);
    }
  }
  return found;
}

const rowsOf = (text: string): Row[] =>
  text.split("\n").slice(0, -1).map((line) => JSON.parse(line) as Row);

const sorted = (map: ReadonlyMap<string, number>): string[] =>
  [...map].map(([path, samples]) => `${path} ${samples}`).sort();

Deno.test({
  name: "tree, tree --callers: each node has the samples of perf's stacks",
  ignore: perfVersion() === undefined,
  fn: (t) =>
    inFolder(async (folder) => {
      Deno.writeTextFileSync(`${folder}/a.c`, PROGRAM);
      let nodes = 0;
      for (const mode of ["fp", "dwarf,16384"]) {
        // With frame pointers, perf 6.1 loses some stacks of copies: after `pop %rbp`.
        const frames = mode === "fp" ? "-fno-omit-frame-pointer" : "-fomit-frame-pointer";
        const data = `${folder}/perf.data`, program = `${folder}/a`;
        const failed =
          runs("gcc", "-O1", frames, ...WITHOUT_LIBRARIES, "-o", program, `${folder}/a.c`) ??
            runs(
              ...[
                "perf",
                "record",
                "-q",
                "-B",
                "-e",
                "cpu-clock:u",
                "-F",
                "2999",
                "--call-graph",
                mode,
              ],
              ...["-o", data, program],
            );
        if (failed !== undefined) {
          await skipped(t, `${mode}: ${failed}`);
          continue;
        }
        const script = await perfText(["script", "--no-inline", "-F", "ip,sym,dso"], data);
        for (const flags of [[], ["--callers"]]) {
          const { code, out } = await tool("tree", [
            ...["--json", "--no-inline", "--root", "none"],
            ...flags,
            data,
          ]);
          assertEquals(code, 0);
          const ours = paths(rowsOf(out));
          const theirs = perfPaths(script?.stdout ?? "", flags.length > 0);
          assertEquals(sorted(ours), sorted(theirs), mode);
          nodes += ours.size;
        }
      }
      console.log(`${nodes} nodes compared`);
      assert(nodes === 0 || nodes > 40);
    }),
});

Deno.test("tree, tree --callers, tree --root: sums equal those of funcs", async () => {
  const path = `${FIXTURES}/recorded/callchain.perf.data`;
  const funcs = await tool("funcs", ["--json", path]);
  const total = rowsOf(funcs.out).reduce((sum, { samples }) => sum + samples, 0);
  for (const flags of [[], ["--callers"], ["--root", "thread"]]) {
    const { code, out } = await tool("tree", ["--json", ...flags, path]);
    assertEquals(code, 0);
    const rows = rowsOf(out);
    // In a tree of callers a node has no own samples: stacks start there.
    const [own, other] = flags[0] === "--callers"
      ? ["start_samples", "self_samples"] as const
      : ["self_samples", "start_samples"] as const;
    assert(rows.every((row) => row[other] === undefined));
    const roots = rows.filter(({ parent }) => parent === null);
    assertEquals(roots.reduce((sum, { samples }) => sum + samples, 0), total);
    assertEquals(rows.reduce((sum, row) => sum + (row[own] ?? 0), 0), total);
    // Siblings are sorted by size, and children are not larger than their parent.
    for (const { parent, share } of rows) assert(share <= (rows[parent ?? -1]?.share ?? 1));
  }
  const nested = JSON.parse((await tool("tree", ["--json-tree", path])).out);
  const count = (node: { children: unknown[] }): number =>
    (node.children as { children: unknown[] }[]).reduce((sum, child) => sum + 1 + count(child), 0);
  assertEquals(count(nested), rowsOf((await tool("tree", ["--json", path])).out).length);
});

Deno.test("tree: flags and messages work as documented", async (t) => {
  const path = `${FIXTURES}/recorded/callchain.perf.data`;
  assertEquals((await tool("tree", ["--json", "--json-tree", path])).code, 2);
  assertEquals((await tool("tree", ["--root", "x", path])).code, 2);
  assertEquals((await tool("tree", ["--symbol", "/(/", path])).code, 2);
  const none = await tool("tree", ["--focus", "nobody", path]);
  assertEquals(none.code, 1);
  assert(/no sample has a function nobody in its stack/.test(none.err), none.err);
  const filtered = await tool("tree", ["--comm", "nobody", path]);
  assertEquals(filtered.code, 1);
  assert(/--comm nobody matches nothing; there is demo/.test(filtered.err), filtered.err);
  // With callers, the last column is the share of stacks without a further caller.
  assert(/SHARE +START +SAMPLES/.test((await tool("tree", ["--callers", path])).out));
  // Kernel files, which Deno opens only with all permissions.
  const absent = await tool("tree", ["--kallsyms", "/proc/no-such-file", path]);
  assertEquals(absent.code, 1);
  try {
    Deno.statSync("/proc/kallsyms");
    const running = await tool("tree", ["--kallsyms", "/proc/kallsyms", path]);
    assertEquals(running.code, 0, running.err);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    await skipped(t, "--kallsyms /proc/kallsyms: there is none");
  }
  const few = await tool("tree", ["--lines", "4", path]);
  const lines = few.out.trim().split("\n");
  assertEquals(few.code, 0);
  assert(lines.length <= 4 + 3 && / more functions of /.test(few.out), few.out);
});

Deno.test("tree: the number of samples with unmapped callers equals perf's", async (t) => {
  let compared = 0;
  for (const name of ["callchain", "all-cpus", "rounds", "zstd"]) {
    const path = `${FIXTURES}/recorded/${name}.perf.data`;
    const { err } = await tool("tree", [path]);
    const [, said] = /; ([\d.]+)% have callers where nothing was mapped/.exec(err) ?? [];
    const script = await perfText(["script", "--no-inline", "-F", "ip,sym,dso"], path);
    if (script === undefined) {
      await skipped(t, "callers where nothing was mapped: no perf on this machine");
      return;
    }
    const stacks = script.stdout.split("\n\n").map((block) =>
      block.split("\n").filter((line) => line.trim() !== "")
    ).filter((lines) => lines.length > 0);
    const lost = stacks.filter((lines) =>
      lines.slice(1).some((line) =>
        line.endsWith("[unknown] ([unknown])")
      )
    ).length;
    const share = 100 * lost / stacks.length;
    assertEquals(said !== undefined, share >= 5, name);
    if (said !== undefined) assertAlmostEquals(Number(said), share, 0.05, name);
    compared += stacks.length;
  }
  console.log(`stacks of ${compared} samples compared`);
  assert(compared > 150);
});

Deno.test("tree, folded, svg, annotate, diff: of two events, a line names the one shown unless it was chosen", async () => {
  const path = `${FIXTURES}/recorded/two-events.perf.data`;
  const rows = (await tool("funcs", ["--json", path])).out.trimEnd().split("\n")
    .map((line): { event: string; samples: number; sym: string } => JSON.parse(line));
  const sum = (of: readonly typeof rows[number][]) => of.reduce((all, row) => all + row.samples, 0);
  const shown = rows[0]?.event ?? "";
  const others = rows.filter(({ event }) => event !== shown);
  const share = (100 * sum(others) / sum(rows)).toFixed(2);
  const line = `only samples of ${shown}; ${share}% are of ${others[0]?.event}: --event NAME`;
  const sym = rows[0]?.sym ?? "";
  const commands: readonly (readonly [string, ...string[]])[] = [
    ["tree", path],
    ["export", "folded", path],
    ["flame", "--svg", "-o", "-", path],
    ["annotate", path, sym],
    ["diff", path, path],
  ];
  for (const [name, ...args] of commands) {
    const { err } = await tool(name, args);
    assert(err.includes(line), `${name}: ${err}`);
  }
  const chosen = await tool("tree", ["--event", shown, path]);
  assert(!chosen.err.includes("only samples of"), chosen.err);
  assert(!(await tool("flame", ["-o", "-", path])).err.includes("only samples of"));
});
