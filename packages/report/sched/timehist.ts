import { intAt } from "@perfdata/format/bytes";
import type { ContextSwitch, Run } from "@perfdata/session";
import { SchedulerConsumer } from "./consumer.ts";

/** A loss of records reported by the kernel. */
export interface TimehistLoss {
  /** Time of the LOST record since the first event. */
  readonly time: number;
  /** CPU of the record. */
  readonly cpu: number;
  /** Number of lost records. */
  readonly records: number;
}

/** A finished interval on a CPU, with the preceding wait, in ns. */
export interface TimehistRow {
  /** End of the interval, since the first event. */
  readonly time: number;
  /** The CPU. */
  readonly cpu: number;
  /** Index of the thread's name; -1 if unknown. */
  readonly name: number;
  /** Whether the CPU was idle. */
  readonly isIdle: boolean;
  /** The thread. */
  readonly tid: number;
  /** Its process. */
  readonly pid: number;
  /** Time without a CPU before the interval. */
  readonly wait: number;
  /** Part of that time in which the thread was runnable. */
  readonly delay: number;
  /** Length of the interval. */
  readonly run: number;
}

class Thread {
  last = -1;
  ready = -1;
}

/**
 * Intervals on a CPU, delivered when they end, as in `perf sched timehist`: wait before the
 * interval, part of it for a CPU, and run time.
 */
export class Timehist extends SchedulerConsumer {
  readonly #threads = new Map<number, Thread>();
  /** Time of the last switch, by CPU. */
  readonly #switches = new Map<number, number>();
  readonly #take: (row: TimehistRow) => void;
  readonly #lost: (loss: TimehistLoss) => void;
  /** The row that is passed on, reused each time. */
  readonly #row: { -readonly [K in keyof TimehistRow]: TimehistRow[K] } = {
    ...{ time: 0, cpu: 0, name: -1, isIdle: false },
    ...{ tid: 0, pid: 0, wait: 0, delay: 0, run: 0 },
  };

  /**
   * Creates the consumer.
   *
   * @param take Receives rows in time order. A row is only valid during the call.
   * @param lost Receives the losses between the rows.
   */
  constructor(take: (row: TimehistRow) => void, lost: (loss: TimehistLoss) => void = () => {}) {
    super();
    this.#take = take;
    this.#lost = lost;
  }

  /** Handles a context switch. */
  switched({ time, cpu, from }: ContextSwitch, run: Run, i: number): void {
    // Each CPU has its own idle thread. The kernel names ended threads -1.
    const isIdle = from === 0;
    const thread = this.#thread(isIdle ? -2 - cpu : intAt(run.tid, i));
    const began = this.#switches.get(cpu);
    this.#switches.set(cpu, time);
    let [wait, delay] = [0, 0];
    if (began !== undefined) {
      if (thread.ready >= 0 && thread.ready <= began) delay = began - thread.ready;
      if (thread.last >= 0 && thread.last <= began) wait = began - thread.last;
    }
    thread.last = time;
    thread.ready = -1;
    const row = this.#row;
    row.time = time;
    row.cpu = cpu;
    row.name = isIdle ? -1 : intAt(run.comm, i);
    row.isIdle = isIdle;
    row.tid = isIdle ? 0 : intAt(run.tid, i);
    row.pid = isIdle ? 0 : intAt(run.process, i);
    row.wait = wait;
    row.delay = delay;
    row.run = began === undefined ? 0 : time - began;
    this.#take(row);
  }

  /** Name of a row's thread; `<idle>` for an idle CPU. */
  comm({ isIdle, name, tid }: TimehistRow): string {
    return isIdle ? "<idle>" : name < 0 ? `:${tid}` : this.engine?.names.text(name) ?? "";
  }

  /** Handles a wakeup. Only the first one counts. */
  override woken(time: number, tid: number): void {
    const thread = this.#thread(tid);
    if (thread.ready < 0) thread.ready = time;
  }

  /** Handles a new thread, which may have a reused id. */
  begun(_time: number, tid: number): void {
    this.#threads.delete(tid);
  }

  /** Counts and passes on a loss. */
  override lost(time: number, cpu: number, records: number, own: number): void {
    super.lost(time, cpu, records);
    if (time >= 0) this.#lost({ time, cpu, records: own });
  }

  #thread(tid: number): Thread {
    let thread = this.#threads.get(tid);
    if (thread === undefined) this.#threads.set(tid, thread = new Thread());
    return thread;
  }
}
