import { alignedRows, intAt, visible } from "@perfdata/format/bytes";
import type { ContextSwitch, Run } from "@perfdata/session";
import { SchedulerConsumer } from "./consumer.ts";

/** A waiting thread with the thread that woke it; durations in ns. */
export interface WakeupRow {
  /** Name of the waiting thread. */
  readonly waiter: string;
  /** Id of the waiting thread, if rows are threads. */
  readonly waiter_tid?: number;
  /** Name of the waking thread; `<idle>` for an idle CPU, `<interrupt>` for an interrupt. */
  readonly waker: string;
  /** Id of the waking thread, if rows are threads; 0 without a thread. */
  readonly waker_tid?: number;
  /** Number of waits. */
  readonly waits: number;
  /** Sum of the waits until the wakeup. */
  readonly wait: number;
  /** Longest wait. */
  readonly longest: number;
  /** Sum of the waits for a CPU after the wakeup. */
  readonly delay: number;
}

interface Thread {
  comm: number;
  /** Time since which it sleeps; -1 if it does not. */
  since: number;
  /** Time of the wakeup; -1 if there was none. */
  woken: number;
  /** The pair of its last wait. */
  pair: Pair | undefined;
}

interface Pair {
  readonly waiter: number;
  readonly waiterTid: number;
  readonly waker: number;
  readonly wakerTid: number;
  waits: number;
  wait: number;
  longest: number;
  delay: number;
}

/** Indices of wakers that are no threads; those of threads are indices of names. */
const IDLE = -2;
const INTERRUPT = -3;

/**
 * Waits of threads for other threads: the time that they slept until another one woke them, from
 * sched_waking (or sched_wakeup, if only that was recorded). If a timer or device wakes a thread,
 * the interrupted thread is not the waker; the interrupt is (`common_flags` of the kernel's
 * TRACE_FLAG_HARDIRQ and TRACE_FLAG_SOFTIRQ). A preempted thread waits for a CPU, not for a thread.
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { Wakeups } from "@perfdata/report/contention";
 * import { runEngine } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const file = bytesSource(await Deno.readFile("fixtures/recorded/callchain.perf.data"));
 * const wakeups = new Wakeups();
 * await runEngine(await PerfDataReader.open(file), [wakeups]);
 * assertEquals([wakeups.hasWakeups, wakeups.all(true)], [false, []]);
 * ```
 */
export class Wakeups extends SchedulerConsumer {
  readonly #threads = new Map<number, Thread>();
  readonly #pairs: Pair[] = [];
  /** Last pair by waiting and waking thread. */
  readonly #last = new Map<number, Map<number, Pair>>();

  /** Handles a context switch. */
  switched({ time, from, state, to }: ContextSwitch, run: Run, i: number): void {
    if (from !== 0) {
      const thread = this.#thread(from);
      thread.comm = intAt(run.comm, i);
      thread.since = state === 0 ? -1 : time;
      thread.woken = -1;
    }
    if (to === 0) return;
    const thread = this.#thread(to);
    if (thread.woken >= 0 && thread.pair !== undefined) {
      thread.pair.delay += Math.max(0, time - thread.woken);
    }
    thread.since = -1;
    thread.woken = -1;
  }

  /** Handles a wakeup. Only the first one after a sleep counts. */
  override woken(time: number, tid: number, run: Run, i: number, isInterrupt = false): void {
    const thread = this.#thread(tid);
    if (thread.since < 0 || thread.woken >= 0 || time < thread.since) return;
    thread.woken = time;
    const by = intAt(run.tid, i);
    const [waker, wakerTid] = isInterrupt
      ? [INTERRUPT, INTERRUPT]
      : by === 0
      ? [IDLE, IDLE]
      : [intAt(run.comm, i), by];
    const pair = this.#pair(thread.comm, tid, waker, wakerTid);
    const wait = time - thread.since;
    pair.waits++;
    pair.wait += wait;
    pair.longest = Math.max(pair.longest, wait);
    thread.pair = pair;
  }

  /** Handles a new thread, which may have a reused id. */
  begun(_time: number, tid: number): void {
    this.#threads.delete(tid);
  }

  /**
   * All pairs, by descending sum of waits.
   *
   * @param threads Whether rows are pairs of threads instead of names.
   */
  all(threads: boolean): WakeupRow[] {
    const rows = new Map<string, WakeupRow>();
    for (const pair of this.#pairs) {
      const { waits, wait, longest, delay } = pair;
      const waiter = this.#name(pair.waiter, pair.waiterTid);
      const waker = this.#name(pair.waker, pair.wakerTid);
      const tids = threads
        ? { waiter_tid: pair.waiterTid, waker_tid: Math.max(0, pair.wakerTid) }
        : {};
      const key = JSON.stringify([waiter, waker, tids]);
      const before = rows.get(key);
      rows.set(key, {
        waiter,
        waker,
        ...tids,
        waits: waits + (before?.waits ?? 0),
        wait: wait + (before?.wait ?? 0),
        longest: Math.max(longest, before?.longest ?? 0),
        delay: delay + (before?.delay ?? 0),
      });
    }
    const text = ({ waiter, waker }: WakeupRow) => `${waiter}\0${waker}`;
    return [...rows.values()].sort((a, b) =>
      b.wait - a.wait || b.waits - a.waits || (text(a) < text(b) ? -1 : 1)
    );
  }

  #name(comm: number, tid: number): string {
    if (comm === IDLE) return "<idle>";
    if (comm === INTERRUPT) return "<interrupt>";
    return comm < 0 ? `:${tid}` : this.engine?.names.text(comm) ?? `:${tid}`;
  }

  #pair(waiter: number, waiterTid: number, waker: number, wakerTid: number): Pair {
    let of = this.#last.get(waiterTid);
    if (of === undefined) this.#last.set(waiterTid, of = new Map());
    const last = of.get(wakerTid);
    if (last !== undefined && last.waiter === waiter && last.waker === waker) return last;
    // A new pair, or a thread was renamed.
    const pair = { waiter, waiterTid, waker, wakerTid, waits: 0, wait: 0, longest: 0, delay: 0 };
    of.set(wakerTid, pair);
    this.#pairs.push(pair);
    return pair;
  }

  #thread(tid: number): Thread {
    let thread = this.#threads.get(tid);
    if (thread === undefined) {
      this.#threads.set(tid, thread = { comm: -1, since: -1, woken: -1, pair: undefined });
    }
    return thread;
  }
}

/** A table of rows, with times in ms. */
export function wakeupLines(rows: readonly WakeupRow[]): string[] {
  const ms = (ns: number) => (ns / 1e6).toFixed(3);
  const name = (comm: string, tid: number | undefined) =>
    `${visible(comm)}${tid === undefined || tid === 0 ? "" : `:${tid}`}`;
  const cells = rows.map((row) => [
    String(row.waits),
    ms(row.wait),
    ms(row.longest),
    ms(row.delay),
    name(row.waiter, row.waiter_tid),
    name(row.waker, row.waker_tid),
  ]);
  const head = ["WAITS", "WAIT ms", "LONGEST ms", "DELAY ms", "WAITER", "WOKEN BY"];
  return alignedRows([head, ...cells], (column) => column >= 4);
}

/** Folded stacks of two frames, waker and waiter, with the time in us, for flame-graph scripts. */
export function foldedWakeups(rows: readonly WakeupRow[]): string[] {
  const frame = (comm: string) => visible(comm).replaceAll(";", ":");
  return rows.filter(({ wait }) => wait >= 1000).map((row) =>
    `${frame(row.waker)};${frame(row.waiter)} ${Math.floor(row.wait / 1000)}`
  );
}
