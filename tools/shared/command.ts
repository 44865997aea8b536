/**
 * A command: parses flags, runs the job, and turns errors into a message and an exit code. Exit
 * codes: 0 done, 1 unusable or damaged input, 2 wrong usage. A closed output pipe is 0.
 */
import { parseArgs } from "@std/cli";
import { PerfDataError, visible } from "@perfdata/format/bytes";
import { guardHeap, setTempFolder } from "@perfdata/format/files";
import {
  about,
  beginRun,
  COLORS,
  complain,
  environment,
  InputError,
  isMemory,
  type Near,
  NothingToShow,
  parseWord,
  setColor,
  UsageError,
  writeOut,
} from "./cli.ts";
import {
  brokenRule,
  type FlagName,
  type FlagRow,
  flagRows,
  type FlagRule,
  type Flags,
  type FlagsOf,
  type FlagTable,
  type Help,
  helpText,
} from "./flag_table.ts";

/** Flags that every command has. */
const EVERYWHERE = {
  "--debug": "print the stack trace of an error",
  "-h, --help": "print this help",
} as const;

/** The flag of commands that read one FILE, as commands of perf have it. */
const INPUT = { "-i, --input FILE": "the same as FILE, as in perf" } as const;

/** A command, run as `perfdata NAME` or `deno run NAME`. */
export interface Command {
  /** The name, which messages begin with. */
  readonly name: string;
  /** The `--help` text except flags. */
  readonly help: Help;
  readonly flags: FlagTable;
  /**
   * Flags that may be repeated, with the separator that joins their values. Lists separated by
   * commas may always be repeated.
   */
  readonly repeated?: Readonly<Partial<Record<string, string>>>;
  readonly verbs?: readonly string[];
  /** Parses the command line, does the job and returns the exit code. */
  run(args: readonly string[]): number | Promise<number>;
}

/** The module `tools/run/NAME.ts` of a command. */
interface Job<T extends FlagTable, W extends string> {
  /** Does the job and returns the exit code. */
  run(flags: FlagsOf<T>): number | Promise<number>;
  /**
   * Flags, and words of the rules, that values of flags imply, each with the flag and value as
   * typed: `--sort mem` implies `--mem`.
   */
  implied?(flags: FlagsOf<T>): Readonly<Partial<Record<FlagName<T> | W, string | undefined>>>;
}

/**
 * Creates a command that also answers `--help`, for which its job is not loaded.
 *
 * @param parts Name, help, flags, and the module of the job.
 */
export function command<const T extends FlagTable, W extends string = never>(parts: {
  readonly name: string;
  readonly help: Help;
  readonly flags: T;
  /** Rules for flags that exclude or need others. */
  readonly rules?: readonly FlagRule<FlagName<T> | W>[];
  readonly repeated?: Readonly<Partial<Record<FlagName<T>, string>>>;
  readonly verbs?: readonly string[];
  readonly job: () => Promise<Job<T, W>>;
}): Command {
  const { rules = [], job, ...described } = parts;
  const readsFile = parts.help.usage.some((usage) => usage.includes("[FILE]"));
  const flags = { ...parts.flags, ...readsFile ? INPUT : {}, ...EVERYWHERE };
  const made = { ...described, flags };
  return {
    ...made,
    async run(args) {
      const given = parseFlags(args, made);
      if (given.on.help) {
        writeOut(helpText(made));
        return 0;
      }
      const { run, implied } = await job();
      const texts = implied?.(given as FlagsOf<T>) ?? {};
      const names = givenNames(given);
      for (const [name, text] of Object.entries(texts)) if (text !== undefined) names.add(name);
      const broken = brokenRule(rules, names, texts);
      if (broken !== undefined) throw new UsageError(broken);
      const { input, ...value } = given.value;
      const operands = input === undefined ? given.operands : [...given.operands, input];
      return await run({ ...given, value, operands } as FlagsOf<T>);
    },
  };
}

function givenNames({ on, value }: Flags<string, string>): Set<string> {
  return new Set([
    ...Object.keys(on).filter((flag) => on[flag]),
    ...Object.keys(value).filter((flag) => value[flag] !== undefined),
  ]);
}

