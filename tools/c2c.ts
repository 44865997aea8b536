/** Prints cache lines that CPUs contend for: `deno run c2c FILE`. */
import { type Command, command, main } from "./shared/command.ts";
import { COLOR_FLAG, NUMBER_FLAGS, SYMBOL_FLAGS, VERBOSE_FLAG } from "./shared/flag_sets.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "prints cache lines that CPUs contend for, with their code and data",
  usage: ["[flags] [FILE]"],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data), recorded with
perf c2c record or perf mem record. Numbers are those of perf c2c report; docs/c2c.md explains the
columns.
`,
  examples: [
    "perfdata c2c perf.data",
    "perfdata c2c --coalesce iaddr,tid --limit 5 perf.data",
    "perfdata c2c --json perf.data | jq 'select(.line == 0)'",
  ],
  exit: "0 done; 1 the file is damaged, or has no accesses",
};

export const FLAGS = {
  "-d, --display WORD": `the kind of contention: hitm (default; loads of lines that another core
    modified), local or remote (those in the same socket, in another one), peer (loads that
    another core or node answered; the default if there is no hitm, as on Arm)`,
  "-c, --coalesce KEYS": `distinguish accesses to an offset by these (default: iaddr); any of
    iaddr,dso,pid,tid`,
  "--srcline": "also print source lines of code",
  "--percent-limit P": `only lines with at least P percent of the contention (default: 0.1); 0
    prints also lines without any`,
  "--limit N": "print at most N lines",
  "--jobs N": "threads that count (default: all processors for large files)",
  "--json": "print a line of JSON with the total, and one for each cache line",
  ...NUMBER_FLAGS,
  ...SYMBOL_FLAGS,
  ...VERBOSE_FLAG,
  ...COLOR_FLAG,
} as const;

export const tool: Command = command({
  name: "c2c",
  help: HELP,
  flags: FLAGS,
  job: () => import("./run/c2c.ts"),
});

if (import.meta.main) await main(tool);
