/** Prints functions by their share of the samples: `deno run funcs FILE`. */
import { type Command, command, main } from "./shared/command.ts";
import {
  COLOR_FLAG,
  FOCUS_FLAG,
  ITRACE_FLAG,
  JOBS_FLAG,
  SAMPLE_FLAGS,
  STITCH_FLAG,
  SYMBOL_FLAGS,
  TEMP_FLAG,
  TRANSFORM_FLAGS,
  TRANSFORMS,
  VERBOSE_FLAG,
  WEIGHT_FLAG,
} from "./shared/flag_sets.ts";
import type { FlagName, FlagRule, Help } from "./shared/flag_table.ts";

const SAMPLE_KEYS =
  "comm,dso,sym,srcline,srcfile,pid,tid,cpu,phys_daddr,local_weight,local_ins_lat," +
  "local_retire_lat,data_page_size,code_page_size,cgroup,transaction,addr,socket,time," +
  "trace,parallelism,machine,pmu,symoff,symbol_size,type,typeoff,typecln,weight,ins_lat," +
  "retire_lat,local_p_stage_cyc,p_stage_cyc";
/** Keys of the branches of samples. */
const BRANCH_KEYS =
  "dso_from,symbol_from,srcline_from,addr_from,dso_to,symbol_to,srcline_to,addr_to," +
  "mispredict,cycles,in_tx,abort";
/** Keys of accesses to memory. */
const MEMORY_KEYS =
  "mem,snoop,tlb,locked,blocked,region,dso_daddr,symbol_daddr,dcacheline,symbol_iaddr";

const HELP: Help = {
  about: "prints the functions of a perf.data file by their share of each event's period",
  usage: ["[flags] [FILE]"],
  text: `
FILE is a perf.data file or directory, or - for a pipe (default: perf.data), or a directory of
tables (see "perfdata export parquet"), or a profile of another tool (docs/imports.md).

A row has the share, samples, period, command, object and function; with --no-inline the numbers are
those of perf report --no-children -g none. docs/funcs.md explains the columns.
`,
  examples: [
    "perfdata funcs --limit 20 perf.data",
    "perfdata funcs --children --percent-limit 1 perf.data",
    "perfdata funcs --sort symbol_from,symbol_to,mispredict perf.data",
    "perfdata funcs --mem --limit 20 perf.data",
    `perfdata funcs --json perf.data | jq -r 'select(.dso == "libc.so.6") | [.period, .sym] | @tsv'`,
    "perf record -o - -- ./program | perfdata funcs -",
  ],
  exit: "0 done; 1 the file is damaged (what can be read is counted)",
};

export const FLAGS = {
  "--sort KEYS":
    `group rows by these (default: comm,dso,sym); any of ${SAMPLE_KEYS}; or of branches: ${BRANCH_KEYS}; or of memory: ${MEMORY_KEYS}`,
  "-b, --branches": `count the branches of branch stacks instead of samples, as perf report -b
    (default with it: comm,dso_from,symbol_from,symbol_to,cycles)`,
  "--pt": `count all branches of the Intel PT of the recording; the default of -b if there are no
    branch stacks`,
  "--mem": `count accesses to memory, each with its weight, as perf mem report (default with it:
    mem,sym,dso,symbol_daddr,dso_daddr,snoop,tlb,locked,blocked)`,
  "--time-quantum T": "the length of a row of --sort time (default: 100ms)",
  "--srcline": "also group by source file and line: --sort …,srcline",
  "--latency": `show the share of the latency first, and sort by it: periods divided by the number
    of threads that had a CPU, as perf report --latency`,
  "--parallelism LIST": "only samples taken while this many threads had a CPU: 1-2,8",
  "--children": "also count callees, from call chains",
  "--no-inline": `count a sample for the function that the code was inlined into, which is quicker;
    the default with -b and --mem`,
  "--inline": "count it for the function that is inlined at its address (the default)",
  "--csv": "print all rows as CSV",
  "--json": "print all rows as lines of JSON",
  "--full-names": "on a terminal, cut long names at their end instead of shortening them",
  "--limit N": "print at most N rows of each event",
  "--percent-limit P": "only rows of at least P percent",
  "-g, --call-graph ORDER": `show the stacks of each row, as perf report -g does: caller (from the
    start of the thread, with --children from the function down) or callee (up)`,
  "--event NAMES": "only samples of these events",
  ...FOCUS_FLAG,
  ...TRANSFORM_FLAGS,
  ...WEIGHT_FLAG,
  ...ITRACE_FLAG,
  ...JOBS_FLAG,
  ...SAMPLE_FLAGS,
  ...SYMBOL_FLAGS,
  ...STITCH_FLAG,
  ...VERBOSE_FLAG,
  ...TEMP_FLAG,
  ...COLOR_FLAG,
} as const;

/** Words in the rules for values of flags, if no flag means the same. */
export type Word = "details" | "sort time" | "times" | "types" | "weighted";

/** Flags and kinds of rows that exclude or need each other. */
const RULES: readonly FlagRule<FlagName<typeof FLAGS> | Word>[] = [
  { flag: "itrace", excludes: ["pt"] },
  { flag: "json", excludes: ["csv"] },
  { flag: "inline", excludes: ["no-inline"] },
  { flag: "csv", excludes: ["call-graph"], why: "it has no column for stacks" },
  { flag: "time-quantum", needs: ["sort time"] },
  { flag: "pt", needs: ["branches"], why: "branches are counted; perfdata pt prints what ran" },
  {
    flag: "branches",
    excludes: ["mem", "weighted", "children", "call-graph"],
    why: "branches are counted by themselves",
  },
  {
    flag: "mem",
    excludes: ["weighted", "children", "call-graph"],
    why: "accesses to memory are counted by themselves",
  },
  {
    flag: "types",
    excludes: ["branches", "children", "call-graph"],
    why: "types of data are those that samples accessed",
  },
  {
    flag: "latency",
    excludes: ["weighted", "branches", "mem", "types"],
    why: "periods of samples are divided",
  },
  { flag: "latency", excludes: ["call-graph"], why: "--weight latency shows stacks" },
  {
    flag: "parallelism",
    excludes: ["times", "branches", "mem", "types"],
    why: "samples are chosen",
  },
  { flag: "details", excludes: ["times", "branches"], why: "the key is of samples" },
  ...TRANSFORMS.map((flag) => ({
    flag,
    excludes: ["branches", "mem", "types", "details", "latency", "parallelism", "srcline"],
    why: "transformed stacks have functions and periods alone",
  } as const)),
];

export const tool: Command = command({
  name: "funcs",
  help: HELP,
  flags: FLAGS,
  rules: RULES,
  job: () => import("./run/funcs.ts"),
});

if (import.meta.main) await main(tool);
