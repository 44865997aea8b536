/**
 * `perfdata`: all commands as one, `perfdata NAME …`. A new command is a file `tools/NAME.ts` that
 * exports `tool`, an entry in {@link COMMANDS}, a task of the same name in `deno.json`, and
 * `docs/NAME.md`.
 */
import { complain, exists, isInteractive, listed, UsageError, writeOut } from "./shared/cli.ts";
import { type Command, main } from "./shared/command.ts";
import { type Described, helpText } from "./shared/flag_table.ts";

/** Permissions of a command besides reading files. `perfdata` drops all others. */
export type Need =
  | "write"
  /** Read symbols: caches that the environment names, and /proc by way of `cat`. */
  | "symbols"
  /** Serve a browser on 127.0.0.1, and open one. */
  | "serve"
  /** Start the downloader for the servers in `DEBUGINFOD_URLS`. */
  | "download"
  /** Run perf, commands that the user types in the terminal browser, or Deno with other permissions. */
  | "shell";

/** A row of the table of commands. */
export interface Entry {
  /** The command's name on the command line. */
  readonly name: string;
  /** A description in one line; also that of the task. */
  readonly about: string;
  /** Permissions besides reading files. */
  readonly needs?: readonly Need[];
  /** Imports the command's module. */
  load(): Promise<{ readonly tool: Command }>;
}

/** The commands by group. */
export const COMMANDS: ReadonlyMap<string, readonly Entry[]> = new Map<string, Entry[]>([
  ["Look at a recording", [
    {
      name: "info",
      about: "A summary of a recording: who, what, when, how much, how complete",
      load: () => import("./info.ts"),
    },
    {
      name: "header",
      about: "What a recording says about itself and the machine that made it",
      load: () => import("./header.ts"),
    },
    {
      name: "dump",
      about: "Every record as text, as perf report -D prints it",
      load: () => import("./dump.ts"),
    },
    {
      name: "records",
      about: "Every record as a line of JSON, or as CSV",
      needs: ["symbols"],
      load: () => import("./records.ts"),
    },
    {
      name: "hex",
      about: "Every byte, with the field that it belongs to",
      load: () => import("./hex.ts"),
    },
  ]],
  ["Analyze it", [
    {
      name: "report",
      about: "A browser in the terminal: functions, who called them, their code",
      needs: ["write", "symbols", "shell"],
      load: () => import("./report.ts"),
    },
    {
      name: "top",
      about: "What this machine does now, in the terminal: perf record, shown by report",
      needs: ["write", "symbols", "shell"],
      load: () => import("./top.ts"),
    },
    {
      name: "funcs",
      about: "Functions by their share of the samples",
      needs: ["symbols"],
      load: () => import("./funcs.ts"),
    },
    {
      name: "pt",
      about: "What ran, from Intel PT: functions over time, calls, branches, instructions",
      needs: ["symbols"],
      load: () => import("./pt.ts"),
    },
    {
      name: "rate",
      about: "How fast events occurred and how often they were sampled",
      needs: ["write", "symbols"],
      load: () => import("./rate.ts"),
    },
    {
      name: "stat",
      about: "The counts of perf stat record, with intervals and metrics",
      needs: ["write"],
      load: () => import("./stat.ts"),
    },
    {
      name: "sched",
      about: "How long threads waited for a CPU",
      load: () => import("./sched.ts"),
    },
    {
      name: "lock",
      about: "Who waited for locks of the kernel, and how long",
      needs: ["symbols"],
      load: () => import("./lock.ts"),
    },
    {
      name: "c2c",
      about: "Cache lines that CPUs contend for, with their code and data",
      needs: ["symbols"],
      load: () => import("./c2c.ts"),
    },
    {
      name: "sql",
      about: "Answers to questions in SQL, about one recording or many",
      needs: ["write", "symbols", "shell"],
      load: () => import("./sql.ts"),
    },
    {
      name: "readperf",
      about: "Records, processes and functions as four CSV files",
      needs: ["write", "symbols"],
      load: () => import("./readperf.ts"),
    },
  ]],
  ["Show and share it", [
    {
      name: "view",
      about: "A page to explore a recording in a browser",
      needs: ["write", "symbols", "serve"],
      load: () => import("./view.ts"),
    },
    {
      name: "script",
      about: "Every sample as text, as perf script prints it",
      needs: ["symbols"],
      load: () => import("./script.ts"),
    },
    {
      name: "tree",
      about: "Callers and callees, with their shares of the samples",
      needs: ["symbols"],
      load: () => import("./tree.ts"),
    },
    {
      name: "flame",
      about: "A flame graph, as a page or a picture",
      needs: ["write", "symbols"],
      load: () => import("./flame.ts"),
    },
    {
      name: "diff",
      about: "Changes between recordings, and whether they are more than chance",
      needs: ["write", "symbols"],
      load: () => import("./diff.ts"),
    },
    {
      name: "annotate",
      about: "Instructions and source lines of a function with their shares",
      needs: ["symbols"],
      load: () => import("./annotate.ts"),
    },
    {
      name: "export",
      about: "Samples in a format that other tools read",
      needs: ["write", "symbols"],
      load: () => import("./export.ts"),
    },
  ]],
  ["Take something out of it", [
    {
      name: "extract-pt",
      about: "The Intel PT data of each CPU, in files for libipt",
      needs: ["write"],
      load: () => import("./extract_pt.ts"),
    },
  ]],
  ["Change it", [
    {
      name: "slice",
      about: "A part of a recording: by time, process, thread, CPU",
      needs: ["symbols", "write"],
      load: () => import("./slice.ts"),
    },
    {
      name: "merge",
      about: "Several recordings as one",
      needs: ["write"],
      load: () => import("./merge.ts"),
    },
    {
      name: "convert",
      about: "The same recording in another form: file, pipe, inflated, compressed",
      needs: ["symbols", "write"],
      load: () => import("./convert.ts"),
    },
    {
      name: "repair",
      about: "A sound recording from the remains of a damaged one",
      needs: ["write"],
      load: () => import("./repair.ts"),
    },
    {
      name: "redact",
      about: "A recording without the names and data of its machine",
      needs: ["write"],
      load: () => import("./redact.ts"),
    },
  ]],
  ["Symbols", [
    {
      name: "symbols",
      about: "Bundle the symbols of a recording, report which are missing, or download them",
      needs: ["write", "symbols", "download"],
      load: () => import("./symbols.ts"),
    },
    {
      name: "addr2line",
      about: "Function, file and line of addresses in a binary",
      load: () => import("./addr2line.ts"),
    },
  ]],
]);