/** The separator for a repeated flag's values; `undefined` if the flag may not be repeated. */
function between({ flag, value = "" }: FlagRow, repeated: Command["repeated"]): string | undefined {
  return repeated?.[flag] ?? (/^(NAMES|LIST|KEYS)$/.test(value) ? "," : undefined);
}

/**
 * Parses the command line. `--temp` and `--color WHEN` are applied here; commands need not handle
 * them.
 *
 * @throws {UsageError} If a flag is unknown, has an empty value, or is repeated but may not be.
 * @throws {InputError} If the folder of `--temp` is unusable.
 */
export function parseFlags(
  args: readonly string[],
  { flags, repeated }: Pick<Command, "flags" | "repeated">,
): Flags<string, string> {
  const rows = flagRows(flags);
  const withValue = rows.filter((row) => row.value !== undefined);
  const boolean = rows.filter((row) => row.value === undefined).map(({ flag }) => flag);
  const string = withValue.map(({ flag }) => flag);
  const alias = Object.fromEntries(
    rows.flatMap(({ short, flag }) => short === undefined ? [] : [[short, flag]]),
  );
  const parsed = parseArgs(separated(args, string, alias), {
    boolean,
    // `_` as a string keeps operands that look like numbers as they are.
    string: [...string, "_"],
    collect: string,
    alias,
    unknown(arg, key) {
      if (key === undefined) return;
      const word = arg.replace(/=.*/s, "");
      throw new UsageError(`unknown flag ${word}`, {
        word,
        known: rows.map(({ flag }) => `--${flag}`),
      });
    },
  });
  const end = args.indexOf("--");
  for (const arg of end < 0 ? args : args.slice(0, end)) {
    const [, name = "", given = ""] = /^--([^=]+)=(.*)$/s.exec(arg) ?? [];
    // `parseArgs` would ignore the value.
    if (boolean.includes(name)) {
      throw new UsageError(`--${name} takes no value, and "${visible(given)}" is one`);
    }
  }
  const on: Record<string, boolean> = {};
  const value: Record<string, string | undefined> = {};
  for (const name of boolean) on[name] = parsed[name] === true;
  for (const row of withValue) {
    const given = parsed[row.flag] as readonly string[];
    if (given.includes("") && row.value?.startsWith("[") !== true) {
      throw new UsageError(`--${row.flag} needs a value`);
    }
    const separator = between(row, repeated);
    if (given.length > 1 && separator === undefined) {
      throw new UsageError(`--${row.flag} is given ${given.length} times, expected once`);
    }
    value[row.flag] = given.length === 0 ? undefined : given.join(separator);
  }
  useTempFolder(value.temp);
  // A plain `--color` has another meaning in commands that write images.
  const when = "--color WHEN" in flags ? value.color : undefined;
  setColor(parseWord("color", when, COLORS) ?? "auto");
  // As for /dev/stdin: Deno opens files in /dev only with all permissions.
  if (value.output === "/dev/stdout") value.output = "-";
  return { on, value, operands: parsed._.map(String) } as Flags<string, string>;
}

/**
 * Splits values from flags, as other programs do: `-ofile` becomes `-o file`. Keeps a negative
 * number after a flag as its value.
 */
function separated(
  args: readonly string[],
  string: readonly string[],
  alias: Readonly<Record<string, string>>,
): string[] {
  const end = args.indexOf("--");
  const apart: string[] = [];
  for (const [i, arg] of args.entries()) {
    const [, letter = "", value = ""] = /^-([A-Za-z])([^=].*)$/s.exec(arg) ?? [];
    const flag = end < 0 || i < end ? alias[letter] : undefined;
    const before = apart.at(-1) ?? "";
    if (flag !== undefined && string.includes(flag)) apart.push(`-${letter}`, value);
    else if (/^-\d/.test(arg) && string.some((name) => before === `--${name}`)) {
      apart[apart.length - 1] = `${before}=${arg}`;
    } else apart.push(arg);
  }
  return apart;
}

