import type { ContextSwitch } from "@perfdata/session";
import { SchedulerConsumer } from "./consumer.ts";

/** Waits for a CPU of threads with the same name, in ns since the first event. */
export interface LatencyRow {
  /** Name of the threads. */
  readonly comm: string;
  /** Number of threads. */
  threads: number;
  /** Id of the first thread. */
  readonly tid: number;
  /** Run time from sched_stat_runtime. */
  runtime: number;
  /** Number of switches to a thread that had waited, or could have. */
  switches: number;
  /** Sum of the waits. */
  delay: number;
  /** Longest wait. */
  maxDelay: number;
  /** Start of the longest wait. */
  maxStart: number;
  /** End of the longest wait. */
  maxEnd: number;
}

const SLEEPING = 0;
const RUNNABLE = 1;
const RUNNING = 2;

class Thread {
  state = SLEEPING;
  /** Time at which it lost the CPU, or first occurred. */
  left: number;
  /** Time since which it is runnable. */
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
    // Events out of order do not tell the wait.
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
 * Waits of threads for a CPU: from their wakeup or preemption until they run, counted like `perf
 * sched latency`. A new thread counts from its first event.
 *
 * @example
 * ```ts
 * import {
 *   bytesSource,
 *   emptyAttr,
 *   memorySink,
 *   PerfDataReader,
 *   PerfDataWriter,
 * } from "@perfdata/format";
 * import { SchedulerLatency } from "@perfdata/report/contention";
 * import { runEngine } from "@perfdata/session";
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
  /** Number of thread ids that were reused, whose threads count as one. */
  reused = 0;

  /** Whether the recording has run times. */
  get hasRuntimes(): boolean {
    return this.has("sched_stat_runtime");
  }

  /** Handles a new thread, which does not wait yet. */
  begun(time: number, tid: number): void {
    const known = this.#threads.get(tid);
    if (known === undefined) return;
    this.reused++;
    known.leave(time, false);
  }

  /** Handles a context switch. */
  switched({ time, from, state, to }: ContextSwitch): void {
    this.#thread(from, time).leave(time, state === 0);
    let next = this.#threads.get(to);
    if (next === undefined) {
      next = this.#thread(to, time);
      next.leave(time, true);
    }
    next.enter(time);
  }

  /** Handles a wakeup. A thread that runs or already waits for a CPU only changes its name. */
  override woken(time: number, tid: number): void {
    const thread = this.#thread(tid, time);
    if (thread.state !== SLEEPING || thread.left > time) return;
    thread.state = RUNNABLE;
    thread.since = time;
  }

  /** Handles an interval in which a thread ran. */
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
   * One row per thread name (or per thread) that got a CPU, by descending mean wait.
   *
   * @param byThread Whether there is a row per thread.
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

  /** Last name of each thread id. */
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