/** Commands that `perfdata` itself implements. */
const OWN = [
  { name: "help", about: "This text, or the help of a command: perfdata help dump" },
  {
    name: "man",
    about: "A manual page: perfdata man | man -l -; of a command: perfdata man funcs",
  },
  { name: "completion", about: "Completion for a shell: perfdata completion bash|zsh|fish" },
];

/** The entries of all groups. */
export const entries: readonly Entry[] = [...COMMANDS.values()].flat();

/** Flags of `perfdata` without a command. */
const FLAGS = {
  "-h, --help": "print this help",
  "--version": "print the version",
} as const;

/** The help text of `perfdata` without a command. */
function overview(): Described {
  const lines = (group: readonly { readonly name: string; readonly about: string }[]): string =>
    group.map(({ name, about }) => `  ${name.padEnd(12)}${about}`).join("\n");
  const groups = [...COMMANDS, ["Others", OWN] as const].map(([title, group]) =>
    `${title}:\n${lines(group)}`
  );
  return {
    name: "perfdata",
    flags: FLAGS,
    help: {
      about: "reads, writes and explains Linux perf.data files",
      usage: ["COMMAND [flags] [FILE]", "FILE"],
      text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data). Without a COMMAND, FILE
is shown by report on a terminal, and by info otherwise.

${groups.join("\n\n")}
`,
      examples: [
        "perfdata header perf.data",
        "perfdata funcs --limit 20 perf.data",
        "perf record -o - -- ./program | perfdata records - | jq .type",
      ],
      exit: "0 done; 1 the input is damaged or missing",
    },
  };
}

function entryOf(name: string): Entry {
  const found = entries.find((entry) => entry.name === name);
  if (found !== undefined) return found;
  const known = [...entries, ...OWN].map((entry) => entry.name);
  throw new UsageError(
    name.startsWith("-")
      ? `unknown flag ${name}`
      : /[./]/.test(name)
      ? `${name} is neither a command nor a file`
      : `unknown command ${name}`,
    { word: name, known: name.startsWith("-") ? ["--help", "--version"] : known },
  );
}

async function help(args: readonly string[]): Promise<number> {
  const [name, more] = args.filter((arg) => !arg.startsWith("-"));
  if (more !== undefined) throw new UsageError("help takes the name of one command");
  const isOwn = name === undefined || OWN.some((entry) => entry.name === name);
  writeOut(helpText(isOwn ? overview() : (await entryOf(name).load()).tool));
  return 0;
}

async function versionText(): Promise<string> {
  const { default: { version } } = await import("../packages/format/deno.json", {
    with: { type: "json" },
  });
  return version;
}

async function version(): Promise<number> {
  writeOut(`perfdata ${await versionText()}\n`);
  return 0;
}

/** Prints the manual page of a command, or of all of them. */
async function man(args: readonly string[]): Promise<number> {
  const [name, more] = args;
  if (more !== undefined) throw new UsageError("man takes the name of one command");
  const { manPage } = await import("./shared/man.ts");
  writeOut(manPage({
    ...(name === undefined ? overview() : (await entryOf(name).load()).tool),
    version: await versionText(),
    seeAlso: name === undefined
      ? [...entries.map(({ name }) => `perfdata-${name}`), "perf"]
      : ["perfdata", "perf"],
  }));
  return 0;
}

/** Commands of perf without a counterpart here: they record, and perfdata reads recordings. */
const OF_PERF: ReadonlySet<string> = new Set(["record", "trace", "list", "probe"]);

/**
 * Arguments of `perf stat` that count events or start programs, which `perfdata stat` does not do.
 */
const COUNTING: ReadonlySet<string> = new Set(["record", "report", "--", "-e", "-a", "-p", "-I"]);

/** Whether the user typed a command of perf that perfdata does not have. */
function isOfPerf(name: string, args: readonly string[]): boolean {
  return OF_PERF.has(name) || (name === "stat" && args.some((word) => COUNTING.has(word)));
}

/** Prints the perf command that the user meant. */
function answerForPerf(name: string, args: readonly string[]): number {
  const words = args.length > 0 || name !== "record"
    ? args
    : name === "record"
    ? ["-g", "--", "./program"]
    : ["--", "./program"];
  // Quoted for a shell.
  const quoted = words.map((word) =>
    /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
  );
  const then = name === "record" ? "; then: perfdata report" : "";
  complain(`perfdata: ${name} is a command of perf: ${["perf", name, ...quoted].join(" ")}${then}`);
  return 2;
}

async function completion([shell, more]: readonly string[]): Promise<number> {
  const { completionScript, SHELLS } = await import("./shared/completion.ts");
  const found = SHELLS.find((known) => known === shell);
  if (found === undefined || more !== undefined) {
    throw new UsageError(
      `completion: expected ${listed(SHELLS)}`,
      { word: shell ?? "", known: SHELLS },
    );
  }
  writeOut(await completionScript(found, [...entries, ...OWN]));
  return 0;
}

/** Drops the permissions that a command does not need. */
function giveUp(args: readonly string[], needs: readonly Need[] = []): void {
  const sorts = args.some((arg) => arg === "--temp" || arg.startsWith("--temp="));
  if (!needs.includes("write") && !sorts) Deno.permissions.revokeSync({ name: "write" });
  if (!needs.includes("symbols")) Deno.permissions.revokeSync({ name: "run" });
  if (!needs.includes("download")) {
    for (const variable of ["DEBUGINFOD_URLS", "DEBUGINFOD_TIMEOUT", "DEBUGINFOD_MAXSIZE"]) {
      Deno.permissions.revokeSync({ name: "env", variable });
    }
  }
  if (!needs.includes("shell") && !needs.includes("download")) {
    Deno.permissions.revokeSync({ name: "run", command: "/bin/sh" });
  }
  if (!needs.includes("serve")) {
    Deno.permissions.revokeSync({ name: "net" });
    Deno.permissions.revokeSync({ name: "run", command: "/usr/bin/xdg-open" });
  }
}

/** Whether the first word is a file or directory instead of a command. */
function isFileName(word: string): boolean {
  if (word === "-") return true;
  if (word.startsWith("-") || entries.some(({ name }) => name === word)) return false;
  return exists(word);
}

async function run([name, ...args]: readonly string[]): Promise<number> {
  switch (name) {
    case undefined:
      for (const line of helpText(overview()).trimEnd().split("\n")) complain(line, true);
      return 2;
    case "help":
    case "--help":
    case "-h":
      return await help(args);
    case "--version":
      return await version();
    case "man":
      if (args.includes("--help") || args.includes("-h")) return await help([]);
      return await man(args);
    case "completion":
      if (args.includes("--help") || args.includes("-h")) return await help([]);
      return await completion(args);
    default: {
      if (isOfPerf(name, args)) return answerForPerf(name, args);
      const isFile = isFileName(name);
      const { needs, load } = entryOf(isFile ? isInteractive() ? "report" : "info" : name);
      const given = isFile ? [name, ...args] : args;
      giveUp(given, needs);
      const { tool } = await load();
      // `main` exits the process if the exit code is not 0; messages begin with the command's name.
      await main(tool, given, "perfdata");
      return 0;
    }
  }
}

export const perfdata: Pick<Command, "name" | "run"> = { name: "perfdata", run };

if (import.meta.main) await main(perfdata);
