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
import { type ContextSwitch, SchedulerEvents, type SchedulerListener } from "./scheduler_events.ts";

/** `OFFCPU_EVENT` of tools/perf/util/off_cpu.h: samples of `perf record --off-cpu`. */
const OFFCPU_EVENT = "offcpu-time";
/** `PERF_COUNT_SW_CPU_CLOCK` and `PERF_COUNT_SW_TASK_CLOCK`: their periods are nanoseconds. */
const CLOCKS: readonly bigint[] = [0n, 1n];
/** `prev_state` of a thread that is dead: EXIT_DEAD and EXIT_ZOMBIE. */
const DEAD = 0x30;

/** What a thread does. */
export const THREAD_STATE = {
  /** It has a CPU. */
  RUNNING: 0,
  /** It sleeps, or is blocked. */
  WAITING: 1,
  /** It could go on, and has no CPU. */
  RUNNABLE: 2,
} as const;

/**
 * A time in which a thread had a CPU, or had none. Times are in ns since {@link ThreadIntervals.base}. It is
 * valid during the call that it is handed to.
 */
export interface ThreadInterval {
  /** The thread. */
  readonly tid: number;
  /** Its process; -1 if it is not known. */
  readonly pid: number;
  /** What it was called: a number of the engine's names, or -1. */
  readonly comm: number;
  /** The CPU that it had; -1 if it is not known. */
  readonly cpu: number;
  /** The stack that it left the CPU with, or was sampled with; -1 if none was recorded. */
  readonly stack: number;
  /** The innermost place of it. */
  readonly place: number;
  /** Whether the stack is that of the last sample before: see {@linkcode IntervalOptions.standIns}. */
  readonly isStandIn: boolean;
  /** When it began. */
  readonly from: number;
  /** When it ended. */
  readonly to: number;
  /** From when on the thread could have gone on: `to` where it had a CPU at once, or it is not known. */
  readonly runnable: number;
  /** The thread that woke it; -1 if it is not known. */
  readonly waker: number;
  /** The waker's name. */
  readonly wakerComm: number;
}

/** Takes the intervals of all threads, each when it ends. */
export interface IntervalListener {
  /** A thread was without a CPU: it waited until `runnable`, then it waited for a CPU. */
  off(interval: ThreadInterval): void;
  /** A thread ran; the parts of a time on a CPU are told by its samples. */
  ran?(interval: ThreadInterval): void;
}

/** CPUs that are believed. */
const MOST_CPUS = 1 << 16;
const UNKNOWN = -1;
const RUNNING = 0;
const OFF = 1;
/** What says that a thread left a CPU: both may, of the same switch. */
const BY_TRACEPOINT = 1;
const BY_RECORD = 2;

class Thread implements ThreadInterval {
  readonly tid: number;
  pid = -1;
  comm = -1;
  cpu = -1;
  stack = -1;
  place = -1;
  isStandIn = false;
  /** The stack of its last sample that is of no switch, and the innermost place of it. */
  sampled = -1;
  sampledPlace = -1;
  from = 0;
  to = 0;
  runnable = -1;
  waker = -1;
  wakerComm = -1;
  state = UNKNOWN;
  /** What has said that it left the CPU. */
  said = 0;
  /** Whether its end was recorded. It may still lose its CPU and get it back; it is never waiting at the end. */
  isEnding = false;
  /** Whether it left its CPU as a dead thread: another thread of this id begins anew. */
  isDead = false;
  /** Whether a switch of it is missing: nothing is known since `from`. */
  isGap = false;
  /** Whether something was recorded of it, and not only that it got a CPU. */
  isSeen = false;

  constructor(tid: number) {
    this.tid = tid;
  }
}

/** How to make intervals. */
export interface IntervalOptions {
  /** Which of them count; times are cut to those that are asked for. */
  readonly filter?: SampleFilter | undefined;
  /**
   * Whether a time without a CPU has the stack of the last sample before if the recording has no call chains
   * of switches, as with `--switch-events` alone.
   */
  readonly standIns?: boolean | undefined;
}

