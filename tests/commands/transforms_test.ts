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

Deno.test("export folded: --focus, --drop, --merge, --only and --collapse-recursion change stacks, and say what is dropped", async () => {
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

Deno.test("tree, flame: flags of transforms are those of export folded; names that nothing has are said", () =>
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
