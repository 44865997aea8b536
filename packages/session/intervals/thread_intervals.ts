// One module, since switches, interrupts and samples change the same state of a thread, in order of time.
import { intAt } from "@perfdata/format/bytes";
import type { PerfEvent } from "@perfdata/format/records";
import {
  HEADER_SP_META_INFO,
  PERF_RECORD_MISC_SWITCH_OUT,
  PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
  PERF_TYPE_SOFTWARE,
  PERF_TYPE_TRACEPOINT,
} from "@perfdata/format/constants";
import type { Engine } from "../engine/engine.ts";
import type { SampleFilter } from "../samples/resolve.ts";
import { type Run, RUN_ROWS } from "../order/run.ts";
import { type InterruptEvent, InterruptEvents } from "./interrupt_events.ts";
import { type InterruptedThread, Interrupts, OpenHandler } from "./interrupts.ts";
import { type ContextSwitch, SchedulerEvents, type SchedulerListener } from "./scheduler_events.ts";

/** `OFFCPU_EVENT` of tools/perf/util/off_cpu.h: samples of `perf record --off-cpu`. */
const OFFCPU_EVENT = "offcpu-time";
/** `PERF_COUNT_SW_CPU_CLOCK` and `PERF_COUNT_SW_TASK_CLOCK`: their periods are nanoseconds. */
const CLOCKS: readonly bigint[] = [0n, 1n];
/** `prev_state` of a thread that is dead: EXIT_DEAD and EXIT_ZOMBIE. */
const DEAD = 0x30;

/** States of a thread. */
export const THREAD_STATE = {
  /** It has a CPU. */
  RUNNING: 0,
  /** It sleeps, or is blocked. */
  WAITING: 1,
  /** It could run, and has no CPU. */
  RUNNABLE: 2,
} as const;

/**
 * A period in which a thread had a CPU, or had none. Times are in ns since
 * {@link ThreadIntervals.base}. The object is valid during the call that it is passed to.
 */
export interface ThreadInterval {
  /** The thread. */
  readonly tid: number;
  /** Its process; -1 if unknown. */
  readonly pid: number;
  /** Its name: a number of the engine's names, or -1. */
  readonly comm: number;
  /** The CPU that it had; -1 if unknown. */
  readonly cpu: number;
  /** The stack at which it left the CPU or was sampled; -1 if no stack was recorded. */
  readonly stack: number;
  /** The innermost place of the stack. */
  readonly place: number;
  /** Whether the stack is that of the last sample before: see {@linkcode IntervalOptions.standIns}. */
  readonly isStandIn: boolean;
  /** When it began. */
  readonly from: number;
  /** When it ended. */
  readonly to: number;
  /** Time from which on the thread could have run; `to` if unknown, or if it got a CPU at once. */
  readonly runnable: number;
  /** The thread that woke it; -1 if unknown. */
  readonly waker: number;
  /** The waker's name. */
  readonly wakerComm: number;
  /** Part of the time on a CPU that belongs to interrupt handlers, in ns. */
  readonly interrupted: number;
}

/** Receives the intervals of all threads, each at its end. */
export interface IntervalListener {
  /** A thread had no CPU. It waited until `runnable`, then for a CPU. */
  off(interval: ThreadInterval): void;
  /** A thread ran. Samples divide a time on a CPU into several intervals. */
  ran?(interval: ThreadInterval): void;
  /**
   * An interrupt handler ran while the thread had a CPU. The frames of the handler, and of those
   * that it interrupted, are the innermost ones of the stack.
   */
  handled?(interval: ThreadInterval): void;
}

/** Larger CPU numbers come from damaged records. */
const MOST_CPUS = 1 << 16;
const UNKNOWN = -1;
const RUNNING = 0;
const OFF = 1;
/** Sources that report that a thread left a CPU. Both may report the same switch. */
const BY_TRACEPOINT = 1;
const BY_RECORD = 2;

class Thread implements InterruptedThread {
  readonly tid: number;
  pid = -1;
  comm = -1;
  cpu = -1;
  stack = -1;
  place = -1;
  isStandIn = false;
  /** Stack of its last sample that is not of a switch, and the innermost place of it. */
  sampled = -1;
  sampledPlace = -1;
  from = 0;
  to = 0;
  runnable = -1;
  waker = -1;
  wakerComm = -1;
  interrupted = 0;
  readonly handlers: OpenHandler[] = [];
  depth = 0;
  state = UNKNOWN;
  /** The sources that reported that it left the CPU. */
  said = 0;
  /**
   * Whether its end was recorded. It may still lose its CPU and get it back, but never waits at the
   * end of the recording.
   */
  isEnding = false;
  /** Whether it left its CPU as a dead thread. A later thread with this id is another one. */
  isDead = false;
  /** Whether a switch of it is missing, so that its state since `from` is unknown. */
  isGap = false;
  /** Whether it has records of its own, not only switches to it. */
  isSeen = false;

