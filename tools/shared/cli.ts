/** Shared by all commands: errors, flag values, standard output, progress. */
import {
  OutOfMemory,
  PerfDataError,
  type PerfDataErrorCode,
  visible,
} from "@perfdata/format/bytes";
import {
  type NewFile,
  newFile,
  NOT_A_FILE,
  OutputError,
  writeStdout,
} from "@perfdata/format/files";
import { wrapped } from "./wrapped.ts";

/** Wrong usage: prints one message, exit code 2. */
export class UsageError extends Error {
  /** The unknown word and the valid ones, for a suggestion. */
  readonly near: Near | undefined;

  /**
   * @param message The problem.
   * @param near The unknown word and the valid ones.
   */
  constructor(message: string, near?: Near) {
    super(message);
    this.near = near;
  }
}

/** An unknown word, and the valid words. */
export interface Near {
  /** The word that the user typed. */
  readonly word: string;
  /** The valid words. */
  readonly known: readonly string[];
}

/** The input or the machine prevents the job: prints one message, exit code 1. */
export class InputError extends Error {}

/** A recording without errors has no data for this command: prints one message, exit code 0. */
export class NothingToShow extends InputError {}

/** The values of `--color`. */
export const COLORS = ["auto", "always", "never"] as const;
let color: typeof COLORS[number] = "auto";

/** Sets when standard output gets colors. */
export function setColor(when: typeof COLORS[number]): void {
  color = when;
}

/** The value of a variable of the environment; `undefined` if it is unset or may not be read. */
export function environment(variable: string): string | undefined {
  // Query first: the command may run without this permission.
  const { state } = Deno.permissions.querySync({ name: "env", variable });
  return state === "granted" ? Deno.env.get(variable) : undefined;
}

/** Whether the terminal has escape sequences: `TERM` is not `dumb`. */
export function hasEscapes(): boolean {
  return environment("TERM") !== "dumb";
}

/** Whether standard output is a terminal that can show a browser. */
export function isOnTerminal(): boolean {
  return Deno.stdout.isTerminal() && hasEscapes();
}

/** Whether the terminal can show a browser and deliver keys. */
export function isInteractive(): boolean {
  return isOnTerminal() && Deno.stdin.isTerminal();
}

/** The styling of standard output. `NO_COLOR` leaves bold text on terminals. */
export function colorMode(): "colors" | "attributes" | "none" {
  const isStyled = color === "always" ||
    (color === "auto" && Deno.stdout.isTerminal() && hasEscapes());
  if (!isStyled) return "none";
  return color === "auto" && Deno.noColor ? "attributes" : "colors";
}

/**
 * Drops the write permission if each path is `undefined` or `-`, that is, if no file will be
 * written.
 */
export function giveUpWriting(...paths: readonly (string | undefined)[]): void {
  if (paths.every((path) => path === undefined || path === "-")) {
    Deno.permissions.revokeSync({ name: "write" });
  }
}

/** Joins words for a message: `bash, zsh or fish`. */
export function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

/**
 * Checks that a flag's value is one of several words.
 *
 * @throws {UsageError} If it is not.
 */
export function parseWord<W extends string>(flag: string, text: string, words: readonly W[]): W;
export function parseWord<W extends string>(
  flag: string,
  text: string | undefined,
  words: readonly W[],
): W | undefined;
export function parseWord<W extends string>(
  flag: string,
  text: string | undefined,
  words: readonly W[],
): W | undefined {
  if (text === undefined) return undefined;
  const found = words.find((word) => word === text);
  if (found === undefined) {
    throw new UsageError(
      `--${flag} is ${text}, expected ${listed(words)}`,
      { word: text, known: words },
    );
  }
  return found;
}

/**
 * The single file operand. The default is standard input if that is a file (`< FILE`); otherwise
 * `perf.data`, as in perf, or standard input if that file does not exist and standard input is a
 * pipe.
 *
 * @returns `-` for standard input.
 * @throws {UsageError} If there are several operands, or a flag consumed the operand as its value.
 */
export function oneFile(operands: readonly string[]): string {
  if (operands.length > 1) {
    throw new UsageError(`${operands.length} files are given, expected one`);
  }
  const [file = isRedirected() ? "-" : "perf.data"] = operands;
  if (file === "") throw new UsageError("FILE is empty, expected the name of a file");
  if (operands.length === 0 && file !== "-" && !exists(file)) checkFlagsTookNoFile();
  // Deno opens files in /dev only with all permissions.
  return file === "/dev/stdin" ? "-" : file;
}

