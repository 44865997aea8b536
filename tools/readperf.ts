/** Writes a summary of a recording as four CSV files: `deno run readperf FILE`. */
import { type Command, command, main } from "./shared/command.ts";
import { SAMPLE_FLAGS, SYMBOL_FLAGS, TEMP_FLAG, VERBOSE_FLAG } from "./shared/flag_sets.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "summarizes a perf.data file, and writes its records, processes and functions as CSV",
  usage: ["[flags] [FILE]"],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data).

  stat.csv       records by type: type, count, bytes
  overview.csv   all records ordered by time: nr, type, pid, tid, time, info
  processes.csv  pid, name, mmaps, fork, exit, samples, period
  results.csv    function, source file, object, samples, period

Times are in ns. If there are several events, processes.csv and results.csv have a row for each of
them, and a column that names it.
`,
  examples: [
    "perfdata readperf -o csv perf.data",
    "perf record -o - -- ./program | perfdata readperf -",
  ],
  exit: "0 done; 1 the file is damaged (what can be read is written)",
};

export const FLAGS = {
  "-o, --output DIR": "write to DIR, which is created if missing (default: the current directory)",
  "-f, --force": "overwrite files that exist",
  ...SAMPLE_FLAGS,
  ...SYMBOL_FLAGS,
  ...VERBOSE_FLAG,
  ...TEMP_FLAG,
} as const;

export const tool: Command = command({
  name: "readperf",
  help: HELP,
  flags: FLAGS,
  job: () => import("./run/readperf.ts"),
});

if (import.meta.main) await main(tool);
