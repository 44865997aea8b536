/** `script --itrace`: the samples that are made of Intel PT, among those that were recorded. */
import { type AddedText, ScriptWriter } from "@perfdata/export/script";
import type { ByteSource } from "@perfdata/format";
import { PERF_TYPE_HARDWARE } from "@perfdata/format/perf-event";
import {
  asksFor,
  CODE_FIELDS,
  eventFields,
  type FieldWish,
  rowNeeds,
} from "@perfdata/export/script-fields";
import { ScriptPlaces } from "@perfdata/export/script-places";
import { ROW, ROW_WORDS, ScriptRows, type ShownRecords } from "@perfdata/export/script-rows";
import { PtScriptWriter } from "@perfdata/export/script-pt";
import { PtNames } from "@perfdata/pt/code";
import { clockRatios, decodePt, PtClock, type TimeOrigin } from "@perfdata/pt/decode";
import { packetsText } from "@perfdata/pt/lists";
import {
  type AddedLists,
  type ItraceOptions,
  PtSamples,
  type RecordedSamples,
} from "@perfdata/pt/samples";
import type { AuxTrace } from "@perfdata/session";
import { complain, InputError, Progress, UsageError, writeOut } from "./_cli.ts";
import { codeOf, imagesOf, openPt, reportLoss } from "./_pt.ts";
import { sampleFilter } from "./_sample_flags.ts";
import { codeReader, reportCode } from "./_script_text.ts";
import { resolverOf } from "./_symbol_flags.ts";

/** How far one CPU may be ahead of another while their samples are merged, ns. */
const SLICE = 100_000;

/** What `script` was asked for. */
export interface PtScriptWish {
  /** What samples are made. */
  readonly itrace: ItraceOptions;
  /** The fields. */
  readonly wish: FieldWish | undefined;
  /** Whether times have nanoseconds. */
  readonly nanoseconds: boolean;
  /** Width of objects in a call trace, or 0. */
  readonly objectWidth: number;
  /** Records that are no samples, to be printed as well. */
  readonly shown: ShownRecords | undefined;
}

type ScriptFlags =
  & Parameters<typeof sampleFilter>[0]
  & Parameters<typeof resolverOf>[0]
  & { readonly on: Readonly<Record<"hide-call-graph", boolean>> };

