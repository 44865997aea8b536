/** `merge`: combines several recordings into one. */
import { type Command, command, main } from "./shared/command.ts";
import { OUTPUT_FLAGS } from "./shared/flag_sets.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "several recordings become one",
  usage: ["[flags] -o OUTPUT FILE..."],
  text: `
FILE is a perf.data file or directory, or - for a pipe, which goes through a temporary file.

Events with the same attr become one. Process ids of the n-th host are n * 4194304 higher, so that
processes of different hosts stay apart; the upper 32 bits of each event id are the number of the
file of a sample. docs/merge.md says what is joined and what is lost.
`,
  examples: [
    "perfdata merge host1.data host2.data -o all.data",
    "perfdata merge host*.data -o - | perfdata funcs -",
  ],
  exit: "0 done; 1 a recording is damaged (what can be read is merged)",
};

export const FLAGS = {
  "--time HOW": `wall: align by time of day (CLOCK_DATA), the default for several hosts; start: all
    begin at the same time; keep: as recorded`,
  "--json": "print the report as one JSON object",
  ...OUTPUT_FLAGS,
} as const;

export const tool: Command = command({
  name: "merge",
  help: HELP,
  flags: FLAGS,
  job: () => import("./run/merge.ts"),
});

if (import.meta.main) await main(tool);
