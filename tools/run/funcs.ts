// One module, since recordings, tables, profiles of other tools and Intel PT give the same rows.
/** Runs `funcs`. */
import { type Engine, sharedBuildIdTexts, stacksText } from "@perfdata/session";
import {
  functionNames,
  isTimeWeight,
  missingColumns,
  type Profile,
  SampleCollector,
  sampledCode,
  sumDoubts,
  trustLines,
} from "@perfdata/profile";
import {
  FunctionChains,
  FunctionTable,
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
import {
  type Flags,
  hasTransforms,
  needsRecording,
  type Question,
  questionOf,
  wantedOf,
} from "../shared/funcs_flags.ts";
import { choosesSamples, givenFilters, sampleFilter } from "../shared/sample_flags.ts";
import { resolverOf } from "../shared/symbol_flags.ts";
import { reportSwitches } from "../shared/weight.ts";
import { openSamples, type SampleRecording } from "../shared/open_input.ts";
import { printItraceLoss } from "../shared/open_recording.ts";
import { writeTable } from "../shared/styled.ts";
import { noSamplesText, whyNoAccesses, whyNothing } from "../shared/nothing.ts";

export { implied } from "../shared/funcs_flags.ts";

/** The least share of a call chain that the table shows, as in perf. */
const LEAST_CHAIN = 0.005;

/** Prints the rows of a table, as text, CSV or JSON. */
async function print(
  { order, flags: { on } }: Question,
  table: FunctionTable,
): Promise<void> {
  const chains = order && new FunctionChains(table, order);
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
  const { openTrace } = await import("../shared/command_trace.ts");
  const { printLoss } = await import("../shared/trace_loss.ts");
  const { TraceBranchSamples } = await import("@perfdata/report/figures");
  const { trace: opened, filter, complaints, progress } = await openTrace("funcs", name, flags);
  const { trace } = opened;
  const counts = new TraceBranchSamples(trace.sideband.threads.names, sampleKeys(sort));
  const loss = await opened.branches((rows) => counts.take(rows), { filter });
  progress.finish();
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
  const status = printLoss("funcs", name, loss, complaints) ? 0 : 1;
  const [{ samples } = { samples: 0 }] = counts.totals;
  if (samples === 0) throw new InputError(`${name}: no branches in its Intel PT`);
  if (table.rows.length > 0 || limit === 0) return status;
  complain(`funcs: ${name}: no row is left of ${samples} branches`);
  return 1;
}

/** Prints a table of a profile that was not made here: of tables, or of another tool. */
async function ofReady(question: Question, opened: SampleRecording): Promise<number> {
  const { name, sort, flags } = question;
  const { lacksOf, readyProfile } = await import("../shared/ready_input.ts");
  const lacks = lacksOf(opened.recording.ready);
  if (needsRecording(question)) {
    throw new UsageError(`${name} ${lacks.is}: only samples are counted`);
  }
  const profile = await readyProfile(flags, { opened, timed: sort.includes("cpu") });
  return await ofProfile(question, profile, lacks.key);
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
    ranges: true,
  });
  const { transformed } = await import("../shared/transformed.ts");
  const profile = transformed("funcs", name, { on: { ...on, "no-inline": !inline }, value }, read);
  // Names were filtered before the transforms, as in `tree`.
  const named = { comm: undefined, dso: undefined, symbol: undefined };
  const functions = { ...profile.functions, name: functionNames(profile) };
  const status = await ofProfile({ ...question, named, inline: true }, { ...profile, functions });
  return isWhole ? status : 1;
}

/**
 * Prints a table of a profile, which has neither data addresses nor data types.
 *
 * @param lacks The answer to a sort key that the profile lacks; without it, stacks are transformed.
 */
