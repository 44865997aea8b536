/**
 * `deno task fuzz --minutes N --seed S [--kind KIND]`: tries damaged inputs on every entry point of
 * the library and every tool, and fails if one of them ends in an unexpected error. Inputs are of
 * all kinds, or of one: the folder `kinds` has a file for each.
 *
 * An input is a fixture or a corpus file with a few changes, most of them in fields that the
 * declarations locate. A seed always makes the same inputs; without one a random seed is used and
 * printed. The test suite tries the same inputs in each run: `fuzz_test.ts`. A target has 20
 * seconds of processor time and 1.5 GB; its output is cut at 32 MB. Findings are reduced and stored
 * in `--output`, by default `fixtures/hostile`, so that a test tries them from then on; those from
 * a corpus file, which is not in the repository, in its directory `corpus`, which Git ignores;
 * inputs other than recordings in a directory of their kind. The slowest inputs for their size are
 * printed and stored in the directory `slowest`: superlinear work is among them.
 */
import { TextLineStream } from "@std/streams";
import { parseArgs } from "@std/cli";
import { randomSeed } from "../support/seed.ts";
import type { Kind } from "./kinds/kind.ts";
import { KINDS } from "./targets.ts";
import {
  type Current,
  type Origin,
  type RunnerLine,
  type RunnerOptions,
  type Slow,
  slowness,
} from "./runner.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const MOST_MILLISECONDS = 20_000;
const MOST_BYTES = 1.5 * 2 ** 30;
/** Milliseconds after which another process takes over. */
const MOST_TURN = 300_000;
/** Interval of the checks of the process. */
const TICK = 200;

/** Result of a run of the fuzzer. */
export interface FuzzResult {
  readonly inputs: number;
  readonly runs: number;
  /** Errors, with the file that shows each. */
  readonly findings: readonly { readonly signature: string; readonly file: string }[];
  /** The slowest runs for the size of their input, worst first. */
  readonly slowest: readonly Slow[];
}

/** Number of slow inputs that are stored. */
const MOST_SLOW = 5;

/** End of the run: a number of minutes, or of inputs. */
export type FuzzEnd = { readonly minutes: number } | { readonly inputs: number };

/** Options of the fuzzer. */
export interface FuzzOptions {
  readonly end: FuzzEnd;
  readonly seed: number;
  /**
   * Whether to use only files of this repository as seeds: then a seed makes the same inputs
   * everywhere.
   */
  readonly ownOnly?: boolean;
  /** The only kind of inputs; all of them by default. */
  readonly kind?: Kind | undefined;
  /** Folder for findings. */
  readonly output: string;
  /** Receives each finding. */
  readonly log?: (line: string) => void;
}

