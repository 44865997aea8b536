/**
 * The installed `perf` as an oracle. It always runs with limits of memory and time, since some
 * files make it use all of both.
 */

/** Result of a run of perf. */
export interface PerfOutput {
  /** Exit code. */
  readonly code: number;
  /** Standard output, one character per byte. */
  readonly stdout: string;
  /** Standard error. */
  readonly stderr: string;
}

let version: string | undefined | null = null;

/** `perf --version`, or `undefined` (and one line of output) if perf is not installed. */
export function perfVersion(): string | undefined {
  if (version !== null) return version;
  try {
    const { stdout } = new Deno.Command("perf", { args: ["--version"] }).outputSync();
    version = new TextDecoder().decode(stdout).trim();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    console.log("ignored: perf is not installed (Debian: apt-get install linux-perf)");
    version = undefined;
  }
  return version;
}

/** The reason for which nothing can be compared with perf; `undefined` if perf is installed. */
export function noPerf(): string | undefined {
  return perfVersion() === undefined ? "perf is not installed" : undefined;
}

/** Environment variable with the path of a newer perf, for features that perf 6.1 does not know. */
const NEWER = "PERFDATA_NEWER_PERF";

/**
 * The reason for which nothing can be compared with perf 6.12 or later; `undefined` if such a perf
 * is installed.
 */
export function noNewerPerf(): string | undefined {
  const name = Deno.env.get(NEWER);
  if (name === undefined) {
    return `${NEWER} names no perf of 6.12 or later (Debian 12: linux-perf of bookworm-backports)`;
  }
  const { stdout } = new Deno.Command(name, { args: ["--version"] }).outputSync();
  const [, major = "0", minor = "0"] = /version (\d+)\.(\d+)/.exec(latin1(stdout)) ?? [];
  const isNew = Number(major) > 6 || (major === "6" && Number(minor) >= 12);
  return isNew ? undefined : `${NEWER} is older than 6.12`;
}

let canRecord: boolean | undefined;

/** Whether perf can record the processor's clock here; if not, one line gives the reason. */
export function perfRecords(): boolean {
  if (canRecord !== undefined) return canRecord;
  if (perfVersion() === undefined) return canRecord = false;
  const folder = Deno.makeTempDirSync({ prefix: "perfdata-record-" });
  try {
    const { success, stderr } = new Deno.Command("perf", {
      args: ["record", "-q", "-B", "-g", "-e", "cpu-clock", "-o", `${folder}/data`, "true"],
      stdin: "null",
    }).outputSync();
    const [reason = ""] = new TextDecoder().decode(stderr).trim().split("\n");
    if (!success) console.log(`ignored: perf cannot record here: ${reason}`);
    return canRecord = success;
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

/**
 * Runs perf on a file, in the file's directory and in a fixed environment.
 *
 * @returns `undefined` if perf is not installed.
 */
export async function perfText(
  args: readonly string[],
  path: string,
): Promise<PerfOutput | undefined> {
  if (perfVersion() === undefined) return undefined;
  return await runPerf("perf", args, path);
}

/** Runs the newer perf in the same way, see {@link noNewerPerf}. */
export async function newerPerfText(args: readonly string[], path: string): Promise<PerfOutput> {
  return await runPerf(Deno.env.get(NEWER) ?? "", args, path);
}

async function runPerf(
  program: string,
  args: readonly string[],
  path: string,
): Promise<PerfOutput> {
  const slash = path.lastIndexOf("/");
  const buildIds = Deno.makeTempDirSync({ prefix: "perfdata-buildids-" });
  try {
    const { code, stdout, stderr } = await new Deno.Command("sh", {
      args: [
        "-c",
        'ulimit -v 8000000; exec timeout 300 "$0" "$@"',
        program,
        ...args,
        "-i",
        path.slice(slash + 1),
      ],
      cwd: path.slice(0, slash + 1),
      env: { LC_ALL: "C", PERF_BUILDID_DIR: buildIds, PAGER: "cat" },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).output();
    return { code, stdout: stable(latin1(stdout)), stderr: latin1(stderr) };
  } finally {
    Deno.removeSync(buildIds, { recursive: true });
  }
}

/**
 * A context switch as `perf script` prints the tracepoint: both threads, and the state of the
 * thread that left.
 */
export interface ScriptSwitch {
  /** The thread that left the CPU. */
  readonly from: string;
  /** Its state: `R`, `R+`, `S`, `D` … */
  readonly state: string;
  /** The thread that got the CPU. */
  readonly to: string;
}

/** Parses the fields of sched_switch, printed with or without the plugins of libtraceevent. */
export function scriptSwitch(trace: string): ScriptSwitch {
  const [, from = "", state = "", to = ""] =
    /:(\d+) \[\d+\] (\S+) ==> .*:(\d+) \[\d+\]$/.exec(trace) ??
      /prev_pid=(\d+) .*prev_state=(\S+) ==> .*next_pid=(\d+) /.exec(trace) ?? [];
  return { from, state, to };
}

/** Lines without trailing spaces; perf's number of them depends on the lengths of earlier names. */
export function trimmedLines(text: string): string[] {
  return text.trimEnd().split("\n").map((line) => line.trimEnd());
}

/** perf copies its own vdso into a temporary file and prints that file's random name. */
function stable(text: string): string {
  return text.replace(/\/tmp\/perf-vdso\.so-\w{6}/g, "/tmp/perf-vdso.so-XXXXXX");
}

/** One character per byte, so that any output can be compared. */
function latin1(bytes: Uint8Array): string {
  return new TextDecoder("latin1").decode(bytes);
}