/** Throws if a flag that needs a value consumed the file operand. */
function checkFlagsTookNoFile(): void {
  const at = Deno.args.findIndex((word, i) =>
    Deno.args[i - 1]?.startsWith("--") === true && !word.startsWith("-") && exists(word)
  );
  if (at < 0) return;
  const [flag, file] = Deno.args.slice(at - 1);
  throw new UsageError(`no FILE is given: ${file} was taken as the value of ${flag}`);
}

/**
 * Whether standard input is read if no file is named. A pipe is read only without a `perf.data`:
 * nobody may write to it, as in programs that leave an open pipe to their children.
 */
function isRedirected(): boolean {
  // Deno has no API for this. `node:fs` is not imported, because that would slow down the start of
  // each command.
  const stat = globalThis.process.getBuiltinModule("node:fs").fstatSync(0);
  return stat.isFile() || ((stat.isFIFO() || stat.isSocket()) && !exists("perf.data"));
}

/** Whether standard input is a pipe or a socket, through which a recording may arrive slowly. */
export function isStreamed(): boolean {
  const stat = globalThis.process.getBuiltinModule("node:fs").fstatSync(0);
  return stat.isFIFO() || stat.isSocket();
}

/** Whether a path exists; also true if access to it is denied. */
export function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch (error) {
    return error instanceof Deno.errors.PermissionDenied ||
      error instanceof Deno.errors.NotCapable;
  }
}

const encoder = new TextEncoder();

/**
 * Writes all of `bytes` to standard output.
 *
 * @param own Whether escape sequences in it are ours (colors) and stay.
 */
export function writeOut(bytes: Uint8Array | string, own = false): void {
  writeStdout(typeof bytes === "string" ? encoder.encode(bytes) : bytes, own);
}

/**
 * Writes lines of text to standard output. Escapes control characters, so that names can neither
 * break lines nor control the terminal.
 */
export function writeLines(lines: readonly string[]): void {
  if (lines.length > 0) writeOut(`${lines.map(visible).join("\n")}\n`);
}

/** Writes one line like {@link writeLines}. */
export function writeLine(line: string): void {
  writeLines([line]);
}

/** The messages that this run has printed. */
const said = new Set<string>();

/**
 * Functions that reset module state at the start of a run; several runs may follow in one process.
 */
const beginnings: (() => void)[] = [() => said.clear()];

/** Resets the state of the previous run. */
export function beginRun(): void {
  for (const begin of beginnings) begin();
}

/** Registers a function that resets a module's state at the start of a run. */
export function atStart(forget: () => void): void {
  beginnings.push(forget);
}

/**
 * Writes a message to standard error. Escapes control characters in names and wraps long messages.
 * Each message is written once a run.
 *
 * @param again Write the message even if it was written before, as an answer to another question.
 */
export function complain(message: string, again = false): void {
  if (said.has(message) && !again) return;
  said.add(message);
  const all = encoder.encode(`${wrapped(visible(message)).join("\n")}\n`);
  try {
    for (let n = 0; n < all.length;) n += Deno.stderr.writeSync(all.subarray(n));
  } catch {
    // Standard error is closed.
  }
}

/** Calls {@link complain} for each line, with the prefix. */
export function complainAll(prefix: string, lines: readonly string[]): void {
  for (const line of lines) complain(`${prefix}: ${line}`);
}

/**
 * Runs a library call on user input, and turns its `RangeError` into wrong usage.
 *
 * @param before The start of the message, such as the flag.
 */
export function asUsage<T>(action: () => T, before = ""): T {
  try {
    return action();
  } catch (error) {
    throw error instanceof RangeError ? new UsageError(before + error.message) : error;
  }
}

/** Same as {@link asUsage} for library calls on a recording: throws {@link InputError}. */
export async function asInput<T>(action: () => Promise<T>, before = ""): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw error instanceof RangeError
      ? new InputError(before + error.message, { cause: error })
      : error;
  }
}

/** The number of errors printed one by one; a damaged file has many of the same kind. */
const MOST_REPORTED = 20;

/**
 * Prints the errors that a tolerant reader reports, one a line, and then the number of further
 * ones.
 */
