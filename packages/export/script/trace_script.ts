import { intAt } from "@perfdata/format/bytes";
import { PERF_TYPE_HARDWARE } from "@perfdata/format/constants";
import { clockRatios, type ItraceOptions } from "@perfdata/pt";
import {
  type AddedLists,
  ofCpus,
  PtNames,
  type PtTrace,
  type RecordedSamples,
  type TimeOrigin,
  traceFilter,
} from "@perfdata/pt/decode";
import type { EngineOptions } from "@perfdata/session";
import type { WriteText } from "@perfdata/session/workers";
import type { SymbolResolver } from "@perfdata/symbols";
import { type AddedText, ScriptWriter } from "./script.ts";
import { asksFor, CODE_FIELDS, eventFields, type FieldWish } from "./script_fields.ts";
import { ScriptPlaces } from "./script_places.ts";
import { PtScriptWriter } from "./script_pt.ts";
import { type PtScriptOrder, type PtScriptWhole, scriptWhole } from "./script_pt_join.ts";
import { ROW, ROW_WORDS, type ScriptRows } from "./script_rows.ts";
import type { ScriptHost } from "./write_script.ts";

/** Selection and form of the samples of a trace. It can be sent to other threads. */
export interface TraceScriptWish {
  /** The samples to synthesize. */
  readonly itrace: ItraceOptions;
  /** Fields; those of perf by default. */
  readonly wish: FieldWish | undefined;
  /** Whether times have nanoseconds. */
  readonly nanoseconds: boolean;
  /** Width of the object column in a call trace, or 0. */
  readonly objectWidth: number;
  /** Whether call chains are printed. */
  readonly chains: boolean;
  /** Selection by process, thread, time and CPU. */
  readonly filter: EngineOptions["filter"];
}

/** The samples of a trace, ready to be written. */
export interface TraceScript extends PtScriptWhole {
  /** The symbols. */
  readonly resolver: SymbolResolver;
  /** The number of events that write PEBS records into the trace. */
  readonly outputs: number;
}

/**
 * Prepares the text of the samples that are synthesized from a trace.
 *
 * @throws {RangeError} If the trace lacks what the wish needs, such as CYC packets, times, or an event.
 */
export async function traceScript(
  opened: PtTrace,
  { itrace, wish, nanoseconds, objectWidth, chains, filter = {} }: TraceScriptWish,
  { symbols, code }: ScriptHost,
): Promise<TraceScript> {
  const trace = itrace.timeless ? opened.timeless() : opened;
  const { aux, clock, sideband, engine } = trace;
  const needsCycles = itrace.cycles !== undefined
    ? "itrace: y"
    : asksFor(wish, "ipc")
    ? "fields: ipc"
    : undefined;
  if (aux.intelPtConfig?.cyc === false && needsCycles !== undefined) {
    throw new RangeError(
      `${needsCycles} needs CYC packets, which perf record -e intel_pt/cyc/ records`,
    );
  }
  const adds = itrace.addedChain !== undefined || itrace.addedBranches !== undefined;
  if (adds && !clock.known) throw new RangeError(`itrace: G and L need times: ${clock.why}`);
  const resolver = await symbols(engine, wish?.add.has("srcline") === true);
  const names = new PtNames(trace.code, resolver);
  const { maxNonTurboRatio = 0 } = clockRatios(aux);
  const events = engine.reader.events.all;
  const event = events.find(({ attr }) => BigInt(attr.type) === aux.intelPt?.pmu_type) ??
    events[0];
  if (event === undefined) throw new RangeError("itrace: no event has recorded the trace");
  // Events that write PEBS records into the trace.
  const outputs = [...events.entries()]
    .filter(([, { attr, ids }]) => attr.flags.aux_output && ids.length > 0);
  const ofCode = CODE_FIELDS.some((field) => asksFor(wish, field));
  const writer = new PtScriptWriter(trace, names, {
    eventNames: engine.eventNames,
    blockCode: ofCode ? await code?.(engine) : undefined,
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
    chains: itrace.callChain !== undefined && chains,
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
    filter: traceFilter(trace, filter),
  };
  const wants = ofCpus(filter.cpus);
  const whole = scriptWhole({ trace, wants, names, writer, options });
  return { ...whole, resolver, outputs: outputs.length };
}

/**
 * Creates the writer of recorded samples and records among those of the trace: see
 * `PtScriptOrder.others`.
 *
 * @param rows The recorded samples and records.
 * @param added The lists that the letters `G` and `L` add to recorded samples.
 */
export async function recordedBetween(
  { resolver, writer, trace: { clock, engine } }: TraceScript,
  rows: ScriptRows,
  { itrace, wish, nanoseconds, chains }: TraceScriptWish,
  { write, added }: {
    readonly write: WriteText;
    readonly added: () => AddedLists | undefined;
  },
): Promise<PtScriptOrder["others"]> {
  if (rows.count + rows.shown === 0) return () => Infinity;
  const lines = wish?.add.has("srcline") === true;
  const places = new ScriptPlaces(engine, resolver, { inline: false, lines });
  await places.learn();
  const recorded = new ScriptWriter(engine, places, {
    fields: eventFields(engine.reader.events.all, engine.eventNames, ofRecorded(wish)),
    chains,
    nanoseconds,
    nameWidth: writer.nameWidth,
    traces: rows.traces,
    added: addedText(itrace, writer, added),
  });
  return (ns) => {
    const next = recorded.until(rows.blocks, ns, clock.origin, write);
    write(recorded.text.take());
    return next;
  };
}

/** Time, thread and address of the recorded samples. */
export function recordedSamples(
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
