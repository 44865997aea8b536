// Compares `tools/funcs.ts`, with one thread and with two, with perf on the same recordings: whole
// processes, output to nowhere; the programs take turns, the median of the runs counts. Peak memory as
// GNU time tells it, of all processes of a pipeline the largest.
//
//   deno run -A bench/funcs.ts FILE… [--runs 5] [--children] [--stackcollapse]
//
// Without flags: functions, against `perf report --stdio -g none --no-children`. `--children` is for
// recordings with call chains: `funcs --children` against perf with and without its call graphs.
// `--stackcollapse` adds perf's own script that folds stacks, which takes minutes.
//
// Recordings of 50 MB, 200 MB and 1 GB, quickly made: page faults of a program that touches memory
// afresh are 100 bytes each, and 8 more for each caller.
//
//   perf record -m 4096 -e page-faults -c 1 -g -o 1gb.data stress-ng --vm 1 --vm-ops 4000   # or any
//   perf record -N -e page-faults -c 1 -o forks.data sh -c 'while true; do /bin/true; done' # fork-heavy

const flags = new Set(Deno.args.filter((arg) => arg.startsWith("--")));
const runsAt = Deno.args.indexOf("--runs");
const runs = runsAt < 0 ? 5 : Number(Deno.args[runsAt + 1]);
const files = Deno.args.filter((arg, i) =>
  !arg.startsWith("--") && (runsAt < 0 || i !== runsAt + 1)
);
if (files.length === 0) {
  console.error("funcs: which recordings?");
  Deno.exit(2);
}
const config = new URL("../deno.json", import.meta.url).pathname;
const tool = new URL("../tools/funcs.ts", import.meta.url).pathname;

type Command = (file: string) => string[];
const own = (...args: string[]): Command => (file) => [
  ...[Deno.execPath(), "run", "-A", "--config", config, tool, ...args, file],
];
const report = (...args: string[]): Command => (file) => [
  ...["perf", "report", "--stdio", ...args, "-i", file],
];
const collapse: Command = (file) => [
  ...["sh", "-c", 'perf script -i "$0" -s "$(perf --exec-path)/scripts/python/stackcollapse.py"'],
  file,
];
const contestants: Record<string, Command> = flags.has("--children")
  ? {
    "perf report --no-children": report("--no-children"),
    "perf report --no-children -g folded": report("--no-children", "-g", "folded,0,caller,count"),
    "perf report --children -g none": report("--children", "-g", "none"),
    "funcs --children, 1 job": own("--children", "--jobs", "1"),
    "funcs --children, 2 jobs": own("--children", "--jobs", "2"),
  }
  : {
    "perf report": report("-g", "none", "--no-children"),
    "funcs, 1 job": own("--jobs", "1"),
    "funcs, 2 jobs": own("--jobs", "2"),
  };
if (flags.has("--stackcollapse")) contestants["perf script stackcollapse.py"] = collapse;

/** Seconds of wall clock and of processors, and peak memory in MB. */
function measure(command: readonly string[]): [number, number, number] {
  const report = Deno.makeTempFileSync();
  try {
    const { success } = new Deno.Command("/usr/bin/time", {
      args: ["-o", report, "-f", "%e %U %S %M", ...command],
      stdout: "null",
      stderr: "null",
    }).outputSync();
    if (!success) throw new Error(`${command.join(" ")} failed`);
    const [wall = 0, user = 0, system = 0, kilobytes = 0] = Deno.readTextFileSync(report)
      .trim().split(" ").map(Number);
    return [wall, user + system, kilobytes / 1000];
  } finally {
    Deno.removeSync(report);
  }
}

for (const file of files) {
  const size = Deno.statSync(file).size;
  console.log(`${file}: ${(size / 1e6).toFixed(0)} MB, median of ${runs}`);
  const measured = new Map<string, [number, number, number][]>();
  for (let run = 0; run < runs; run++) {
    for (const [name, command] of Object.entries(contestants)) {
      const found = measured.get(name) ?? [];
      found.push(measure(command(file)));
      measured.set(name, found);
    }
  }
  const median = (found: readonly [number, number, number][], which: 0 | 1 | 2): number =>
    found.map((each) => each[which]).sort((a, b) => a - b)[runs >> 1] ?? NaN;
  const [first] = measured.values();
  for (const [name, found] of measured) {
    const wall = median(found, 0);
    const ratio = median(first ?? found, 0) / wall;
    console.log(
      `  ${name.padEnd(36)} ${wall.toFixed(2)} s  ${median(found, 1).toFixed(2)} s CPU  ${
        median(found, 2).toFixed(0)
      } MB  ${ratio.toFixed(1)}×`,
    );
  }
}
