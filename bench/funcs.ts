// Compares `tools/funcs.ts` with perf on the same recordings. Peak memory is that of the largest process
// of a pipeline.
//
//   deno run -A bench/funcs.ts FILE… [--runs 5] [--children] [--stackcollapse]
//
// Without flags: functions, against `perf report --stdio -g none --no-children`. `--children` is for
// recordings with call chains: `funcs --children` against perf with and without its call graphs.
// `--stackcollapse` adds perf's own script that folds stacks, which takes minutes.
//
// `bench/recordings.sh` makes the recordings.

import { parseArgs } from "@std/cli";
import { type Contestant, line, PERF_WARM_UP, takeTurns } from "./_turns.ts";

const flags = parseArgs(Deno.args, { string: ["runs"], boolean: ["children", "stackcollapse"] });
const files = flags._.map(String);
if (files.length === 0) {
  console.error("funcs: which recordings?");
  Deno.exit(2);
}
const config = new URL("../deno.json", import.meta.url).pathname;
const tool = new URL("../tools/funcs.ts", import.meta.url).pathname;

for (const file of files) {
  const own = (...args: string[]): Contestant => ({
    command: [Deno.execPath(), "run", "-A", "--config", config, tool, ...args, file],
  });
  const perf = (...args: string[]): Contestant => ({
    command: ["perf", "report", "--stdio", ...args, "-i", file],
    // With call graphs, perf takes minutes.
    ...flags.children ? { warmUp: PERF_WARM_UP } : {},
  });
  const contestants: Record<string, Contestant> = flags.children
    ? {
      "perf report --no-children": perf("--no-children"),
      "perf report --no-children -g folded": perf("--no-children", "-g", "folded,0,caller,count"),
      "perf report --children -g none": perf("--children", "-g", "none"),
      "funcs --children": own("--no-inline", "--children"),
    }
    : {
      "perf report": perf("-g", "none", "--no-children"),
      "funcs": own("--no-inline"),
      "funcs --limit 20": own("--no-inline", "--limit", "20"),
    };
  if (flags.stackcollapse) {
    const script = '"$(perf --exec-path)/scripts/python/stackcollapse.py"';
    contestants["perf script stackcollapse.py"] = {
      command: ["sh", "-c", `perf script -i "$0" -s ${script}`, file],
      warmUp: PERF_WARM_UP,
    };
  }
  const runs = takeTurns(contestants, Number(flags.runs ?? 5), [file]);
  console.log(`${file}: ${(Deno.statSync(file).size / 1e6).toFixed(0)} MB`);
  const [peer = []] = Object.values(runs);
  for (const [name, each] of Object.entries(runs)) console.log(line(name, each, peer));
}
