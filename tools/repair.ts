/** `repair`: writes a sound recording from a damaged one. */
import { type Command, command, main } from "./shared/command.ts";
import { OUTPUT_FLAGS } from "./shared/flag_sets.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "makes a sound recording from a damaged one",
  usage: ["[flags] -o OUTPUT [FILE]"],
  text: `
FILE is a perf.data file, also one that was cut off, overwritten in parts, or whose recording was
killed, or - for a pipe (default: perf.data). It is not changed.

Whole records before and after damage stay; the header, the feature table and the index of AUX data
are rebuilt. Each range of lost bytes is printed, with the reason. docs/repair.md says how
sound records are recognized.
`,
  examples: [
    "perfdata repair killed.data -o perf.data && perf report",
    "perfdata repair --json cut.data -o whole.data | jq .lost",
  ],
  exit: "0 all is back; 1 bytes or features are lost, or nothing can be repaired",
};

export const FLAGS = {
  "--json": "print the report as one JSON object",
  ...OUTPUT_FLAGS,
} as const;

export const tool: Command = command({
  name: "repair",
  help: HELP,
  flags: FLAGS,
  job: () => import("./run/repair.ts"),
});

if (import.meta.main) await main(tool);
