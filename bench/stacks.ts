// Compares unwinding of copied stacks to folded stacks with perf, whose output a script
// folds, and with samply; and the call tree with perf's report. Recordings are from
// `perf record --call-graph dwarf`; for --tree, call chains work, too.
//
//   deno run -A bench/stacks.ts FILE… [--runs 5] [--inline] [--sizes] [--tree] [--patience 60]
//
// Without flags: without inlined functions, like `perf script --no-inline`.
// --inline    with inlined functions, perf's default. perf takes minutes, so it is stopped after --patience
//             seconds, and the ratio is a lower bound. Also compares our time with that without them.
// --sizes     our time on the first quarter, half, and all of the recording: the cost per MB.
// --tree      the call tree, compared with `perf report`.

import { parseArgs } from "@std/cli";
import { type Contestant, line, median, PERF_WARM_UP, type Run, takeTurns } from "./_turns.ts";

const flags = parseArgs(Deno.args, {
  string: ["runs", "patience"],
  boolean: ["inline", "sizes", "tree"],
});
const files = flags._.map(String);
if (files.length === 0) {
  console.error("stacks: which recordings?");
  Deno.exit(2);
}
const count = Number(flags.runs ?? (flags.inline ? 1 : 5));
const patience = Number(flags.patience ?? 60);
const config = new URL("../deno.json", import.meta.url).pathname;

function own(tool: string, file: string, ...args: string[]): Contestant {
  const path = new URL(`../tools/${tool}.ts`, import.meta.url).pathname;
  return { command: [Deno.execPath(), "run", "-A", "--config", config, path, ...args, file] };
}

const perf = (file: string, ...args: string[]): Contestant => ({
  command: ["perf", ...args, "-i", file],
  warmUp: PERF_WARM_UP,
});

/** Runs perf for a limited time, which then counts as its time. */
const boundedPerf = (file: string, ...args: string[]): Contestant => ({
  command: [
    ...["sh", "-c", 'timeout "$0" perf "$@"; true', String(patience)],
    ...[...args, "-i", file],
  ],
  warmUp: PERF_WARM_UP,
});

const folded = (file: string, ...args: string[]): Contestant =>
  own("export", file, "folded", ...args, "-o", "-");

function samply(file: string): Record<string, Contestant> {
  try {
    new Deno.Command("samply", { args: ["--version"], stdout: "null" }).outputSync();
  } catch {
    console.log("  no samply here (cargo install samply)");
    return {};
  }
  const profile = Deno.makeTempFileSync({ suffix: ".json" });
  const args = ["import", "--save-only", "--no-open", "-o", profile, file];
  return { "samply import --save-only": { command: ["samply", ...args] } };
}

function contestantsOf(file: string): Record<string, Contestant> {
  if (flags.tree) {
    return {
      "perf report --children": perf(file, "report", "--stdio", "--no-inline", "--children"),
      "perf report --no-children": perf(file, "report", "--stdio", "--no-inline", "--no-children"),
      "tree": own("tree", "--no-inline", file),
      "tree --callers": own("tree", "--no-inline", file, "--callers"),
    };
  }
  if (flags.inline) {
    return {
      [`perf script, at most ${patience} s`]: boundedPerf(file, "script"),
      "export folded --inline": folded(file, "--inline"),
      "export folded": folded(file),
    };
  }
  const alone = new URL("unwind_alone.ts", import.meta.url).pathname;
  return {
    "perf script --no-inline": perf(file, "script", "--no-inline"),
    ...samply(file),
    "unwinding alone": {
      command: [Deno.execPath(), "run", "-A", "--config", config, alone, file],
    },
    "export folded": folded(file),
  };
}

/** Writes the first part of a recording by time. */
function firstPart(file: string, percent: number): string {
  const part = Deno.makeTempFileSync({ suffix: ".data" });
  const { command: [program = "", ...args] } = own(
    "slice",
    file,
    ...["--time", `0%-${percent}%`, "--force", "-o", part],
  );
  const { success, stderr } = new Deno.Command(program, { args }).outputSync();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return part;
}

const megabytes = (file: string): number => Deno.statSync(file).size / 1e6;

for (const file of files) {
  console.log(`${file}: ${megabytes(file).toFixed(0)} MB`);
  if (flags.sizes) {
    let before: { size: number; cpu: number } | undefined;
    for (const percent of [25, 50, 100]) {
      const part = percent === 100 ? file : firstPart(file, percent);
      const size = megabytes(part);
      const { ours } = takeTurns({ ours: folded(part) }, count, [part]) as { ours: Run[] };
      const [cpu, peak] = [median(ours.map((run) => run.cpu)), ours[0]?.megabytes ?? NaN];
      const more = before === undefined
        ? ""
        : `, ${(1000 * (cpu - before.cpu) / (size - before.size)).toFixed(1)} ms a MB more`;
      console.log(
        `  ${percent.toString().padStart(3)} % ${size.toFixed(0).padStart(5)} MB: ` +
          `${cpu.toFixed(3)} s CPU, ${peak.toFixed(0)} MB${more}`,
      );
      before = { size, cpu };
      if (part !== file) Deno.removeSync(part);
    }
    continue;
  }
  const runs = takeTurns(contestantsOf(file), count, [file]);
  const [peer = []] = Object.values(runs);
  for (const [name, each] of Object.entries(runs)) console.log(line(name, each, peer));
}