/**
 * Sets the folder of temporary files, which has to exist. Without one, commands create no temporary
 * files.
 */
function useTempFolder(folder: string | undefined): void {
  setTempFolder(folder);
  if (folder === undefined) return;
  if (Deno.permissions.querySync({ name: "write", path: folder }).state !== "granted") {
    throw new InputError(
      "--temp needs the permission to write: perfdata NAME has it, or deno run --allow-write",
    );
  }
  about(folder, () => {
    if (!Deno.statSync(folder).isDirectory) throw new Deno.errors.NotADirectory();
  });
}

/**
 * Runs a command, and ends the process if the exit code is not 0.
 *
 * `deno task` changes to the repository's directory. It passes the user's directory as
 * `PERFDATA_CWD`, to which file names are relative.
 *
 * @param tool The command.
 * @param args The arguments after its name.
 * @param program `perfdata` if that ran the command; otherwise empty.
 */
export async function main(
  tool: Pick<Command, "name" | "run"> & Partial<Pick<Command, "flags">>,
  args: readonly string[] = Deno.args,
  program = "",
): Promise<void> {
  let code: number;
  beginRun();
  guardHeap();
  try {
    const cwd = environment("PERFDATA_CWD");
    if (cwd !== undefined && cwd !== "") Deno.chdir(cwd);
    code = await tool.run(args);
  } catch (error) {
    code = await exitCode(tool, program, error);
    if (code !== 0 && args.includes("--debug") && error instanceof Error) {
      for (const line of (error.stack ?? "").split("\n")) complain(line, true);
    }
  }
  // A process that ends normally caches its compiled code, which makes the next start faster.
  // `Deno.exit` does not.
  if (code !== 0) Deno.exit(code);
}

async function exitCode(
  { name, flags }: Parameters<typeof main>[0],
  program: string,
  error: unknown,
): Promise<number> {
  if (error instanceof Deno.errors.BrokenPipe) return 0;
  if (error instanceof UsageError) {
    const call = program === "" || program === name ? name : `${program} ${name}`;
    complain(`${name}: ${error.message}; ${await didYouMean(error.near)}see ${call} --help`);
    return 2;
  }
  if (error instanceof NothingToShow) {
    complain(`${name}: ${error.message}`);
    return 0;
  }
  const message = error instanceof PerfDataError
    ? error.located()
    : error instanceof Error
    ? error.message
    : String(error);
  const help = isMemory(error) ? memoryHelp(flags) : "";
  complain(`${name}: ${message.replaceAll("\n", " ")}${help}`);
  return 1;
}

/** Advice for out-of-memory errors, from the flags that the command has. */
function memoryHelp(flags: FlagTable = {}): string {
  const rows = flagRows(flags);
  const chooses = ["time", "pid", "event"].filter((name) => rows.some(({ flag }) => flag === name))
    .map((name) => `--${name}`);
  return chooses.length === 0 ? "" : `, ${chooses.join(", ")} need less`;
}

/** A suggestion of the nearest valid word, as the end of a message; empty if no word is near. */
async function didYouMean(near: Near | undefined): Promise<string> {
  // Suggest nothing if the word is valid.
  if (near === undefined || near.known.includes(near.word)) return "";
  // Imported here because only unknown words need it.
  const { levenshteinDistance } = await import("@std/text");
  const word = near.word.toLowerCase();
  const letters = word.replace(/^-+/, "").length;
  let best: string | undefined;
  // Swapped letters count as two edits. Words with more edits than this are not suggested.
  let least = 1 + (letters < 4 ? 1 : Math.max(2, Math.floor(letters / 3)));
  for (const known of near.known) {
    const distance = levenshteinDistance(word, known.toLowerCase());
    if (distance < least) [best, least] = [known, distance];
  }
  // Also suggest the only word that begins with the typed one.
  const longer = near.known.filter((known) => known.toLowerCase().startsWith(word));
  if (best === undefined && longer.length === 1) [best] = longer;
  return best === undefined ? "" : `did you mean ${best}? `;
}
