/** Shared by all commands: errors, values of flags, standard output, progress. */
import { OutOfMemory, PerfDataError, visible } from "@perfdata/format/bytes";
import {
  type NewFile,
  newFile,
  NOT_A_FILE,
  OutputError,
  writeStdout,
} from "@perfdata/format/files";
import { wrapped } from "./wrapped.ts";

/** Wrong usage: one message, exit code 2. */
export class UsageError extends Error {
  /** The word that is not known, and those that are: the nearest of them is suggested. */
  readonly near: Near | undefined;

  /**
   * @param message What is wrong.
   * @param near The word that is not known, and those that are.
   */
  constructor(message: string, near?: Near) {
    super(message);
    this.near = near;
  }
}

/** A word that is not known, and those that are. */
export interface Near {
  /** What the user wrote. */
  readonly word: string;
  /** What is known. */
  readonly known: readonly string[];
}

/** The input, or the machine, does not allow what was asked for: one message, exit code 1. */
export class InputError extends Error {}

/** A sound recording without what was asked for: one message, exit code 0. */
export class NothingToShow extends InputError {}

/** When standard output gets colors: words of `--color`. */
export const COLORS = ["auto", "always", "never"] as const;
let color: typeof COLORS[number] = "auto";

/** Says when standard output gets colors. */
export function setColor(when: typeof COLORS[number]): void {
  color = when;
}

/** How standard output shows what stands out; `NO_COLOR` leaves a terminal bold text. */
export function colorMode(): "colors" | "attributes" | "none" {
  if (color === "never" || (color === "auto" && !Deno.stdout.isTerminal())) return "none";
  return color === "auto" && Deno.noColor ? "attributes" : "colors";
}

/**
 * Gives up the permission to write, where there is nothing to be written: each path is absent, or `-` for
 * standard output.
 */
export function giveUpWriting(...paths: readonly (string | undefined)[]): void {
  if (paths.every((path) => path === undefined || path === "-")) {
    Deno.permissions.revokeSync({ name: "write" });
  }
}

/** Words as a message lists them: `bash, zsh or fish`. */
export function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

/**
 * Reads one of several words.
 *
 * @throws {UsageError} If it is none of them.
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
 * The one file that a command is about. Where none is named it is `perf.data`, as with perf; or a pipe to
 * standard input, if there is no such file.
 *
 * @returns `-` for standard input.
 * @throws {UsageError} If there are more, or a flag took it for its value.
 */
export function oneFile(operands: readonly string[]): string {
  if (operands.length > 1) {
    throw new UsageError(`${operands.length} files are given, expected one`);
  }
  const isThere = operands.length > 0 || exists("perf.data");
  const [file = !isThere && isPiped() ? "-" : "perf.data"] = operands;
  if (file === "") throw new UsageError("FILE is empty, expected the name of a file");
  if (!isThere && file !== "-") checkFlagsTookNoFile();
  // Deno lets nobody open what is in /dev without all permissions.
  return file === "/dev/stdin" ? "-" : file;
}

/** Says so where a flag that wants a value was given none, and took the file for it. */
function checkFlagsTookNoFile(): void {
  const at = Deno.args.findIndex((word, i) =>
    Deno.args[i - 1]?.startsWith("--") === true && !word.startsWith("-") && exists(word)
  );
  if (at < 0) return;
  const [flag, file] = Deno.args.slice(at - 1);
  throw new UsageError(`no FILE is given: ${file} was taken as the value of ${flag}`);
}

/** Whether standard input is a pipe or a file; a terminal or another device is not meant to be read. */
function isPiped(): boolean {
  // Deno itself does not say. Not imported, since that takes its time at the start of each command.
  const stat = globalThis.process.getBuiltinModule("node:fs").fstatSync(0);
  return stat.isFIFO() || stat.isFile() || stat.isSocket();
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch (error) {
    return !(error instanceof Deno.errors.NotFound);
  }
}

const encoder = new TextEncoder();

/**
 * Writes all of `bytes` to standard output.
 *
 * @param own Whether what acts on a terminal in it is ours: colors.
 */
