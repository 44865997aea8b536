import { PerfDataError } from "@perfdata/format/bytes";
import { type ProfileNames, ptProfile } from "@perfdata/profile";
import { clockRatios, type PtSampleRows } from "@perfdata/pt";
import { PtNames, type PtTrace, type TraceCode } from "@perfdata/pt/decode";
import {
  type CallEvents,
  type CallFilter,
  callWhole,
  decodePt,
  functionRows,
  joinCalls,
  listCalls,
  ofCpus,
  PLACE_ROWS,
  PtCalls,
  type PtLoss,
  ptLoss,
  PtSamples,
  type PtWhole,
  traceFilter,
} from "@perfdata/pt/decode";
import { type EngineOptions, sampleSpan } from "@perfdata/session";
import type { SymbolResolver } from "@perfdata/symbols";
import type { SymbolsWanted } from "../profile_question.ts";
import type {
  DecodedBytes,
  ShareTrace,
  TraceChoice,
  TraceProfile,
  TraceQuestion,
} from "./trace_question.ts";
import type { ExecutedInsns } from "./executed_insns.ts";

/** The surroundings of a trace: names, threads and progress. */
export interface TraceHost {
  /** The title of profiles. */
  readonly title: string;
  /** Opens the symbols. */
  readonly symbols: (wanted: SymbolsWanted) => Promise<SymbolResolver>;
  /** Starts other threads. */
  readonly threads: ShareTrace | undefined;
  /** Called while the trace is decoded. */
  readonly decoding: DecodedBytes;
  /** Called while names are looked up. */
  readonly naming: ProfileNames["progress"];
}

/** Constructor arguments of {@linkcode RecordingTrace}. */
export interface OpenedTrace {
  /** The trace. */
  readonly trace: PtTrace;
  /** Its code. */
  readonly code: TraceCode;
  /** Its surroundings. */
  readonly host: TraceHost;
}

/** All branches, and errors, without other samples. */
const BRANCHES = {
  branches: true,
  calls: false,
  returns: false,
  transactions: false,
  ptwrites: false,
  power: false,
  interrupts: false,
  pebs: false,
  errors: true,
  skip: 0,
} as const;

/** A filter in terms of the trace, and the test whether a buffer passes it. */
interface Chosen extends Pick<PtWhole<never>, "wants"> {
  readonly filter: CallFilter;
  readonly cpus: ReadonlySet<number> | undefined;
}

/**
 * The Intel PT of a recording. Each method decodes it from the start.
 *
 * @example
 * ```ts
 * import { open } from "@perfdata/perfdata";
 * import { assertEquals } from "@std/assert";
 *
 * using recording = await open("fixtures/synthesized/pt-cpus.perf.data", { symbols: "none" });
 * const trace = await recording.trace();
 * let branches = 0;
 * const loss = await trace.branches(({ count }) => branches += count);
 * // The file of its code does not exist.
 * assertEquals([branches > 0, loss.missingCode !== ""], [true, true]);
 * ```
 */
export class RecordingTrace {
  /** The inputs of decoding: AUX data, records, clock, threads and places of code. */
  readonly trace: PtTrace;
  /** The code that was mapped. */
  readonly code: TraceCode;
  readonly #host: TraceHost;

  /** Called by `Recording.trace`. */
  constructor({ trace, code, host }: OpenedTrace) {
    this.trace = trace;
    this.code = code;
    this.#host = host;
  }

  /**
   * Times of the first and the last sample, or of other records if there are no samples, in ns of
   * the recording's clock.
   *
   * @throws {RangeError} If the recording has no times.
   */
  async span(): Promise<readonly [bigint, bigint]> {
    return await sampleSpan(this.trace.engine.reader);
  }

