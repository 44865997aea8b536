// Branch profiles for optimizers: the speedup of optimized programs, and the time of `export` next to perf2bolt.
//
//   deno run -A bench/branches.ts [RECORDING BINARY] [--runs 3]
//
// Steps through a program with scattered hot code, which gives a recording with Intel PT. llvm-bolt
// (bolt-19) lays the program out by the branches that `export bolt` counts; both versions run in turns. A program with
// data-dependent calls is stepped through as well, and recompiled (clang) with the profile of
// `export autofdo`. With a recording of `perf record -b` and its binary, `export bolt` runs in turns with perf2bolt,
// and `export autofdo` with llvm-profgen (llvm-19).

import { parseArgs } from "@std/cli";
import { encodeProgram, stepProgram } from "../fixtures/stepped/program.ts";
import { steppedFile } from "../fixtures/stepped/recording.ts";
import { type Contestant, line, takeTurns } from "./_turns.ts";

const flags = parseArgs(Deno.args, { string: ["runs"] });
const count = Number(flags.runs ?? 3);
const [recording, binary] = flags._.map(String);
const config = new URL("../deno.json", import.meta.url).pathname;
const llvm = "/usr/lib/llvm-19/bin";

function exported(format: string, program: string, file: string, output: string): string[] {
  const tool = new URL("../tools/export.ts", import.meta.url).pathname;
  const how = [format, "--binary", program, "-f", "-o", output, file];
  return [Deno.execPath(), "run", "-A", "--config", config, tool, ...how];
}

function run(command: string, ...args: readonly string[]): void {
  const { success, stderr } = new Deno.Command(command, { args: [...args] }).outputSync();
  if (!success) throw new Error(`${command}: ${new TextDecoder().decode(stderr)}`);
}

function runAll([command = "", ...args]: readonly string[]): void {
  run(command, ...args);
}

function compare(contestants: Record<string, Contestant>, files: readonly string[]): void {
  const [first = ""] = Object.keys(contestants);
  const runs = takeTurns(contestants, count, files);
  for (const [name, own] of Object.entries(runs)) console.log(line(name, own, runs[first] ?? own));
}

const folder = Deno.makeTempDirSync({ prefix: "perfdata-branches-" });
try {
  // Without branch guesses, the compiler keeps the source order. llvm-bolt needs relocations.
  const how =
    "-O1 -fno-reorder-blocks -fno-guess-branch-probability -fno-pie -no-pie -Wl,-q -static";
  const program = stepProgram(folder, { program: "layout", flags: how.split(" "), limit: 100_000 });
  const variant = { psbEvery: 3000, tsc: true, mtc: true };
  const data = `${folder}/perf.data`;
  Deno.writeFileSync(data, await steppedFile(program, encodeProgram(program, variant), variant));
  const [counted, profile, faster] = ["counted", "fdata", "faster"].map((name) =>
    `${folder}/${name}`
  ) as [
    string,
    string,
    string,
  ];
  runAll(exported("bolt", program.path, data, counted));
  run(`${llvm}/perf2bolt`, program.path, "-p", counted, "-pa", "-o", profile);
  const layout = ["-reorder-blocks=ext-tsp", "-reorder-functions=cdsort", "-split-functions"];
  run(`${llvm}/llvm-bolt`, program.path, "-data", profile, "-o", faster, ...layout);
  console.log("a program, and the same after llvm-bolt:");
  compare({
    "as compiled": { command: [program.path, "x"] },
    "laid out": { command: [faster, "x"] },
  }, []);
  const options = "-O2 -g -fdebug-info-for-profiling -fno-pie -static".split(" ");
  const called = stepProgram(folder, {
    ...{ program: "dispatch", compiler: "clang", flags: options, limit: 100_000 },
  });
  Deno.writeFileSync(data, await steppedFile(called, encodeProgram(called, variant), variant));
  runAll(exported("autofdo", called.path, data, profile));
  const source = new URL("../fixtures/stepped/programs/dispatch.c", import.meta.url).pathname;
  run("clang", ...options, `-fprofile-sample-use=${profile}`, "-o", faster, source);
  console.log("another, and the same compiled with its profile:");
  compare({
    "as compiled": { command: [called.path, "x"] },
    "with profile": { command: [faster, "x"] },
  }, []);
  if (recording !== undefined && binary !== undefined) {
    console.log(`${recording}, ${(Deno.statSync(recording).size / 1e6).toFixed(0)} MB`);
    const warmUp = [`${llvm}/perf2bolt`, "--version"];
    const theirs = [
      `${llvm}/perf2bolt`,
      binary,
      "-p",
      recording,
      "-o",
      profile,
      "-ignore-build-id",
    ];
    compare({
      "perf2bolt": { command: theirs, warmUp },
      "export bolt": { command: exported("bolt", binary, recording, counted) },
    }, [recording]);
    const judge = [`${llvm}/llvm-profgen`, `--binary=${binary}`, `--perfdata=${recording}`];
    compare({
      "llvm-profgen": {
        command: [...judge, "-o", profile],
        warmUp: [...judge.slice(0, 1), "--version"],
      },
      "export autofdo": { command: exported("autofdo", binary, recording, counted) },
    }, [recording]);
  }
} finally {
  Deno.removeSync(folder, { recursive: true });
}
