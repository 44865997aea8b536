/** The flags of `funcs`, the rules between them, and what they ask for. */
import { isTimeWeight, type ProfileWeight } from "@perfdata/profile";
import {
  areOfBranches,
  areOfMemory,
  areOfTypes,
  sampleKeys,
  SORT_KEYS,
  type SortKey,
} from "@perfdata/report";
import { oneFile, parseWord, UsageError } from "./cli.ts";
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
} from "./flag_sets.ts";
import type { FlagName, FlagRule, FlagsOf } from "./flag_table.ts";
import { parseCount, parsePercent } from "./record_flags.ts";
import { nameFilters, parseNumbers } from "./sample_flags.ts";
import { parseLength } from "./time_flag.ts";
import { parseWeight } from "./weight.ts";

/** Sort keys of `--branches`. */
const BRANCH_SORT = "comm,dso_from,symbol_from,symbol_to,cycles";
/** Sort keys of `--mem`. */
const MEM_SORT = "mem,sym,dso,symbol_daddr,dso_daddr,snoop,tlb,locked,blocked";

/** The names of the sort keys that a predicate selects, for the help text. */
const keysOf = (isOf: (key: SortKey) => boolean): string => SORT_KEYS.filter(isOf).join(",");

function sortKeys(keys: readonly string[]): SortKey[] {
  return keys.map((key) => {
    const found = SORT_KEYS.find((known) => known === key);
    if (found === undefined) {
      throw new UsageError(`--sort: unknown key ${key}`, {
        word: key,
        known: [...SORT_KEYS, "latency"],
      });
    }
    return found;
  });
}

/** The flags of `funcs`. */
export const FLAGS = {
  "--sort KEYS": `group rows by these (default: comm,dso,sym); any of ${
    keysOf((key) => !areOfBranches([key]) && !areOfMemory([key]))
  }; or of branches: ${keysOf((key) => areOfBranches([key]))}; or of memory: ${
    keysOf((key) => areOfMemory([key]))
  }`,
  "-b, --branches": `count the branches of branch stacks instead of samples, as perf report -b
    (default with it: ${BRANCH_SORT})`,
  "--pt": `count all branches of the Intel PT of the recording; the default of -b if there are no
    branch stacks`,
  "--mem": `count accesses to memory, each with its weight, as perf mem report (default with it:
    ${MEM_SORT})`,
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

/** The parsed flags: how samples are counted and which rows are printed. */
export interface Question {
  readonly name: string;
  readonly sort: readonly SortKey[];
  readonly keys: ReturnType<typeof sampleKeys>;
  readonly branches: boolean;
  readonly memory: boolean;
  /** Whether rows are data types. */
  readonly types: boolean;
  readonly weight: ProfileWeight;
  readonly inline: boolean;
  readonly limit: number;
  readonly percent: number;
  /** The direction of call chains below rows; `undefined` prints no chains. */
  readonly order: "caller" | "callee" | undefined;
  /** Whether rows have a latency column. */
  readonly isLatency: boolean;
  /** Keep only samples taken while this many threads were running. */
  readonly parallelism: ReturnType<typeof parseNumbers> | undefined;
  /** Nanoseconds that times are rounded down to. */
  readonly quantum: number | undefined;
  readonly named: ReturnType<typeof nameFilters>;
  readonly flags: Flags;
}

/** The command line of `funcs`. */
export type Flags = FlagsOf<typeof FLAGS>;

/** Words of the rules for values of flags that no other flag stands for. */
type Word = "details" | "sort time" | "times" | "types" | "weighted";

/** The sort keys as typed, with perf's `latency`, which is a column. */
function typedKeys({ on, value }: Flags): readonly string[] {
  const keys = value.sort ?? (on.branches ? BRANCH_SORT : on.mem ? MEM_SORT : "comm,dso,sym");
  return keys.split(",");
}

/** The flags and words that sort keys and weights imply. */
export function implied(
  flags: Flags,
): Partial<Record<FlagName<typeof FLAGS> | Word, string | undefined>> {
  const typed = typedKeys(flags);
  const sort = sortKeys(typed.filter((key) => key !== "latency"));
  const weight = parseWeight(flags.value.weight);
  const keyed = (isOf: (key: SortKey) => boolean): string | undefined => {
    const key = flags.value.sort === undefined ? undefined : sort.find(isOf);
    return key && `--sort ${key}`;
  };
  return {
    "branches": keyed((key) => areOfBranches([key])),
    "mem": keyed((key) => areOfMemory([key])),
    "types": keyed((key) => areOfTypes([key])),
    "details": keyed((key) => sampleKeys([key]).details !== undefined),
    "srcline": keyed((key) => key.startsWith("src")),
    "sort time": keyed((key) => key === "time"),
    "latency": typed.includes("latency") ? "--sort latency" : undefined,
    "weighted": weight === "period" ? undefined : `--weight ${weight}`,
    "times": isTimeWeight(weight) ? `--weight ${weight}` : undefined,
  };
}

/** Flags and kinds of rows that exclude or need each other. */
export const RULES: readonly FlagRule<FlagName<typeof FLAGS> | Word>[] = [
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

/**
 * Parses the flags.
 *
 * @throws {UsageError} If a value is invalid.
 */
export function questionOf(flags: Flags): Question {
  const { on, value, operands } = flags;
  const typed = typedKeys(flags);
  const sort = sortKeys(typed.filter((key) => key !== "latency"));
  const branches = on.branches || areOfBranches(sort);
  const memory = on.mem || areOfMemory(sort);
  if (on.srcline && !sort.includes("srcline")) sort.push("srcline");
  const isLatency = on.latency || typed.includes("latency");
  const quantum = value["time-quantum"] === undefined
    ? undefined
    : Number(parseLength("time-quantum", value["time-quantum"]));
  if (quantum === 0) throw new UsageError("--time-quantum is 0");
  return {
    name: oneFile(operands),
    sort,
    // Samples taken at different parallelism have different latencies, so group by it.
    keys: sampleKeys(isLatency ? [...sort, "parallelism"] : sort),
    branches,
    memory,
    types: areOfTypes(sort),
    weight: parseWeight(value.weight),
    inline: on.inline || !(on["no-inline"] || branches || memory),
    limit: parseCount("limit", value.limit) ?? Infinity,
    percent: parsePercent("percent-limit", value["percent-limit"]) ?? 0,
    order: parseWord("call-graph", value["call-graph"], ["caller", "callee"]),
    isLatency,
    parallelism: value.parallelism === undefined
      ? undefined
      : parseNumbers("parallelism", value.parallelism),
    quantum,
    named: nameFilters(flags),
    flags,
  };
}
