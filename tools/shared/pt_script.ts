/** `script --itrace`: prints samples synthesized from Intel PT together with recorded ones. */
import {
  type AddedText,
  asksFor,
  CODE_FIELDS,
  eventFields,
  type FieldWish,
  ROW,
  ROW_WORDS,
  rowNeeds,
  ScriptPlaces,
  ScriptRows,
  ScriptWriter,
  type ShownRecords,
} from "@perfdata/export/script";
import { type ByteSource, intAt } from "@perfdata/format/bytes";
import { PERF_TYPE_HARDWARE } from "@perfdata/format/constants";
import {
  hasManyLines,
  type PtScriptOrder,
  type PtScriptWhole,
  PtScriptWriter,
  scriptWhole,
  writePtScript,
  type WrittenPtScript,
} from "@perfdata/export/traces";
import { clockRatios, type ItraceOptions } from "@perfdata/pt";
import {
  type AddedLists,
  packetsText,
  PtNames,
  type PtSamples,
  type PtTrace,
  type PtWhole,
  type RecordedSamples,
  type SamplesOptions,
  type TimeOrigin,
} from "@perfdata/pt/decode";
import { complain, InputError, Progress, UsageError, writeOut } from "./cli.ts";
import { sampleFilter } from "./sample_flags.ts";
import { resolverOf } from "./symbol_flags.ts";
import { codeOf, imagesOf, type OpenedPt, openPt, openPtAgain, reportLoss } from "./pt_input.ts";
import { ofCpus, ptJobs } from "./pt_workers.ts";
import { parseJobs } from "./record_flags.ts";
import { codeReader, reportCode } from "./script_host.ts";

const MODULE = { type: "module" } as const;

/** The options of `script` for traces. */
export interface PtScriptWish {
  /** The samples to synthesize. */
  readonly itrace: ItraceOptions;
  readonly wish: FieldWish | undefined;
  /** Whether to print times with nanoseconds. */
  readonly nanoseconds: boolean;
  /** Width of the object column in a call trace, or 0. */
  readonly objectWidth: number;
  readonly shown: ShownRecords | undefined;
}

type ScriptFlags =
  & Parameters<typeof sampleFilter>[0]
  & Parameters<typeof resolverOf>[0]
  & {
    readonly on: Readonly<Record<"hide-call-graph", boolean>>;
    readonly value: Readonly<Record<"jobs", string | undefined>>;
  };

/** The sample filter by thread, time and CPU; `undefined` without filter. */
type Chosen = Awaited<ReturnType<typeof sampleFilter>> | undefined;

/** Options for worker threads. */
export interface PtScriptAbout extends Omit<PtScriptWish, "shown"> {
  readonly name: string;
  readonly flags: ScriptFlags;
  readonly chosen: Chosen;
}

/** The sample synthesizer and the writer. */
interface PtScript extends PtScriptWhole {
  readonly resolver: Awaited<ReturnType<typeof resolverOf>>;
  /** The number of events that write PEBS records into the trace. */
  readonly outputs: number;
}

/**
 * Creates the sample synthesizer and the writer.
 *
 * @throws {InputError} If the recording lacks the trace.
 */
