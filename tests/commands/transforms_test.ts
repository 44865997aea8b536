/** The flags that transform stacks, compared with the lines of stacks that are not transformed. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { inFolder, tool } from "../support/tool.ts";

const FILE = new URL("../../fixtures/recorded/callchain.perf.data", import.meta.url).pathname;

/** The program is found there by its build id. */
const SYMFS = new URL("../../fixtures/demo", import.meta.url).pathname;

type Stack = readonly [frames: readonly string[], weight: number];

/** Stacks of `export folded`: frames after that of the process, outermost first. */
async function stacks(flags: readonly string[]): Promise<{ stacks: Stack[]; err: string }> {
  const { code, out, err } = await tool("export", [
    "folded",
    "--kernel",
    "--symfs",
    SYMFS,
    ...flags,
    FILE,
  ]);
  assertEquals(code, 0, err);
  const found = out.trim().split("\n").map((line): Stack => {
    const at = line.lastIndexOf(" ");
    return [line.slice(0, at).split(";").slice(1), Number(line.slice(at + 1))];
  });
  return { stacks: found, err };
}

function sums(all: readonly Stack[]): [string, number][] {
  const found = new Map<string, number>();
  for (const [frames, weight] of all) {
    const key = frames.join(";");
    found.set(key, (found.get(key) ?? 0) + weight);
  }
  return [...found].sort();
}

Deno.test("export folded: --focus, --drop, --merge, --only and --collapse-recursion change stacks, and report the dropped share", async () => {
  const { stacks: all } = await stacks([]);
  const sum = all.reduce((sum, [, weight]) => sum + weight, 0);
  // A function that some samples have in the middle of their stack.
  const [middle] = all.map(([frames]) => frames[frames.length >> 1] ?? "")
    .filter((name) => !name.startsWith("[") && !name.endsWith("_[k]"))
    .filter((name) => all.some(([frames]) => !frames.includes(name)));
  assert(middle !== undefined);
  const cases:
    readonly (readonly [string[], (frames: readonly string[]) => readonly string[] | undefined])[] =
      [
        [
          ["--focus", middle],
          (of) => of.includes(middle) ? of.slice(of.indexOf(middle)) : undefined,
        ],
        [["--drop", middle], (of) => of.includes(middle) ? undefined : of],
        [["--merge", middle], (of) => of.filter((name) => name !== middle)],
        [["--only", "user"], (of) => {
          const own = of.filter((name) => !name.endsWith("_[k]"));
          return own.length === 0 ? undefined : own;
        }],
        [["--collapse-recursion"], (of) => {
          const path: string[] = [];
          for (const name of of) {
            if (path.includes(name)) path.length = path.indexOf(name);
            path.push(name);
          }
          return path;
        }],
      ];
  for (const [flags, plain] of cases) {
    const { stacks: found, err } = await stacks(flags);
    const wanted = all.flatMap(([frames, weight]): Stack[] => {
      const made = plain(frames);
      return made === undefined ? [] : [[made, weight]];
    });
    assertEquals(sums(found), sums(wanted), flags.join(" "));
    const kept = wanted.reduce((sum, [, weight]) => sum + weight, 0);
    const said = /(\d+\.\d\d)% of the period is dropped \((.*)\)/.exec(err);
    assertEquals(
      [said?.[1], said?.[2]],
      kept === sum ? [undefined, undefined] : [(100 * (sum - kept) / sum).toFixed(2), flags[0]],
      flags.join(" "),
    );
  }
});

Deno.test("tree, flame: transforms have the flags of export folded; names that match nothing are reported", () =>
  inFolder(async (folder) => {
    const tree = await tool("tree", ["--json", "--root", "none", "--collapse", "/kernel/", FILE]);
    const nodes = tree.out.trim().split("\n").map((line) => JSON.parse(line));
    const kernel = nodes.filter(({ dso }) => dso === "[kernel.kallsyms]");
    assert(kernel.length > 0);
    // What calls each other there is one.
    assertEquals(kernel.filter(({ parent }) => kernel.some(({ id }) => id === parent)), []);
    const none = await tool("flame", ["-o", `${folder}/x.html`, "--focus", "nosuch", FILE]);
    assertEquals(none.code, 1);
    assertMatch(none.err, /--focus: no function is called nosuch\n/);
    assertMatch(none.err, /no samples are left \(--focus\)/);
    const wrong = await tool("export", ["pprof", "--drop", "main", "-o", `${folder}/x`, FILE]);
    assertEquals([wrong.code, /--drop is for folded/.test(wrong.err)], [2, true]);
    assertEquals((await tool("tree", ["--srcline", "--merge", "main", FILE])).code, 2);
    assertEquals([...Deno.readDirSync(folder)], []);
  }));

