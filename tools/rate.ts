/** Prints how fast events occurred and how often they were sampled: `deno run rate FILE`. */
import { type Command, command, main } from "./shared/command.ts";
import {
  COLOR_FLAG,
  FORCE_FLAG,
  SAMPLE_FLAGS,
  SYMBOL_FLAGS,
  TEMP_FLAG,
} from "./shared/flag_sets.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "prints how fast the events of a perf.data file occurred and were sampled",
  usage: ["[flags] [FILE]"],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data).

For each event and CPU: how fast it occurred (λ = Δcount/Δt of successive samples), how often it
was sampled (λ/P) compared with what was requested, and when the period had settled. Counts are
READ values if the samples have them (perf record -e '{…}:S', or --sample-read), and otherwise
sums of periods.
`,
  examples: [
    "perfdata rate perf.data",
    "perfdata rate --svg rate.svg perf.data",
    "perfdata rate --comm nginx --time 10s-20s perf.data",
    `perfdata rate --json perf.data | jq 'select(.type == "counter")'`,
  ],
  exit: "0 done; 1 the file is damaged (what can be read is counted)",
};

export const FLAGS = {
  "--by cpu|thread": "a counter is for a CPU or a thread (default: as the file says)",
  "--json": "print a line of JSON per pair of samples, throttling and loss, then totals",
  "--csv": "print a row of CSV per pair of samples",
  "--svg FILE": "also draw the period and the sampling frequency over time",
  ...FORCE_FLAG,
  ...SAMPLE_FLAGS,
  ...SYMBOL_FLAGS,
  ...TEMP_FLAG,
  ...COLOR_FLAG,
} as const;

export const tool: Command = command({
  name: "rate",
  help: HELP,
  flags: FLAGS,
  rules: [{ flag: "json", excludes: ["csv"] }],
  job: () => import("./run/rate.ts"),
});

if (import.meta.main) await main(tool);