async function ptScriptOf(
  { name, flags, itrace, wish, nanoseconds, objectWidth, chosen }: PtScriptAbout,
  opened: PtTrace,
): Promise<PtScript> {
  const { on, value } = flags;
  const trace = itrace.timeless ? opened.timeless() : opened;
  const { aux, clock, sideband, engine } = trace;
  const withoutCycles = aux.intelPtConfig?.cyc === false;
  const needsCycles = itrace.cycles !== undefined
    ? "--itrace: y"
    : asksFor(wish, "ipc")
    ? "--fields: ipc"
    : undefined;
  if (withoutCycles && needsCycles !== undefined) {
    throw new InputError(
      `${name}: ${needsCycles} needs CYC packets, which perf record -e intel_pt/cyc/ records`,
    );
  }
  const resolver = await resolverOf(flags, name, {
    machine: engine.recorded,
    parameters: false,
    debugInformation: wish?.add.has("srcline") === true,
  });
  const names = new PtNames(trace.code, resolver);
  const { maxNonTurboRatio = 0 } = clockRatios(aux);
  const events = engine.reader.events.all;
  const event = events.find(({ attr }) => BigInt(attr.type) === aux.intelPt?.pmu_type) ??
    events[0];
  if (event === undefined) throw new InputError(`${name}: no event has recorded the trace`);
  // Events that write PEBS records into the trace.
  const outputs = [...events.entries()]
    .filter(([, { attr, ids }]) => attr.flags.aux_output && ids.length > 0);
  const ofCode = CODE_FIELDS.some((field) => asksFor(wish, field));
  const writer = new PtScriptWriter(trace, names, {
    eventNames: engine.eventNames,
    blockCode: ofCode ? await codeReader(engine, name, value) : undefined,
    arch: engine.reader.arch,
    itrace,
    event,
    periods: events.map(({ attr }) => attr.flags.freq ? 0n : attr.sample_period),
    wish,
    nanoseconds,
    objectWidth,
    hasCpu: aux.streams.some(({ cpu }) => cpu !== undefined),
    timed: clock.known,
    maxNonTurboRatio,
    ticksPerSecond: clock.period(1e9),
    hardware: itrace.branches || events.some(({ attr }) => attr.type === PERF_TYPE_HARDWARE),
    chains: itrace.callChain !== undefined && !on["hide-call-graph"],
  });
  const options = {
    itrace: outputs.length === 0 ? { ...itrace, pebs: false } : itrace,
    pebs: {
      // With only one such event, AUX_OUTPUT_HW_ID is not needed to tell the events apart.
      single: outputs.length === 1 ? outputs[0]?.[0] : undefined,
      counters: sideband.counters,
    },
    maxNonTurboRatio,
    bytes: wish?.add.has("insn") === true,
    depths: wish?.add.has("callindent") === true,
    ipc: asksFor(wish, "ipc"),
    hasKernel: !event.attr.flags.exclude_kernel,
    snapshots: aux.mayOverlap,
    filter: filterOf(chosen, trace),
  };
  const wants = ofCpus(chosen?.cpus);
  const whole = scriptWhole({ trace, wants, names, writer, options });
  return { ...whole, resolver, outputs: outputs.length };
}

/** The filter in units of the trace's clock. */
function filterOf(
  chosen: Chosen,
  { clock: { origin }, sideband }: PtTrace,
): SamplesOptions["filter"] {
  const tids = sideband.threads.chosen(chosen ?? {});
  const time = chosen?.time;
  if (time === undefined) return { tids };
  return { tids, from: origin.since(time[0]), to: origin.since(time[1]) };
}

/** Opens in a worker the recording that the first thread has opened. */
export async function openPtScript(about: PtScriptAbout): Promise<PtWhole<unknown>> {
  const { name, flags } = about;
  return await ptScriptOf(
    about,
    await openPtAgain(name, (recorded) => codeOf(recorded, flags.value, imagesOf(undefined, name))),
  );
}

/**
 * Prints the samples of a recording, some of whose bytes may have been read. Returns the exit code.
 */
export async function ptScript(
  name: string,
  flags: ScriptFlags,
  { shown, ...wished }: PtScriptWish,
  bytes?: ByteSource,
): Promise<number> {
  const { on, value } = flags;
  const { itrace, wish } = wished;
  const ofCode = CODE_FIELDS.find((field) => asksFor(wish, field));
  if (ofCode !== undefined && itrace.branchStack === undefined) {
    throw new UsageError(`--fields: ${ofCode} is of branch stacks: --itrace with l, as in i1000il`);
  }
  const jobs = parseJobs(value.jobs);
  const needs = { ...rowNeeds([], wish, !on["hide-call-graph"]), addresses: true };
  const rows = new ScriptRows(needs, false, shown);
  let chosen: Chosen;
  const { trace: opened, complaints } = await openPt("script", name, {
    code: (recorded) => codeOf(recorded, value, imagesOf(undefined, name)),
    consumers: [rows],
    filter: async (reader) => {
      chosen = await sampleFilter(flags, reader);
      if (shown !== undefined) shown.cpus = chosen?.cpus;
      return chosen;
    },
    opened: bytes,
  });
  const about: PtScriptAbout = { name, flags, ...wished, chosen };
  const script = await ptScriptOf(about, opened);
  const { trace: { clock, bytes: size }, names } = script;
  const adds = itrace.addedChain !== undefined || itrace.addedBranches !== undefined;
  if (adds && !clock.known) {
    throw new InputError(`${name}: --itrace: G and L need times: ${clock.why}`);
  }
  let samples: PtSamples | undefined;
  const others = await othersOf(script, rows, about, () => samples?.added);
  const progress = new Progress("script", size);
  const threads = ptJobs(name, jobs, size, hasManyLines(itrace));
  const start = () => new Worker(new URL("./pt_script_worker.ts", import.meta.url), MODULE);
  const made = await writePtScript(
    script,
    threads === 1 ? undefined : { jobs: threads, about, start },
    {
      write: writeOut,
      others,
      progress: progress.add,
      begins: (own) => samples = own,
      ...(adds ? { recorded: recordedSamples(rows, clock.origin) } : {}),
    },
  );
  await names.resolve();
  if (made.met !== undefined) names.limitTo(made.met);
  others(Infinity);
  progress.finish();
  names.close();
  if (made.printed + rows.count + rows.shown === 0) complain(`script: ${name}: no samples`);
  return reportMade(about, script, made, complaints);
}

