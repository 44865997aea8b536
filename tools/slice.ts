/** `slice`: copies a part of a recording. */
import { type Command, command, main } from "./shared/command.ts";
import { OUTPUT_FLAGS, SAMPLE_FLAGS, SYMBOL_FLAGS } from "./shared/flag_sets.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "keeps a part of a recording",
  usage: ["[flags] -o OUTPUT [FILE]"],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data).

It keeps the samples that pass all conditions, and the mappings, names and forks up to the end of
the slice. docs/slice.md says what is left out and what is recomputed.
`,
  examples: [
    "perfdata slice --time 12s-15s big.data -o part.data",
    "perfdata slice --comm nginx --sample-every 10 -o - big.data | perfdata funcs -",
    "perfdata slice --symbol parse_request --in-stack -o part.data big.data",
  ],
  exit: "0 done; 1 the recording is damaged (what can be read is written), or no sample passes",
};

export const FLAGS = {
  ...SAMPLE_FLAGS,
  "--event NAMES": "of these events: a,b or /expression/",
  "--in-stack": "--dso and --symbol may be anywhere in the stack of a sample",
  "--sample-every N": "only every Nth of the samples that pass",
  ...SYMBOL_FLAGS,
  ...OUTPUT_FLAGS,
} as const;

export const tool: Command = command({
  name: "slice",
  help: HELP,
  flags: FLAGS,
  rules: [{ flag: "in-stack", needs: ["dso", "symbol"] }],
  job: () => import("./run/slice.ts"),
});

if (import.meta.main) await main(tool);
