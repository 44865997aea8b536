/** `report`: shows a recording in a browser in the terminal. */
import { type Command, command, main } from "./shared/command.ts";
import { BROWSER_FLAGS, ITRACE_FLAG, PROFILE_FLAGS } from "./shared/flag_sets.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "a browser in the terminal: functions, who called them, their code",
  usage: ["[flags] [FILE]"],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data), or a profile of another
tool: text of perf script, folded stacks, pprof, .cpuprofile (docs/imports.md).

Keys are those of perf report: Enter opens a menu, + and e expand callers, a shows code line by
line; d t p zoom into an object, a thread, a process, r into a range of time; f m D transform
stacks, u undoes; / searches, ? lists all keys, q quits. A recording in a pipe is shown
while it is made: l selects the last seconds, z stops the screen. If standard output is not a
terminal, the output is that of funcs. docs/report.md says more.
`,
  examples: [
    "perfdata report perf.data",
    "perfdata report --comm cc1plus --time 10%-20% perf.data",
    "perfdata report --stdio perf.data | head -20",
    "perf record -a -g -F 99 --no-buffering -o - | perfdata report -",
  ],
  exit: "0 done; 1 the recording cannot be read, or part of it is damaged",
};

export const FLAGS = {
  ...BROWSER_FLAGS,
  "--children": "sort by the share with callees, from call chains (the default)",
  "--no-children": "sort by the share of the function itself",
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
