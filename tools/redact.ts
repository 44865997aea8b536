/** `redact`: removes private names and data from a recording. */
import { type Command, command, main } from "./shared/command.ts";
import { OUTPUT_FLAGS } from "./shared/flag_sets.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "removes private texts and data from a recording, so that it can be shared",
  usage: ["[flags] -o OUTPUT [FILE]"],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data).

Paths, comms, host name, command line and build ids become tokens: the same text becomes the same
token in all recordings that are redacted with the same key. User stacks, registers and raw data
become zeros. docs/redact.md says what stays, and what may still be private.
`,
  examples: [
    "perfdata redact --key-file team.key perf.data -o for-vendor.data",
    "perfdata redact --only stacks,regs,cmdline --keep '^/usr/lib' perf.data -o -",
  ],
  exit: `0 done; 1 the recording is damaged (what can be read is written), or an original text
    still occurs in the output`,
};

export const FLAGS = {
  "--only LIST": "redact only these: paths,comms,host,cmdline,build-ids,stacks,regs,raw",
  "--key-file FILE": "the key; without one a random key is used, and tokens differ each time",
  "--remove": "leave nothing in place of a text, not even a token",
  "--keep REGEX": "keep texts that match",
  "--json": "print the report as one JSON object",
  ...OUTPUT_FLAGS,
} as const;

export const tool: Command = command({
  name: "redact",
  help: HELP,
  flags: FLAGS,
  repeated: { keep: "|" },
  rules: [{ flag: "remove", excludes: ["key-file"] }],
  job: () => import("./run/redact.ts"),
});

if (import.meta.main) await main(tool);
