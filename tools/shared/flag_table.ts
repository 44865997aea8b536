/**
 * The flags of a command as one table, of which its parser, help text, manual page and completion are made:
 *
 *     const FLAGS = {
 *       "--json": "print lines of JSON",
 *       "-o, --output FILE": "where it goes; - is standard output",
 *       ...SYMBOL_FLAGS,
 *     } as const;
 *
 * A row is a flag with its value, as users see them, and what it does. A value in brackets may be left out.
 * One that is called NAMES, LIST or KEYS has commas, and the flag may be given several times.
 */
export type FlagTable = Readonly<Record<string, string>>;

/** What the user gave. */
export interface Flags<B extends string, S extends string> {
  /** Which flags without a value are there. */
  readonly on: Readonly<Record<B | "debug" | "help", boolean>>;
  /** The values of the others, where they are there. */
  readonly value: Readonly<Record<S, string | undefined>>;
  /** What is no flag. */
  readonly operands: readonly string[];
}

/** The name of a flag without a value, of its key in a table. */
type OnName<K> = K extends `${string}--${infer F}` ? F extends `${string} ${string}` ? never : F
  : never;

/** The name of a flag with a value. */
type ValueName<K> = K extends `${string}--${infer F} ${string}` ? F : never;

/** What the user can give of a table. */
export type FlagsOf<T extends FlagTable> = Flags<OnName<keyof T>, ValueName<keyof T>>;

/** The names of all flags of a table. */
export type FlagName<T extends FlagTable> = OnName<keyof T> | ValueName<keyof T>;

/** A row of a table. */
export interface FlagRow {
  /** The letter, without its hyphen. */
  readonly short: string | undefined;
  /** The name, without hyphens. */
  readonly flag: string;
  /** What the value is called; `undefined` for a flag without one. */
  readonly value: string | undefined;
  /** What the flag does. */
  readonly about: string;
}

/** The rows of a table. */
export function flagRows(table: FlagTable): FlagRow[] {
  return Object.entries(table).map(([key, about]) => {
    const [, short, flag, value] = /^(?:-(\w), )?--([\w-]+)(?: (\S+))?$/.exec(key) ?? [];
    if (flag === undefined) throw new TypeError(`${key} is no flag`);
    return { short, flag, value, about: about.replaceAll(/\s+/g, " ") };
  });
}

/** Flags that do not go together: checked before a command begins. */
export interface FlagRule<N extends string> {
  /** If this one is given, */
  readonly flag: N;
  /** none of these may be. */
  readonly excludes?: readonly N[];
  /** one of these has to be. */
  readonly needs?: readonly N[];
  /** Why, where the flags do not say it. */
  readonly why?: string;
}

/** What is wrong with the flags that were given; `undefined` if nothing is. */
export function brokenRule(
  rules: readonly FlagRule<string>[],
  given: ReadonlySet<string>,
): string | undefined {
  for (const { flag, excludes = [], needs = [], why } of rules) {
    if (!given.has(flag)) continue;
    const reason = why === undefined ? "" : `: ${why}`;
    const other = excludes.find((name) => given.has(name));
    if (other !== undefined) return `--${flag} and --${other} exclude each other${reason}`;
    if (needs.length > 0 && !needs.some((name) => given.has(name))) {
      return `--${flag} needs ${needs.map((name) => `--${name}`).join(" or ")}${reason}`;
    }
  }
  return undefined;
}

/** What a command says about itself, besides its flags. */
export interface Help {
  /** What it does, in a line. */
  readonly about: string;
  /** What may follow its name: a line for each way to call it. */
  readonly usage: readonly string[];
  /** Paragraphs about what it reads and prints. */
  readonly text: string;
  /** Paragraphs that come after the flags. */
  readonly notes?: string;
  /** Lines that can be pasted into a shell. */
  readonly examples: readonly string[];
  /** What the exit codes mean; 2 is wrong usage everywhere. */
  readonly exit: string;
}

/** What has a help text. */
export interface Described {
  readonly name: string;
  readonly help: Help;
  readonly flags: FlagTable;
}

/** Maximum length of a line. */
const COLUMNS = 100;

/** The column in which texts of flags begin. */
const ABOUT = 25;

/** How a command is called: `perfdata funcs [flags] [FILE]`. */
export function usageLines({ name, help }: Described): string[] {
  const call = name === "perfdata" ? name : `perfdata ${name}`;
  return help.usage.map((usage) => `${call} ${usage}`);
}

/** What `--help` prints. */
export function helpText(described: Described): string {
  const { name, help: { about, text, notes, examples, exit }, flags } = described;
  const parts = [
    `${name}: ${about}`,
    usageLines(described).map((line, i) => `${i === 0 ? "usage: " : " ".repeat(7)}${line}`)
      .join("\n"),
    ...(text === "" ? [] : [text.trim()]),
    flagRows(flags).flatMap(flagLines).join("\n"),
    ...(notes === undefined ? [] : [notes.trim()]),
    ["examples:", ...examples.map((line) => `  ${line}`)].join("\n"),
    filled(`Exit codes: ${exit}; 2 wrong usage.`, COLUMNS).join("\n"),
  ];
  return `${parts.join("\n\n")}\n`;
}

/** A flag with its value, as a user writes it. */
export function flagText({ short, flag, value }: FlagRow): string {
  return `${short === undefined ? "" : `-${short}, `}--${flag}${
    value === undefined ? "" : ` ${value}`
  }`;
}

function flagLines(row: FlagRow): string[] {
  const flag = (row.short === undefined ? " ".repeat(6) : "  ") + flagText(row);
  const lines = filled(row.about, COLUMNS - ABOUT);
  const first = flag.length < ABOUT ? `${flag.padEnd(ABOUT)}${lines.shift()}` : flag;
  return [first, ...lines.map((line) => " ".repeat(ABOUT) + line)];
}

/** Fills lines with words; a list that is longer than a line is broken after commas. */
export function filled(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = "";
  const put = (word: string, between: string) => {
    if (line !== "" && line.length + between.length + word.length > columns) {
      lines.push(line);
      line = word;
    } else line += (line === "" ? "" : between) + word;
  };
  for (const word of text.split(" ")) {
    if (word.length <= columns) put(word, " ");
    else word.split(/(?<=,)/).forEach((part, i) => put(part, i === 0 ? " " : ""));
  }
  return [...lines, line];
}
