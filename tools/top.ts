/** `top`: records this machine with perf, and shows it in the browser in the terminal. */
import { type Command, command, main } from "./shared/command.ts";
import {
  BROWSER_FLAGS,
  SAMPLE_FLAGS,
  STITCH_FLAG,
  SYMBOL_FLAGS,
  VERBOSE_FLAG,
} from "./shared/flag_sets.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "what this machine does now, in the terminal: perf record, shown by report",
  usage: ["[flags] [-- ARGUMENTS OF perf record]"],
  text: `
Runs perf record -a -g -F 99, or with the arguments after --, and shows what it records in
the browser of report, again each second, until q. Enter opens a menu, + expands callers, a shows
code line by line; l selects the last seconds, z stops the screen, ? lists all keys. Nothing is
written; memory is bounded. docs/top.md says more.
`,
  examples: [
    "perfdata top",
    "perfdata top -- -g -p 4711",
    "perfdata top --comm postgres -- -a -e cycles:u -F 999 --call-graph lbr",
  ],
  exit: "0 ended with q; 1 perf cannot record, or recorded no samples",
};

export const FLAGS = {
  ...BROWSER_FLAGS,
  ...SAMPLE_FLAGS,
  ...SYMBOL_FLAGS,
  ...STITCH_FLAG,
  ...VERBOSE_FLAG,
} as const;

export const tool: Command = command({
  name: "top",
  help: HELP,
  flags: FLAGS,
  job: () => import("./run/top.ts"),
});

if (import.meta.main) await main(tool);
