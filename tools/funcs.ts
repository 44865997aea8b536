// One module, since recordings, tables, profiles of other tools and Intel PT give the same rows, by one
// reading of the flags.
/** Prints functions by their share of the samples: `deno run funcs FILE`. */
import { collect } from "@perfdata/perfdata/collect";
import { trustLines } from "@perfdata/report/trust";
import {
  type Engine,
  noStacksText,
  rulingPeriodText,
  sampleJobs,
  sharedBuildIdTexts,
  splitEvents,
  unwoundText,
} from "@perfdata/session";
import {
  type CollectOptions,
  DETAIL_SOURCES,
  type ImportedKind,
  isTimeWeight,
  type Profile,
  type ProfileWeight,
  SampleCollector,
} from "@perfdata/profile";
import type { ByteSource } from "@perfdata/format/bytes";
import { PerfDataReader } from "@perfdata/format/records";
import {
  areOfBranches,
  areOfMemory,
  areOfTypes,
  type CountedCode,
  type CountedSamples,
  type FunctionOptions,
  type FunctionTable,
  functionTable,
  functionText,
  sampleKeys,
  SORT_KEYS,
  type SortKey,
} from "@perfdata/report";
import {
  aboutAsync,
  complain,
  complainAll,
  Complaints,
  InputError,
  oneFile,
  parseWord,
  Progress,
  UsageError,
  writeOut,
} from "./shared/cli.ts";
import { type Command, command, main } from "./shared/command.ts";
import {
  COLOR_FLAG,
  ITRACE_FLAG,
  JOBS_FLAG,
  SAMPLE_FLAGS,
  STITCH_FLAG,
  SYMBOL_FLAGS,
  TEMP_FLAG,
  VERBOSE_FLAG,
  WEIGHT_FLAG,
} from "./shared/flag_sets.ts";
import type { FlagsOf, Help } from "./shared/flag_table.ts";
import {
  choosesSamples,
  givenFilters,
  nameFilters,
  parseNumbers,
  sampleFilter,
} from "./shared/sample_flags.ts";
import { resolverOf, symbolOptions } from "./shared/symbol_flags.ts";
import { parseWeight, reportSwitches } from "./shared/weight.ts";
import { openInput } from "./shared/open_input.ts";
import { writeTable } from "./shared/styled.ts";
import { complainRounded } from "./shared/periods.ts";
import { parseLength } from "./shared/time_flag.ts";
import { tableFolders } from "./shared/table_folders.ts";
import { whyNoAccesses, whyNoSamples, whyNothing } from "./shared/nothing.ts";
import { parseCount, parseJobs, parsePercent } from "./shared/record_flags.ts";

/** Sort keys of `--branches`. */
const BRANCH_SORT = "comm,dso_from,symbol_from,symbol_to,cycles";
/** Sort keys of `--mem`. */
const MEM_SORT = "mem,sym,dso,symbol_daddr,dso_daddr,snoop,tlb,locked,blocked";

/** The names of the sort keys that a predicate selects, for the help text. */
const keysOf = (isOf: (key: SortKey) => boolean): string => SORT_KEYS.filter(isOf).join(",");

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

/** The least share of a call chain that the table shows, as in perf. */
const LEAST_CHAIN = 0.005;

