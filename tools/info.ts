/** `info`: summarizes a recording. */
import { type Command, command, main } from "./shared/command.ts";
import { JOBS_FLAG, TEMP_FLAG } from "./shared/flag_sets.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "prints a summary of a recording",
  usage: ["[flags] [FILE]"],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data).

Prints who recorded what, when and how; how many samples there are and how many were lost; what
stacks and symbols will be like; what is damaged; and which command to run next.
`,
  examples: [
    "perfdata info perf.data",
    "perfdata info --json perf.data | jq .events",
  ],
  exit: "0 done; 1 the recording is damaged (what can be read is counted)",
};

export const FLAGS = {
  "--json": "print one JSON object; docs/info.md describes its members",
  ...JOBS_FLAG,
  ...TEMP_FLAG,
} as const;

export const tool: Command = command({
  name: "info",
  help: HELP,
  flags: FLAGS,
  job: () => import("./run/info.ts"),
});

if (import.meta.main) await main(tool);