/** Runs until the end of the time, or of the inputs. */
export async function fuzz(
  { end, seed, ownOnly = false, kind, output, log }: FuzzOptions,
): Promise<FuzzResult> {
  const folder = await Deno.makeTempDir({ prefix: "perfdata-fuzz-" });
  const slowest: Slow[] = [];
  const findings = new Map<string, string>();
  const last = "inputs" in end ? end.inputs : Infinity;
  const over = performance.now() + ("minutes" in end ? end.minutes * 60_000 : Infinity);
  let inputs = 0;
  let runs = 0;
  try {
    for (let first = 0; first < last && performance.now() < over;) {
      // A new process every few minutes, so that its state does not affect later inputs.
      const milliseconds = Math.min(MOST_TURN, Math.ceil(over - performance.now()));
      const runner = new Runner({ seed, first, last, milliseconds, ownOnly, kind, folder });
      let tried = 0;
      for await (const line of runner.lines()) {
        if (line.kind === "done") {
          tried = line.inputs;
          runs += line.runs;
        } else if (line.kind === "slow") keepSlow(line);
        else keep(line.signature, line.file, line.origin);
      }
      if (runner.ended) {
        inputs += tried;
        first += tried;
        continue;
      }
      // It was stopped or crashed: its current input is a finding, and the next process continues.
      const { input, run, target, origin } = runner.current();
      keep(`${target}: ${runner.why}`, `${folder}/input.data`, origin);
      inputs += input - first + 1;
      runs += run;
      first = input + 1;
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  return {
    inputs,
    runs,
    findings: [...findings].map(([signature, file]) => ({ signature, file })),
    slowest,
  };

  function keepSlow(slow: Slow): void {
    const to = `${output}/slowest`;
    const file = `${to}/${slow.file.slice(slow.file.lastIndexOf("/") + 1)}`;
    Deno.mkdirSync(to, { recursive: true });
    Deno.copyFileSync(slow.file, file);
    slowest.push({ ...slow, file });
    slowest.sort((a, b) => slowness(b) - slowness(a));
    for (const { file } of slowest.splice(MOST_SLOW)) Deno.removeSync(file);
  }

  function keep(signature: string, file: string, { kind, name, ours, turn }: Origin): void {
    if (findings.has(signature)) return;
    const bytes = Deno.readFileSync(file);
    let hash = 0;
    for (const byte of bytes) hash = (Math.imul(hash, 31) + byte) >>> 0;
    const target = signature.replace(/:.*/s, "").replaceAll(" ", "-");
    // For inputs other than recordings, the test needs the seed's name and the turn.
    const [to, called] = kind === "recording"
      ? [ours ? output : `${output}/corpus`, `${target}-${hash.toString(16).padStart(8, "0")}.data`]
      : [`${output}/${kind}`, `${name}.${turn}`];
    const kept = `${to}/${called}`;
    Deno.mkdirSync(to, { recursive: true });
    Deno.writeFileSync(kept, bytes);
    findings.set(signature, kept);
    log?.(`${signature}\n  ${kept}`);
  }
}

/** If nothing tells why a process ended. */
const SILENT = "ended without a word";

/** A process that tries inputs, and is stopped if it takes too much time or memory. */
class Runner {
  /** Whether it finished. */
  ended = false;
  /** Why it did not finish. */
  why = SILENT;
  readonly #folder: string;
  readonly #child: Deno.ChildProcess;
  #last = "";
  #since = 0;
  /** The end of its standard error. */
  #said = "";

  constructor(options: RunnerOptions) {
    this.#folder = options.folder;
    this.#child = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--no-prompt",
        "--no-check",
        // Neither /proc nor other programs, so that results depend only on inputs. Only Deno runs,
        // as sql's engine.
        `--allow-run=${Deno.execPath()}`,
        "--allow-read",
        "--allow-write",
        "--allow-env",
        "--allow-sys",
        "--v8-flags=--max-old-space-size=1024",
        "--config",
        `${ROOT}deno.json`,
        `${ROOT}tests/fuzz/runner.ts`,
        ...[options.seed, options.first, options.last, options.milliseconds].map(String),
        ...[options.ownOnly ? "ours" : "all", options.folder, options.kind ?? ""],
      ],
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      env: { NO_COLOR: "1" },
    }).spawn();
  }

  /** Its current or last input. */
  current(): Current {
    try {
      return JSON.parse(Deno.readTextFileSync(`${this.#folder}/current.json`));
    } catch {
      const origin: Origin = { kind: "recording", name: "", ours: true, turn: 0 };
      return { input: 0, run: 0, target: "start", origin };
    }
  }

  /** Its output. */
  async *lines(): AsyncGenerator<RunnerLine, void, void> {
    const timer = setInterval(() => this.#look(), TICK);
    const listening = this.#listen();
    try {
      const text = this.#child.stdout.pipeThrough(new TextDecoderStream());
      for await (const line of text.pipeThrough(new TextLineStream())) {
        // It also reports a missing corpus or program.
        if (!line.startsWith("{")) {
          console.log(line);
          continue;
        }
        // `current` counts an incomplete line.
        if (!line.endsWith("}")) continue;
        const found: RunnerLine = JSON.parse(line);
        if (found.kind === "done") this.ended = true;
        yield found;
      }
      const { code, signal } = await this.#child.status;
      await listening;
      if (!this.ended && this.why === SILENT) {
        const error = /^error: .*/m.exec(this.#said)?.[0] ?? "";
        this.why = `ended by ${signal ?? `code ${code}`} ${error}`;
      }
    } finally {
      clearInterval(timer);
    }
  }

  async #listen(): Promise<void> {
    for await (const part of this.#child.stderr.pipeThrough(new TextDecoderStream())) {
      this.#said = (this.#said + part).slice(-4096);
    }
  }

  /** Milliseconds that it has run, of processor time if the system reports it. */
  #time(): number {
    try {
      const stat = Deno.readTextFileSync(`/proc/${this.#child.pid}/stat`);
      const [user, system] = stat.slice(stat.lastIndexOf(")")).split(" ").slice(12, 14);
      // In hundredths of a second, since USER_HZ is 100 everywhere.
      return (Number(user) + Number(system)) * 10;
    } catch {
      return performance.now();
    }
  }

  #look(): void {
    const { input, run, target } = this.current();
    const now = `${input} ${run} ${target}`;
    if (now !== this.#last) {
      this.#last = now;
      this.#since = this.#time();
    } else if (this.#time() - this.#since > MOST_MILLISECONDS) {
      this.#stop(`takes longer than ${MOST_MILLISECONDS / 1000} s`);
    }
    try {
      const statm = Deno.readTextFileSync(`/proc/${this.#child.pid}/statm`);
      const resident = Number(statm.split(" ")[1]) * 4096;
      if (resident > MOST_BYTES) this.#stop(`takes more than ${MOST_BYTES / 2 ** 30} GB`);
    } catch {
      // It has ended, or this is another system.
    }
  }

  #stop(why: string): void {
    if (this.ended) return;
    this.why = why;
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  }
}

if (import.meta.main) {
  const flags = parseArgs(Deno.args, { string: ["minutes", "seed", "output", "kind"] });
  const minutes = Number(flags.minutes ?? 1);
  const seed = Number(flags.seed ?? randomSeed());
  const kinds: readonly Kind[] = ["recording", ...KINDS.map(({ kind }) => kind)];
  const kind = kinds.find((known) => known === flags.kind);
  if (flags.kind !== undefined && kind === undefined) {
    throw new RangeError(`--kind ${flags.kind}: one of ${kinds.join(", ")}`);
  }
  const output: string = flags.output as string | undefined ?? `${ROOT}fixtures/hostile`;
  console.log(`fuzz: seed ${seed}, ${minutes} minutes`);
  const { inputs, runs, findings, slowest } = await fuzz({
    end: { minutes },
    seed,
    kind,
    output,
    log: console.log,
  });
  console.log(`fuzz: ${inputs} inputs, ${runs} runs, ${findings.length} findings`);
  for (const { target, milliseconds, bytes, file } of slowest) {
    console.log(`slow: ${target}: ${Math.round(milliseconds)} ms for ${bytes} bytes\n  ${file}`);
  }
  if (findings.length > 0) Deno.exit(1);
}