async function ofProfile(
  question: Question,
  profile: Profile,
  lacks?: (key: string, profile: Profile) => string,
): Promise<number> {
  const { name, sort, limit } = question;
  const lacking = sort.find((key) =>
    key === "socket" || key === "cpu"
      ? key === "socket" || profile.samples.cpu === undefined
      : (key === "pid" || key === "tid") && profile.threads.pid(0) < 0
  );
  if (lacking !== undefined) {
    throw new UsageError(
      lacks?.(lacking, profile) ?? `--sort ${lacking}: transformed stacks do not say it`,
    );
  }
  const eventNames = profile.events.map(({ name }) => name);
  const table = new FunctionTable(profile, wantedOf(question, eventNames));
  await print(question, table);
  if (lacks !== undefined) complain(`funcs: ${name}: ${profile.trust}`);
  if (table.rows.length > 0 || limit === 0) return 0;
  const samples = table.totals.reduce((sum, total) => sum + total.samples, 0);
  complain(`funcs: ${name}: no row is left of ${samples} samples`);
  return 1;
}

/** Prints a table of the samples of a recording. */
async function ofSamples(question: Question, opened: SampleRecording): Promise<number> {
  const { name, memory, types, weight, columns, flags: { on, value } } = question;
  const { recording, progress } = opened;
  const isTime = isTimeWeight(weight);
  const filter = await sampleFilter(question.flags, recording);
  const counts = new SampleCollector({ ...columns, filter: isTime ? filter : undefined });
  const { engine, symbols } = await recording.collect(counts, {
    filter,
    lines: columns.lines === true || types,
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
  return await printItraceLoss("funcs", name, recording) ? status : 1;
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
  const { name, branches, limit, percent, parallelism, named, flags } = question;
  const { verbose } = flags.on;
  const about = `funcs: ${name}`;
  const isChosen = choosesSamples(flags);
  complainAll(about, missingColumns(counts));
  const counted = branches ? "ends of branches" : "samples";
  complainAll("funcs", trustLines(table.trust, { verbose, counted }));
  const stacks = counts.stacks ? stacksText(engine, verbose) : undefined;
  complainAll(about, stacks === undefined ? [] : [stacks]);
  complaints.finish();
  const { rounded, ruling } = sumDoubts(counts, counts.events, counts.totals);
  // Without trust, the table shows no symbols, so no symbol can be wrong.
  const shared = table.trust === undefined ? [] : sharedBuildIdTexts(engine.places.objects);
  complainAll(about, [...rounded, ...ruling, ...shared]);
  const leftOut = engine.leftOut + counts.leftOut;
  if (leftOut > 0) {
    complain(`${about}: ${leftOut} samples left out: of no known event, or too short`);
  }
  const samples = counts.totals.reduce((sum, total) => sum + total.samples, 0);
  if (samples === 0) {
    if (branches && !isChosen) {
      throw new InputError(`${name}: no samples with branches; perf record -b records them`);
    }
    complain(`${about}: ${await noSamplesText(name, flags, named)}`);
    // A recording without errors may have no samples.
    return isChosen || complaints.count > 0 || leftOut > 0 ? 1 : 0;
  }
  if (table.rows.length > 0 || limit === 0) return complaints.count > 0 ? 1 : 0;
  const why = isChosen || percent === 0 && parallelism === undefined
    ? await whyNothing(name, givenFilters(flags), named)
    : percent > 0
    ? `no row has ${percent}%`
    : `none was taken while ${flags.value.parallelism} threads had a CPU`;
  complain(`${about}: none of ${samples} samples: ${why}`);
  return 1;
}

export async function run(flags: Flags): Promise<number> {
  const question = questionOf(flags);
  const { name, branches } = question;
  if (hasTransforms(flags)) {
    return await aboutAsync(name, () => ofTransformed(question));
  }
  return await aboutAsync(name, async () => {
    const { hasOnlyTracedBranches } = branches ? await import("../shared/branch_exports.ts") : {};
    const isTraced = hasOnlyTracedBranches !== undefined &&
      (flags.on.pt || flags.value.itrace === undefined && await hasOnlyTracedBranches(name));
    if (isTraced) return await ofTrace(question);
    const { itrace } = flags.value;
    const opened = await openSamples("funcs", name, flags, { itrace, interruptible: true });
    return opened.recording.ready === undefined
      ? await ofSamples(question, opened)
      : await ofReady(question, opened);
  });
}