/** Prints the samples of a recording, whose bytes may be at hand; returns the exit code. */
export async function ptScript(
  name: string,
  flags: ScriptFlags,
  { itrace, wish, nanoseconds, objectWidth, shown }: PtScriptWish,
  bytes?: ByteSource,
): Promise<number> {
  const { on, value } = flags;
  const ofCode = CODE_FIELDS.find((field) => asksFor(wish, field));
  if (ofCode !== undefined && itrace.branchStack === undefined) {
    throw new UsageError(`--fields: ${ofCode} is of branch stacks: --itrace with l, as in i1000il`);
  }
  const needs = { ...rowNeeds([], wish, !on["hide-call-graph"]), addresses: true };
  const rows = new ScriptRows(needs, false, shown);
  let chosen: Awaited<ReturnType<typeof sampleFilter>> | undefined;
  const opened = await openPt(
    "script",
    name,
    [rows],
    async (reader) => {
      chosen = await sampleFilter(flags, reader);
      if (shown !== undefined) shown.cpus = chosen?.cpus;
      return chosen;
    },
    bytes,
  );
  const { source, sideband, complaints, engine } = opened;
  const trace = itrace.timeless ? timeless(opened.trace) : opened.trace;
  if (itrace.cycles !== undefined && trace.intelPtConfig?.cyc === false) {
    throw new InputError(
      `${name}: --itrace: y needs CYC packets, which perf record -e intel_pt/cyc/ records`,
    );
  }
  if (asksFor(wish, "ipc") && trace.intelPtConfig?.cyc === false) {
    throw new InputError(
      `${name}: --fields: ipc needs CYC packets, which perf record -e intel_pt/cyc/ records`,
    );
  }
  const code = await codeOf(sideband, value, imagesOf(undefined, name));
  const resolver = await resolverOf(flags, name, {
    ...(sideband.recorded === undefined ? {} : { machine: sideband.recorded }),
    parameters: false,
    debugInformation: wish?.add.has("srcline") === true,
  });
  const names = new PtNames(code, resolver);
  const clock = new PtClock(trace);
  const { maxNonTurboRatio = 0 } = clockRatios(trace);
  const event =
    engine.reader.events.all.find(({ attr }) => BigInt(attr.type) === trace.intelPt?.pmu_type) ??
      engine.reader.events.all[0];
  if (event === undefined) throw new InputError(`${name}: no event has recorded the trace`);
  // Of one event alone it is known which one its records of PEBS are of.
  const outputs = engine.reader.events.all.map(({ attr, ids }, number) => ({ attr, ids, number }))
    .filter(({ attr, ids }) => attr.flags.aux_output && ids.length > 0);
  const [output] = outputs.length === 1 ? outputs : [];
  const adds = itrace.addedChain !== undefined || itrace.addedBranches !== undefined;
  if (adds && !clock.known) {
    throw new InputError(`${name}: --itrace: G and L need times: ${clock.why}`);
  }
  const merge = trace.streams.length > 1 && clock.known;
  const writer = new PtScriptWriter(code, names, sideband.history, {
    eventNames: engine.eventNames,
    blockCode: ofCode === undefined ? undefined : await codeReader(engine, name, value),
    arch: engine.reader.arch,
    itrace,
    event,
    pebs: output && {
      name: engine.eventNames[output.number] ?? "",
      period: output.attr.flags.freq ? 0n : output.attr.sample_period,
    },
    wish,
    nanoseconds,
    objectWidth,
    hasCpu: trace.streams.some(({ cpu }) => cpu !== undefined),
    timed: clock.known,
    maxNonTurboRatio,
    ticksPerSecond: clock.period(1e9),
    hardware: itrace.branches ||
      engine.reader.events.all.some(({ attr }) => attr.type === PERF_TYPE_HARDWARE),
    chains: itrace.callChain !== undefined && !on["hide-call-graph"],
  });
  // What was recorded beside the trace, in its order of time.
  let recorded: ScriptWriter | undefined;
  if (rows.count + rows.shown > 0) {
    const lines = wish?.add.has("srcline") === true;
    const places = new ScriptPlaces(engine, resolver, { inline: false, lines });
    await places.learn();
    recorded = new ScriptWriter(engine, places, {
      fields: eventFields(engine.reader.events.all, engine.eventNames, ofRecorded(wish)),
      chains: !on["hide-call-graph"],
      nanoseconds,
      nameWidth: writer.nameWidth,
      traces: rows.traces,
      added: adds ? addedText(itrace, writer, () => samples.added) : undefined,
    });
  }
  const others = (ns: number) => {
    const next = recorded?.until(rows.blocks, ns, clock.origin, writeOut) ?? Infinity;
    if (recorded !== undefined) writeOut(recorded.text.take());
    return next;
  };
  let printed = rows.count + rows.shown;
  const print = async () => {
    const made = samples.rows;
    if (made.count === 0) return;
    await names.resolve();
    printed += made.count;
    writer.rows(made, samples.insnTexts, writeOut, others);
    made.drop(made.count);
  };
  const time = chosen?.time;
  const samples: PtSamples = new PtSamples(code, clock, sideband.history, {
    itrace: output === undefined ? { ...itrace, pebs: false } : itrace,
    maxNonTurboRatio,
    bytes: wish?.add.has("insn") === true,
    depths: wish?.add.has("callindent") === true,
    ipc: asksFor(wish, "ipc"),
    merge,
    hasKernel: !event.attr.flags.exclude_kernel,
    ...(adds ? { recorded: recordedSamples(rows, clock.origin) } : {}),
    snapshots: trace.mayOverlap,
    filter: {
      tids: chosen?.tids,
      ...(time === undefined
        ? {}
        : { from: clock.origin.since(time[0]), to: clock.origin.since(time[1]) }),
    },
    idle: print,
  });
  const progress = new Progress(
    "script",
    trace.streams.reduce((sum, { pieces }) => sum + pieces.reduce((n, p) => n + p.size, 0), 0),
  );
  const cpus = chosen?.cpus;
  const counts = await decodePt(trace, source, sideband, code, samples, {
    progress: progress.add,
    wants: ({ cpu }) => cpus === undefined || (cpu !== undefined && cpus.has(cpu)),
    ...(merge ? { slice: SLICE } : {}),
    quick: itrace.quick ?? 0,
  });
  samples.finish();
  await print();
  await names.resolve();
  writeOut(writer.text.take());
  others(Infinity);
  progress.finish();
  names.close();
  if (samples.interruptChanges > 0) {
    const changes = samples.interruptChanges;
    complain(
      `script: ${name}: no lines of ${changes} changes of the interrupt flag: see pt --events`,
    );
  }
  if (itrace.pebs && samples.pebsRecords > 0) {
    const why = outputs.length === 0
      ? "no event of the recording writes them (aux_output)"
      : `they may be of ${outputs.length} events`;
    complain(`script: ${name}: no lines of ${samples.pebsRecords} records of PEBS: ${why}`);
  }
  if (printed === 0) complain(`script: ${name}: no samples`);
  if (itrace.quick === 1) complain(`script: ${name}: ${packetsText(counts)}`);
  if (writer.code !== undefined) reportCode(name, writer.code);
  return reportLoss(
    "script",
    name,
    counts,
    code,
    names,
    complaints,
    itrace.timeless ? undefined : clock,
  );
}

