/**
 * `dump`, with one thread and with two, beside `perf report -D`, in turn on the same file, in one
 * run: `deno run -A bench/dump.ts FILE [RUNS]`.
 *
 * perf runs in its fast form, `--no-children -g none`, which prints the same text without building
 * call chain trees. Both write to a file that throws everything away. Each is told with wall time,
 * CPU time and peak memory of the whole process, start-up included; what counts is the ratio of a
 * pair of neighbouring runs, of which the median is given.
 */
interface Run {
  readonly wall: number;
  readonly cpu: number;
  readonly peak: number;
}

const [path, runs = "3"] = Deno.args;
if (path === undefined) {
  console.error("usage: deno run -A bench/dump.ts FILE [RUNS]");
  Deno.exit(2);
}
const root = new URL("../", import.meta.url).pathname;
const tool = `deno run --no-check --allow-read ${root}tools/dump.ts`;
const commands = {
  "one job": `${tool} --jobs 1 "$1"`,
  "two jobs": `${tool} --jobs 2 "$1"`,
  perf: 'perf report -D --no-children -g none --kallsyms=/dev/null -i "$1"',
};
type Name = keyof typeof commands;
const names = Object.keys(commands) as Name[];

/** Runs a command under GNU time, which tells what the process took. */
function run(command: string): Run {
  const { stderr } = new Deno.Command("bash", {
    args: [
      "-c",
      `exec /usr/bin/time -f '\\n%e %U %S %M' ${command} > /dev/null`,
      "bash",
      path as string,
    ],
    stderr: "piped",
  }).outputSync();
  const last = new TextDecoder().decode(stderr).trimEnd().split("\n").at(-1) ?? "";
  const [wall = 0, user = 0, system = 0, peak = 0] = last.split(" ").map(Number);
  return { wall, cpu: user + system, peak: peak / 1024 };
}

const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] as number;

const size = Deno.statSync(path).size / 1e6;
console.log(`${path}: ${size.toFixed(1)} MB, ${runs} runs of each in turn`);
const results: Record<Name, Run[]> = { "one job": [], "two jobs": [], perf: [] };
for (let i = 0; i < Number(runs); i++) {
  for (const name of names) results[name].push(run(commands[name]));
}
for (const name of names) {
  const of = results[name];
  const wall = median(of.map((run) => run.wall));
  console.log(
    `${name.padEnd(8)} wall ${wall.toFixed(2)} s (${(size / wall).toFixed(0)} MB/s)  cpu ${
      median(of.map((run) => run.cpu)).toFixed(2)
    } s  peak ${median(of.map((run) => run.peak)).toFixed(0)} MB`,
  );
}
const ratio = (name: Name, key: "wall" | "cpu"): string =>
  median(results[name].map((run, i) => (results.perf[i] as Run)[key] / run[key])).toFixed(1);
for (const name of ["one job", "two jobs"] as const) {
  console.log(`perf / ${name}: wall ${ratio(name, "wall")}, cpu ${ratio(name, "cpu")}`);
}
