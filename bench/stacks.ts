// Compares unwinding of copied stacks into folded ones with perf, which prints the stacks that a script
// then folds; and the call tree with perf's report. Recordings are of `perf record --call-graph dwarf`.
//
//   deno run -A bench/stacks.ts FILE… [--runs 5] [--inline] [--tree]
//
// Without flags: without inlined functions, as `perf script --no-inline`. `--inline`: with them, perf's
// default, which takes minutes. `--tree`: the call tree, against `perf report`; for recordings with
// call chains as well.

import { parseArgs } from "@std/cli";
import { type Contestant, line, PERF_WARM_UP, takeTurns } from "./_turns.ts";

const flags = parseArgs(Deno.args, { string: ["runs"], boolean: ["inline", "tree"] });
const files = flags._.map(String);
if (files.length === 0) {
  console.error("stacks: which recordings?");
  Deno.exit(2);
}
const config = new URL("../deno.json", import.meta.url).pathname;

for (const file of files) {
  const own = (tool: string, ...args: string[]): Contestant => {
    const path = new URL(`../tools/${tool}.ts`, import.meta.url).pathname;
    return { command: [Deno.execPath(), "run", "-A", "--config", config, path, ...args, file] };
  };
  const perf = (...args: string[]): Contestant => ({
    command: ["perf", ...args, "-i", file],
    warmUp: PERF_WARM_UP,
  });
  const contestants: Record<string, Contestant> = flags.tree
    ? {
      "perf report --children": perf("report", "--stdio", "--no-inline", "--children"),
      "perf report --no-children": perf("report", "--stdio", "--no-inline", "--no-children"),
      "tree": own("tree"),
      "tree --callers": own("tree", "--callers"),
    }
    : flags.inline
    ? {
      "perf script": perf("script"),
      "export folded --inline": own("export", "folded", "--inline", "-o", "-"),
    }
    : {
      "perf script --no-inline": perf("script", "--no-inline"),
      "export folded": own("export", "folded", "-o", "-"),
    };
  const runs = takeTurns(contestants, Number(flags.runs ?? 5), [file]);
  console.log(`${file}: ${(Deno.statSync(file).size / 1e6).toFixed(0)} MB`);
  const [peer = []] = Object.values(runs);
  for (const [name, each] of Object.entries(runs)) console.log(line(name, each, peer));
}
