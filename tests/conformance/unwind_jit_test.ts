/** Stacks through V8's code, unwound with the tables in its jitdump file, compared with perf's. */
import { assert } from "@std/assert";
import { perfText, perfVersion } from "../support/perf.ts";
import { inFolder, tool } from "../support/tool.ts";
import { runs } from "../support/unwound.ts";
import { skipped } from "../support/ignored.ts";
import { withoutOrigin } from "../support/v8_names.ts";

const PROGRAM = `
function spin(n) { let s = 0; for (let i = 0; i < n; i++) s = (s + i * i) ^ (s >> 3); return s; }
function deep(d) { return d === 0 ? spin(20000) : deep(d - 1) + 1; }
function outer(k) { return [3, 1, 2].sort((a, b) => { spin(2000); return a - b; }).length + deep(k % 20); }
let sum = 0;
for (let k = 0; k < 40000; k++) sum += outer(k);
console.log(sum);
`;

/** Functions of the frames, by sample. */
function functions(text: string): Map<string, string[]> {
  const samples = text.split("\n\n").filter((block) => block.trim() !== "").map((block) => {
    const [head = "", ...frames] = block.trim().split("\n");
    const names = frames.map((frame) =>
      // Names in a jitdump are unverified, and so marked.
      withoutOrigin(
        frame.trim().replace(/^[0-9a-f]+ /, "").replace(/ \([^()]*\)$/, "").replace(/\?$/, ""),
      )
    );
    return [head.trim(), names] as const;
  });
  return new Map(samples);
}

Deno.test({
  name: "unwinding: stacks through V8's code equal those after perf inject --jit",
  ignore: perfVersion() === undefined,
  fn: (t) =>
    inFolder(async (folder) => {
      const script = `${folder}/work.js`, data = `${folder}/perf.data`;
      Deno.writeTextFileSync(script, PROGRAM);
      const failed = runs(
        // node writes files into its working directory.
        ...["env", "-C", folder, "perf", "--buildid-dir", `${folder}/debug`, "record", "-q"],
        ...[
          "-k",
          "mono",
          "-e",
          "cpu-clock:u",
          "-F",
          "999",
          "--call-graph",
          "dwarf,16384",
          "-o",
          data,
        ],
        ...["node", "--perf-prof", "--perf-prof-unwinding-info", script],
      );
      if (failed !== undefined) {
        await skipped(t, `${failed}`);
        return;
      }
      const fields = ["--no-inline", "-F", "tid,time,ip,sym,dso"];
      const { out, err } = await tool("script", [...fields, "--verbose", data]);
      const ours = functions(out);
      // perf writes an ELF file for each function, with the tables in the jitdump.
      const injected = runs("perf", "inject", "--jit", "-i", data, "-o", `${folder}/jit.data`);
      if (injected !== undefined) {
        await skipped(t, `${injected}`);
        return;
      }
      const perf = await perfText(["script", ...fields], `${folder}/jit.data`);
      const theirs = functions(perf?.stdout ?? "");
      // The others are bytecode handlers, which the two files name differently: those of the start,
      // whose number does not depend on the run time.
      let equal = 0, through = 0;
      for (const [head, frames] of ours) {
        if (frames.join("\n") !== theirs.get(head)?.join("\n")) continue;
        equal++;
        if (frames.filter((frame) => frame.startsWith("JS:*deep")).length > 2) through++;
      }
      console.log(
        `${equal} of ${ours.size} stacks as perf, ${through} through optimized functions`,
      );
      assert(ours.size > 50, `${ours.size} samples`);
      assert(equal >= 0.85 * ours.size, `${equal} of ${ours.size} as perf`);
      assert(through > 20, `${through} through optimized functions`);
      assert(/(9\d|100)(\.\d+)?% of \d+ stacks reach the start/.test(err), err);
    }),
});

const PYTHON = `
import time
def leaf(n):
    s = 0
    for i in range(n):
        s += i * i
    return s
def middle(n):
    return leaf(n) + leaf(n // 2)
def outer():
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        middle(3000)
outer()
`;

for (
  const [version, option, through] of [
    ["3.12", "perf", "trampolines of a perf map"],
    ["3.13", "perf", "trampolines of a perf map"],
    ["3.13", "perf_jit", "tables of a jitdump file"],
  ] as const
) {
  Deno.test({
    name: `stacks of python ${version} -X ${option} reach the start, through ${through}`,
    ignore: perfVersion() === undefined,
    fn: (t) =>
      inFolder(async (folder) => {
        const data = `${folder}/perf.data`;
        Deno.writeTextFileSync(`${folder}/work.py`, PYTHON);
        const failed = runs(
          ...["perf", "--buildid-dir", `${folder}/debug`, "record", "-q", "-k", "mono"],
          ...["-e", "cpu-clock:u", "-F", "499", "--call-graph", "dwarf,16384", "-o", data],
          ...[`python${version}`, "-X", option, `${folder}/work.py`],
        );
        if (failed !== undefined) return await skipped(t, `${failed}`);
        const { out, err } = await tool("script", ["--no-inline", "-F", "ip,sym,dso", data]);
        const stacks = out.split("\n\n").filter((block) => block.includes("py::leaf"));
        const order = ["py::leaf:", "py::middle:", "py::outer:", "py::<module>:", " _start"];
        const whole = stacks.filter((stack) => {
          const at = order.map((name) => stack.indexOf(name));
          return at.every((place, i) => place > (at[i - 1] ?? -1));
        });
        assert(stacks.length > 20, `${stacks.length} stacks: ${err}`);
        assert(whole.length >= 0.95 * stacks.length, `${whole.length} of ${stacks.length}: ${err}`);
      }),
  });
}
