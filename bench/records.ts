/**
 * `records`, side by side with `perf script`, and `hex`:
 * `deno run -A bench/records.ts FILE... [--runs 5]`.
 *
 * The commands take turns, each as a process of its own with its output thrown away; the figures are
 * medians of the runs. Wall and CPU time in seconds, peak memory in MB, speed in MB of FILE.
 */

interface Run {
  wall: number;
  cpu: number;
  memory: number;
}

const records = new URL("../tools/records.ts", import.meta.url).pathname;
const hex = new URL("../tools/hex.ts", import.meta.url).pathname;
const deno = [Deno.execPath(), "run", "--no-prompt", "--allow-read"];

/** Runs a command under the shell's `time`; GNU time tells its peak memory. */
async function run(command: readonly string[]): Promise<Run> {
  const report = await Deno.makeTempFile();
  // perf may want more memory than there is; V8 reserves addresses without using them.
  const limit = command[0] === "perf" ? "ulimit -v 16000000; " : "";
  const script = limit + 'exec /usr/bin/time -f "%e %U %S %M" -o "$0" "$@" >/dev/null';
  const { success, stderr } = await new Deno.Command("bash", {
    args: ["-c", script, report, ...command],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) throw new Error(`${command.join(" ")}: ${new TextDecoder().decode(stderr)}`);
  const [wall = 0, user = 0, system = 0, memory = 0] = (await Deno.readTextFile(report))
    .trim().split(/\s+/).map(Number);
  await Deno.remove(report);
  return { wall, cpu: user + system, memory: memory / 1000 };
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1] as number;
}

const runsAt = Deno.args.indexOf("--runs");
const count = runsAt < 0 ? 5 : Number(Deno.args[runsAt + 1]);
const files = runsAt < 0 ? Deno.args : Deno.args.toSpliced(runsAt, 2);
if (files.length === 0 || !(count > 0)) {
  console.error("usage: deno run -A bench/records.ts FILE... [--runs 5]");
  Deno.exit(2);
}
for (const file of files) {
  const megabytes = Deno.statSync(file).size / 1e6;
  console.log(`${file}: ${megabytes.toFixed(0)} MB`);
  const commands: Record<string, string[]> = {
    "perf script": ["perf", "script", "-i", file],
    "records": [...deno, records, file],
    "records --order time": [...deno, records, "--order", "time", file],
    "records --type COMM": [...deno, records, "--type", "COMM", file],
  };
  // The dump is for looking: what it costs to get to the middle.
  commands["hex --at"] = [...deno, hex, "--at", String(Math.floor(megabytes * 5e5)), file];
  const runs = new Map<string, Run[]>(Object.keys(commands).map((name) => [name, []]));
  for (let i = 0; i < count; i++) {
    for (const [name, command] of Object.entries(commands)) {
      runs.get(name)?.push(await run(command));
    }
  }
  const peers = runs.get("perf script") ?? [];
  const peerWall = median(peers.map(({ wall }) => wall));
  const peerCpu = median(peers.map(({ cpu }) => cpu));
  for (const [name, all] of runs) {
    const wall = median(all.map((one) => one.wall));
    const cpu = median(all.map((one) => one.cpu));
    const memory = median(all.map((one) => one.memory));
    console.log(
      `  ${name.padEnd(22)} ${wall.toFixed(2).padStart(6)} s wall ${
        cpu.toFixed(2).padStart(6)
      } s CPU` +
        ` ${memory.toFixed(0).padStart(5)} MB ${(megabytes / wall).toFixed(0).padStart(6)} MB/s` +
        ` ${(peerWall / wall).toFixed(1).padStart(6)}× wall ${
          (peerCpu / cpu).toFixed(1).padStart(5)
        }× CPU`,
    );
  }
}
