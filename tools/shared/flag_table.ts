/**
 * The flags of a command as one table. The parser, help text, manual page and shell completion are
 * generated from it:
 *
 *     const FLAGS = {
 *       "--json": "print lines of JSON",
 *       "-o, --output FILE": "where it goes; - is standard output",
 *       ...SYMBOL_FLAGS,
 *     } as const;
 *
 * The key of a row is the flag with a placeholder for its value, the value is its description. A
 * placeholder in brackets marks an optional value. A placeholder NAMES, LIST or KEYS marks a list with
 * commas, whose flag may be repeated.
 */
export type FlagTable = Readonly<Record<string, string>>;

/** The parsed command line. */
export interface Flags<B extends string, S extends string> {
  /** Flags without a value: whether they are given. */
  readonly on: Readonly<Record<B | "debug" | "help", boolean>>;
  /** Flags with a value: their value, if given. */
  readonly value: Readonly<Record<S, string | undefined>>;
  /** Arguments that are not flags. */
  readonly operands: readonly string[];
}

/** The name in a table key, if the flag has no value. */
type OnName<K> = K extends `${string}--${infer F}` ? F extends `${string} ${string}` ? never : F
  : never;

/** The name in a table key, if the flag has a value. */
type ValueName<K> = K extends `${string}--${infer F} ${string}` ? F : never;

/** The parsed command line of a flag table. */
export type FlagsOf<T extends FlagTable> = Flags<OnName<keyof T>, ValueName<keyof T>>;

export type FlagName<T extends FlagTable> = OnName<keyof T> | ValueName<keyof T>;

export interface FlagRow {
  /** The letter, without hyphen. */
  readonly short: string | undefined;
  /** The name, without hyphens. */
  readonly flag: string;
  /** The placeholder of the value; `undefined` for a flag without value. */
  readonly value: string | undefined;
  readonly about: string;
}

export function flagRows(table: FlagTable): FlagRow[] {
  return Object.entries(table).map(([key, about]) => {
    const [, short, flag, value] = /^(?:-(\w), )?--([\w-]+)(?: (\S+))?$/.exec(key) ?? [];
    if (flag === undefined) throw new TypeError(`${key} is no flag`);
    return { short, flag, value, about: about.replaceAll(/\s+/g, " ") };
  });
}

/**
 * A rule about flags that exclude or need others, checked before a command starts. Besides flags, a
 * rule may have words of the command for values of flags: see `implied` of `command`.
 */
export interface FlagRule<N extends string> {
  /** The rule applies if this flag is given. */
  readonly flag: N;
  /** Flags that may not be given with it. */
  readonly excludes?: readonly N[];
  readonly needs?: readonly N[];
  /** The reason, if the flags do not make it obvious. */
  readonly why?: string;
}

/**
 * The message about the first broken rule; `undefined` if none is broken.
 *
 * @param given Given flags and words.
 * @param texts The typed text of words that are no flags, and of flags that a value implies.
 */
export function brokenRule(
  rules: readonly FlagRule<string>[],
  given: ReadonlySet<string>,
  texts: Readonly<Partial<Record<string, string>>> = {},
): string | undefined {
  const text = (name: string): string => texts[name] ?? `--${name}`;
  for (const { flag, excludes = [], needs = [], why } of rules) {
    if (!given.has(flag)) continue;
    const reason = why === undefined ? "" : `: ${why}`;
    const other = excludes.find((name) => given.has(name));
    if (other !== undefined) return `${text(flag)} and ${text(other)} exclude each other${reason}`;
    if (needs.length > 0 && !needs.some((name) => given.has(name))) {
      return `${text(flag)} needs ${needs.map(text).join(" or ")}${reason}`;
    }
  }
  return undefined;
}

/** The help text of a command, except its flags. */
export interface Help {
  /** A description in one line. */
  readonly about: string;
  /** The arguments after the name, one line for each form. */
  readonly usage: readonly string[];
  /** Paragraphs before the flags: input and output. */
  readonly text: string;
  /** Paragraphs after the flags. */
  readonly notes?: string;
  /** Example command lines. */
  readonly examples: readonly string[];
  /** Exit codes except 2, which is wrong usage in all commands. */
  readonly exit: string;
}

/** A command that has a help text. */
export interface Described {
  readonly name: string;
  readonly help: Help;
  readonly flags: FlagTable;
}

/** Maximum length of a line. */
const COLUMNS = 100;

/** The column of flag descriptions. */
const ABOUT = 25;

/** Usage lines: `perfdata funcs [flags] [FILE]`. */
export function usageLines({ name, help }: Described): string[] {
  const call = name === "perfdata" ? name : `perfdata ${name}`;
  return help.usage.map((usage) => `${call} ${usage}`);
}

/** The text of `--help`. */
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

/** Wraps text into lines. If a list does not fit into a line, it breaks after commas. */
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