  constructor(tid: number) {
    this.tid = tid;
  }
}

/** Counts of interrupt handlers that ran while a thread had a CPU. */
export interface HandlerCounts {
  /** Number of entries. */
  readonly count: number;
  /** The count of these whose exit is missing. */
  readonly unended: number;
  /** Number of exits whose entry is missing. */
  readonly unbegun: number;
  /** Whether only a part of the entries and exits was recorded, as with `-F`. */
  readonly isSampled: boolean;
}

/** Options of {@linkcode ThreadIntervals}. */
export interface IntervalOptions {
  /** Filter of intervals, which are cut to its times. */
  readonly filter?: SampleFilter | undefined;
  /**
   * Whether a time without a CPU gets the stack of the last sample before it, if the recording has
   * no call chains of switches, as with `--switch-events` alone.
   */
  readonly standIns?: boolean | undefined;
}

/**
 * States of threads over time: running, waiting, runnable. They are made from the tracepoints
 * `sched:sched_switch` and `sched_waking` or `sched_wakeup`, from records of context switches
 * (`perf record --switch-events`), or from the samples of `perf record --off-cpu`.
 *
 * ```text
 * leaves a CPU ── waiting ── woken ── runnable ── gets a CPU ── running ── sampled ── running ── leaves …
 * ```
 *
 * One interval of each living thread is held. Records have to come in order of time. If records
 * were lost, intervals end at the last time at which they are certain.
 */
export class ThreadIntervals implements SchedulerListener {
  readonly #engine: Engine;
  readonly #events: SchedulerEvents;
  /** Entries into and exits from interrupt handlers, if the listener receives them. */
  readonly #interruptEvents: InterruptEvents | undefined;
  readonly #interrupts: Interrupts;
  readonly #listener: IntervalListener;
  readonly #filter: SampleFilter;
  readonly #recorded: readonly PerfEvent[];
  readonly #threads = new Map<number, Thread>();
  /** The running thread, by CPU. */
  readonly #running: number[] = [];
  /** Time of the last record, by CPU. */
  readonly #heard: number[] = [];
  #last = 0;
  /**
   * Whether the recording has switches to threads. If not, as in simpleperf, a thread waits until
   * its next sample.
   */
  readonly #hasEntries: boolean;
  /** Whether stacks of samples replace missing stacks of switches. */
  readonly #standsIn: boolean;
  /** Whether a context switch was read. */
  #isSwitched = false;
  /** The time filter, in ns since the base. */
  #window: readonly [number, number] | undefined;
  // Process and name of the thread of each SWITCH record in the group.
  readonly #pids = new Int32Array(RUN_ROWS);
  readonly #comms = new Int32Array(RUN_ROWS);
  /** Number of lost records. */
  lostRecords = 0;
  /** Number of intervals that end where records were lost. */
  cut = 0;
  /** Switches that must have happened but are not in the recording. */
  missing = 0;
  /** Sum of the times, of all threads, in which it is therefore unknown whether they had a CPU. */
  unknown = 0;
  /** Number of times without a CPU. */
  count = 0;
  /** The count of these that have recorded callers. */
  withStack = 0;
  /** The count of these that have the stack of the last sample before. */
  standIns = 0;
  /** The count of these whose waker is known. */
  withWaker = 0;

