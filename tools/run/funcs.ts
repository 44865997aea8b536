// One module, since recordings, tables, profiles of other tools and Intel PT give the same rows.
/** Runs `funcs`. */
import {
  type Engine,
  noStacksText,
  rulingPeriodText,
  sharedBuildIdTexts,
  splitEvents,
  unwoundText,
} from "@perfdata/session";
import {
  DETAIL_SOURCES,
  functionNames,
  isTimeWeight,
  type Profile,
  SampleCollector,
  sampledCode,
  trustLines,
} from "@perfdata/profile";
import {
  type FunctionOptions,
  type FunctionTable,
  functionTable,
  functionText,
  sampleKeys,
} from "@perfdata/report";
import {
  aboutAsync,
  complain,
  complainAll,
  type Complaints,
  InputError,
  UsageError,
  writeOut,
} from "../shared/cli.ts";
import { type Flags, hasTransforms, type Question, questionOf } from "../shared/funcs_flags.ts";
import { choosesSamples, givenFilters, sampleFilter } from "../shared/sample_flags.ts";
import { resolverOf } from "../shared/symbol_flags.ts";
import { reportSwitches } from "../shared/weight.ts";
import { openSamples, type SampleRecording } from "../shared/open_input.ts";
import { writeTable } from "../shared/styled.ts";
import { complainRounded } from "../shared/periods.ts";
import { tableFolders } from "../shared/table_folders.ts";
import { whyNoAccesses, whyNoSamples, whyNothing } from "../shared/nothing.ts";

export { implied } from "../shared/funcs_flags.ts";

