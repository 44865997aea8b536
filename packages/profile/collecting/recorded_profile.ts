import {
  PERF_RECORD_MISC_SWITCH_OUT,
  PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
  PERF_SAMPLE_BRANCH_STACK,
} from "@perfdata/format/perf-event";
import {
  PERF_RECORD_SAMPLE,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
} from "@perfdata/format/record-types";
import type { Consumer, Engine, EngineOptions, Needs } from "@perfdata/session/engine";
import {
  intervalLines,
  Parallelism,
  STAND_IN_FRAME,
  THREAD_STATE,
  type ThreadInterval,
  ThreadIntervals,
} from "@perfdata/session/intervals";
import { CHOSEN, type Run } from "@perfdata/session/run";
import { type HistogramPart, SampleHistogram } from "@perfdata/session/sample-histogram";
import type { JoinedNumbers, Shareable } from "@perfdata/session/workers";
import { sharedBuildIdTexts } from "@perfdata/session/shared-build-ids";
import { LargestPeriods, rulingPeriodText } from "@perfdata/session/ruling-period";
import { SampleReads } from "@perfdata/session/sample-reads";
import { UNMAPPED } from "@perfdata/session/places";
import { shortName } from "@perfdata/session/short-name";
import { roundedPeriods } from "@perfdata/session/period-sums";
import type { LookUpProgress, SymbolTrust } from "@perfdata/session/symbolize";
import { percent } from "@perfdata/session/unwind-text";
import type { SymbolResolver } from "@perfdata/symbols";
import { ThreadTable } from "../columns/thread_table.ts";
import { type TimePart, TimeSpan } from "@perfdata/session/time-span";
import { type TimedPart, TimedRows } from "./timed_rows.ts";
import { namePlaces } from "../names/profile_names.ts";
import { withStateFrames } from "../views/state_frames.ts";
import {
  isTimeWeight,
  type Profile,
  type ProfileEvent,
  type ProfileSwitch,
  type ProfileWeight,
  type SampleColumns,
  type StackColumns,
  totals,
} from "../columns/profile.ts";

export type { TimedPart } from "./timed_rows.ts";
export type { ProfileWeight } from "../columns/profile.ts";

/** Options of {@linkcode ProfileConsumer}. */
export interface ProfileOptions {
  /** Whether each sample is kept with its time and CPU, instead of sums of those that are alike. */
  readonly timed?: boolean;
  /** Whether context switches are kept; only together with times. */
  readonly switches?: boolean;
  /**
   * Whether each address where nothing is mapped is a place of its own, and counted as one in what is
   * said of trust; otherwise they are one place, which takes much less time and memory.
   */
  readonly unmapped?: boolean;
  /**
   * Whether samples of different threads are kept apart; true by default. With `false`, the threads of
   * the profile are commands.
   */
  readonly threads?: boolean;
  /**
   * Whether lines and inlined functions are wanted: callers are then at their calls, not at the address
   * that the call returns to, which may be of another line or function.
   */
  readonly lines?: boolean;
  /**
   * What counts: samples with their periods (the default); `latency`: these, divided by the number of threads
   * that had a CPU then; `off-cpu`: times that threads had no CPU, in ns; `wall`: these and the times that they
   * had one.
   */
  readonly weight?: ProfileWeight;
  /** Which intervals count, where the weight is not that of samples. */
  readonly filter?: EngineOptions["filter"];
}

/** How a {@linkcode ProfileConsumer} is given names. */
export interface ProfileNames {
  /** Finds symbols. */
  readonly resolver: SymbolResolver;
  /** What was recorded. */
  readonly title: string;
  /** Called while names are looked up. */
  readonly progress?: LookUpProgress;
}

/** Result of one thread. */
export interface ProfilePart {
  /** Samples by context and stack; of timed ones, the contexts only. */
  readonly sums: HistogramPart;
  /** Timed samples, in the order of the file. */
  readonly timed: TimedPart;
  /** Times of the first sample and of the last one. */
  readonly span: TimePart;
  /** Samples that count. */
  readonly samples: number;
  /** Samples whose READ values are damaged or of no known event. */
  readonly leftOut: number;
  /** The largest period of each event. */
  readonly largest: readonly number[];
}