  private constructor(
    engine: Engine,
    { events, interruptEvents }: {
      readonly events: SchedulerEvents;
      readonly interruptEvents: InterruptEvents | undefined;
    },
    listener: IntervalListener,
    { filter = {}, standIns = false }: IntervalOptions,
  ) {
    this.#engine = engine;
    this.#events = events;
    this.#interruptEvents = interruptEvents;
    this.#interrupts = new Interrupts(
      engine.stacks,
      (interval) => this.#isWanted(interval) && listener.handled?.(interval),
      (from, to) => this.#within(from, to),
    );
    this.#listener = listener;
    this.#filter = filter;
    this.#recorded = engine.reader.events.all;
    this.#standsIn = standIns && !events.names.has("sched:sched_switch");
    this.#hasEntries = !events.isLeavingOnly ||
      this.#recorded.some(({ attr }) => attr.flags.context_switch);
  }

  /** Prepares for a recording; for a stream, to be called again after TRACING_DATA was read. */
  static async open(
    engine: Engine,
    listener: IntervalListener,
    options: IntervalOptions = {},
  ): Promise<ThreadIntervals> {
    // simpleperf writes no formats.
    const isSimpleperf = engine.reader.features.some(({ id }) => id === HEADER_SP_META_INFO);
    const events = await SchedulerEvents.open(engine, isSimpleperf ? ["sched:sched_switch"] : []);
    const interruptEvents = listener.handled === undefined
      ? undefined
      : await InterruptEvents.open(engine);
    return new ThreadIntervals(engine, { events, interruptEvents }, listener, options);
  }

  /** Time in ns that other times are relative to. */
  get base(): bigint {
    return this.#events.base;
  }

  /** Upper half of the base. */
  get baseHi(): number {
    return this.#events.baseHi;
  }

  /** Lower half of the base. */
  get baseLo(): number {
    return this.#events.baseLo;
  }

  /**
   * Names of recorded scheduler tracepoints that cannot be read, because their formats are missing.
   */
  get undescribed(): readonly string[] {
    const others = this.#interruptEvents?.undescribed ?? [];
    return [...new Set([...this.#events.undescribed, ...others])];
  }

  /** Counts of interrupt handlers. */
  get handlers(): HandlerCounts {
    const { count, unended, unbegun } = this.#interrupts;
    return { count, unended, unbegun, isSampled: this.#interruptEvents?.isSampled === true };
  }

  /** Whether the recording has wakeups of threads. */
  get hasWakeups(): boolean {
    const { names } = this.#events;
    return names.has("sched:sched_waking") || names.has("sched:sched_wakeup");
  }

  /**
   * Whether the recording has context switches of any kind. If it also has sums of `--off-cpu`,
   * which come last, only switches that were read count: the requested events may have recorded
   * nothing.
   */
  get hasSwitches(): boolean {
    if (this.#isSwitched || this.#engine.eventNames.includes(OFFCPU_EVENT)) return this.#isSwitched;
    return this.#events.names.has("sched:sched_switch") ||
      this.#recorded.some(({ attr }) => attr.flags.context_switch);
  }

  /** Whether the recording has samples of `perf record --off-cpu`, and no switches. */
  get hasSums(): boolean {
    return !this.hasSwitches && this.#engine.eventNames.includes(OFFCPU_EVENT);
  }

  /**
   * Whether intervals use the place and stack of a sample. Samples of wakeups are skipped: their
   * thread does not wait.
   */
  looksAt(run: Run, i: number): boolean {
    const event = run.event[i] as number;
    if (this.#recorded[event]?.attr.type === PERF_TYPE_TRACEPOINT) {
      return this.#events.isLeaving(event, run, i) ||
        run.tid[i] !== 0 && this.#interruptEvents?.isEntry(event) === true;
    }
    return this.#standsIn || this.#listener.ran !== undefined ||
      this.#engine.eventNames[event] === OFFCPU_EVENT;
  }

  /**
   * Saves the process and name of the thread of a SWITCH record, while the machine has the state of
   * that moment.
   */
  applied(run: Run, i: number): void {
    const type = run.type[i];
    if (type !== PERF_RECORD_SWITCH && type !== PERF_RECORD_SWITCH_CPU_WIDE) return;
    const { machine } = this.#engine;
    const thread = machine.thread(run.pid[i] as number, run.tid[i] as number);
    this.#pids[i] = machine.pids[thread] as number;
    this.#comms[i] = machine.comms[thread] as number;
  }

  /** Processes a group of records. */
  rows(run: Run): void {
    const { count, type, cpu } = run;
    for (let i = 0; i < count; i++) {
      const kind = type[i];
      if (kind === PERF_RECORD_SAMPLE) this.#sample(run, i);
      else if (kind === PERF_RECORD_SWITCH || kind === PERF_RECORD_SWITCH_CPU_WIDE) {
        this.#record(run, i);
      } else {
        this.#events.row(run, i, this);
        continue;
      }
      const of = cpu[i] as number;
      const time = this.#events.timeOf(run, i);
      if (time > this.#last && time <= Number.MAX_SAFE_INTEGER) this.#last = time;
      // Ignore CPU numbers of damaged records, which would make a long list.
      if (of >= 0 && of < MOST_CPUS) this.#heard[of] = time;
    }
  }

  /** Ends the open intervals at the time of the last record. */
  finish(): void {
    for (const thread of this.#threads.values()) {
      this.#interrupts.endAll(thread);
      if (thread.isEnding) continue;
      if (thread.state === OFF) this.#endOff(thread, this.#last);
      // Skip threads without records of their own: only switches to them are known.
      else if (thread.state === RUNNING && thread.isSeen) this.#piece(thread, this.#last);
    }
    this.#threads.clear();
  }

  /** Processes a sample: of a switch or wakeup, of a sum of waiting time, or of running code. */
  #sample(run: Run, i: number): void {
    const event = run.event[i] as number;
    const { attr } = this.#recorded[event] ?? {};
    if (attr === undefined) return;
    if (attr.type === PERF_TYPE_TRACEPOINT) {
      const entryOrExit = this.#interruptEvents?.read(run, i);
      if (entryOrExit === undefined) this.#events.row(run, i, this);
      else if (this.hasSwitches) this.#interrupt(entryOrExit, run, i);
      return;
    }
    const isSum = this.#engine.eventNames[event] === OFFCPU_EVENT;
    if (isSum && this.hasSwitches) return;
    const tid = run.tid[i] as number;
    if (tid <= 0) return;
    const time = this.#events.timeOf(run, i);
    const period = run.period[i] as number;
    const isClock = attr.type === PERF_TYPE_SOFTWARE && CLOCKS.includes(attr.config);
    if (!this.hasSwitches) {
      // Without switches, only sums of times without a CPU and of clocks count.
      if (!isSum && !isClock) return;
      const piece = new Thread(tid);
      this.#take(piece, run, i);
      piece.from = time;
      piece.to = piece.runnable = time + period;
      if (!this.#isWanted(piece)) return;
      // perf writes sums at the end, with a time beyond any clock, which is not exact as a double.
      if (piece.to > Number.MAX_SAFE_INTEGER) {
        piece.from = this.#last;
        piece.to = piece.runnable = this.#last + period;
      }
      if (isSum) this.#off(piece);
      else this.#listener.ran?.(piece);
      return;
    }
    const thread = this.#onCpu(tid, time, run, i);
    let until = time;
    if (thread.depth > 0) {
      const code = this.#interrupts.sampled(thread, time, isClock, run, i);
      if (code.level >= 0) {
        // Without stacks of samples, those of the entries are used.
        if (this.#listener.ran !== undefined) {
          this.#interrupts.counted(thread, code, intAt(run.stack, i));
        }
        return;
      }
      until = code.until;
    }
    this.#take(thread, run, i);
    thread.sampled = thread.stack;
    thread.sampledPlace = thread.place;
    this.#piece(thread, until);
  }

  #onCpu(tid: number, time: number, run: Run, i: number): Thread {
    const thread = this.#living(tid);
    if (thread.state === OFF) this.#found(thread, time, intAt(run.cpu, i));
    if (thread.state === UNKNOWN) this.#begin(thread, time);
    thread.state = RUNNING;
    return thread;
  }

  /** Processes the entry or exit of an interrupt handler. Handlers of idle CPUs do not count. */
  #interrupt(event: InterruptEvent, run: Run, i: number): void {
    const tid = intAt(run.tid, i);
    if (tid <= 0) return;
    const time = this.#events.timeOf(run, i);
    const thread = this.#onCpu(tid, time, run, i);
    this.#takeNames(thread, run, i);
    this.#interrupts.apply(thread, event, time, run, i);
  }

  #record(run: Run, i: number): void {
    this.#isSwitched = true;
    const tid = run.tid[i] as number;
    if (tid <= 0) return;
    const time = this.#events.timeOf(run, i);
    const misc = run.misc[i] as number;
    if ((misc & PERF_RECORD_MISC_SWITCH_OUT) === 0) {
      this.#enter(tid, time, run.cpu[i] as number);
      return;
    }
    const isPreempted = (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) !== 0;
    const thread = this.#thread(tid);
    const cpu = run.cpu[i] as number;
    this.#leave(thread, time, cpu, isPreempted, BY_RECORD, () => {
      thread.isSeen = true;
      thread.pid = this.#pids[i] as number;
      thread.comm = this.#comms[i] as number;
      thread.cpu = cpu;
    });
  }

  /** Applies a context switch. */
  switched({ time, cpu, from, state, to }: ContextSwitch, run: Run, i: number): void {
    this.#isSwitched = true;
    const before = this.#running[cpu] ?? from;
    if (before !== from) this.#gone(before, cpu);
    if (cpu >= 0 && cpu < MOST_CPUS) this.#running[cpu] = to;
    if (from > 0) {
      const thread = this.#thread(from);
      const isDead = (state & DEAD) !== 0;
      if (isDead) thread.isEnding = true;
      this.#leave(thread, time, cpu, state === 0, BY_TRACEPOINT, () => this.#take(thread, run, i));
      thread.isDead = isDead;
    }
    if (to > 0) this.#enter(to, time, cpu);
  }

  /** Applies a wakeup. */
  woken(time: number, tid: number, run: Run, i: number): void {
    const thread = this.#threads.get(tid);
    if (thread?.state !== OFF || thread.runnable >= 0 || time < thread.from) return;
    thread.runnable = time;
    thread.waker = run.tid[i] as number;
    thread.wakerComm = run.comm[i] as number;
  }

  /** Does nothing: switches tell when threads run. */
  ran(): void {}

  /** Starts a thread; an earlier thread with this id has ended. */
  begun(_time: number, tid: number): void {
    const before = this.#threads.get(tid);
    if (before !== undefined) this.#interrupts.endAll(before);
    this.#threads.delete(tid);
  }

  /** Ends a thread. It still has to leave its CPU, but that switch may be missing. */
  ended(time: number, tid: number): void {
    const thread = this.#thread(tid);
    this.#interrupts.endAll(thread);
    if (thread.state === RUNNING && thread.isSeen) this.#piece(thread, time);
    // It has a CPU, but the time at which it got it is unknown.
    if (thread.state === OFF) thread.state = UNKNOWN;
    thread.isEnding = true;
  }

  /**
   * Handles lost records. Since the last record of that CPU it is unknown whether threads without a
   * CPU got it, and whether its thread left it.
   */
  lost(time: number, cpu: number, records: number): void {
    this.lostRecords += records;
    if (time < 0) return;
    const until = cpu < 0 ? this.#last : this.#heard[cpu] ?? 0;
    for (const [tid, thread] of this.#threads) {
      if (thread.isEnding) continue;
      if (thread.state === OFF) {
        this.cut++;
        this.#endOff(thread, until);
      } else if (thread.state === RUNNING && (cpu < 0 || thread.cpu === cpu)) {
        this.#interrupts.endAll(thread);
        this.#piece(thread, until);
      } else continue;
      this.#threads.delete(tid);
    }
  }

  #thread(tid: number): Thread {
    let thread = this.#threads.get(tid);
    if (thread === undefined) this.#threads.set(tid, thread = new Thread(tid));
    return thread;
  }

  /** The living thread with an id that has a CPU; forgets a dead one with the same id. */
  #living(tid: number): Thread {
    if (this.#threads.get(tid)?.isDead === true) this.#threads.delete(tid);
    return this.#thread(tid);
  }

  /** Copies process, name and CPU of a sample to its thread. */
  #takeNames(thread: Thread, run: Run, i: number): void {
    thread.isSeen = true;
    thread.pid = run.process[i] as number;
    thread.comm = run.comm[i] as number;
    thread.cpu = run.cpu[i] as number;
  }

  /** Copies process, name, CPU and stack of a sample to its thread. */
  #take(thread: Thread, run: Run, i: number): void {
    this.#takeNames(thread, run, i);
    thread.stack = run.stack[i] as number;
    thread.place = run.place[i] as number;
  }

  #leave(
    thread: Thread,
    time: number,
    cpu: number,
    isRunnable: boolean,
    by: number,
    take: () => void,
  ): void {
    if (thread.state === OFF) {
      if ((thread.said & by) === 0) {
        // The second report of the same switch.
        thread.said |= by;
        if (isRunnable && thread.runnable < 0) thread.runnable = thread.from;
        if (by === BY_TRACEPOINT) take();
        return;
      }
      this.#found(thread, time, cpu);
    }
    this.#interrupts.endAll(thread);
    this.#known(thread, time);
    const { state, stack, place: sampled } = thread;
    take();
    // The piece gets the stack of the last sample; without one, the stack of the switch.
    const left = thread.stack;
    const { place } = thread;
    if (state === RUNNING) {
      if (stack >= 0) {
        thread.stack = stack;
        thread.place = sampled;
      }
      this.#piece(thread, time);
      thread.stack = left;
      thread.place = place;
    }
    if (by === BY_RECORD) {
      thread.isStandIn = this.#standsIn && thread.sampled >= 0;
      thread.stack = thread.isStandIn ? thread.sampled : -1;
      thread.place = thread.isStandIn ? thread.sampledPlace : -1;
    }
    thread.state = OFF;
    thread.interrupted = 0;
    thread.said = by;
    thread.from = time;
    thread.runnable = isRunnable ? time : -1;
    thread.waker = thread.wakerComm = -1;
  }

  #enter(tid: number, time: number, cpu: number): void {
    const thread = this.#living(tid);
    if (thread.state === RUNNING) return;
    if (thread.state === OFF) this.#endOff(thread, time);
    this.#begin(thread, time);
    thread.state = RUNNING;
    thread.cpu = cpu;
    // The stack is unknown until a sample.
    thread.stack = thread.place = -1;
    thread.isStandIn = false;
  }

  #begin(thread: Thread, time: number): void {
    this.#known(thread, time);
    thread.from = time;
  }

  #known(thread: Thread, time: number): void {
    if (thread.isGap) this.unknown += time - thread.from;
    thread.isGap = false;
  }

  /**
   * Handles a thread that runs without a recorded switch to it. It had no CPU until its wakeup, nor
   * before the last record of another thread on that CPU.
   */
  #found(thread: Thread, time: number, cpu: number): void {
    if (!this.#hasEntries) {
      this.#endOff(thread, time);
      thread.state = UNKNOWN;
      return;
    }
    this.missing++;
    const until = Math.max(thread.from, thread.runnable, this.#heard[cpu] ?? 0);
    this.#endOff(thread, until);
    this.unknown += time - until;
    thread.state = UNKNOWN;
  }

  /**
   * Handles a thread that left its CPU without a recorded switch: after the last record of the CPU.
   */
  #gone(tid: number, cpu: number): void {
    const thread = this.#threads.get(tid);
    // Skip threads without records of their own: only switches to them are known.
    if (thread?.state !== RUNNING || thread.cpu !== cpu || !thread.isSeen) return;
    this.#interrupts.endAll(thread);
    // If threads were recorded one by one, a thread's end is its last record.
    if (thread.isEnding) {
      thread.state = UNKNOWN;
      return;
    }
    this.missing++;
    this.#piece(thread, this.#heard[cpu] ?? 0);
    thread.state = UNKNOWN;
    thread.isGap = true;
  }

  /** Ends a time without a CPU. */
  #endOff(thread: Thread, to: number): void {
    if (to <= thread.from) return;
    thread.to = to;
    if (thread.runnable < 0 || thread.runnable > to) thread.runnable = to;
    if (this.#isWanted(thread)) this.#off(thread);
  }

  #off(thread: Thread): void {
    this.count++;
    if (thread.isStandIn) this.standIns++;
    else if ((this.#engine.stacks.parent[thread.stack] ?? -1) >= 0) this.withStack++;
    if (thread.waker >= 0) this.withWaker++;
    this.#listener.off(thread);
  }

  /** Ends a part of a time on a CPU. */
  #piece(thread: Thread, to: number): void {
    if (to <= thread.from) return;
    const { from } = thread;
    thread.to = thread.runnable = to;
    if (this.#listener.ran !== undefined && this.#isWanted(thread)) this.#listener.ran(thread);
    thread.from = Math.max(from, to);
    thread.interrupted = 0;
  }

  /** Whether an interval passes the filters; cuts it to the time filter. */
  #isWanted(thread: Thread | OpenHandler): boolean {
    const { pids, tids, cpus, time } = this.#filter;
    if (pids !== undefined && !pids.has(thread.pid)) return false;
    if (tids !== undefined && !tids.has(thread.tid)) return false;
    if (cpus !== undefined && !cpus.has(thread.cpu)) return false;
    if (time === undefined) return true;
    const [first, last] = this.#windowOf(time);
    thread.from = Math.max(thread.from, first);
    thread.to = Math.min(thread.to, last);
    thread.runnable = Math.min(Math.max(thread.runnable, thread.from), thread.to);
    return thread.to > thread.from;
  }

  /** Length of the part of a time that passes the time filter. */
  #within(from: number, to: number): number {
    const { time } = this.#filter;
    if (time === undefined) return to - from;
    const [first, last] = this.#windowOf(time);
    return Math.max(0, Math.min(to, last) - Math.max(from, first));
  }

  #windowOf(time: readonly [bigint, bigint]): readonly [number, number] {
    return this.#window ??= [Number(time[0] - this.base), Number(time[1] - this.base)];
  }
}