const FLAGS = {
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

/** The parsed flags: how samples are counted and which rows are printed. */
interface Question {
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

type Flags = FlagsOf<typeof FLAGS>;

/**
 * Parses and checks the flags.
 *
 * @throws {UsageError} If flags exclude each other.
 */
function questionOf(flags: Flags): Question {
  const { on, value, operands } = flags;
  const asked = (value.sort ?? (on.branches ? BRANCH_SORT : on.mem ? MEM_SORT : "comm,dso,sym"))
    .split(",");
  const sort = sortKeys(asked.filter((key) => key !== "latency"));
  const branches = on.branches || areOfBranches(sort);
  const memory = on.mem || areOfMemory(sort);
  if (on.pt && !branches) {
    throw new UsageError("--pt counts branches: with -b; perfdata pt prints what ran");
  }
  if (branches && memory) {
    throw new UsageError("branches and accesses to memory exclude each other");
  }
  const types = areOfTypes(sort);
  if (types && (branches || on.children || value["call-graph"] !== undefined)) {
    const other = branches ? "branches" : on.children ? "--children" : "--call-graph";
    throw new UsageError(`types of data are those that samples accessed: without ${other}`);
  }
  if (on.srcline && !sort.includes("srcline")) sort.push("srcline");
  // `--sort latency` is perf's name for the latency column.
  const isLatency = on.latency || asked.includes("latency");
  const parallelism = value.parallelism === undefined
    ? undefined
    : parseNumbers("parallelism", value.parallelism);
  const limit = parseCount("limit", value.limit) ?? Infinity;
  const percent = parsePercent("percent-limit", value["percent-limit"]) ?? 0;
  const order = value["call-graph"] === undefined
    ? undefined
    : parseWord("call-graph", value["call-graph"], ["caller", "callee"] as const);
  const weight = parseWeight(value.weight);
  const isTime = isTimeWeight(weight);
  if ((branches || memory) && (weight !== "period" || on.children || order !== undefined)) {
    const other = weight !== "period" ? "weight" : on.children ? "children" : "call-graph";
    const what = branches ? "branches" : "accesses to memory";
    throw new UsageError(`${what} are counted by themselves: without --${other}`);
  }
  const excluded = isTime || isLatency && weight !== "period"
    ? `--weight ${weight}`
    : isLatency && order !== undefined
    ? "--call-graph, which shows --weight latency"
    : branches
    ? "branches"
    : memory
    ? "accesses to memory"
    : types
    ? "types of data"
    : undefined;
  if (excluded !== undefined && (isLatency || parallelism !== undefined)) {
    throw new UsageError(`--${isLatency ? "latency" : "parallelism"} excludes ${excluded}`);
  }
  const quantum = value["time-quantum"] === undefined
    ? undefined
    : Number(parseLength("time-quantum", value["time-quantum"]));
  if (quantum === 0) throw new UsageError("--time-quantum is 0");
  if (quantum !== undefined && !sort.includes("time")) {
    throw new UsageError("--time-quantum is for --sort time");
  }
  // Samples taken at different parallelism have different latencies, so group by it.
  const keys = sampleKeys(isLatency ? [...sort, "parallelism"] : sort);
  const [detail] = keys.details?.columns ?? [];
  if (detail !== undefined && (isTime || branches)) {
    throw new UsageError(
      `${detail} is of samples: without ${isTime ? `--weight ${weight}` : "branches"}`,
    );
  }
  return {
    name: oneFile(operands),
    sort,
    keys,
    branches,
    memory,
    types,
    weight,
    inline: on.inline || !(on["no-inline"] || branches || memory),
    limit,
    percent,
    order,
    isLatency,
    parallelism,
    quantum,
    named: nameFilters(flags),
    flags,
  };
}

/** The row filters and limits for the table. */
function wantedOf(question: Question, eventNames: readonly string[]): FunctionOptions {
  const { name, sort, inline, limit, percent, order, isLatency, named, flags: { on, value } } =
    question;
  const { comm, dso, symbol: sym } = named;
  return {
    sort,
    inline,
    limit,
    least: percent / 100,
    ...(value.event === undefined ? {} : { events: eventsCalled(value.event, eventNames, name) }),
    callees: on.children,
    latency: isLatency,
    chains: order !== undefined,
    ...((comm ?? dso ?? sym) === undefined ? {} : { only: { comm, dso, sym } }),
  };
}

/** Prints the rows of a table, as text, CSV or JSON. */
async function print(
  { order, flags: { on } }: Question,
  { code, counts, table, eventNames }: {
    readonly code: CountedCode;
    readonly counts: CountedSamples;
    readonly table: FunctionTable;
    readonly eventNames: readonly string[];
  },
): Promise<void> {
  const { FunctionChains } = order === undefined ? {} : await import("@perfdata/report");
  const chains = order && FunctionChains && new FunctionChains(code, counts, table, order);
  const { csvText } = on.csv ? await import("./shared/csv.ts") : {};
  for (
    const text of functionText(table, {
      format: on.json ? "json" : on.csv ? "csv" : "table",
      eventNames,
      chains: chains && {
        lines: (row) => chains.lines(row, LEAST_CHAIN),
        json: (row) => ({ chains: chains.chains(row) }),
      },
      width: Deno.stdout.isTerminal() ? Deno.consoleSize().columns : undefined,
      fullNames: on["full-names"],
      csv: (rows) => csvText?.(rows) ?? "",
    })
  ) {
    if (on.json || on.csv) writeOut(text);
    else writeTable(text);
  }
}

/** Prints a table of branches decoded from Intel PT. */
async function ofTrace(question: Question): Promise<number> {
  const { name, sort, inline, limit, flags } = question;
  const { decodeBranches } = await import("./shared/branches_pt.ts");
  const { TraceBranchSamples, tracePlaces } = await import("@perfdata/report");
  let counts: CountedSamples | undefined;
  const { trace, report } = await decodeBranches("funcs", name, flags, ({ names }) => {
    const samples = new TraceBranchSamples(names, sampleKeys(sort));
    counts = samples;
    return (rows) => samples.take(rows);
  });
  if (counts === undefined) throw new InputError(`${name}: no Intel PT`);
  const resolver = await resolverOf(flags, name, {
    machine: trace.engine.recorded,
    parameters: false,
    debugInformation: inline && sort.includes("sym") ||
      sort.some((key) => key.startsWith("src")),
  });
  const eventNames = ["branches"];
  const places = tracePlaces(trace.code);
  const table = await functionTable(places, counts, resolver, wantedOf(question, eventNames));
  await print(question, { code: places, counts, table, eventNames });
  complainAll(
    "funcs",
    trustLines(table.trust, { verbose: flags.on.verbose, counted: "ends of branches" }),
  );
  const status = report();
  const [{ samples } = { samples: 0 }] = counts.totals;
  if (samples === 0) throw new InputError(`${name}: no branches in its Intel PT`);
  if (table.rows.length > 0 || limit === 0) return status;
  complain(`funcs: ${name}: no row is left of ${samples} branches`);
  return 1;
}

/** Prints a table of samples from the files that `export parquet` wrote. */
async function ofTables(question: Question): Promise<number> {
  const { name, sort, flags } = question;
  const { tablesProfile } = await import("./shared/profile_of_tables.ts");
  const timed = sort.includes("cpu");
  return await ofProfile(question, await tablesProfile(name, flags, { timed }), "tables");
}

/** Prints a table of a profile that another tool wrote. */
async function ofImported(
  question: Question,
  source: ByteSource,
  kind: ImportedKind,
): Promise<number> {
  const { name, sort, flags } = question;
  const { importedProfile } = await import("./shared/imported_profile.ts");
  const how = { timed: sort.includes("cpu"), input: { source, kind } };
  return await ofProfile(question, await importedProfile("funcs", name, flags, how), "imported");
}

/** Prints a table of a profile, which has neither data addresses nor data types. */
async function ofProfile(
  question: Question,
  profile: Profile,
  from: "tables" | "imported",
): Promise<number> {
  const { name, sort, limit } = question;
  const { profileFunctions } = await import("@perfdata/report");
  const lacking = sort.find((key) =>
    key === "socket" || key === "cpu"
      ? key === "socket" || profile.samples.cpu === undefined
      : (key === "pid" || key === "tid") && profile.threads.pid(0) < 0
  );
  if (lacking !== undefined) {
    throw new UsageError(
      from === "tables"
        ? `--sort ${lacking} needs tables of one recording: perfdata sql has all`
        : `--sort ${lacking}: the profile does not say it: ${profile.trust}`,
    );
  }
  const eventNames = profile.events.map(({ name }) => name);
  const { table, code, counts } = profileFunctions(profile, wantedOf(question, eventNames));
  await print(question, { code, counts, table, eventNames });
  complain(`funcs: ${name}: ${profile.trust}`);
  if (table.rows.length > 0 || limit === 0) return 0;
  const samples = counts.totals.reduce((sum, total) => sum + total.samples, 0);
  complain(`funcs: ${name}: no row is left of ${samples} samples`);
  return 1;
}

/** Prints a table of the samples of a recording. */
async function ofSamples(question: Question, input: ByteSource): Promise<number> {
  const {
    name,
    sort,
    keys,
    branches,
    memory,
    types,
    weight,
    inline,
    order,
    parallelism,
    quantum,
    flags,
  } = question;
  const { on, value } = flags;
  const isTime = isTimeWeight(weight);
  const complaints = new Complaints(`funcs: ${name}`);
  const itraced = value.itrace === undefined
    ? undefined
    : await (await import("./shared/itraced.ts")).itraced("funcs", name, {
      letters: value.itrace,
      where: value,
      opened: input,
    });
  const opened = itraced?.source ?? input;
  // The sample format of context switches is in the feature sections at the end of the file.
  const isParallel = weight === "latency" || parallelism !== undefined ||
    keys.details?.columns.includes("parallelism") === true;
  const source = isTime || isParallel
    ? await (await import("@perfdata/format/records")).featuresFirst(opened)
    : opened;
  const reader = await PerfDataReader.open(source, { diagnostics: complaints.take });
  const filter = await sampleFilter(flags, reader);
  const progress = new Progress("funcs", reader.fileSize);
  const lines = inline && (sort.includes("sym") || order !== undefined) ||
    sort.some((key) => key.startsWith("src"));
  const how: CollectOptions = {
    lines,
    branches,
    memory,
    weight,
    parallelism,
    ...(isTime ? { filter } : {}),
    keys: keys.details === undefined || quantum === undefined
      ? keys
      : { ...keys, details: { ...keys.details, quantum } },
    stacks: on.children || order !== undefined,
  };
  const counts = new SampleCollector(how);
  const jobs = isTime || isParallel || itraced !== undefined
    ? 1
    : await sampleJobs(parseJobs(value.jobs), reader);
  const workers = jobs === 1
    ? undefined
    : (await import("@perfdata/profile/workers")).collectWorkers(name, jobs, {
      collect: how,
      symbols: { ...symbolOptions(flags), parameters: false, debugInformation: false },
    });
  const { engine, symbols } = await collect(reader, counts, {
    filter,
    symbols: ({ recorded }) =>
      resolverOf(flags, name, {
        machine: recorded,
        parameters: false,
        debugInformation: lines || types,
      }),
    stitchLbr: on["stitch-lbr"],
    workers,
    progress: progress.add,
    diagnostics: complaints.take,
  });
  progress.finish();
  if (memory && counts.accesses === 0 && counts.totals.some(({ samples }) => samples > 0)) {
    throw new InputError(`${name}: ${await whyNoAccesses(name, "perf mem record")}`);
  }
  await reportSwitches("funcs", name, counts);
  const eventNames = isTime ? [weight] : engine.eventNames;
  const resolver = await symbols();
  const { dataTypesOf, reportUnknownTypes } = types
    ? await import("./shared/printed_types.ts")
    : {};
  const dataTypes = await dataTypesOf?.(name, { engine, resolver }, value);
  const table = await functionTable(engine, counts, resolver, {
    ...wantedOf(question, eventNames),
    dataTypes,
    progress: progress.names,
  });
  progress.finish();
  await print(question, {
    code: engine,
    counts,
    table,
    eventNames: isTime ? eventNames : table.eventNames,
  });
  if (types && table.unknownTypes !== undefined) {
    reportUnknownTypes?.("funcs", name, table.unknownTypes);
  }
  const status = await reportRows(question, { reader, engine, counts, table, complaints });
  return itraced?.report() === false ? 1 : status;
}

/** Reports what the rows lack, or why there are no rows. Returns the exit code. */
async function reportRows(
  question: Question,
  { reader, engine, counts, table, complaints }: {
    readonly reader: PerfDataReader;
    readonly engine: Engine;
    readonly counts: SampleCollector;
    readonly table: FunctionTable;
    /** Errors found in the recording. */
    readonly complaints: Complaints;
  },
): Promise<number> {
  const { name, sort, branches, limit, percent, parallelism, named, flags } = question;
  const { on, value } = flags;
  const filters = givenFilters(flags);
  for (const column of question.keys.details?.columns ?? []) {
    if (column === "parallelism" || column === "machine" || column === "pmu") continue;
    const { types, recordedBy } = DETAIL_SOURCES[column];
    if (reader.events.all.some(({ layout }) => (layout.sampleType & types) !== 0)) continue;
    complain(`funcs: ${name}: no sample has ${column}: perf record ${recordedBy} records it`);
  }
  if (sort.includes("socket") && (counts.sockets ?? []).length === 0) {
    complain(`funcs: ${name}: the recording does not say which socket a CPU is of`);
  }
  complainAll(
    "funcs",
    trustLines(table.trust, {
      verbose: on.verbose,
      counted: branches ? "ends of branches" : "samples",
    }),
  );
  const stacks = counts.stacks
    ? unwoundText(engine, on.verbose) ?? noStacksText(engine)
    : undefined;
  if (stacks !== undefined) complain(`funcs: ${name}: ${stacks}`);
  complaints.finish();
  complainRounded("funcs", name, counts.totals);
  if (!branches && !isTimeWeight(question.weight)) {
    for (const [number, { samples, period }] of counts.totals.entries()) {
      const largest = counts.largest.periods[number] ?? 0;
      const what = question.memory ? "weight" : "period";
      const of = { name: engine.eventNames[number] ?? "", samples, period, largest, what } as const;
      const ruling = rulingPeriodText(of, reader.events.all[number]);
      if (ruling !== undefined) complain(`funcs: ${name}: ${ruling}`);
    }
  }
  // Without trust, the table shows no symbols, so no symbol can be wrong.
  if (table.trust !== undefined) {
    for (const text of sharedBuildIdTexts(engine.places.objects)) {
      complain(`funcs: ${name}: ${text}`);
    }
  }
  const leftOut = engine.leftOut + counts.leftOut;
  if (leftOut > 0) {
    complain(`funcs: ${name}: ${leftOut} samples left out: of no known event, or too short`);
  }
  if (counts.totals.every(({ samples }) => samples === 0)) {
    const chosen = choosesSamples(flags);
    if (branches && !chosen) {
      throw new InputError(`${name}: no samples with branches; perf record -b records them`);
    }
    complain(
      `funcs: ${name}: no samples${
        chosen ? `: ${await whyNothing(name, filters, named)}` : await whyNoSamples(name)
      }`,
    );
    // A recording without errors may have no samples.
    return chosen || complaints.count > 0 || leftOut > 0 ? 1 : 0;
  }
  if (table.rows.length === 0 && limit > 0) {
    const samples = counts.totals.reduce((sum, total) => sum + total.samples, 0);
    const why = percent > 0 && !choosesSamples(flags)
      ? `no row has ${percent}%`
      : parallelism !== undefined && !choosesSamples(flags)
      ? `none was taken while ${value.parallelism} threads had a CPU`
      : await whyNothing(name, filters, named);
    complain(`funcs: ${name}: none of ${samples} samples: ${why}`);
    return 1;
  }
  return complaints.count > 0 ? 1 : 0;
}

/** Whether the question needs data that only recordings have, not profiles. */
function needsRecording(
  { branches, memory, types, weight, keys, parallelism, flags }: Question,
): boolean {
  return branches || memory || types || weight !== "period" || keys.details !== undefined ||
    parallelism !== undefined || flags.value.itrace !== undefined;
}

async function run(flags: Flags): Promise<number> {
  const question = questionOf(flags);
  const { name, branches } = question;
  if (tableFolders(name).length > 0) {
    if (needsRecording(question)) {
      throw new UsageError(`${name} has tables: only samples are counted`);
    }
    return await aboutAsync(name, () => ofTables(question));
  }
  return await aboutAsync(name, async () => {
    const { hasOnlyTracedBranches } = branches ? await import("./shared/branch_exports.ts") : {};
    const isTraced = hasOnlyTracedBranches !== undefined &&
      (flags.on.pt || flags.value.itrace === undefined && await hasOnlyTracedBranches(name));
    if (isTraced) return await ofTrace(question);
    const { source, kind } = await openInput(name, { interruptible: true });
    if (kind === undefined) return await ofSamples(question, source);
    if (needsRecording(question)) {
      throw new UsageError(`${name} is a profile of another tool: only samples are counted`);
    }
    return await ofImported(question, source, kind);
  });
}

export const tool: Command = command({
  name: "funcs",
  help: HELP,
  flags: FLAGS,
  rules: [{ flag: "itrace", excludes: ["pt"] }, { flag: "json", excludes: ["csv"] }, {
    flag: "inline",
    excludes: ["no-inline"],
  }, {
    flag: "csv",
    excludes: ["call-graph"],
    why: "it has no column for stacks",
  }],
  run,
});

if (import.meta.main) await main(tool);