/** A node of `tree --json`. */
interface TreeNode {
  readonly id: number;
  readonly parent: number | null;
  readonly name: string;
  readonly dso: string;
  readonly period: number;
  readonly self_period: number;
}

/** Periods by function: in the function itself, and with its callees. */
function functionSums(nodes: readonly TreeNode[]): Map<string, [self: number, total: number]> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const keyOf = ({ name, dso }: TreeNode) => `${dso} ${name}`;
  const sums = new Map<string, [number, number]>();
  for (const node of nodes) {
    const key = keyOf(node);
    let up = byId.get(node.parent ?? -1);
    while (up !== undefined && keyOf(up) !== key) up = byId.get(up.parent ?? -1);
    const [self, total] = sums.get(key) ?? [0, 0];
    sums.set(key, [self + node.self_period, total + (up === undefined ? node.period : 0)]);
  }
  return sums;
}

Deno.test("funcs: under each transform, self and total of functions are the sums of tree", async () => {
  const cases: readonly (readonly string[])[] = [
    ["--focus", "fib"],
    ["--drop", "fib,touch"],
    ["--merge", "fib"],
    ["--merge", "fib", "--no-inline"],
    ["--collapse", "/kernel/"],
    ["--collapse-recursion"],
    ["--only", "user"],
    ["--only", "kernel", "--collapse-recursion"],
    ["--drop", "touch", "--merge", "spin", "--symbol", "spin,fib"],
  ];
  for (const flags of cases) {
    const common = ["--json", "--symfs", SYMFS, ...flags];
    const tree = await tool("tree", ["--root", "none", ...common, FILE]);
    const nodes: TreeNode[] = tree.out.trim().split("\n").map((line) => JSON.parse(line));
    const rows = async (...more: string[]) => {
      const { code, out, err } = await tool("funcs", [
        "--sort",
        "dso,sym",
        ...more,
        ...common,
        FILE,
      ]);
      assertEquals(code, 0, err);
      return out.trim().split("\n").map((line) => JSON.parse(line));
    };
    const wanted = functionSums(nodes);
    const self = new Map([...wanted].flatMap(([key, [own]]) => own === 0 ? [] : [[key, own]]));
    const key = ({ dso, sym }: { dso: string; sym: string }) => `${dso} ${sym}`;
    const found = new Map((await rows()).map((row) => [key(row), row.period]));
    assertEquals(found, self, flags.join(" "));
    const whole = nodes.reduce((sum, node) => sum + node.self_period, 0);
    const shares = new Map(
      [...wanted].map(([key, [, total]]) => [key, (100 * total / whole).toFixed(6)]),
    );
    const children = await rows("--children");
    assertEquals(
      new Map(children.map((row) => [key(row), Number(row.children).toFixed(6)])),
      shares,
      flags.join(" "),
    );
  }
});

Deno.test("funcs: a transform with rows of branches, accesses, lines or details is wrong usage", async () => {
  for (
    const [flags, typed] of [
      [["-b"], "--branches"],
      [["--sort", "symbol_from"], "--sort symbol_from"],
      [["--mem"], "--mem"],
      [["--sort", "sym,srcline"], "--sort srcline"],
      [["--sort", "weight"], "--sort weight"],
      [["--latency"], "--latency"],
      [["--parallelism", "1"], "--parallelism"],
    ] as const
  ) {
    const { code, err } = await tool("funcs", [...flags, "--merge", "main", FILE]);
    assertEquals(code, 2);
    assertMatch(err, new RegExp(`--merge and ${typed} exclude each other: transformed stacks`));
  }
});
