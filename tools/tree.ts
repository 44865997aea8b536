/** `tree`: prints callers and callees. */
import { type Command, command, main } from "./shared/command.ts";
import {
  COLOR_FLAG,
  ITRACE_FLAG,
  PROFILE_FLAGS,
  TRANSFORM_FLAGS,
  WEIGHT_FLAG,
} from "./shared/flag_sets.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "prints callers and callees, with their shares of the samples",
  usage: ["[flags] [FILE]"],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data).
A directory of tables, as "export parquet" writes, is read like one recording, and so is a profile
of another tool: text of perf script, folded stacks, pprof, .cpuprofile (docs/imports.md).

A line has the share of the period in a function with its callees, the share in the function itself,
samples, and the function with its object. Functions that call only one other share a line with it.
Stacks that were recorded as copies (--call-graph dwarf) are unwound. docs/tree.md explains it.
`,
  examples: [
    "perfdata tree perf.data",
    "perfdata tree --callers --percent-limit 2 perf.data",
    "perfdata tree --focus malloc --callers --comm cc1plus perf.data",
    "perf record -g -o - -- ./program | perfdata tree -",
  ],
  exit: "0 done; 1 the recording is damaged (what can be read is shown), or has no samples",
};

export const FLAGS = {
  "--callers": "the sampled functions first, then their callers",
  "--focus NAMES": "callees of these functions; with --callers, their callers",
  "--event NAME": "samples of this event (default: that with most samples)",
  "--root WORD": "the first level is the command (default), thread, or none",
  "--percent-limit P": "leave out less than P percent (default: 0.5; 0 with --json)",
  "--lines N": "print N lines at most (default: those of the terminal)",
  "--no-inline": "leave inlined functions out: the function around them counts instead",
  "--inline": "show them (the default)",
  "--srcline": "a node for each source line",
  "--full-names": "on a terminal, cut long lines at their end instead of shortening names",
  "--json": "print a line of JSON for each node",
  "--json-tree": "print one JSON value, nodes within nodes",
  ...TRANSFORM_FLAGS,
  ...WEIGHT_FLAG,
  ...COLOR_FLAG,
  ...ITRACE_FLAG,
  ...PROFILE_FLAGS,
} as const;

export const tool: Command = command({
  name: "tree",
  help: HELP,
  flags: FLAGS,
  rules: [
    { flag: "json", excludes: ["json-tree"] },
    { flag: "inline", excludes: ["no-inline"] },
    {
      flag: "srcline",
      excludes: ["drop", "merge", "collapse", "collapse-recursion", "only"],
      why: "stacks that are transformed have no lines",
    },
  ],
  job: () => import("./run/tree.ts"),
});

if (import.meta.main) await main(tool);