export class Complaints {
  /** The number of errors so far. */
  count = 0;
  /** Set during a second pass over the same data, to ignore errors. */
  muted = false;
  readonly #prefix: string;

  /** @param prefix The start of each line: the command and the file. */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** Receives an error. It is bound, so it can be passed as `diagnostics`. */
  readonly take = (error: PerfDataError): void => {
    if (this.muted) return;
    if (this.count++ < MOST_REPORTED) complain(`${this.#prefix}: ${error.located()}`);
  };

  /** Prints the number of errors that were not printed one by one. */
  finish(): void {
    if (this.count > MOST_REPORTED) {
      complain(`${this.#prefix}: and ${this.count - MOST_REPORTED} more of this kind`);
    }
  }
}

/** Whether an error means out of memory, of V8's heap or of the machine. */
export function isMemory(error: unknown): boolean {
  return error instanceof OutOfMemory ||
    (error instanceof RangeError &&
      /allocation failed|maximum size exceeded/i.test(error.message)) ||
    (error instanceof InputError && isMemory(error.cause));
}

/**
 * Runs `action`, and prefixes the message of its error with the name of its file.
 *
 * @param what The file, as the user named it.
 */
export function about<T>(what: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw explained(what, error);
  }
}

/** {@link about} for an asynchronous action. */
export async function aboutAsync<T>(what: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw explained(what, error);
  }
}

/** The next step after an error. */
const ADVICE: Readonly<Partial<Record<PerfDataErrorCode, string>>> = {
  "no-aux-data": '; record with "perf record -e intel_pt//u -- PROGRAM"',
  "not-intel-pt": "; extract-pt --all-aux extracts it",
};

function explained(what: string, error: unknown): unknown {
  if (error instanceof OutputError) return new InputError(error.message, { cause: error });
  if (isMemory(error)) {
    return new InputError(`${what}: ${(error as Error).message}`, { cause: error });
  }
  const reason = error instanceof PerfDataError
    ? error.located() + (ADVICE[error.code] ?? "")
    : error instanceof Deno.errors.NotFound && what.includes("\uFFFD")
    ? "its name is not UTF-8; give its content on standard input: - < FILE"
    : systemReason(error);
  return reason === undefined ? error : new InputError(`${what}: ${reason}`, { cause: error });
}

/**
 * Creates an output file that gets its name on commit: see `newFile`. Without a commit, an existing
 * file stays.
 *
 * @throws {InputError} If the file exists and `force` is not set.
 */
export function openOutput(path: string, force: boolean): NewFile {
  return about(path, () => newFile(path, { force }));
}

/**
 * Checks that an output can be written, before long work whose result would be lost. Drops the
 * write permission if the output is standard output.
 *
 * @param path The output; `-` is standard output.
 * @param options `force`: whether a file may be replaced. `temp`: the directory of temporary files.
 * @throws {InputError} If the file exists and `force` is not set, or no file can be created there.
 */
export function readyOutput(
  path: string | undefined,
  { force, temp }: { readonly force: boolean; readonly temp: string | undefined },
): void {
  giveUpWriting(path, temp);
  if (path !== undefined && path !== "-") openOutput(path, force).close();
}

export function writeOutput(path: string, bytes: Uint8Array | string, force: boolean): void {
  using file = openOutput(path, force);
  file.write(typeof bytes === "string" ? encoder.encode(bytes) : bytes);
  about(path, () => file.commit());
}

/** The operating system's reason for a failed file access, in a few words. */
function systemReason(error: unknown): string | undefined {
  if (error instanceof Deno.errors.NotFound) return "no such file or directory";
  if (error instanceof Deno.errors.PermissionDenied) return "permission denied";
  if (error instanceof Deno.errors.IsADirectory) return "is a directory";
  if (error instanceof Deno.errors.NotADirectory) return "is not a directory";
  if (error instanceof Deno.errors.AlreadyExists) {
    return error.message.endsWith(NOT_A_FILE)
      ? "is not a regular file, and stays as it is"
      : "exists; --force overwrites it";
  }
  if (error instanceof Deno.errors.NotCapable) {
    // Drop Deno's hint about its own flags, which are not those of the command.
    return `not allowed: ${error.message.replace(/^R/, "r").replace(/, run again .*/s, "")}`;
  }
  if (error instanceof Deno.errors.BrokenPipe || !(error instanceof Error)) return undefined;
  // From Deno, or from node:fs: `EACCES: permission denied, open '…'`.
  const match = /^(.*) \(os error \d+\)/.exec(error.message) ??
    /^E[A-Z\d]+: ([^,]+),/.exec(error.message);
  return match?.[1]?.toLowerCase();
}

