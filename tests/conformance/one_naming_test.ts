/** A function has the same name in all commands: that of its symbol, as in perf. */
import { assert, assertEquals } from "@std/assert";
import { perfText, perfVersion } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";
import { runs } from "../support/unwound.ts";
import { skipped } from "../support/ignored.ts";

/** `price` has a variant for one argument, which its debug information names like the original. */
const PROGRAM = `
namespace shop {
volatile long sink;
__attribute__((noinline)) long price(long rounds, long by) {
  long sum = 0;
  for (long i = 0; i < rounds; i++) sum += (i * by) ^ sink;
  return sum;
}
template <typename T> __attribute__((noinline)) T twice(T value) {
  for (long i = 0; i < 9000; i++) value += sink;
  return value;
}
}
int main() {
  for (int i = 0; i < 6000; i++) {
    shop::sink += shop::price(9000, 7);
    shop::sink += shop::twice<long>(i);
  }
  return 0;
}
`;

/** Samples by name. */
type Names = Record<string, number>;

function counted(names: Iterable<readonly [name: string, samples: number]>): Names {
  const sums = new Map<string, number>();
  for (const [name, samples] of names) sums.set(name, (sums.get(name) ?? 0) + samples);
  return Object.fromEntries([...sums].filter(([name]) => name.includes("shop")).sort());
}

/** Names in lines of `script -F ip,sym`. */
const scripted = (text: string): Names =>
  counted([...text.matchAll(/^\s*[0-9a-f]+ (.+)$/gm)].map(([, name = ""]) => [name, 1]));

Deno.test({
  name: "script, funcs, tree, folded, --symbol: names of functions equal perf's",
  ignore: perfVersion() === undefined,
  fn: (t) =>
    inFolder(async (folder) => {
      Deno.writeTextFileSync(`${folder}/a.cpp`, PROGRAM);
      const data = `${folder}/perf.data`, program = `${folder}/a`;
      const failed = runs("g++", "-O3", "-g", "-o", program, `${folder}/a.cpp`) ??
        runs(
          ...["perf", "record", "-q", "-N", "-e", "cpu-clock:u", "-F", "2999"],
          ...["-o", data, program],
        );
      if (failed !== undefined) return await skipped(t, failed);
      const rowsOf = (out: string) => out.trimEnd().split("\n").map((line) => JSON.parse(line));
      const ours = async (command: string, ...args: string[]): Promise<string> => {
        const { code, out, err } = await tool(command, [...args, data]);
        assertEquals(code, 0, `${command}: ${err}`);
        return out;
      };
      let compared = 0;
      for (const flags of [[], ["--no-demangle"]]) {
        const perf = await perfText(["script", "-F", "ip,sym", ...flags], data);
        const names = scripted(perf?.stdout ?? "");
        const variant = Object.keys(names).find((name) => name.includes("price")) ?? "";
        if (flags.length > 0) assert(/\.constprop\.0$/.test(variant), `no variant: ${variant}`);
        assertEquals(scripted(await ours("script", "-F", "ip,sym", ...flags)), names);
        const funcs = rowsOf(await ours("funcs", "--json", "--sort", "sym", ...flags));
        assertEquals(counted(funcs.map(({ sym, samples }) => [sym, samples])), names);
        const tree = rowsOf(await ours("tree", "--json", ...flags));
        assertEquals(counted(tree.map((row) => [row.name, row.self_samples])), names);
        const folded = await ours("export", "folded", "--samples", ...flags, "-o", "-");
        const leaves = [...folded.matchAll(/([^;]*) (\d+)$/gm)];
        assertEquals(counted(leaves.map(([, name = "", n]) => [name, Number(n)])), names);
        for (const [name, samples] of Object.entries(names)) {
          const sliced = await ours("funcs", "--json", "--sort", "sym", ...flags, "--symbol", name);
          assertEquals(rowsOf(sliced)[0].samples, samples, name);
          compared++;
        }
      }
      console.log(`${compared} names compared in five outputs`);
      assert(compared >= 4);
    }),
});
