// Compares `perfdata export`, `flame` and `script` with the usual tools for the same purpose, on
// recordings with call chains. Peak memory is that of the largest process of a pipeline.
//
//   deno run -A bench/export.ts FILE… [--runs 3]
//
// Folded stacks are compared with `perf report -g folded`, and with `perf script` and inferno's collapse-perf;
// `script` is compared with `perf script`. The other formats have no peer.

import { parseArgs } from "@std/cli";
import { type Contestant, line, PERF_WARM_UP, takeTurns } from "./_turns.ts";

const flags = parseArgs(Deno.args, { string: ["runs"] });
const files = flags._.map(String);
if (files.length === 0) {
  console.error("export: which recordings?");
  Deno.exit(2);
}
const config = new URL("../deno.json", import.meta.url).pathname;

for (const file of files) {
  const own = (tool: string, ...args: string[]): Contestant => ({
    command: [
      Deno.execPath(),
      "run",
      "-A",
      "--config",
      config,
      new URL(`../tools/${tool}.ts`, import.meta.url).pathname,
      ...args,
      file,
    ],
  });
  const perf = (...command: string[]): Contestant => ({ command, warmUp: PERF_WARM_UP });
  const contestants: Record<string, Contestant> = {
    "perf report -g folded": perf(
      ..."perf report --stdio --no-children -g folded -i".split(" "),
      file,
    ),
    "perf script | inferno-collapse-perf": perf(
      "sh",
      "-c",
      'perf script -i "$1" | inferno-collapse-perf',
      "sh",
      file,
    ),
    "export folded": own("export", "folded"),
    "export pprof": own("export", "pprof", "-o", "-"),
    "export firefox": own("export", "firefox", "-o", "-"),
    "flame": own("flame", "-o", "-"),
    "perf script": perf("perf", "script", "-i", file),
    "script": own("script"),
  };
  console.log(`${file}, ${(Deno.statSync(file).size / 1e6).toFixed(0)} MB`);
  const runs = takeTurns(contestants, Number(flags.runs ?? 3), [file]);
  for (const [name, own] of Object.entries(runs)) {
    const peer = name === "script" ? "perf script" : "perf report -g folded";
    console.log(line(name, own, runs[peer] ?? own));
  }
}