export function writeOut(bytes: Uint8Array | string, own = false): void {
  writeStdout(typeof bytes === "string" ? encoder.encode(bytes) : bytes, own);
}

/** Writes lines of text to standard output; each stays one line, and acts on no terminal, whatever names are in it. */
export function writeLines(lines: readonly string[]): void {
  if (lines.length > 0) writeOut(`${lines.map(visible).join("\n")}\n`);
}

/** Writes one such line. */
export function writeLine(line: string): void {
  writeLines([line]);
}

/** Messages of this run. */
const said = new Set<string>();

/** Functions that are called when a run begins: another one may follow in the same process. */
const beginnings: (() => void)[] = [() => said.clear()];

/** Forgets what was kept during the run before. */
export function beginRun(): void {
  for (const begin of beginnings) begin();
}

/** Registers what forgets a run, for a module that keeps something during one. */
export function atStart(forget: () => void): void {
  beginnings.push(forget);
}

/**
 * Writes a message to standard error. Names in it are shown without control characters, and a long message is
 * wrapped. The same message is written once in a run.
 *
 * @param again Write the message even if it was written before: an answer to another question.
 */
export function complain(message: string, again = false): void {
  if (said.has(message) && !again) return;
  said.add(message);
  const all = encoder.encode(`${wrapped(visible(message)).join("\n")}\n`);
  try {
    for (let n = 0; n < all.length;) n += Deno.stderr.writeSync(all.subarray(n));
  } catch {
    // Nobody is listening.
  }
}

/** {@link complain} about each of several things. */
export function complainAll(prefix: string, lines: readonly string[]): void {
  for (const line of lines) complain(`${prefix}: ${line}`);
}

/**
 * Runs an action of a library on what the user wrote: what it has against that is wrong usage.
 *
 * @param before What the message begins with, as the flag.
 */
export function asUsage<T>(action: () => T, before = ""): T {
  try {
    return action();
  } catch (error) {
    throw error instanceof RangeError ? new UsageError(before + error.message) : error;
  }
}

/** The same for an action on what a recording has: it does not have what was asked for. */
export async function asInput<T>(action: () => Promise<T>, before = ""): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw error instanceof RangeError
      ? new InputError(before + error.message, { cause: error })
      : error;
  }
}

/** A damaged file has many faults of the same kind: so many are reported one by one. */
const MOST_REPORTED = 20;

/** Reports what a tolerant reader found wrong, a line each, and how many there were beyond that. */
export class Complaints {
  /** How many there were. */
  count = 0;
  /** Set while what was read before is read once more. */
  muted = false;
  readonly #prefix: string;

  /** @param prefix What each line begins with: the command and the file. */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** Takes one; made to be handed on as `diagnostics`. */
  readonly take = (error: PerfDataError): void => {
    if (this.muted) return;
    if (this.count++ < MOST_REPORTED) complain(`${this.#prefix}: ${error.located()}`);
  };

  /** Reports how many were not reported one by one. */
  finish(): void {
    if (this.count > MOST_REPORTED) {
      complain(`${this.#prefix}: and ${this.count - MOST_REPORTED} more of this kind`);
    }
  }
}

/** Whether memory came to its end: V8's, before it ends the process, or that of the machine. */
export function isMemory(error: unknown): boolean {
  return error instanceof OutOfMemory ||
    (error instanceof RangeError &&
      /allocation failed|maximum size exceeded/i.test(error.message)) ||
    (error instanceof InputError && isMemory(error.cause));
}

/**
 * Runs `action` and puts what it is about before the message of what it throws.
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

/** {@link about} for an action that takes time. */
export async function aboutAsync<T>(what: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw explained(what, error);
  }
}

function explained(what: string, error: unknown): unknown {
  if (error instanceof OutputError) return new InputError(error.message, { cause: error });
  if (isMemory(error)) {
    return new InputError(`${what}: ${(error as Error).message}`, { cause: error });
  }
  const reason = error instanceof PerfDataError
    ? error.located()
    : error instanceof Deno.errors.NotFound && what.includes("\uFFFD")
    ? "its name is not UTF-8; give its content on standard input: - < FILE"
    : systemReason(error);
  return reason === undefined ? error : new InputError(`${what}: ${reason}`, { cause: error });
}