/**
 * What threads did over time: running, waiting, runnable, from what a recording has of it: the tracepoints
 * `sched:sched_switch` and `sched_waking` or `sched_wakeup`, records of context switches
 * (`perf record --switch-events`), or the samples of `perf record --off-cpu`.
 *
 * ```text
 * leaves a CPU ── waiting ── woken ── runnable ── gets a CPU ── running ── sampled ── running ── leaves …
 * ```
 *
 * Of each thread that lives one interval is held. Records have to come in order of time. Where records were
 * lost, intervals end with what is known for sure.
 */
export class ThreadIntervals implements SchedulerListener {
  readonly #engine: Engine;
  readonly #events: SchedulerEvents;
  readonly #listener: IntervalListener;
  readonly #filter: SampleFilter;
  readonly #recorded: readonly PerfEvent[];
  readonly #threads = new Map<number, Thread>();
  /** By CPU: the thread that has it. */
  readonly #running: number[] = [];
  /** By CPU: when it was last heard of. */
  readonly #heard: number[] = [];
  #last = 0;
  /** Whether the recording says when a thread gets a CPU; if not, it waits until its next sample, as in simpleperf. */
  readonly #hasEntries: boolean;
  /** Whether stacks of samples stand for those of switches. */
  readonly #standsIn: boolean;
  /** Whether a context switch has come. */
  #isSwitched = false;
  /** Filters by time, as ns since the base. */
  #window: readonly [number, number] | undefined;
  // Of rows that are records of switches: process and name at that moment.
  readonly #pids = new Int32Array(RUN_ROWS);
  readonly #comms = new Int32Array(RUN_ROWS);
  /** Records that were lost. */
  lostRecords = 0;
  /** Intervals that end where records were lost. */
  cut = 0;
  /** Switches that the recording does not have, though threads cannot have gone on without them. */
  missing = 0;
  /** For how long, of all threads, it is therefore not known whether they had a CPU. */
  unknown = 0;
  /** Times without a CPU. */
  count = 0;
  /** Those of them whose callers were recorded. */
  withStack = 0;
  /** Those of them that have the stack of the last sample before. */
  standIns = 0;
  /** Those of them of which it is known who woke the thread. */
  withWaker = 0;

  private constructor(
    engine: Engine,
    events: SchedulerEvents,
    listener: IntervalListener,
    { filter = {}, standIns = false }: IntervalOptions,
  ) {
    this.#engine = engine;
    this.#events = events;
    this.#listener = listener;
    this.#filter = filter;
    this.#recorded = engine.reader.events.all;
    this.#standsIn = standIns && !events.names.has("sched:sched_switch");
    this.#hasEntries = !events.isLeavingOnly ||
      this.#recorded.some(({ attr }) => attr.flags.context_switch);
  }

  /** Prepares for a recording; of a stream, to be called again when it is described. */
  static async open(
    engine: Engine,
    listener: IntervalListener,
    options: IntervalOptions = {},
  ): Promise<ThreadIntervals> {
    // simpleperf writes no formats.
    const isSimpleperf = engine.reader.features.some(({ id }) => id === HEADER_SP_META_INFO);
    const events = await SchedulerEvents.open(engine, isSimpleperf ? ["sched:sched_switch"] : []);
    return new ThreadIntervals(engine, events, listener, options);
  }

  /** What times count from, in ns. */
  get base(): bigint {
    return this.#events.base;
  }

  /** The same without a bigint: its upper half. */
  get baseHi(): number {
    return this.#events.baseHi;
  }

  /** Its lower half. */
  get baseLo(): number {
    return this.#events.baseLo;
  }

  /** Names of tracepoints of the scheduler that were recorded and cannot be read: their formats are missing. */
  get undescribed(): readonly string[] {
    return this.#events.undescribed;
  }

  /** Whether the recording says when threads were woken. */
  get hasWakeups(): boolean {
    const { names } = this.#events;
    return names.has("sched:sched_waking") || names.has("sched:sched_wakeup");
  }

