// Compares this version of the commands with an earlier one and with perf: whole processes in turns, on recordings
// of realistic sizes. Run it before landing a change of the engine, the profile or the names.
//
//   deno task bench FOLDER [--against REV] [--runs N] [--only NAME] [--wall]
//
// FOLDER has the recordings of `bench/recordings.sh FOLDER server forks faults compile-s`. REV is the last tag by
// default, or HEAD~20 in a clone without tags; `git worktree` checks it out to a temporary folder. A ratio
// above 1 means that this version is faster. It compares processor time; `--wall` compares wall time, for an
// idle machine. Missing recordings are skipped with a message. Exits with 1 if any command takes
// more than 1.15 times as long as before.

import { parseArgs } from "@std/cli";
import { type Contestant, median, ratio, type Run, takeTurns } from "./_turns.ts";

const SLOWER = 1 / 1.15;
const flags = parseArgs(Deno.args, {
  string: ["against", "runs", "only"],
  boolean: ["wall"],
});
const [folder] = flags._.map(String);
if (folder === undefined) {
  console.error("versions: which folder has the recordings?");
  Deno.exit(2);
}
const root = new URL("../", import.meta.url).pathname;
const key = flags.wall ? "wall" : "cpu";

/** A command of perfdata, and the corresponding command of perf. */
interface Job {
  readonly name: string;
  readonly args: readonly string[];
  readonly perf?: readonly string[];
}

const FUNCS: Job = {
  name: "funcs",
  args: ["funcs", "--no-inline"],
  perf: ["perf", "report", "--stdio", "--no-children", "-g", "none", "-i"],
};
const SCRIPT: Job = {
  name: "script",
  args: ["script", "--no-inline"],
  perf: ["perf", "script", "--no-inline", "-i"],
};
const FOLDED: Job = {
  name: "export folded",
  args: ["export", "folded", "--no-inline", "-o", "-"],
  perf: ["perf", "report", "--stdio", "--no-children", "--no-inline", "-g", "folded", "-i"],
};
const HELP: Job = { name: "--help", args: ["funcs", "--help"] };
const JOBS: Readonly<Record<string, readonly Job[]>> = {
  server: [HELP, FUNCS, SCRIPT, FOLDED],
  forks: [FUNCS, SCRIPT],
  faults: [FUNCS, FOLDED],
  "compile-s": [FUNCS, FOLDED],
};

function git(...args: string[]): string {
  const { success, stdout, stderr } = new Deno.Command("git", { args: ["-C", root, ...args] })
    .outputSync();
  if (!success) throw new Error(new TextDecoder().decode(stderr).trim());
  return new TextDecoder().decode(stdout).trim();
}

/** Returns the last tag, or an older commit in a clone without tags. */
function defaultRevision(): string {
  return git("tag", "--sort=-creatordate").split("\n")[0] || "HEAD~20";
}

function own(checkout: string, { args: [name = "", ...args] }: Job, file: string): Contestant {
  const tool = `${checkout}tools/${name}.ts`;
  return {
    command: [
      ...[Deno.execPath(), "run", "-A", "--no-check", "--config", `${checkout}deno.json`, tool],
      ...args,
      ...(args[0] === "--help" ? [] : [file]),
    ],
  };
}

/** Measures a job on a file, prints its line, and returns the ratio to the earlier version. */
function measure(job: Job, file: string, before: string): number {
  const contestants: Record<string, Contestant> = {
    now: own(root, job, file),
    before: own(before, job, file),
    ...(job.perf === undefined ? {} : { perf: { command: [...job.perf, file] } }),
  };
  const runs = takeTurns(
    contestants,
    Number(flags.runs ?? 5),
    job.args[1] === "--help" ? [] : [file],
  );
  const taken = (name: string): readonly Run[] => runs[name] ?? [];
  const seconds = (name: string) => median(taken(name).map((run) => run[key])).toFixed(2);
  const ratioBefore = ratio(taken("before"), taken("now"), key);
  const beside = job.perf === undefined
    ? ""
    : `, perf ${seconds("perf")} s ${ratio(taken("perf"), taken("now"), key).toFixed(2)}×`;
  console.log(
    `  ${job.name.padEnd(14)} ${seconds("now")} s, before ${seconds("before")} s ${
      ratioBefore.toFixed(2)
    }×${beside}`,
  );
  return ratioBefore;
}

const revision = String(flags.against ?? defaultRevision());
const scratch = Deno.makeTempDirSync({ prefix: "perfdata-bench-" });
let slower = 0;
try {
  git("worktree", "add", "--detach", "--quiet", `${scratch}/before`, revision);
  console.log(
    `${git("describe", "--always", "--dirty")} beside ${git("describe", "--always", revision)}, ${
      flags.wall ? "time by the clock" : "processor time"
    }`,
  );
  for (const [name, jobs] of Object.entries(JOBS)) {
    if (flags.only !== undefined && name !== flags.only) continue;
    const file = `${folder}/${name}.data`;
    let bytes: number;
    try {
      bytes = Deno.statSync(file).size;
    } catch {
      console.error(
        `skipped: ${file} is missing; make it with: bench/recordings.sh ${folder} ${name}`,
      );
      continue;
    }
    console.log(`${name}, ${(bytes / 1e6).toFixed(1)} MB`);
    for (const job of jobs) if (measure(job, file, `${scratch}/before/`) < SLOWER) slower++;
  }
} finally {
  git("worktree", "remove", "--force", `${scratch}/before`);
  Deno.removeSync(scratch, { recursive: true });
}
if (slower > 0) {
  console.log(`${slower} commands take more than 1.15 times as long as before`);
  Deno.exit(1);
}
