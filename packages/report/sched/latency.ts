import type { ContextSwitch } from "@perfdata/session/intervals";
import { SchedulerConsumer } from "./consumer.ts";

/** Waits for a CPU of threads with the same name, in ns; times count from the first event. */
export interface LatencyRow {
  /** The name of the threads. */
  readonly comm: string;
  /** How many they are. */
  threads: number;
  /** The id of the first of them. */
  readonly tid: number;
  /** How long they ran, as sched_stat_runtime says. */
  runtime: number;
  /** How often they got a CPU that they had waited for, or could have. */
  switches: number;
  /** The sum of these waits. */
  delay: number;
  /** The longest of them. */
  maxDelay: number;
  /** When the longest one began. */
  maxStart: number;
  /** When it ended. */
  maxEnd: number;
}

const SLEEPING = 0;
const RUNNABLE = 1;
const RUNNING = 2;

class Thread {
  state = SLEEPING;
  /** When it lost the CPU, or was first met. */
  left: number;
  /** From when on it was runnable. */
  since = 0;
  runtime = 0;
  switches = 0;
  delay = 0;
  maxDelay = 0;
  maxStart = 0;
  maxEnd = 0;

  constructor(time: number) {
    this.left = time;
  }

  leave(time: number, isRunnable: boolean): void {
    this.state = isRunnable ? RUNNABLE : SLEEPING;
    this.left = time;
    this.since = time;
  }

  enter(time: number): void {
    if (this.state !== RUNNABLE) return;
    this.state = RUNNING;
    // Events out of order say nothing of how long it waited.
    if (time < this.since) return;
    const delay = time - this.since;
    this.switches++;
    this.delay += delay;
    if (delay <= this.maxDelay) return;
    this.maxDelay = delay;
    this.maxStart = this.since;
    this.maxEnd = time;
  }
}

/**
 * How long threads waited for a CPU: from the moment at which they were woken or preempted to the one at
 * which they ran, as `perf sched latency` counts. A thread that is first met counts from then on.
 *
 * @example
 * ```ts
 * import { bytesSource, emptyAttr, memorySink, PerfDataReader, PerfDataWriter } from "@perfdata/format";
 * import { SchedulerLatency } from "@perfdata/report/sched-latency";
 * import { runEngine } from "@perfdata/session/engine";
 * import { assertEquals } from "@std/assert";
 *
 * const sink = memorySink();
 * const writer = await PerfDataWriter.file(sink, { events: [{ attr: emptyAttr() }] });
 * await writer.close();
 * const latency = new SchedulerLatency();
 * await runEngine(await PerfDataReader.open(bytesSource(sink.bytes())), [latency]);
 * assertEquals([latency.latencies(), latency.hasSwitches], [[], false]);
 * ```
 */
export class SchedulerLatency extends SchedulerConsumer {
  readonly #threads = new Map<number, Thread>();
  /** Ids of threads that were given to another thread later, which counts as the same one. */
  reused = 0;

  /** Whether it says how long threads ran. */
  get hasRuntimes(): boolean {
    return this.has("sched_stat_runtime");
  }

  /** Takes the beginning of a thread: it does not wait yet. */
  begun(time: number, tid: number): void {
    const known = this.#threads.get(tid);
    if (known === undefined) return;
    this.reused++;
    known.leave(time, false);
  }

  /** Takes a context switch. */
  switched({ time, from, state, to }: ContextSwitch): void {
    this.#thread(from, time).leave(time, state === 0);
    let next = this.#threads.get(to);
    if (next === undefined) {
      next = this.#thread(to, time);
      next.leave(time, true);
    }
    next.enter(time);
  }

  /** Takes a wakeup: one that runs, or waits for a CPU already, only changes what it is called. */
  override woken(time: number, tid: number): void {
    const thread = this.#thread(tid, time);
    if (thread.state !== SLEEPING || thread.left > time) return;
    thread.state = RUNNABLE;
    thread.since = time;
  }

  /** Takes a time that a thread ran. */
  override ran(time: number, tid: number, runtime: number): void {
    let thread = this.#threads.get(tid);
    if (thread === undefined) {
      thread = this.#thread(tid, time);
      thread.leave(time, true);
    }
    thread.runtime += runtime;
  }

  #thread(tid: number, time: number): Thread {
    let thread = this.#threads.get(tid);
    if (thread === undefined) this.#threads.set(tid, thread = new Thread(time));
    return thread;
  }

  /**
   * A row for each name of threads, or each thread, that ever got a CPU; the longest average wait first.
   *
   * @param byThread A row a thread.
   */
  latencies(byThread = false): LatencyRow[] {
    const comms = this.#comms();
    const rows = new Map<string, LatencyRow>();
    for (const [tid, thread] of this.#threads) {
      // The idle tasks of all CPUs have this id.
      if (tid === 0) continue;
      const comm = comms.get(tid) ?? `:${tid}`;
      const key = byThread ? String(tid) : comm;
      const { runtime, switches, delay, maxDelay, maxStart, maxEnd } = thread;
      const row = rows.get(key);
      if (row === undefined) {
        const longest = { maxDelay, maxStart, maxEnd };
        rows.set(key, { comm, threads: 1, tid, runtime, switches, delay, ...longest });
        continue;
      }
      row.threads++;
      row.runtime += runtime;
      row.switches += switches;
      row.delay += delay;
      if (maxDelay > row.maxDelay) {
        row.maxDelay = maxDelay;
        row.maxStart = maxStart;
        row.maxEnd = maxEnd;
      }
    }
    return [...rows.values()].filter(({ switches }) => switches > 0).sort((a, b) =>
      b.delay / b.switches - a.delay / a.switches || b.maxDelay - a.maxDelay ||
      b.switches - a.switches || b.runtime - a.runtime || (a.comm < b.comm ? -1 : 1)
    );
  }

  /** By id, what threads were called last. */
  #comms(): Map<number, string> {
    const found = new Map<number, string>();
    const view = this.engine?.machine;
    if (view === undefined) return found;
    for (const [thread, tid] of view.tids.entries()) {
      const comm = view.comms[thread];
      if (comm !== undefined && comm >= 0 && this.#threads.has(tid)) {
        found.set(tid, view.names.text(comm));
      }
    }
    return found;
  }
}