  /**
   * The executed stacks with their durations and instructions, or the sequence of stacks. Other
   * threads decode if there are some, except for a sequence. The profile is empty if nothing was
   * decoded.
   *
   * @throws {PerfDataError} If there are no times for a sequence.
   */
  async profile({ timeline = false, filter }: TraceQuestion = {}): Promise<TraceProfile> {
    const { trace } = this;
    const { title, threads } = this.#host;
    const names = await this.#names();
    try {
      const chosen = this.#chosen(filter);
      const { wants } = chosen;
      const progress = this.#progress();
      const whole = callWhole({ trace, ...chosen, rows: PLACE_ROWS, tree: true });
      const workers = timeline ? undefined : await threads?.(this.#work(chosen, "stacks"));
      const joined = workers && await joinCalls(whole, workers);
      const calls = joined?.calls ??
        new PtCalls(trace, { tree: true, timeline, filter: chosen.filter });
      const counts = joined?.counts ?? await decodePt(trace, calls, { progress, wants });
      if (joined === undefined) calls.finish();
      await names.resolve();
      if (joined !== undefined && calls.met !== undefined) names.limitTo(calls.met);
      const { clock } = trace;
      if (calls.tree === undefined || (timeline && !clock.known)) {
        throw new PerfDataError(`no times: ${clock.why}`, { code: "not-decoded" });
      }
      const loss = ptLoss(counts, trace, names);
      const undecoded = [loss.undecoded, loss.unsure].filter((text) => text !== undefined);
      const profile = ptProfile({
        tree: calls.tree,
        timeline: calls.timeline,
        writes: timeline ? calls.writes : undefined,
        names,
        trace,
        timed: clock.known,
        title,
        trust: undecoded.join("; ") || "all was decoded",
      });
      return { profile, loss };
    } finally {
      names.close();
    }
  }

  /**
   * Decodes the calls in the order of their execution, in several threads if there are some.
   *
   * @param open Receives the names of places, and returns the receiver of finished calls. The calls
   * are valid while it runs; the names of their places are known.
   */
  async calls(
    open: (names: PtNames) => (events: CallEvents) => void,
    { filter }: TraceChoice = {},
  ): Promise<PtLoss> {
    const { trace } = this;
    const names = await this.#names();
    try {
      const chosen = this.#chosen(filter);
      const { wants } = chosen;
      const whole = callWhole({ trace, ...chosen, rows: functionRows(names), events: true });
      const workers = await this.#host.threads?.(this.#work(chosen, "events"));
      const progress = this.#progress();
      const { counts, met } = await listCalls(whole, workers, { progress, wants }, open(names));
      if (met !== undefined) names.limitTo(met);
      return ptLoss(counts, trace, names);
    } finally {
      names.close();
    }
  }

  /**
   * Decodes all branches, buffer by buffer.
   *
   * @param take Receives branches and errors in order. The rows are valid while it runs; places
   * without names are in `trace.code.places`.
   * @throws {PerfDataError} If the recording does not have the event of the trace.
   */
  async branches(
    take: (rows: PtSampleRows) => void,
    { filter }: TraceChoice = {},
  ): Promise<PtLoss> {
    const { aux, engine } = this.trace;
    const { maxNonTurboRatio = 0 } = clockRatios(aux);
    const event = engine.reader.events.all.find(({ attr }) =>
      BigInt(attr.type) === aux.intelPt?.pmu_type
    );
    if (event === undefined) throw new PerfDataError("no event has recorded the trace");
    const idle = () => {
      take(samples.rows);
      samples.clear();
    };
    const chosen = this.#chosen(filter);
    const samples: PtSamples = new PtSamples(this.trace, {
      itrace: BRANCHES,
      maxNonTurboRatio,
      ipc: aux.intelPtConfig?.cyc === true,
      // Code between two branches is only known within one buffer.
      merge: false,
      hasKernel: !event.attr.flags.exclude_kernel,
      snapshots: aux.mayOverlap,
      filter: chosen.filter,
      idle,
    });
    const { wants } = chosen;
    const counts = await decodePt(this.trace, samples, { progress: this.#progress(), wants });
    samples.finish();
    idle();
    return ptLoss(counts, this.trace, undefined);
  }

  /**
   * Counts the executions of each instruction, and names them: a profile with a sample for each
   * instruction that ran.
   *
   * @throws {PerfDataError} If no code ran between two branches.
   */
  async instructions(choice: TraceChoice = {}): Promise<ExecutedInsns> {
    const { executedInsns } = await import("./executed_insns.ts");
    const { title, symbols, naming } = this.#host;
    return await executedInsns(this, choice, { title, symbols, naming });
  }

  /** Opens the symbols for the names of functions. */
  async #names(): Promise<PtNames> {
    const { engine, code } = this.trace;
    const wanted = { machine: engine.recorded, lines: false };
    return new PtNames(code, await this.#host.symbols(wanted));
  }

  #chosen(filter: NonNullable<EngineOptions["filter"]> = {}): Chosen {
    const { cpus } = filter;
    return { filter: traceFilter(this.trace, filter), cpus, wants: ofCpus(cpus) };
  }

  #work({ filter, cpus }: Chosen, by: "stacks" | "events"): Parameters<ShareTrace>[0] {
    const { bytes } = this.trace;
    return { bytes, filter, cpus, by, progress: this.#progress() };
  }

  #progress(): (bytes: number) => Promise<void> | void {
    const { bytes } = this.trace;
    return (done) => this.#host.decoding(done, bytes);
  }
}
