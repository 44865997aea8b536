/**
 * A command: its flags are read, its job is done, and what it throws becomes a message and an exit code.
 *
 * Exit codes: 0 the job is done, 1 the input is not what it should be, 2 wrong usage. A closed pipe
 * is 0.
 */
import { parseArgs } from "@std/cli";
import { PerfDataError, visible } from "@perfdata/format/bytes";
import { guardHeap, setTempFolder } from "@perfdata/format/files";
import {
  about,
  beginRun,
  COLORS,
  complain,
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

/** Flags of each command. */
const EVERYWHERE = {
  "--debug": "print the stack trace of an error",
  "-h, --help": "print this help",
} as const;

/** A command, as `perfdata NAME` and `deno run NAME` run it. */
export interface Command {
  /** Its name, which messages begin with. */
  readonly name: string;
  /** What `--help` prints besides flags. */
  readonly help: Help;
  /** Its flags. */
  readonly flags: FlagTable;
  /** Flags besides lists with commas that may be given several times, and what is put between their values. */
  readonly repeated?: Readonly<Partial<Record<string, string>>>;
  /** Words that follow the name, if it has commands of its own. */
  readonly verbs?: readonly string[];
  /** Reads the command line, does the job and returns the exit code. */
  run(args: readonly string[]): number | Promise<number>;
}

/**
 * Makes a command of its parts; `--help` is answered here.
 *
 * @param parts Name, help, flags, and what does the job and returns the exit code.
 */
export function command<const T extends FlagTable>(parts: {
  readonly name: string;
  readonly help: Help;
  readonly flags: T;
  /** Which flags do not go together. */
  readonly rules?: readonly FlagRule<FlagName<T>>[];
  readonly repeated?: Readonly<Partial<Record<FlagName<T>, string>>>;
  readonly verbs?: readonly string[];
  readonly run: (flags: FlagsOf<T>) => number | Promise<number>;
}): Command {
  const { rules = [], run, ...described } = parts;
  const flags = { ...parts.flags, ...EVERYWHERE };
  const made = { ...described, flags };
  return {
    ...made,
    run(args) {
      const given = parseFlags(args, made);
      if (given.on.help) {
        writeOut(helpText(made));
        return 0;
      }
      const broken = brokenRule(rules, givenNames(given));
      if (broken !== undefined) throw new UsageError(broken);
      return run(given as FlagsOf<T>);
    },
  };
}

function givenNames({ on, value }: Flags<string, string>): Set<string> {
  return new Set([
    ...Object.keys(on).filter((flag) => on[flag]),
    ...Object.keys(value).filter((flag) => value[flag] !== undefined),
  ]);
}

/** What is put between the values of a flag that is given several times; `undefined` where it may not be. */
function between({ flag, value = "" }: FlagRow, repeated: Command["repeated"]): string | undefined {
  return repeated?.[flag] ?? (/^(NAMES|LIST|KEYS)$/.test(value) ? "," : undefined);
}

/**
 * Reads the command line. `--temp` and `--color WHEN` take effect here: a command that has them does nothing
 * else for them.
 *
 * @throws {UsageError} If a flag is not known, has no value but needs one, or has several.
 * @throws {InputError} If there may be no temporary files.
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
    // `_` keeps a file name that looks like a number as it was written.
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
    // It would be taken for the flag alone.
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
  // Of a picture, `--color` says something else.
  const when = "--color WHEN" in flags ? value.color : undefined;
  setColor(parseWord("color", when, COLORS) ?? "auto");
  // As of standard input: Deno lets nobody open what is in /dev without all permissions.
  if (value.output === "/dev/stdout") value.output = "-";
  return { on, value, operands: parsed._.map(String) } as Flags<string, string>;
}

/**
 * The same command line with each value apart from its flag, as in other programs: `-ofile` is `-o file`;
 * a negative number after a flag with a value is that, and no flag.
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

/** Lets temporary files be made in a directory, which has to be there; without one there are none. */
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
 * Runs a command and ends the process with its exit code: the caller has nothing else to do.
 *
 * `deno task` changes to the repository's directory; the directory that the user is in comes as
 * `PERFDATA_CWD`, and file names are those of that directory.
 *
 * @param tool The command.
 * @param args What follows its name.
 * @param program What it was called by: `perfdata`, or nothing for a command of its own.
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
  // A process that comes to its end leaves its compiled code to the next one, which starts the sooner
  // for it; one that exits does not.
  if (code !== 0) Deno.exit(code);
}

function environment(variable: string): string | undefined {
  // Asked for first, since a command may also be run without that permission.
  const { state } = Deno.permissions.querySync({ name: "env", variable });
  return state === "granted" ? Deno.env.get(variable) : undefined;
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

/** What else helps then. */
function memoryHelp(flags: FlagTable = {}): string {
  const rows = flagRows(flags);
  const chooses = ["time", "pid", "event"].filter((name) => rows.some(({ flag }) => flag === name))
    .map((name) => `--${name}`);
  return chooses.length === 0 ? "" : `, ${chooses.join(", ")} need less`;
}

/** The known word that is nearest to an unknown one, as a part of a message; nothing if none is. */
async function didYouMean(near: Near | undefined): Promise<string> {
  // A word that is known was no mistake of typing.
  if (near === undefined || near.known.includes(near.word)) return "";
  // Imported here, since only a wrong word needs it.
  const { levenshteinDistance } = await import("@std/text");
  const word = near.word.toLowerCase();
  const letters = word.replace(/^-+/, "").length;
  let best: string | undefined;
  // Two letters that changed places are two mistakes; a word with many mistakes is another word.
  let least = 1 + (letters < 4 ? 1 : Math.max(2, Math.floor(letters / 3)));
  for (const known of near.known) {
    const distance = levenshteinDistance(word, known.toLowerCase());
    if (distance < least) [best, least] = [known, distance];
  }
  // A beginning that only one word has is as good.
  const longer = near.known.filter((known) => known.toLowerCase().startsWith(word));
  if (best === undefined && longer.length === 1) [best] = longer;
  return best === undefined ? "" : `did you mean ${best}? `;
}