/** Where samples were recorded, and when. */
function recordedSamples(
  { blocks, count: sampled, shown }: ScriptRows,
  origin: TimeOrigin,
): RecordedSamples {
  // A row that is no sample is one more; nobody asks for its lists.
  const count = sampled + shown;
  const samples = {
    count,
    time: new Float64Array(count),
    thread: new Int32Array(count),
    high: new Int32Array(count),
    low: new Int32Array(count),
  };
  let n = 0;
  for (const { words, count } of blocks) {
    for (let at = 0; at < count * ROW_WORDS; at += ROW_WORDS, n++) {
      const tid = words[at + ROW.TID] as number;
      samples.time[n] = origin.sinceHalves(
        words[at + ROW.TIME_HI] as number,
        words[at + ROW.TIME_LO] as number,
      );
      samples.thread[n] = tid === 0 ? -1 - (words[at + ROW.CPU] as number) : tid;
      samples.high[n] = words[at + ROW.IP_HI] as number;
      samples.low[n] = words[at + ROW.IP_LO] as number;
    }
  }
  return samples;
}

/** Writes what `G` and `L` add to samples. */
function addedText(
  { addedChain, addedBranches }: ItraceOptions,
  writer: PtScriptWriter,
  added: () => AddedLists | undefined,
): AddedText {
  return {
    callers: addedChain === undefined ? undefined : (text, sample) => {
      const from = added();
      return from === undefined ? 0 : writer.callers(text, from.rows.lists, from.of(sample));
    },
    branches: addedBranches === undefined ? undefined : (text, sample) => {
      const from = added();
      if (from !== undefined) writer.branchStack(text, from.rows.lists, from.of(sample));
    },
  };
}

/** Fields of samples that were recorded: these have no branch stacks of the trace. */
function ofRecorded(wish: FieldWish | undefined): FieldWish | undefined {
  if (wish === undefined) return undefined;
  const add = new Set([...wish.add].filter((field) => !field.startsWith("brstack")));
  return { ...wish, add };
}

/** A trace as if its packets had no times. */
function timeless(trace: AuxTrace): AuxTrace {
  const { intelPtConfig } = trace;
  return intelPtConfig === undefined
    ? trace
    : { ...trace, intelPtConfig: { ...intelPtConfig, tsc: false } };
}
