/** Parses the flags of `funcs`. */
import { type CollectOptions, isTimeWeight, type ProfileWeight } from "@perfdata/profile";
import {
  areOfBranches,
  areOfMemory,
  areOfTypes,
  functionColumns,
  type FunctionOptions,
  sampleKeys,
  SORT_KEYS,
  type SortKey,
} from "@perfdata/report";
import { splitEvents } from "@perfdata/session";
import { InputError, oneFile, parseWord, UsageError } from "./cli.ts";
import type { FlagName, FlagsOf } from "./flag_table.ts";
import type { FLAGS, Word } from "../funcs.ts";
import { parseCount, parsePercent } from "./record_flags.ts";
import { nameFilters, parseNumbers } from "./sample_flags.ts";
import { parseLength } from "./time_flag.ts";
import { parseWeight } from "./weight.ts";

/** Sort keys of `--branches`. */
const BRANCH_SORT = "comm,dso_from,symbol_from,symbol_to,cycles";
/** Sort keys of `--mem`. */
const MEM_SORT = "mem,sym,dso,symbol_daddr,dso_daddr,snoop,tlb,locked,blocked";

export function hasTransforms({ on, value }: FlagsOf<typeof FLAGS>): boolean {
  const { focus, drop, merge, collapse, only } = value;
  return (focus ?? drop ?? merge ?? collapse ?? only) !== undefined || on["collapse-recursion"];
}

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

/** The parsed flags: how samples are counted and which rows are printed. */
export interface Question {
  readonly name: string;
  readonly sort: readonly SortKey[];
  /** The columns of samples that the rows need. */
  readonly columns: CollectOptions;
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
  readonly named: ReturnType<typeof nameFilters>;
  readonly flags: Flags;
}

/** The command line of `funcs`. */
export type Flags = FlagsOf<typeof FLAGS>;

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
  const weight = parseWeight(value.weight);
  const inline = on.inline || !(on["no-inline"] || branches || memory);
  const order = parseWord("call-graph", value["call-graph"], ["caller", "callee"]);
  const parallelism = value.parallelism === undefined
    ? undefined
    : parseNumbers("parallelism", value.parallelism);
  const { keys: { details, ...keys } = {}, ...columns } = functionColumns(
    { sort, inline, latency: isLatency, chains: order !== undefined },
    on.children,
  );
  return {
    name: oneFile(operands),
    sort,
    columns: {
      ...columns,
      branches,
      memory,
      weight,
      parallelism,
      keys: { ...keys, details: details && { quantum, ...details } },
    },
    branches,
    memory,
    types: areOfTypes(sort),
    weight,
    inline,
    limit: parseCount("limit", value.limit) ?? Infinity,
    percent: parsePercent("percent-limit", value["percent-limit"]) ?? 0,
    order,
    isLatency,
    parallelism,
    named: nameFilters(flags),
    flags,
  };
}

/**
 * The numbers of the events with the names in a list.
 *
 * @throws {InputError} If the recording has no event of a name.
 */
function eventsCalled(text: string, names: readonly string[], file: string): Set<number> {
  return new Set(
    splitEvents(text).flatMap((name) => {
      const found = names.flatMap((known, number) => known === name ? [number] : []);
      if (found.length > 0) return found;
      const there = new Set(names);
      throw new InputError(
        `${file}: no event ${name}; there ${there.size > 1 ? "are" : "is"} ${
          [...there].join(", ")
        }`,
      );
    }),
  );
}

/** The row filters and limits for the table. */
export function wantedOf(question: Question, eventNames: readonly string[]): FunctionOptions {
  const { name, sort, inline, limit, percent, order, isLatency, named, flags: { on, value } } =
    question;
  const { comm, dso, symbol: sym } = named;
  return {
    sort,
    inline,
    limit,
    least: percent / 100,
    events: value.event === undefined ? undefined : eventsCalled(value.event, eventNames, name),
    callees: on.children,
    latency: isLatency,
    chains: order !== undefined,
    only: (comm ?? dso ?? sym) === undefined ? undefined : { comm, dso, sym },
  };
}

/** Whether the question needs data that only recordings have, not profiles. */
export function needsRecording(
  { branches, memory, types, weight, columns, parallelism, flags }: Question,
): boolean {
  return branches || memory || types || weight !== "period" ||
    columns.keys?.details !== undefined ||
    parallelism !== undefined || flags.value.itrace !== undefined;
}
