/** `hex`: prints every byte of a recording with its meaning. */
import { type Command, command, main } from "./shared/command.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "prints every byte of a perf.data file with the field that it belongs to",
  usage: ["[flags] [FILE]"],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data).

Lines that begin with !! say what is wrong with the bytes below them.
`,
  examples: [
    "perfdata hex perf.data | less",
    "perfdata hex --at 0x1a40 perf.data",
    `perfdata hex --section header --json perf.data | jq -r '.field + " " + .value'`,
  ],
  exit: `0 done; 1 the file is damaged (its lines begin with !!), cannot be read, or has no such
    byte`,
};

export const FLAGS = {
  "--at OFFSET": "only the line with this byte, marked, and those around it",
  "--context N": "number of lines before and after it (default: 8)",
  "--section NAME": "only header, attrs, ids, data, features or aux",
  "--record N": "only the record with this number, counted from 0",
  "--type LIST": "only records of these types: SAMPLE,MMAP2",
  "--inflate": "list the records in COMPRESSED ones below them",
  "--json": "print one JSON object per run of bytes",
  "--color WHEN": "color fields: auto, on a terminal (default), always, never",
} as const;

export const tool: Command = command({
  name: "hex",
  help: HELP,
  flags: FLAGS,
  job: () => import("./run/hex.ts"),
});

if (import.meta.main) await main(tool);
