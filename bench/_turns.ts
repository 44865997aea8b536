// Lets programs do the same work in turns. What a comparison needs next to this is its list of programs.

/** A program that takes part. */
export interface Contestant {
  /** Its words; the output is thrown away. */
  readonly command: readonly string[];
  /** What it reads from standard input. */
  readonly input?: string;
  /**
   * What is run before each run that counts, so that program and files are in memory; the command
   * itself by default. For those that take long.
   */
  readonly warmUp?: readonly string[];
  /** What it makes, which is removed before each run. */
  readonly made?: string;
  /** Whether it may exit with 1, which says that the file is damaged. */
  readonly mayComplain?: boolean;
}

/** What one process took, start-up included. */
export interface Run {
  /** Seconds of the clock. */
  readonly wall: number;
  /** Seconds of processors. */
  readonly cpu: number;
  /** The most memory that was resident at one time, in MB. */
  readonly megabytes: number;
}

/** perf is asked for nothing, so that it and what it links to are in memory. */
export const PERF_WARM_UP: readonly string[] = ["perf", "--version"];

/**
 * Runs all of them `count` times in turns.
 *
 * Machines take back what they hold of files that were not read for a while, and a slow contestant
 * takes a while: so each run comes right after one that does not count, and after a read of `files`.
 *
 * @param files What all of them read.
 * @throws {Error} Where one fails.
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

/** Runs a command under GNU time, which measures it. */
function measure(command: readonly string[], input = "/dev/null", mayComplain = false): Run {
  // perf may want more memory than there is; V8 reserves addresses without using them.
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

/** The value in the middle. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;
}

/** How many times as long as `ours` the `peer` takes: the median of neighbouring runs. */
export function ratio(peer: readonly Run[], ours: readonly Run[], key: "wall" | "cpu"): number {
  return median(ours.map((run, i) => (peer[i]?.[key] ?? NaN) / run[key]));
}

/** A line of a table: what a contestant took, and how the peer compares. */
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
