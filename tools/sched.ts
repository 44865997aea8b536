/** Prints how long threads waited for a CPU: `deno run sched latency FILE`. */
import { type Command, command, main } from "./shared/command.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "prints when threads had a CPU, and how long they waited for one",
  usage: ["VIEW [flags] [FILE]"],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data), recorded with
perf sched record, or with -e sched:sched_switch,sched:sched_waking,sched:sched_stat_runtime.

  latency              per name of threads: time run, switches, average and longest wait, as
                       perf sched latency prints them
  timehist             a line for each time on a CPU when it ends: how long the thread waited, how
                       long of that for a CPU, how long it ran, as perf sched timehist prints it
  wakeups              who waited for whom: how often and how long threads slept until another one,
                       or an interrupt, woke them; the longest total first
  map                  a line for each switch: what each CPU runs, as perf sched map draws it
`,
  examples: [
    "perfdata sched latency perf.data",
    "perfdata sched latency --threads --json perf.data | jq .max_delay",
    "perfdata sched timehist perf.data",
    "perfdata sched wakeups --folded perf.data | inferno-flamegraph >wakeups.svg",
  ],
  exit: "0 done; 1 the file is damaged, or has no context switches",
};

export const FLAGS = {
  "--threads": "latency, wakeups: rows of threads instead of names",
  "--folded": "wakeups: folded stacks, who woke and who waited, in us, for flame graphs",
  "--json": "print a line of JSON for each row, times in ns",
  "--color WHEN": "color tables: auto, on a terminal (default), always, never",
} as const;

export const tool: Command = command({
  name: "sched",
  help: HELP,
  flags: FLAGS,
  verbs: ["latency", "timehist", "map", "wakeups"],
  rules: [{ flag: "folded", excludes: ["json", "threads"] }],
  job: () => import("./run/sched.ts"),
});

if (import.meta.main) await main(tool);
