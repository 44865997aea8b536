import { visible } from "@perfdata/format/visible";
import type { Run } from "@perfdata/session/run";
import { momentText, SchedulerConsumer } from "./consumer.ts";

/** A time on a CPU that ended, with what was before it, in ns. */
export interface TimehistRow {
  /** When it ended. */
  readonly time: bigint;
  /** The CPU. */
  readonly cpu: number;
  /** The thread's name; `<idle>` where there was none. */
  readonly comm: string;
  /** The thread. */
  readonly tid: number;
  /** Its process. */
  readonly pid: number;
  /** How long the thread was without a CPU before. */
  readonly wait: number;
  /** How long of that it was ready to run. */
  readonly delay: number;
  /** How long it ran. */
  readonly run: number;
}

class Thread {
  last = -1;
  ready = -1;
}

/**
 * Times on a CPU, each when it ends, as `perf sched timehist` says them: how long the thread waited
 * before, how long of that for a CPU, and how long it ran.
 */
export class Timehist extends SchedulerConsumer {
  readonly #threads = new Map<number, Thread>();
  /** By CPU: the time of the last switch. */
  readonly #switches = new Map<number, number>();
  readonly #take: (row: TimehistRow) => void;

  /** Prepares; `take` gets rows in order of time. */
  constructor(take: (row: TimehistRow) => void) {
    super();
    this.#take = take;
  }

  /** Takes a context switch. */
  switched(
    time: number,
    cpu: number,
    from: number,
    _state: number,
    _to: number,
    run: Run,
    i: number,
  ): void {
    // Each CPU has an idle thread of its own; -1 is what the kernel calls threads that have ended.
    const isIdle = from === 0;
    const thread = this.#thread(isIdle ? -2 - cpu : run.tid[i] as number);
    const began = this.#switches.get(cpu);
    this.#switches.set(cpu, time);
    let [wait, delay] = [0, 0];
    if (began !== undefined) {
      if (thread.ready >= 0 && thread.ready <= began) delay = began - thread.ready;
      if (thread.last >= 0 && thread.last <= began) wait = began - thread.last;
    }
    thread.last = time;
    thread.ready = -1;
    const name = run.comm[i] as number;
    const tid = run.tid[i] as number;
    this.#take({
      time: this.base + BigInt(time),
      cpu,
      comm: isIdle ? "<idle>" : name < 0 ? `:${tid}` : this.engine?.names.text(name) ?? "",
      tid: isIdle ? 0 : tid,
      pid: isIdle ? 0 : run.process[i] as number,
      wait,
      delay,
      run: began === undefined ? 0 : time - began,
    });
  }

  /** Takes a wakeup: the first one counts. */
  override woken(time: number, tid: number): void {
    const thread = this.#thread(tid);
    if (thread.ready < 0) thread.ready = time;
  }

  /** Takes the beginning of a thread: what had this id before was another one. */
  begun(_time: number, tid: number): void {
    this.#threads.delete(tid);
  }

  #thread(tid: number): Thread {
    let thread = this.#threads.get(tid);
    if (thread === undefined) this.#threads.set(tid, thread = new Thread());
    return thread;
  }
}

/** The lines above the rows. */
export const TIMEHIST_HEAD: readonly string[] = [
  "           time    cpu  task name                       wait time  sch delay   run time",
  "                        [tid/pid]                          (msec)     (msec)     (msec)",
  "--------------- ------  ------------------------------  ---------  ---------  ---------",
];

/**
 * Makes the lines of rows; names that are longer than the column widen it from then on, as with perf.
 *
 * @example
 * ```ts
 * import { timehistText } from "@perfdata/report/sched-timehist";
 * import { assertEquals } from "@std/assert";
 *
 * const line = timehistText();
 * const row = { time: 1_500_000_999n, cpu: 1, comm: "sh", tid: 8, pid: 7, wait: 2500, delay: 0, run: 1 };
 * assertEquals(line(row).slice(0, 34), "       1.500000 [0001]  sh[8/7]   ");
 * ```
 */
export function timehistText(): (row: TimehistRow) => string {
  let width = 30;
  const ms = (ns: number) =>
    `${Math.floor(ns / 1e6)}.${String(Math.floor(ns / 1e3) % 1000).padStart(3, "0")}`.padStart(10);
  return ({ time, cpu, comm, tid, pid, wait, delay, run }) => {
    const shown = visible(comm);
    const task = tid === 0 && comm === "<idle>"
      ? shown
      : tid === pid
      ? `${shown}[${tid}]`
      : `${shown}[${tid}/${pid}]`;
    width = Math.max(width, task.length);
    const when = momentText(time, 0, 15);
    const number = String(cpu).padStart(4, "0");
    return `${when} [${number}]  ${task.padEnd(width)} ${ms(wait)} ${ms(delay)} ${ms(run)} `;
  };
}