  /**
   * Whether it has context switches, of whichever kind. Where it has sums of `--off-cpu` as well, which come last,
   * those that came say so: events that were asked for may have recorded nothing.
   */
  get hasSwitches(): boolean {
    if (this.#isSwitched || this.#engine.eventNames.includes(OFFCPU_EVENT)) return this.#isSwitched;
    return this.#events.names.has("sched:sched_switch") ||
      this.#recorded.some(({ attr }) => attr.flags.context_switch);
  }

  /** Whether it has samples of `perf record --off-cpu` and nothing better. */
  get hasSums(): boolean {
    return !this.hasSwitches && this.#engine.eventNames.includes(OFFCPU_EVENT);
  }

  /** Whether intervals have the place and the stack of a sample: those of wakeups are of nobody that waits. */
  looksAt(run: Run, i: number): boolean {
    const event = run.event[i] as number;
    if (this.#recorded[event]?.attr.type === PERF_TYPE_TRACEPOINT) {
      return this.#events.isLeaving(event, run, i);
    }
    return this.#standsIn || this.#listener.ran !== undefined ||
      this.#engine.eventNames[event] === OFFCPU_EVENT;
  }

  /** Notes what a thread is called that a record of a switch is of: to be called when it is applied. */
  applied(run: Run, i: number): void {
    const type = run.type[i];
    if (type !== PERF_RECORD_SWITCH && type !== PERF_RECORD_SWITCH_CPU_WIDE) return;
    const { machine } = this.#engine;
    const thread = machine.thread(run.pid[i] as number, run.tid[i] as number);
    this.#pids[i] = machine.pids[thread] as number;
    this.#comms[i] = machine.comms[thread] as number;
  }

  /** Takes a run. */
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
      // A CPU number of a damaged record must not make a long list.
      if (of >= 0 && of < MOST_CPUS) this.#heard[of] = time;
    }
  }

  /** Ends what is under way: the last moment of the recording is the least that it took. */
  finish(): void {
    for (const thread of this.#threads.values()) {
      if (thread.isEnding) continue;
      if (thread.state === OFF) this.#endOff(thread, this.#last);
      // Of threads that are not recorded it is known only that they got a CPU from those that are.
      else if (thread.state === RUNNING && thread.isSeen) this.#piece(thread, this.#last);
    }
    this.#threads.clear();
  }

  /** Takes a sample: of a switch or wakeup, of the time that was waited, or of what a thread runs. */
  #sample(run: Run, i: number): void {
    const event = run.event[i] as number;
    const { attr } = this.#recorded[event] ?? {};
    if (attr === undefined) return;
    if (attr.type === PERF_TYPE_TRACEPOINT) return this.#events.row(run, i, this);
    const isSum = this.#engine.eventNames[event] === OFFCPU_EVENT;
    if (isSum && this.hasSwitches) return;
    const tid = run.tid[i] as number;
    if (tid <= 0) return;
    const time = this.#events.timeOf(run, i);
    const period = run.period[i] as number;
    if (!this.hasSwitches) {
      // Only sums are known: of times without a CPU, and of clocks.
      const isClock = attr.type === PERF_TYPE_SOFTWARE && CLOCKS.includes(attr.config);
      if (!isSum && !isClock) return;
      const piece = new Thread(tid);
      this.#take(piece, run, i);
      piece.from = time;
      piece.to = piece.runnable = time + period;
      if (!this.#isWanted(piece)) return;
      // perf writes sums at the end with a time that no clock has: no double has its ns.
      if (piece.to > Number.MAX_SAFE_INTEGER) {
        piece.from = this.#last;
        piece.to = piece.runnable = this.#last + period;
      }
      if (isSum) this.#off(piece);
      else this.#listener.ran?.(piece);
      return;
    }
    const thread = this.#living(tid);
    if (thread.state === OFF) this.#found(thread, time, run.cpu[i] as number);
    if (thread.state === UNKNOWN) this.#begin(thread, time);
    thread.state = RUNNING;
    this.#take(thread, run, i);
    thread.sampled = thread.stack;
    thread.sampledPlace = thread.place;
    this.#piece(thread, time);
  }

  /** Takes a record of a switch. */
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

  /** Takes a context switch. */
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

  /** Takes a wakeup. */
  woken(time: number, tid: number, run: Run, i: number): void {
    const thread = this.#threads.get(tid);
    if (thread?.state !== OFF || thread.runnable >= 0 || time < thread.from) return;
    thread.runnable = time;
    thread.waker = run.tid[i] as number;
    thread.wakerComm = run.comm[i] as number;
  }

  /** Does nothing: how long threads ran is known from switches. */
  ran(): void {}

  /** Takes the beginning of a thread: what had this id is another one. */
  begun(_time: number, tid: number): void {
    this.#threads.delete(tid);
  }

  /** Takes the end of a thread, which still has a CPU to leave: that may be the last that is heard of it. */
  ended(time: number, tid: number): void {
    const thread = this.#thread(tid);
    if (thread.state === RUNNING && thread.isSeen) this.#piece(thread, time);
    // It has a CPU, and nobody knows since when.
    if (thread.state === OFF) thread.state = UNKNOWN;
    thread.isEnding = true;
  }

  /**
   * Takes a loss: from the moment at which its CPU was last heard of, nobody knows whether threads without a
   * CPU got that one, or the one that had it still has.
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

  /** A thread that has a CPU: not the dead one that had its id. */
  #living(tid: number): Thread {
    if (this.#threads.get(tid)?.isDead === true) this.#threads.delete(tid);
    return this.#thread(tid);
  }

  /** Takes what a sample says of its thread. */
  #take(thread: Thread, run: Run, i: number): void {
    thread.isSeen = true;
    thread.pid = run.process[i] as number;
    thread.comm = run.comm[i] as number;
    thread.cpu = run.cpu[i] as number;
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
        // The same switch, said twice.
        thread.said |= by;
        if (isRunnable && thread.runnable < 0) thread.runnable = thread.from;
        if (by === BY_TRACEPOINT) take();
        return;
      }
      this.#found(thread, time, cpu);
    }
    this.#known(thread, time);
    const { state, stack, place: sampled } = thread;
    take();
    // What ran since the last sample ran on there; without one, where it ends.
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
    // Nothing is known of what it runs.
    thread.stack = thread.place = -1;
    thread.isStandIn = false;
  }

  /** From now on it is known again what a thread does. */
  #begin(thread: Thread, time: number): void {
    this.#known(thread, time);
    thread.from = time;
  }

  #known(thread: Thread, time: number): void {
    if (thread.isGap) this.unknown += time - thread.from;
    thread.isGap = false;
  }

  /**
   * Takes that a thread has a CPU that it was not known to have got: until its wakeup it certainly had none,
   * nor while another one was heard of on that CPU.
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

  /** Takes that a thread has left a CPU: when is not known, but after the CPU was last heard of. */
  #gone(tid: number, cpu: number): void {
    const thread = this.#threads.get(tid);
    // Of threads that are not recorded it is known only that they got a CPU from those that are.
    if (thread?.state !== RUNNING || thread.cpu !== cpu || !thread.isSeen) return;
    // Where threads are recorded one by one, an end is the last that is heard of one.
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

  /** A part of a time on a CPU. */
  #piece(thread: Thread, to: number): void {
    if (to <= thread.from) return;
    const { from } = thread;
    thread.to = thread.runnable = to;
    if (this.#listener.ran !== undefined && this.#isWanted(thread)) this.#listener.ran(thread);
    thread.from = Math.max(from, to);
  }

  /** Whether an interval passes the filters; it is cut to the time that is asked for. */
  #isWanted(thread: Thread): boolean {
    const { pids, tids, cpus, time } = this.#filter;
    if (pids !== undefined && !pids.has(thread.pid)) return false;
    if (tids !== undefined && !tids.has(thread.tid)) return false;
    if (cpus !== undefined && !cpus.has(thread.cpu)) return false;
    if (time === undefined) return true;
    this.#window ??= [Number(time[0] - this.base), Number(time[1] - this.base)];
    const [first, last] = this.#window;
    thread.from = Math.max(thread.from, first);
    thread.to = Math.min(thread.to, last);
    thread.runnable = Math.min(Math.max(thread.runnable, thread.from), thread.to);
    return thread.to > thread.from;
  }
}
