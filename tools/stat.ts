/** Prints the counts of `perf stat record`: `deno run stat FILE`. */
import { type Command, command, main } from "./shared/command.ts";
import { FORCE_FLAG } from "./shared/flag_sets.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "prints the counts of perf stat record, as perf stat report does",
  usage: ["[flags] [FILE]"],
  text: `
FILE is a file of perf stat record, or - for a pipe (default: perf.data).

Each event has its count, extrapolated if it had a counter for a part of the time only, and metrics
from several counts: GHz, instructions per cycle, shares of misses, rates. For a recording with
intervals (perf stat record -I), each interval is printed.
`,
  examples: [
    "perf stat record -I 100 -a -o perf.data -- sleep 10",
    "perfdata stat perf.data",
    "perfdata stat --by core --svg counts.svg perf.data",
    `perfdata stat --json perf.data | jq 'select(.event == "cycles") | .value'`,
  ],
  exit: "0 done; 1 the file is damaged, or has no counts",
};

export const FLAGS = {
  "--by WHAT":
    `sum up by all, cpu, core, cache, die, socket, node or thread (default: as recorded)`,
  "--json": "print a line of JSON for each count, with all of its metrics",
  "--csv": "print a row of CSV for each count",
  "--svg FILE": "also draw counts per second over the intervals",
  ...FORCE_FLAG,
  "--color WHEN": "color tables: auto, on a terminal (default), always, never",
} as const;

export const tool: Command = command({
  name: "stat",
  help: HELP,
  flags: FLAGS,
  rules: [{ flag: "json", excludes: ["csv"] }],
  job: () => import("./run/stat.ts"),
});

if (import.meta.main) await main(tool);
