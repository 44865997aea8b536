/**
 * What all tools share: arguments, errors, exit codes, output in blocks.
 *
 * @module
 */
import { type Args, parseArgs, type ParseOptions } from "@std/cli";
import { PerfDataError } from "../packages/format/mod.ts";

/** Wrong usage: the tool prints the message and its help, and exits 2. */
export class UsageError extends Error {
  /** The class, as error messages show it. */
  override readonly name = "UsageError";
}

/** The arguments of a tool, as its flags declare them. */
export interface Flags {
  /** Flags without a value. */
  readonly boolean?: readonly string[];
  /** Flags with a value. */
  readonly string?: readonly string[];
  /** Short names. */
  readonly alias?: ParseOptions["alias"];
}

/** Parses arguments; a flag that is not declared is wrong usage. */
export function parseFlags(args: readonly string[], flags: Flags): Args {
  const parsed = parseArgs(args, {
    boolean: [...flags.boolean ?? [], "help", "debug"],
    string: [...flags.string ?? [], "_"],
    alias: { help: "h", ...flags.alias },
    unknown: (arg, key) => {
      if (key !== undefined && arg !== "-") throw new UsageError(`unknown option ${arg}`);
      return true;
    },
  });
  for (const name of flags.string ?? []) {
    const value = parsed[name];
    if (value === "") throw new UsageError(`--${name}: a value is expected`);
    if (Array.isArray(value)) throw new UsageError(`--${name}: given more than once`);
  }
  return parsed;
}

/** The one file argument of a tool; `perf.data` where none is given, as with perf. */
export function fileArgument(args: Args): string {
  if (args._.length > 1) throw new UsageError(`one file is expected, found ${args._.length}`);
  return String(args._[0] ?? "perf.data");
}

/** A non-negative number, decimal or with `0x`, as a flag's value. */
export function numberFlag(args: Args, name: string): number | undefined {
  const text = args[name];
  if (text === undefined) return undefined;
  const value = /^(0x[0-9a-f]+|\d+)$/i.test(String(text)) ? Number(text) : NaN;
  if (!Number.isSafeInteger(value)) {
    throw new UsageError(`--${name}: found ${text}, expected a number`);
  }
  return value;
}

/** One of several words, as a flag's value. */
export function choiceFlag<const T extends string>(
  args: Args,
  name: string,
  choices: readonly T[],
): T | undefined {
  const text = args[name];
  if (text === undefined) return undefined;
  const found = choices.find((choice) => choice === text);
  if (found === undefined) {
    throw new UsageError(`--${name}: found ${text}, expected ${choices.join(", ")}`);
  }
  return found;
}

/** Names of record types, such as `SAMPLE,MMAP2`, as the value of `--type`. */
export function typesFlag(
  args: Args,
  isName: (name: string) => boolean,
): ReadonlySet<string> | undefined {
  const value = args["type"];
  if (value === undefined) return undefined;
  const names = String(value).toUpperCase().split(",").map((name) =>
    name.replace(/^PERF_RECORD_/, "")
  );
  for (const name of names) {
    if (!isName(name)) throw new UsageError(`--type: ${name} is no type of record`);
  }
  return new Set(names);
}

/**
 * A path as the user means it. A task runs in the folder of `deno.json`; the user's own folder is
 * in PERFDATA_CWD then.
 */
export function userPath(path: string): string {
  const cwd = Deno.permissions.querySync({ name: "env", variable: "PERFDATA_CWD" }).state ===
      "granted"
    ? Deno.env.get("PERFDATA_CWD")
    : undefined;
  return path === "-" || path.startsWith("/") || cwd === undefined || cwd === ""
    ? path
    : `${cwd}/${path}`;
}

/** Writes all of `bytes` to standard output. */
export function writeAll(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
}

/** Prints one line to standard error. */
export function complain(line: string): void {
  const bytes = new TextEncoder().encode(line.replaceAll("\n", " ") + "\n");
  for (let at = 0; at < bytes.length;) at += Deno.stderr.writeSync(bytes.subarray(at));
}

/** Text of an error as the tools print it: `0x1a40: …`. */
export function errorText(error: unknown): string {
  if (error instanceof PerfDataError) return error.located();
  return error instanceof Error ? error.message : String(error);
}

/**
 * Runs a tool: 0 where all is well, also where the reader of a pipe went away; 1 where the input
 * or the system did not do; 2 for wrong usage.
 *
 * @param name The tool's name, which its error lines begin with.
 * @param help What `--help` prints.
 * @param main Does the work; a number it returns is the exit code.
 */
export async function runTool(
  name: string,
  help: string,
  main: (args: readonly string[]) => Promise<number | void>,
): Promise<never> {
  let code = 0;
  try {
    if (Deno.args.some((arg) => arg === "--help" || arg === "-h")) {
      writeAll(new TextEncoder().encode(help));
    } else {
      code = await main(Deno.args) ?? 0;
    }
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) {
      code = 0;
    } else {
      code = error instanceof UsageError ? 2 : 1;
      complain(`${name}: ${errorText(error)}`);
      if (error instanceof UsageError) complain(`Try ${name} --help.`);
      if (Deno.args.includes("--debug") && error instanceof Error) console.error(error.stack);
    }
  }
  Deno.exit(code);
}