/** The least share of a call chain that the table shows, as in perf. */
const LEAST_CHAIN = 0.005;

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
  table: FunctionTable,
): Promise<void> {
  const { FunctionChains } = order === undefined ? {} : await import("@perfdata/report");
  const chains = order && FunctionChains && new FunctionChains(table, order);
  const { csvText } = on.csv ? await import("../shared/csv.ts") : {};
  for (
    const text of functionText(table, {
      format: on.json ? "json" : on.csv ? "csv" : "table",
      eventNames: table.eventNames,
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
  const { decodeBranches } = await import("../shared/branches_pt.ts");
  const { FunctionTable } = await import("@perfdata/report");
  const { TraceBranchSamples } = await import("@perfdata/report/figures");
  let counts: InstanceType<typeof TraceBranchSamples> | undefined;
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
  const { places } = trace.code;
  const { code, trust } = await sampledCode(counts, { places, resolver });
  const wanted = wantedOf(question, code.events.map(({ name }) => name));
  const table = new FunctionTable(code, wanted, { trust });
  await print(question, table);
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
  const { tablesProfile } = await import("../shared/profile_of_tables.ts");
  const timed = sort.includes("cpu");
  return await ofProfile(question, await tablesProfile(name, flags, { timed }), "tables");
}

/** Prints a table of a profile that another tool wrote. */
async function ofImported(
  question: Question,
  opened: SampleRecording,
): Promise<number> {
  const { sort, flags } = question;
  const { importedProfile } = await import("../shared/imported_profile.ts");
  const profile = await importedProfile(flags, { opened, timed: sort.includes("cpu") });
  return await ofProfile(question, profile, "imported");
}

/** Prints a table of samples after transforms of their stacks. */
async function ofTransformed(question: Question): Promise<number> {
  const { name, sort, inline, weight, flags: { on, value } } = question;
  const { readProfile } = await import("../shared/open_profile.ts");
  const { profile: read, isWhole } = await readProfile("funcs", name, question.flags, {
    weight,
    itrace: value.itrace,
    timed: sort.includes("cpu"),
    debugInformation: inline,
  });
  const { transformed } = await import("../shared/transformed.ts");
  const profile = transformed("funcs", name, { on: { ...on, "no-inline": !inline }, value }, read);
  // Names were filtered before the transforms, as in `tree`.
  const named = { comm: undefined, dso: undefined, symbol: undefined };
  const functions = { ...profile.functions, name: functionNames(profile) };
  const status = await ofProfile(
    { ...question, named, inline: true },
    { ...profile, functions },
    "transformed",
  );
  return isWhole ? status : 1;
}

/** Prints a table of a profile, which has neither data addresses nor data types. */
async function ofProfile(
  question: Question,
  profile: Profile,
  from: "tables" | "imported" | "transformed",
): Promise<number> {
  const { name, sort, limit } = question;
  const { FunctionTable } = await import("@perfdata/report");
  const lacking = sort.find((key) =>
    key === "socket" || key === "cpu"
      ? key === "socket" || profile.samples.cpu === undefined
      : (key === "pid" || key === "tid") && profile.threads.pid(0) < 0
  );
  if (lacking !== undefined) {
    throw new UsageError(
      from === "tables"
        ? `--sort ${lacking} needs tables of one recording: perfdata sql has all`
        : from === "transformed"
        ? `--sort ${lacking}: transformed stacks do not say it`
        : `--sort ${lacking}: the profile does not say it: ${profile.trust}`,
    );
  }
  const eventNames = profile.events.map(({ name }) => name);
  const table = new FunctionTable(profile, wantedOf(question, eventNames));
  await print(question, table);
  if (from !== "transformed") complain(`funcs: ${name}: ${profile.trust}`);
  if (table.rows.length > 0 || limit === 0) return 0;
  const samples = table.totals.reduce((sum, total) => sum + total.samples, 0);
  complain(`funcs: ${name}: no row is left of ${samples} samples`);
  return 1;
}

/** Prints a table of the samples of a recording. */
async function ofSamples(question: Question, opened: SampleRecording): Promise<number> {
  const { name, sort, branches, memory, types, weight, inline, order, flags } = question;
  const { on, value } = flags;
  const { recording, progress, itraced } = opened;
  const isTime = isTimeWeight(weight);
  const filter = await sampleFilter(flags, recording);
  const { keys: { details, ...keys }, quantum } = question;
  const lines = inline && (sort.includes("sym") || order !== undefined) ||
    sort.some((key) => key.startsWith("src"));
  const counts = new SampleCollector({
    lines,
    branches,
    memory,
    weight,
    parallelism: question.parallelism,
    filter: isTime ? filter : undefined,
    keys: { ...keys, details: details && { quantum, ...details } },
    stacks: on.children || order !== undefined,
  });
  const { engine, symbols } = await recording.collect(counts, {
    filter,
    lines: lines || types,
    stitchLbr: on["stitch-lbr"],
  });
  progress.finish();
  if (memory && counts.accesses === 0 && counts.totals.some(({ samples }) => samples > 0)) {
    throw new InputError(`${name}: ${await whyNoAccesses(name, "perf mem record")}`);
  }
  await reportSwitches("funcs", name, counts);
  const eventNames = isTime ? [weight] : engine.eventNames;
  const resolver = await symbols();
  const { dataTypesOf, reportUnknownTypes } = types
    ? await import("../shared/printed_types.ts")
    : {};
  const table = await functionTable(counts, resolver, {
    ...wantedOf(question, eventNames),
    dataTypes: await dataTypesOf?.(name, { engine, resolver }, value),
    progress: progress.names,
  });
  progress.finish();
  await print(question, table);
  if (types && table.unknownTypes !== undefined) {
    reportUnknownTypes?.("funcs", name, table.unknownTypes);
  }
  const status = await reportRows(question, { ...opened, engine, counts, table });
  return itraced?.report() === false ? 1 : status;
}

/** Reports what the rows lack, or why there are no rows. Returns the exit code. */
async function reportRows(
  question: Question,
  { engine, counts, table, complaints }: {
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
  const { reader } = engine;
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

export async function run(flags: Flags): Promise<number> {
  const question = questionOf(flags);
  const { name, branches } = question;
  if (hasTransforms(flags)) {
    return await aboutAsync(name, () => ofTransformed(question));
  }
  if (tableFolders(name).length > 0) {
    if (needsRecording(question)) {
      throw new UsageError(`${name} has tables: only samples are counted`);
    }
    return await aboutAsync(name, () => ofTables(question));
  }
  return await aboutAsync(name, async () => {
    const { hasOnlyTracedBranches } = branches ? await import("../shared/branch_exports.ts") : {};
    const isTraced = hasOnlyTracedBranches !== undefined &&
      (flags.on.pt || flags.value.itrace === undefined && await hasOnlyTracedBranches(name));
    if (isTraced) return await ofTrace(question);
    const { itrace } = flags.value;
    const opened = await openSamples("funcs", name, flags, { itrace, interruptible: true });
    if (opened.recording.imported === undefined) return await ofSamples(question, opened);
    if (needsRecording(question)) {
      throw new UsageError(`${name} is a profile of another tool: only samples are counted`);
    }
    return await ofImported(question, opened);
  });
}
