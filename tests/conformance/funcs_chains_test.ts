/**
 * `funcs -g`: rows and their stacks equal those of `perf report -g folded`, on a recording made
 * here.
 */
import { assert, assertEquals } from "@std/assert";
import { perfText, perfVersion } from "../support/perf.ts";
import { OWN_START, WITHOUT_LIBRARIES } from "../support/recorded_program.ts";
import { inFolder, tool } from "../support/tool.ts";
import { runs } from "../support/unwound.ts";
import { skipped } from "../support/ignored.ts";

const PROGRAM = `${OWN_START}
volatile long sink;
__attribute__((noinline)) long spin(long n) { long s = 0; for (long i = 0; i < n; i++) s += i ^ sink; return s; }
__attribute__((noinline)) long even(int d);
__attribute__((noinline)) long odd(int d) { return d == 0 ? spin(5000) : even(d - 1) + spin(50); }
__attribute__((noinline)) long even(int d) { return d == 0 ? spin(7000) : odd(d - 1) + 1; }
__attribute__((noinline)) long both(int d) { sink += spin(3000); return odd(d) + even(d); }
int main(void) { for (int i = 0; i < 4000; i++) sink += even(i % 5) + both(i % 3); return 0; }
`;

/** Code without a function is printed as an address, which differs between both tools. */
const named = (name: string): string => /^(0|0x[0-9a-f]+|[0-9a-f]{6,})$/.test(name) ? "?" : name;

/** Samples by row and path: `spin: main;even;spin`. */
type Chains = Map<string, number>;

function add(chains: Chains, row: string, path: readonly string[], samples: number): void {
  const key = `${named(row)}: ${path.map(named).join(";")}`;
  chains.set(key, (chains.get(key) ?? 0) + samples);
}

function perfChains(text: string): Chains {
  const chains: Chains = new Map();
  let row = "";
  for (const line of text.split("\n")) {
    const head = /^\s+\d+\.\d+%.*\[[.k]\] (.+?)\s*$/.exec(line);
    if (head !== null) row = head[1] as string;
    const chain = /^(\d+) (.+)$/.exec(line);
    if (chain !== null) add(chains, row, (chain[2] as string).split(";"), Number(chain[1]));
  }
  return chains;
}

function ourChains(text: string): Chains {
  const chains: Chains = new Map();
  for (const line of text.split("\n").slice(0, -1)) {
    const row = JSON.parse(line);
    for (const { samples, frames } of row.chains) {
      add(chains, row.sym, frames, samples);
    }
  }
  return chains;
}

const sorted = (chains: Chains): string[] => [...chains].map((pair) => pair.join(" ")).sort();

Deno.test({
  name: "funcs -g: caller and callee, with and without --children, equal perf's",
  ignore: perfVersion() === undefined,
  fn: (t) =>
    inFolder(async (folder) => {
      Deno.writeTextFileSync(`${folder}/a.c`, PROGRAM);
      const data = `${folder}/perf.data`, program = `${folder}/a`;
      let compared = 0;
      for (const mode of ["fp", "dwarf,16384"]) {
        const frames = mode === "fp" ? "-fno-omit-frame-pointer" : "-fomit-frame-pointer";
        const failed =
          runs("gcc", "-O1", frames, ...WITHOUT_LIBRARIES, "-o", program, `${folder}/a.c`) ??
            runs(
              ...["perf", "record", "-q", "-N", "-e", "cpu-clock:u", "-F", "2999"],
              ...["--call-graph", mode, "-o", data, program],
            );
        if (failed !== undefined) {
          await skipped(t, `${mode}: ${failed}`);
          continue;
        }
        for (const order of ["caller", "callee"]) {
          for (const children of [true, false]) {
            const perf = await perfText([
              ...["report", "--stdio", "--no-inline", "--percent-limit", "0"],
              ...[children ? "--children" : "--no-children"],
              ...["-g", `folded,0,${order},function,count`],
            ], data);
            const flags = [
              "--json",
              "--no-inline",
              "-g",
              order,
              ...(children ? ["--children"] : []),
            ];
            const { code, out } = await tool("funcs", [...flags, data]);
            assertEquals(code, 0);
            const ours = ourChains(out);
            assertEquals(sorted(ours), sorted(perfChains(perf?.stdout ?? "")), `${mode} ${flags}`);
            compared += ours.size;
          }
        }
      }
      console.log(`${compared} stacks of rows compared`);
      assert(compared === 0 || compared > 60);
    }),
});

Deno.test("funcs -g: wrong orders are usage errors", async () => {
  const path = new URL("../../fixtures/recorded/callchain.perf.data", import.meta.url).pathname;
  assertEquals((await tool("funcs", ["-g", "sideways", path])).code, 2);
  assertEquals((await tool("funcs", ["-g", "caller", "--csv", path])).code, 2);
  const { code, out } = await tool("funcs", ["-g", "callee", path]);
  assertEquals(code, 0);
  assert(/→|├/.test(out), out);
});

Deno.test("funcs -g: stacks have the same functions for any grouping of rows", async () => {
  const path = new URL("../../fixtures/recorded/callchain.perf.data", import.meta.url).pathname;
  const stacks = async (keys: string): Promise<string[]> => {
    const { out } = await tool("funcs", ["--json", "-g", "caller", "--sort", keys, path]);
    const samples = new Map<string, number>();
    for (const line of out.trimEnd().split("\n")) {
      for (const chain of JSON.parse(line).chains) {
        const stack = chain.frames.join(";");
        samples.set(stack, (samples.get(stack) ?? 0) + chain.samples);
      }
    }
    return [...samples].map((pair) => pair.join(" ")).sort();
  };
  const expected = await stacks("comm,dso,sym");
  assert(
    expected.length >= 5 && expected.some((stack) => stack.includes("main")),
    expected.join("\n"),
  );
  // With srcline and srcfile a caller's address is that of the call, which may be in the function
  // before.
  const others = ["comm", "dso", "pid", "cpu", "comm,tid"];
  for (const keys of others) assertEquals(await stacks(keys), expected, keys);
});
