// Compares `tools/funcs.ts`, with one thread and with two, with `perf report --stdio -g none
// --no-children` on the same recordings. Whole processes, output to nowhere; the programs take turns,
// the median of the runs counts. Peak memory as GNU time tells it.
//
//   perf record -m 4096 -e page-faults -c 1 -g -o 750mb.data PROGRAM     makes a recording fast
//   deno run -A bench/funcs.ts 750mb.data … [--runs 5]

const runsAt = Deno.args.indexOf("--runs");
const runs = runsAt < 0 ? 5 : Number(Deno.args[runsAt + 1]);
const files = runsAt < 0 ? Deno.args : Deno.args.slice(0, runsAt);
if (files.length === 0) {
  console.error("funcs: which recordings?");
  Deno.exit(2);
}
const config = new URL("../deno.json", import.meta.url).pathname;
const tool = new URL("../tools/funcs.ts", import.meta.url).pathname;
const own = (jobs: number) => (file: string) => [
  ...[Deno.execPath(), "run", "-A", "--config", config, tool, "--jobs", String(jobs), file],
];
const contestants: Record<string, (file: string) => string[]> = {
  "perf report": (file) => [
    ...["perf", "report", "--stdio", "-g", "none", "--no-children", "-i", file],
  ],
  "funcs, 1 job": own(1),
  "funcs, 2 jobs": own(2),
};

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
  for (const [name, found] of measured) {
    const [wall, cpu, memory] = [0, 1, 2].map((i) =>
      found.map((each) => each[i] as number).sort((a, b) => a - b)[runs >> 1] as number
    );
    console.log(
      `  ${name.padEnd(14)} ${wall?.toFixed(2)} s  ${cpu?.toFixed(2)} s CPU  ${
        memory?.toFixed(0)
      } MB`,
    );
  }
}
