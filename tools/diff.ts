/** `diff`: compares recordings, and tells changes from chance. */
import { type Command, command, main } from "./shared/command.ts";
import {
  COLOR_FLAG,
  FORCE_FLAG,
  ITRACE_FLAG,
  PROFILE_FLAGS,
  WEIGHT_FLAG,
} from "./shared/flag_sets.ts";
import type { Help } from "./shared/flag_table.ts";

const HELP: Help = {
  about: "compares recordings, and says which changes are more than chance",
  usage: ["[flags] BASE FILE", "[flags] BASE… vs FILE…"],
  text: `
Functions are compared by their share of all (or by period per second), the largest change first.
A change is marked with * if its interval leaves out 0. Runs of the same program differ by 5 to 10%
in a function: one recording on each side shows larger changes of functions that take much. For
smaller ones make several of the same work: diff OLD… vs NEW… --by period.
A directory of tables, as "export parquet" writes, is one recording; so is a profile of another
tool: text of perf script, folded stacks, pprof, .cpuprofile (docs/imports.md).
docs/diff.md says how functions are matched and tested.
`,
  examples: [
    "perfdata diff yesterday.data today.data",
    "perfdata diff old-*.data vs new-*.data --by time",
    "perfdata diff --fail-above 5% base.data perf.data || echo slower",
  ],
  exit: "0 done; 1 a recording is damaged or has no samples, or --fail-above",
};

export const FLAGS = {
  "--event NAME": "the event (default: that with most samples in the base)",
  "--by WORD": `total: shares of the period (default); samples: shares of the samples; time: period
    per second; period: period per recording, for recordings of the same work`,
  "--same OLD=NEW": "compare these objects as one: a program that was renamed",
  "--inline": "inlined functions count for themselves, not for the function around them",
  "--children": "a function includes the functions that it called",
  "--paths": "compare call paths",
  "--full-names": "do not shorten names on a terminal",
  "--all": "show also what may be chance",
  "--limit N": "at most N rows (default: 30)",
  "--json": "all rows as lines of JSON",
  "--fail-above N%": `end with 1 if a function (with --by time or period also all together) grew by
    more than N percent of the base and by more than chance`,
  "-o, --output FILE": "write the differential flame graph (.html or .svg)",
  ...FORCE_FLAG,
  ...WEIGHT_FLAG,
  ...COLOR_FLAG,
  ...ITRACE_FLAG,
  ...PROFILE_FLAGS,
} as const;

export const tool: Command = command({
  name: "diff",
  help: HELP,
  flags: FLAGS,
  repeated: { same: "," },
  rules: [{ flag: "children", excludes: ["paths"] }],
  job: () => import("./run/diff.ts"),
});

if (import.meta.main) await main(tool);
