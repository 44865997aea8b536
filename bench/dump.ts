/**
 * `dump`, with one thread and with two, next to `perf report -D`:
 * `deno run -A bench/dump.ts FILE… [--runs 3] [--plain]`.
 *
 * perf runs in its fast form, `--no-children -g none`, which prints the same text without building
 * call chain trees. `--plain` adds the slow form.
 */
import { parseArgs } from "@std/cli";
import { type Contestant, line, PERF_WARM_UP, takeTurns } from "./_turns.ts";

const flags = parseArgs(Deno.args, { string: ["runs"], boolean: ["plain"] });
const files = flags._.map(String);
if (files.length === 0) {
  console.error("usage: deno run -A bench/dump.ts FILE… [--runs 3] [--plain]");
  Deno.exit(2);
}
const tool = new URL("../tools/dump.ts", import.meta.url).pathname;
const dump = [Deno.execPath(), "run", "--no-prompt", "--allow-read", tool];
for (const file of files) {
  const perf = ["perf", "report", "-D", "-i", file];
  const contestants: Record<string, Contestant> = {
    "perf report -D, fast form": {
      command: [...perf, "--no-children", "-g", "none", "--kallsyms=/dev/null"],
      warmUp: PERF_WARM_UP,
    },
    "dump, one job": { command: [...dump, "--jobs", "1", file] },
    "dump, two jobs": { command: [...dump, "--jobs", "2", file] },
  };
  if (flags.plain) contestants["perf report -D"] = { command: perf, warmUp: PERF_WARM_UP };
  const runs = takeTurns(contestants, Number(flags.runs ?? 3), [file]);
  console.log(`${file}: ${(Deno.statSync(file).size / 1e6).toFixed(0)} MB`);
  const { "perf report -D, fast form": fast = [], "perf report -D": plain = [] } = runs;
  for (const [name, each] of Object.entries(runs)) console.log(line(name, each, fast));
  if (!flags.plain) continue;
  for (const [name, each] of Object.entries(runs)) {
    console.log(line(`${name} / plain`, each, plain));
  }
}