/** Reports what was left out, and returns the exit code. */
function reportMade(
  { name, itrace }: PtScriptAbout,
  { trace, names, writer, outputs }: PtScript,
  { counts, interruptChanges, pebsRecords }: WrittenPtScript,
  complaints: OpenedPt["complaints"],
): number {
  if (interruptChanges > 0) {
    complain(
      `script: ${name}: no lines of ${interruptChanges} changes of the interrupt flag: ` +
        "see pt --events",
    );
  }
  if (itrace.pebs && pebsRecords > 0) {
    const why = outputs === 0
      ? "no event of the recording writes them (aux_output)"
      : `no AUX_OUTPUT_HW_ID says which of ${outputs} events they are of`;
    complain(`script: ${name}: no lines of ${pebsRecords} records of PEBS: ${why}`);
  }
  if (itrace.quick === 1) complain(`script: ${name}: ${packetsText(counts)}`);
  if (writer.code !== undefined) reportCode(name, writer.code);
  const { timeless = false } = itrace;
  return reportLoss("script", name, { counts, trace, names, complaints, timeless });
}

/**
 * Creates the writer of recorded samples and records, in order of time: see `PtScriptOrder.others`.
 */
async function othersOf(
  { resolver, writer, trace: { clock, engine } }: PtScript,
  rows: ScriptRows,
  { flags, itrace, wish, nanoseconds }: PtScriptAbout,
  added: () => AddedLists | undefined,
): Promise<PtScriptOrder["others"]> {
  if (rows.count + rows.shown === 0) return () => Infinity;
  const lines = wish?.add.has("srcline") === true;
  const places = new ScriptPlaces(engine, resolver, { inline: false, lines });
  await places.learn();
  const recorded = new ScriptWriter(engine, places, {
    fields: eventFields(engine.reader.events.all, engine.eventNames, ofRecorded(wish)),
    chains: !flags.on["hide-call-graph"],
    nanoseconds,
    nameWidth: writer.nameWidth,
    traces: rows.traces,
    added: addedText(itrace, writer, added),
  });
  return (ns) => {
    const next = recorded.until(rows.blocks, ns, clock.origin, writeOut);
    writeOut(recorded.text.take());
    return next;
  };
}

/** Time, thread and address of the recorded samples. */
function recordedSamples(
  { blocks, count: sampled, shown }: ScriptRows,
  origin: TimeOrigin,
): RecordedSamples {
  // Other records take rows too; nothing reads their lists.
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
      const tid = intAt(words, at + ROW.TID);
      samples.time[n] = origin.sinceHalves(
        intAt(words, at + ROW.TIME_HI),
        intAt(words, at + ROW.TIME_LO),
      );
      samples.thread[n] = tid === 0 ? -1 - intAt(words, at + ROW.CPU) : tid;
      samples.high[n] = intAt(words, at + ROW.IP_HI);
      samples.low[n] = intAt(words, at + ROW.IP_LO);
    }
  }
  return samples;
}

/** Writes the call chains and branch stacks that `--itrace` letters `G` and `L` add to samples. */
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

/** Fields of recorded samples, which have no branch stacks from the trace. */
function ofRecorded(wish: FieldWish | undefined): FieldWish | undefined {
  if (wish === undefined) return undefined;
  const add = new Set([...wish.add].filter((field) => !field.startsWith("brstack")));
  return { ...wish, add };
}