/**
 * Creates an output that takes its name when it is whole: see `newFile`. Where it is not committed, what
 * was there before stays.
 *
 * @throws {InputError} If the name is taken and `force` is not set.
 */
export function openOutput(path: string, force: boolean): NewFile {
  return about(path, () => newFile(path, { force }));
}

/**
 * Looks at an output before work that takes long, which would be lost if the output could not be written then.
 * Gives up the permission to write if it is standard output.
 *
 * @param path The output; `-` is standard output.
 * @param options `force`: whether a file may be replaced. `temp`: the folder of temporary files.
 * @throws {InputError} If the name is taken and `force` is not set, or no file can be created there.
 */
export function readyOutput(
  path: string | undefined,
  { force, temp }: { readonly force: boolean; readonly temp: string | undefined },
): void {
  giveUpWriting(path, temp);
  if (path !== undefined && path !== "-") openOutput(path, force).close();
}

/** Writes a whole file under a name: all of it, or nothing. */
export function writeOutput(path: string, bytes: Uint8Array | string, force: boolean): void {
  using file = openOutput(path, force);
  file.write(typeof bytes === "string" ? encoder.encode(bytes) : bytes);
  about(path, () => file.commit());
}

/** What the operating system has against a file, in a few words. */
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
    // Without what Deno says of its flags, which are not those of the command.
    return `not allowed: ${error.message.replace(/^R/, "r").replace(/, run again .*/s, "")}`;
  }
  if (error instanceof Deno.errors.BrokenPipe || !(error instanceof Error)) return undefined;
  const match = /^(.*) \(os error \d+\)/.exec(error.message);
  return match?.[1]?.toLowerCase();
}

/**
 * How far work is: share, speed, time left. The latter two only if they are known.
 *
 * @param done Bytes done.
 * @param total Bytes that there are, where that is known; what is read more than once may be more.
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

/** Shows on standard error how far long work is; only if that is a terminal. */
export class Progress {
  readonly #what: string;
  #total: number | undefined;
  readonly #shown = Deno.stderr.isTerminal();
  #last = 0;
  #done = 0;
  /** When the present pass over the bytes began, and what was done by then: passes differ in speed. */
  #start = performance.now();
  #before = 0;
  #visible = false;

  /**
   * @param what What is going on.
   * @param total Bytes that there are to do, where that is known.
   */
  constructor(what: string, total: number | undefined) {
    this.#what = what;
    this.#total = total;
  }

  /** Notes how many more bytes are done, and how many more there are to do than was known. */
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

  /** Says what is going on now, and how much of it is done. */
  readonly step = (what: string, done: number, all: number): void => {
    if (!this.#shown) return;
    if (!this.#isDue(performance.now(), done === 0)) return;
    const share = all === 0 ? 100 : Math.floor(100 * done / all);
    this.#put(`\r\x1b[K${this.#what}: ${what}: ${share}%`);
  };

  /** The same for the names of a recording. */
  readonly names = (done: number, all: number): void => this.step("names", done, all);

  /** Nothing for a command that is over at once, and no more often than can be read. */
  #isDue(now: number, isFirst = false): boolean {
    // The clock begins with the process.
    if (now < 500 || (now - this.#last < 100 && !isFirst)) return false;
    this.#last = now;
    this.#visible = true;
    return true;
  }

  /** Removes what is shown. */
  finish(): void {
    if (this.#visible) this.#put("\r\x1b[K");
  }

  #put(text: string): void {
    try {
      Deno.stderr.writeSync(encoder.encode(text));
    } catch {
      // The terminal is gone.
    }
  }
}

/**
 * {@link Progress} of a command that prints to standard output: none if that is a terminal as
 * well, whose lines it would run into.
 */
export function progressOf(
  what: string,
  total: number | undefined,
): Pick<Progress, "add" | "finish"> {
  if (Deno.stdout.isTerminal()) return { add: () => {}, finish: () => {} };
  const progress = new Progress(what, total);
  return { add: progress.add, finish: () => progress.finish() };
}

/** A single-quoted string, for sh and zsh. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
