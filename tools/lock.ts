/** Prints which threads waited for kernel locks: `deno run lock FILE`. */
import { type Command, command, main } from "./shared/command.ts";
import { COLOR_FLAG, NUMBER_FLAGS, SYMBOL_FLAGS, VERBOSE_FLAG } from "./shared/flag_sets.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "prints who waited for locks of the kernel, and how long",
  usage: ["[flags] [FILE]"],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data), recorded with
perf lock record, or with perf record -g -a -e lock:contention_begin,lock:contention_end.
A row is a caller, as in perf lock contention; the longest total waits come first.
`,
  examples: [
    "perfdata lock perf.data",
    "perfdata lock --threads --json perf.data | jq .max",
    "perfdata lock --folded perf.data | inferno-flamegraph >locks.svg",
  ],
  exit: "0 done; 1 the file is damaged, or has no such events",
};

export const FLAGS = {
  "--threads": "rows of threads instead of callers",
  "--folded": "folded stacks, outermost function first, the kind of the lock last, in us",
  "--limit N": "print at most N rows",
  "--json": "print a line of JSON for each row, times in ns",
  ...NUMBER_FLAGS,
  ...SYMBOL_FLAGS,
  ...VERBOSE_FLAG,
  ...COLOR_FLAG,
} as const;

export const tool: Command = command({
  name: "lock",
  help: HELP,
  flags: FLAGS,
  rules: [{ flag: "folded", excludes: ["json", "threads"] }],
  job: () => import("./run/lock.ts"),
});

if (import.meta.main) await main(tool);
