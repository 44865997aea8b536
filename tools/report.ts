/** `report`: shows a recording in a browser in the terminal. */
import { type Command, command, main } from "./shared/command.ts";
import { ITRACE_FLAG, PROFILE_FLAGS } from "./shared/flag_sets.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "a browser in the terminal: functions, who called them, their code",
  usage: ["[flags] [FILE]"],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data), or a profile of another
tool: text of perf script, folded stacks, pprof, .cpuprofile (docs/imports.md).

Enter shows the callers of a function, a its code line by line; d t p select an object, a thread, a
process, r a range of time; / searches, ? lists all keys, q quits. If standard output is not a
terminal, or the recording comes through a pipe, the output is that of funcs. docs/report.md says
more.
`,
  examples: [
    "perfdata report perf.data",
    "perfdata report --comm cc1plus --time 10%-20% perf.data",
    "perfdata report --stdio perf.data | head -20",
  ],
  exit: "0 done; 1 the recording cannot be read, or part of it is damaged",
};

export const FLAGS = {
  "--event NAME": "the event that is shown first (default: the first that has samples)",
  "--children": "sort by the share with callees, from call chains (the default)",
  "--no-children": "sort by the share of the function itself",
  "--full-names": "do not shorten names: they are cut at the end of the line",
  "--no-inline": "do not look for lines and inlined functions, which is quicker",
  "--source DIR": "look for source files there, by all or the last parts of their path",
  "--stdio": "print what funcs prints, as perf report --stdio does",
  ...ITRACE_FLAG,
  ...PROFILE_FLAGS,
} as const;

export const tool: Command = command({
  name: "report",
  help: HELP,
  flags: FLAGS,
  rules: [{ flag: "children", excludes: ["no-children"] }],
  job: () => import("./run/report.ts"),
});

if (import.meta.main) await main(tool);
