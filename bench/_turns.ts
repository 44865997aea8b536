// Runs programs that do the same work in turns. A benchmark adds only its list of programs.

/** A program to be measured. */
export interface Contestant {
  /** The command; its output is discarded. */
  readonly command: readonly string[];
  /** File for standard input. */
  readonly input?: string;
  /**
   * Command to run before each measured run, so that program and files are in memory; by default the command
   * itself. For slow commands.
   */
  readonly warmUp?: readonly string[];
  /** Output file, which is removed before each run. */
  readonly made?: string;
  /** Whether the command may exit with 1, for a damaged file. */
  readonly mayComplain?: boolean;
}

/** Cost of a process, including its start. */
export interface Run {
  /** Wall time in seconds. */
  readonly wall: number;
  /** Processor time in seconds. */
  readonly cpu: number;
  /** Maximum resident memory in MB. */
  readonly megabytes: number;
}

/** Runs perf without work, to load it and its libraries into memory. */
export const PERF_WARM_UP: readonly string[] = ["perf", "--version"];

/**
 * Runs all commands `count` times in turns.
 *
 * Systems drop cached files that were not read for a while, and slow commands take
 * a while. Therefore, each run follows an unmeasured run and a read of `files`.
 *
 * @param files Files that all commands read.
 * @throws {Error} If a command fails.
 */
export function takeTurns<Name extends string>(
  contestants: Readonly<Record<Name, Contestant>>,
  count: number,
  files: readonly string[],
): Record<Name, Run[]> {
  const names = Object.keys(contestants) as Name[];
  const runs = Object.fromEntries(names.map((name) => [name, [] as Run[]])) as Record<Name, Run[]>;
  for (let i = 0; i < count; i++) {
    for (const name of names) {
      const { command, input, made, mayComplain, warmUp = command } = contestants[name];
      files.forEach(read);
      remove(made);
      measure(warmUp, input, mayComplain);
      files.forEach(read);
      remove(made);
      runs[name].push(measure(command, input, mayComplain));
    }
  }
  return runs;
}

/** Runs a command under GNU time and returns its cost. */
function measure(command: readonly string[], input = "/dev/null", mayComplain = false): Run {
  // perf may request more memory than exists; V8 reserves addresses without using them.
  const limit = command[0] === "perf" ? "ulimit -v 16000000; " : "";
  const script = `${limit}exec /usr/bin/time -f "\\n%U %S %M" "$@" < "$0" 2>&1 > /dev/null`;
  const start = performance.now();
  const { code, stdout } = new Deno.Command("bash", {
    args: ["-c", script, input, ...command],
    stderr: "inherit",
  }).outputSync();
  const wall = (performance.now() - start) / 1000;
  const said = new TextDecoder().decode(stdout);
  if (code !== 0 && !(mayComplain && code === 1)) throw new Error(`${command.join(" ")}: ${said}`);
  const [user = NaN, system = NaN, kilobytes = NaN] =
    said.trimEnd().split("\n").at(-1)?.split(" ").map(Number) ?? [];
  return { wall, cpu: user + system, megabytes: kilobytes / 1000 };
}

function remove(path: string | undefined): void {
  try {
    if (path !== undefined) Deno.removeSync(path, { recursive: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

function read(path: string): void {
  using file = Deno.openSync(path);
  const block = new Uint8Array(1 << 20);
  while (file.readSync(block) !== null);
}

/** Returns the median. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;
}

/** Returns the median ratio of the peer's time to ours, over adjacent runs. */
export function ratio(peer: readonly Run[], ours: readonly Run[], key: "wall" | "cpu"): number {
  return median(ours.map((run, i) => (peer[i]?.[key] ?? NaN) / run[key]));
}

/** Returns a line of a table: the cost of a command, and the ratio to the peer. */
export function line(name: string, runs: readonly Run[], peer: readonly Run[]): string {
  const wall = median(runs.map((run) => run.wall));
  const cpu = median(runs.map((run) => run.cpu));
  const peak = median(runs.map((run) => run.megabytes));
  return `  ${name.padEnd(36)} ${wall.toFixed(3).padStart(8)} s ${
    cpu.toFixed(3).padStart(8)
  } s CPU ${peak.toFixed(0).padStart(5)} MB ${ratio(peer, runs, "wall").toFixed(2).padStart(7)}× ${
    ratio(peer, runs, "cpu").toFixed(2).padStart(7)
  }× CPU`;
}
