/** `sql`: answers questions about recordings in SQL. */
import { type Command, command, main } from "./shared/command.ts";
import { ITRACE_FLAG, SYMBOL_FLAGS } from "./shared/flag_sets.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "answers a question about recordings, in SQL",
  usage: ['[flags] ["SELECT ..."] [FILE|DIR...]'],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data); several are read as
one. DIR has tables from "perfdata export parquet". Without a question on the command line,
questions are read from standard input.

Tables: recordings, samples, stacks, frames, mappings, threads, switches, tracepoints. Views that
join them: functions, callers, offcpu, by_second. docs/tables.md has their columns, and examples.
The engine is DuckDB, which is downloaded the first time.
`,
  examples: [
    'perfdata sql "FROM functions LIMIT 20" perf.data',
    'perfdata sql --keep tables "SELECT comm, sum(period) FROM samples GROUP BY 1" night/*.data',
    "perfdata sql tables",
  ],
  exit: "0 done; 1 the question or a recording is wrong",
};

export const FLAGS = {
  "--csv": "print CSV",
  "--json": "print a line of JSON for each row",
  "--parquet FILE": "write the answer to this file instead",
  "--keep DIR": "write the tables of the recordings to DIR, and leave them there",
  "-f, --force": "overwrite files",
  "--jobs N": "recordings that are read at the same time",
  ...ITRACE_FLAG,
  ...SYMBOL_FLAGS,
} as const;

export const tool: Command = command({
  name: "sql",
  help: HELP,
  flags: FLAGS,
  rules: [{ flag: "csv", excludes: ["json", "parquet"] }, { flag: "json", excludes: ["parquet"] }],
  job: () => import("./run/sql.ts"),
});

if (import.meta.main) await main(tool);
