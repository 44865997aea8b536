/** `header`: prints the header of a recording: host, events, features. */
import { type Command, command, main } from "./shared/command.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "prints what a perf.data file says about itself and the machine that recorded it",
  usage: ["[flags] [FILE]"],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data).

The output is that of perf report --header-only -I, followed by what perf 6.1 omits.
`,
  examples: [
    "perfdata header perf.data",
    "perfdata header --perf perf.data | grep cmdline",
  ],
  exit: "0 done; 1 the file is damaged (what can be read is printed)",
};

export const FLAGS = {
  "--perf": "print only what perf 6.1 prints",
} as const;

export const tool: Command = command({
  name: "header",
  help: HELP,
  flags: FLAGS,
  job: () => import("./run/header.ts"),
});

if (import.meta.main) await main(tool);