/** Collects the samples of a recording, and makes a {@linkcode Profile} of them. */
export class ProfileConsumer implements Consumer, Shareable<ProfilePart> {
  /** Stacks. */
  readonly needs: Needs;
  readonly #timed: boolean;
  readonly #threadsApart: boolean;
  /** Times of the first sample and of the last one. */
  readonly #span = new TimeSpan();
  #engine: Engine | undefined;
  #reads: SampleReads | undefined;
  /** Samples by context and stack; where they are timed, contexts only. */
  #sums = new SampleHistogram();
  readonly #timedRows = new TimedRows();
  /** Takes a context switch, where they are kept: of a thread as it is called at that moment. */
  readonly applied?: (run: Run, i: number) => void;
  #leftOut = 0;
  readonly #largest = new LargestPeriods();
  readonly #weight: ProfileWeight;
  readonly #filter: EngineOptions["filter"];
  #intervals: ThreadIntervals | undefined;
  #parallelism: Parallelism | undefined;
  /** Of periods that were divided: what is left of the samples before, of those that have rows. */
  #rest = 0;
  /** By row of the samples: what the thread did. */
  #states: Uint8Array | undefined;
  readonly #switched: (Omit<ProfileSwitch, "thread" | "time"> & {
    readonly context: number;
    readonly time: bigint;
  })[] = [];
  /** Whether the profile was made. */
  #isTaken = false;
  /** Samples that count. */
  samples: number = 0;

  /** Collects what the options say. */
  constructor(
    {
      timed = false,
      switches = false,
      unmapped = false,
      threads = true,
      lines = false,
      weight = "period",
      filter,
    }: ProfileOptions = {},
  ) {
    const order = weight === "period" ? "any" : "time";
    this.needs = {
      ...{ order, stacks: true, unmapped, calls: lines },
      ...(isTimeWeight(weight)
        ? { looksAt: (run: Run, i: number) => this.#intervals?.looksAt(run, i) ?? true }
        : {}),
    };
    this.#weight = weight;
    this.#filter = filter;
    this.#timed = timed;
    this.#threadsApart = threads;
    const keeps = timed && switches;
    if (keeps || isTimeWeight(weight)) {
      this.applied = (run, i) => {
        if (keeps) this.#applied(run, i);
        this.#intervals?.applied(run, i);
      };
    }
  }

  /** Remembers the engine. */
  async start(engine: Engine): Promise<void> {
    this.#engine = engine;
    this.#reads = new SampleReads(engine.reader);
    await this.described();
  }

  /** Finds the tracepoints of the scheduler, of a stream when they have come. */
  async described(): Promise<void> {
    if (this.#weight === "latency") {
      this.#parallelism = await Parallelism.open(this.#engine as Engine);
    }
    if (!isTimeWeight(this.#weight)) return;
    const ran = this.#weight === "wall"
      ? (interval: ThreadInterval) => this.#spent(interval, ON_CPU, interval.from, interval.to)
      : undefined;
    this.#intervals = await ThreadIntervals.open(this.#engine as Engine, {
      off: (interval) => {
        const { from, runnable, to } = interval;
        if (this.#weight === "off-cpu") return this.#spent(interval, ON_CPU, from, to);
        this.#spent(interval, WAITING, from, runnable);
        this.#spent(interval, RUNNABLE, runnable, to);
      },
      ran,
    }, { filter: this.#filter, standIns: true });
  }

  /** Ends what is under way. */
  finish(): void {
    this.#intervals?.finish();
    this.#sums.seal();
    if (this.#weight === "latency") this.#sums.roundPeriods();
  }

  /** What is known of intervals, where they were made. */
  get intervals(): ThreadIntervals | undefined {
    return this.#intervals;
  }

  /** What is known of parallelism, where periods are divided by it. */
  get parallelism(): Parallelism | undefined {
    return this.#parallelism;
  }

  /** Adds a time that a thread spent in a state. */
  #spent(interval: ThreadInterval, state: number, from: number, to: number): void {
    if (to <= from) return;
    const { stack, comm, pid, tid, cpu, isStandIn } = interval;
    const { baseHi: hi, baseLo: lo } = this.#intervals as ThreadIntervals;
    const [beginHi, beginLo] = [hi + Math.floor((lo + from) / 2 ** 32), lo + from | 0];
    this.#span.see(beginHi, beginLo);
    this.#span.see(hi + Math.floor((lo + to) / 2 ** 32), lo + to | 0);
    const apart = this.#threadsApart || comm < 0;
    const context = this.#sums.context(
      0,
      comm,
      apart ? pid : -1,
      apart ? tid : -1,
      isStandIn ? state | STAND_IN : state,
    );
    this.samples++;
    if (this.#timed) this.#timedRows.push(stack, context, cpu, to - from, beginHi, beginLo);
    else this.#sums.addLater(context, stack, to - from);
  }

  /** Takes a run. */
  rows(run: Run): void {
    if (this.#intervals !== undefined) {
      this.#intervals.rows(run);
      this.#sums.settle();
      return;
    }
    const { count, chosen, type, event, period } = run;
    const reads = this.#reads as SampleReads;
    const parallelism = this.#parallelism;
    for (let i = 0; i < count; i++) {
      parallelism?.row(run, i);
      if (type[i] !== PERF_RECORD_SAMPLE) continue;
      if (chosen[i] === CHOSEN.NO) {
        reads.skip(run, i);
        continue;
      }
      const isPlain = reads.isPlain(event[i] as number);
      const values = isPlain ? 1 : reads.take(run, i);
      if (chosen[i] !== CHOSEN.YES) continue;
      this.samples += values;
      if (isPlain) this.#add(run, i, event[i] as number, period[i] as number);
      else {
        for (let k = 0; k < values; k++) {
          this.#add(run, i, reads.event[k] as number, reads.period[k] as number);
        }
      }
    }
    this.#sums.settle();
  }

  #add(run: Run, i: number, event: number, period: number): void {
    if (this.#parallelism !== undefined) period /= this.#parallelism.threads;
    this.#largest.see(event, period);
    const stack = run.stack[i] as number;
    const [timeHi, timeLo] = [run.timeHi[i] as number, run.timeLo[i] as number];
    this.#span.see(timeHi, timeLo);
    const comm = run.comm[i] as number;
    // A thread without a name goes by its number.
    const context = this.#threadsApart || comm < 0
      ? this.#sums.context(event, comm, run.process[i] as number, run.tid[i] as number, 0)
      : this.#sums.context(event, comm, -1, -1, 0);
    if (!this.#timed) {
      this.#sums.addLater(context, stack, period);
      return;
    }
    // Rows of samples have whole numbers, whose sum is right.
    if (this.#parallelism !== undefined) {
      const exact = period + this.#rest;
      period = Math.round(exact);
      this.#rest = exact - period;
    }
    this.#timedRows.push(stack, context, run.cpu[i] as number, period, timeHi, timeLo);
  }

  part(): ProfilePart {
    return {
      sums: this.#sums.part(),
      timed: this.#timedRows.part(),
      span: this.#span.part(),
      samples: this.samples,
      leftOut: this.#leftOut + (this.#reads?.leftOut ?? 0),
      largest: this.#largest.periods,
    };
  }

  reuse(before: ProfileConsumer): void {
    this.#sums = before.#sums;
    this.#sums.reset();
  }

  join(part: ProfilePart, numbers: JoinedNumbers): void {
    const { stack, context, cpu, period, timeHi, timeLo } = part.timed;
    const contexts = this.#sums.join(part.sums, (comm) => comm, numbers.stack);
    for (let i = 0; i < stack.length; i++) {
      const of = stack[i] as number;
      this.#timedRows.push(
        of < 0 ? of : numbers.stack[of] as number,
        contexts[context[i] as number] as number,
        cpu[i] as number,
        period[i] as number,
        timeHi[i] as number,
        timeLo[i] as number,
      );
    }
    this.#span.join(part.span);
    this.samples += part.samples;
    this.#leftOut += part.leftOut;
    this.#largest.join(part.largest);
  }

  #applied(run: Run, i: number): void {
    const type = run.type[i];
    if (type !== PERF_RECORD_SWITCH && type !== PERF_RECORD_SWITCH_CPU_WIDE) return;
    const { machine } = this.#engine as Engine;
    const [pid, tid, misc] = [run.pid[i] as number, run.tid[i] as number, run.misc[i] as number];
    const thread = machine.thread(pid, tid);
    const [process, comm] = [machine.pids[thread] as number, machine.comms[thread] as number];
    this.#switched.push({
      context: this.#sums.context(SWITCH, comm, process, tid, 0),
      time: run.time(i),
      cpu: run.cpu[i] as number,
      out: (misc & PERF_RECORD_MISC_SWITCH_OUT) !== 0,
      preempted: (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) !== 0,
    });
  }

  /**
   * Names what was collected; to be called after the run, once: the samples are handed over, not copied.
   *
   * @throws {Error} If it is called again.
   * @returns The profile, and how far its names can be trusted.
   */
  async profile(names: ProfileNames): Promise<{ profile: Profile; trust: SymbolTrust }> {
    if (this.#isTaken) throw new Error("the profile of a recording is made once");
    this.#isTaken = true;
    const engine = this.#engine as Engine;
    const { stacks } = engine;
    const { threads, threadOf } = this.#threads(engine);
    // The clock's own times if they are exact, else times since the first sample.
    const { first, last } = this.#span;
    const epoch = first === undefined || first < EXACT ? 0n : first;
    const samples = this.#timed ? this.#timedSamples(threadOf, epoch) : this.#sumSamples(threadOf);
    const columns = {
      parent: stacks.parent.subarray(0, stacks.count),
      place: stacks.place.subarray(0, stacks.count),
    };
    const { trust, ...named } = await namePlaces(
      engine,
      columns,
      samples,
      names.resolver,
      names.progress,
    );
    const profile: Profile = {
      ...named,
      title: names.title,
      trust: this.#trustLine(trust, callersOf(columns, samples, engine), samples),
      events: this.#events(),
      threads,
      objects: engine.places.objects.map(({ path, buildId }, number) => ({
        name: shortName(engine.places.mapped[number] ?? { name: path, kernel: false }),
        path,
        buildId,
      })),
      stacks: columns,
      samples,
      epoch,
      ...(first === undefined
        ? {}
        : { span: [Number(first - epoch), Number(last - epoch)] as const }),
      switches: this.#switched.map(({ context, time, ...change }) => ({
        thread: threadOf[context] as number,
        time: Number(time - epoch),
        ...change,
      })),
    };
    return { profile: this.#withStates(profile), trust };
  }

  /** The profile with frames for what threads did while they had no CPU, and for stacks of other moments. */
  #withStates(profile: Profile): Profile {
    const states = this.#states;
    if (states === undefined) return profile;
    const intervals = this.#intervals as ThreadIntervals;
    const marked = intervals.standIns === 0
      ? profile
      : withStateFrames(profile, states.map((of) => of & STAND_IN && 1), [STAND_IN_FRAME], OFF_CPU);
    const waits = states.map((of) => of & ~STAND_IN);
    const shown = this.#weight === "wall"
      ? withStateFrames(marked, waits, ["[waiting]", "[runnable]"], OFF_CPU)
      : marked;
    return { ...shown, notes: intervalLines(intervals) };
  }

  /** The events: those of the recording, or what is counted instead. */
  #events(): readonly ProfileEvent[] {
    const weight = this.#weight;
    return !isTimeWeight(weight)
      ? events(this.#engine as Engine)
      : [{ name: weight, unit: "nanoseconds" }];
  }

  #timedSamples(threadOf: Int32Array, epoch: bigint): SampleColumns {
    const { context, ...rows } = this.#timedRows.inOrder(epoch);
    const { length } = context;
    const event = new Int32Array(length);
    const states = this.#stateColumn(length);
    for (let row = 0; row < length; row++) {
      const of = context[row] as number;
      if (states !== undefined) states[row] = this.#sums.cpu(of);
      event[row] = this.#sums.event(of);
      context[row] = threadOf[of] as number;
    }
    return { length, ...rows, event, thread: context, count: new Uint8Array(length).fill(1) };
  }

  /** Where threads with and without a CPU are counted: what the rows are of. */
  #stateColumn(length: number): Uint8Array | undefined {
    return this.#states = isTimeWeight(this.#weight) ? new Uint8Array(length) : undefined;
  }

  #sumSamples(threadOf: Int32Array): SampleColumns {
    const sums = this.#sums;
    const length = sums.size;
    const stack = new Int32Array(length);
    const event = new Int32Array(length);
    const thread = new Int32Array(length);
    const count = new Float64Array(length);
    const period = new Float64Array(length);
    const states = this.#stateColumn(length);
    for (let row = 0; row < length; row++) {
      const context = sums.contextOf(row);
      if (states !== undefined) states[row] = sums.cpu(context);
      stack[row] = sums.node(row);
      event[row] = sums.event(context);
      thread[row] = threadOf[context] as number;
      count[row] = sums.samples(row);
      period[row] = sums.period(row);
    }
    sums.clear();
    return { length, stack, event, thread, count, period };
  }

  /** The threads in the order in which they were met, and by context the number of its thread. */
  #threads({ names }: Engine): { threads: ThreadTable; threadOf: Int32Array } {
    const sums = this.#sums;
    const threads = new ThreadTable();
    const threadOf = new Int32Array(sums.contextCount);
    for (let context = 0; context < threadOf.length; context++) {
      const comm = sums.comm(context);
      threadOf[context] = threads.add(
        sums.pid(context),
        sums.tid(context),
        comm < 0 ? undefined : names.text(comm),
      );
    }
    return { threads, threadOf };
  }

  /** One line: how many samples have a function and a stack, and why the others have none. */
  #trustLine(
    { all, resolved, unresolved, unverified }: SymbolTrust,
    callers: Callers,
    samples: SampleColumns,
  ): string {
    const causes = [...unresolved].filter(([, { samples }]) => samples > 0)
      .sort(([, a], [, b]) => b.samples - a.samples)
      .map(([cause, { samples }]) => `${cause} ${percent(samples, all.samples)}`);
    const parts = [
      `${percent(resolved.samples, all.samples)} of samples have a function` +
      (causes.length > 0 ? ` (without: ${causes.join(", ")})` : ""),
      callers.some === 0
        ? "no call chains were recorded"
        : `${percent(callers.some, this.samples)} have callers`,
    ];
    // Branches of calls are no frame pointers.
    const hasBranches = (this.#engine as Engine).reader.events.all.some(({ layout }) =>
      (layout.sampleType & PERF_SAMPLE_BRANCH_STACK) !== 0
    );
    // Frame pointers that are none lead anywhere. A few chains end so in any recording.
    if (callers.lost > 0 && callers.lost >= this.samples / 20) {
      parts.push(
        `${percent(callers.lost, this.samples)} have callers where nothing was mapped` +
          (hasBranches ? "" : ", as of code without frame pointers"),
      );
    }
    if (unverified.addresses > 0) {
      parts.push(
        `${percent(unverified.samples, all.samples)} by files that nothing verifies`,
      );
    }
    const leftOut = (this.#engine as Engine).leftOut + this.#leftOut +
      (this.#reads as SampleReads).leftOut;
    const sums = totals({ events: this.#events(), samples });
    const rounded = roundedPeriods(Math.max(0, ...sums.map(({ period }) => period)));
    for (const [number, { samples, period }] of sums.entries()) {
      const largest = this.#largest.periods[number] ?? 0;
      const name = this.#events()[number]?.name ?? "";
      const event = (this.#engine as Engine).reader.events.all[number];
      const ruling = rulingPeriodText({ name, samples, period, largest }, event);
      if (ruling !== undefined) parts.push(ruling);
    }
    parts.push(...sharedBuildIdTexts((this.#engine as Engine).places.objects));
    if (rounded !== undefined) parts.push(rounded);
    if (leftOut > 0) parts.push(`${leftOut} samples are damaged or of no known event`);
    return parts.join("; ");
  }
}

// What a context of intervals has in place of a CPU.
const { RUNNING: ON_CPU, WAITING, RUNNABLE } = THREAD_STATE;
/** The bit beside it of an interval whose stack is of the last sample before. */
const STAND_IN = 4;
/** The object of frames that say what threads did. */
const OFF_CPU = "[off-cpu]";
/** The event of the contexts of context switches, which belong to no event. */
const SWITCH = -1;

/** Times below this one are exact as numbers. */
const EXACT = 1n << 52n;

/** How many samples have callers. */
interface Callers {
  /** A stack of more than one place. */
  readonly some: number;
  /** Among them a place of a process where nothing was mapped; unwinding counts its own. */
  readonly lost: number;
}

function callersOf(
  { parent, place }: StackColumns,
  { length, stack, count }: SampleColumns,
  { places, unwound }: Engine,
): Callers {
  // A caller stands before what it calls.
  const isLost = new Uint8Array(parent.length);
  const isUnwound = unwound !== undefined && unwound.all.stacks > 0;
  for (let of = 0; of < parent.length && !isUnwound; of++) {
    const caller = parent[of] as number;
    if (caller >= 0 && isLost[caller] === 1 || places.object(place[of] as number) === UNMAPPED) {
      isLost[of] = 1;
    }
  }
  let [some, lost] = [0, 0];
  for (let row = 0; row < length; row++) {
    const of = stack[row] as number;
    const caller = of < 0 ? -1 : parent[of] as number;
    if (caller < 0) continue;
    some += count[row] as number;
    if (isLost[caller] === 1) lost += count[row] as number;
  }
  return { some, lost };
}

/** The events, with the units of their periods. */
function events({ eventNames, reader }: Engine): ProfileEvent[] {
  return reader.events.all.map((_, number) => {
    const name = eventNames[number] ?? `event ${number}`;
    // The periods of the software clocks are nanoseconds.
    return { name, unit: /^(cpu|task)-clock\b/.test(name) ? "nanoseconds" : "count" };
  });
}