/**
 * Formats progress: share, speed, time left. Speed and time are omitted if unknown.
 *
 * @param done Bytes done.
 * @param total Bytes in total, if known. `done` may exceed it if bytes are read more than once.
 * @param rate Bytes a second.
 */
export function progressText(done: number, total: number | undefined, rate: number): string {
  const speed = rate < 1e9 ? `${(rate / 1e6).toFixed(0)} MB/s` : `${(rate / 1e9).toFixed(1)} GB/s`;
  if (!total) return `${(done / 1e6).toFixed(0)} MB${rate > 0 ? `, ${speed}` : ""}`;
  const share = `${Math.min(100, Math.floor(100 * done / total))}%`;
  if (!(rate > 0) || done >= total) return share;
  const left = Math.ceil((total - done) / rate);
  return `${share}, ${speed}, ${left < 100 ? `${left} s` : `${Math.round(left / 60)} min`} left`;
}

/** A progress line on standard error, if that is a terminal. */
export class Progress {
  readonly #what: string;
  #total: number | undefined;
  readonly #shown = Deno.stderr.isTerminal() && hasEscapes();
  #last = 0;
  #done = 0;
  /**
   * Start time of the present pass, and `#before`, the bytes done before it: passes differ in
   * speed.
   */
  #start = performance.now();
  #before = 0;
  #visible = false;

  /**
   * @param what The label of the progress line.
   * @param total Bytes in total, if known.
   */
  constructor(what: string, total: number | undefined) {
    this.#what = what;
    this.#total = total;
  }

  /** Adds to the bytes done, and to the bytes in total if further ones turned up. */
  readonly add = (bytes: number, more: number = 0): void => {
    this.#done += bytes;
    if (this.#total !== undefined) this.#total += more;
    if (!this.#shown) return;
    const now = performance.now();
    if (more !== 0) [this.#start, this.#before] = [now, this.#done];
    if (!this.#isDue(now)) return;
    const rate = (this.#done - this.#before) / Math.max(1e-3, (now - this.#start) / 1000);
    const text = progressText(this.#done, this.#total, rate);
    this.#put(`\r\x1b[K${this.#what}: ${text}`);
  };

  /** Sets the bytes done, and the bytes in total if known. */
  readonly reach = (bytes: number, all: number | undefined): void => {
    this.#total ??= all;
    this.add(bytes - this.#done, (all ?? 0) - (this.#total ?? 0));
  };

  /** Shows a step of the work with its share. */
  readonly step = (what: string, done: number, all: number): void => {
    if (!this.#shown) return;
    if (!this.#isDue(performance.now(), done === 0)) return;
    const share = all === 0 ? 100 : Math.floor(100 * done / all);
    this.#put(`\r\x1b[K${this.#what}: ${what}: ${share}%`);
  };

  /** Shows the share of names that were looked up. */
  readonly names = (done: number, all: number): void => this.step("names", done, all);

  /** Limits updates: not in the first 500 ms of the process, then at most ten a second. */
  #isDue(now: number, isFirst = false): boolean {
    // `performance.now` counts from the start of the process.
    if (now < 500 || (now - this.#last < 100 && !isFirst)) return false;
    this.#last = now;
    this.#visible = true;
    return true;
  }

  /** Removes the progress line. */
  finish(): void {
    if (this.#visible) this.#put("\r\x1b[K");
  }

  #put(text: string): void {
    try {
      Deno.stderr.writeSync(encoder.encode(text));
    } catch {
      // The terminal is closed.
    }
  }
}

/**
 * {@link Progress} for a command that prints to standard output. It shows nothing if standard
 * output is a terminal, where it would run into the output.
 */
export function progressOf(
  what: string,
  total: number | undefined,
): Pick<Progress, "add" | "finish"> {
  if (Deno.stdout.isTerminal()) return { add: () => {}, finish: () => {} };
  const progress = new Progress(what, total);
  return { add: progress.add, finish: () => progress.finish() };
}

/** Quotes text for sh and zsh, in single quotes. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
