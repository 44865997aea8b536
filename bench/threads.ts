// Compares two threads with one: for each command that several threads share, the ratio of wall time and of
// processor time, whole processes in turns. Run it on an idle machine with two cores: on a busy one, only
// processor time means something, and half of it is the best case.
//
//   deno run -A bench/threads.ts RECORDING… [--runs N] [--only COMMAND]
//
// A ratio above 1 means that two threads are faster.

import { parseArgs } from "@std/cli";
import { median, ratio, takeTurns } from "./_turns.ts";

const flags = parseArgs(Deno.args, { string: ["runs", "only"] });
const files = flags._.map(String);
if (files.length === 0) {
  console.error("threads: which recordings?");
  Deno.exit(2);
}
const root = new URL("../", import.meta.url).pathname;

/** Commands with `--jobs`, by their names in the output. */
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  funcs: ["funcs", "--no-inline"],
  "funcs --children": ["funcs", "--no-inline", "--children"],
  folded: ["export", "folded", "-o", "-"],
  flame: ["flame", "--no-inline", "-o", "-"],
  script: ["script", "--no-inline"],
  dump: ["dump"],
  records: ["records"],
};

function own(jobs: number, [tool, ...args]: readonly string[], file: string) {
  const path = `${root}tools/${tool}.ts`;
  const deno = [Deno.execPath(), "run", "-A", "--no-check", "--config", `${root}deno.json`];
  return { command: [...deno, path, ...args, "--jobs", String(jobs), file] };
}

for (const file of files) {
  console.log(`${file}, ${(Deno.statSync(file).size / 1e6).toFixed(0)} MB`);
  for (const [name, command] of Object.entries(COMMANDS)) {
    if (flags.only !== undefined && name !== flags.only) continue;
    const { one, two } = takeTurns(
      { one: own(1, command, file), two: own(2, command, file) },
      Number(flags.runs ?? 3),
      [file],
    );
    const of = (key: "wall" | "cpu" | "megabytes") =>
      [one, two].map((runs) => median(runs.map((run) => run[key])));
    const [oneWall = NaN, twoWall = NaN] = of("wall");
    const [oneCpu = NaN, twoCpu = NaN] = of("cpu");
    console.log(
      `  ${name.padEnd(18)} ${oneWall.toFixed(2)} s, ${twoWall.toFixed(2)} s ${
        ratio(one, two, "wall").toFixed(2)
      }×; processors ${oneCpu.toFixed(2)} s, ${twoCpu.toFixed(2)} s; ${
        of("megabytes").map((megabytes) => megabytes.toFixed(0)).join(", ")
      } MB`,
    );
  }
}
