import { intAt } from "@perfdata/format/elements";
import type { Run } from "@perfdata/session/run";
import type { ContextSwitch } from "@perfdata/session/intervals";
import { SchedulerConsumer } from "./consumer.ts";

/** A moment at which the kernel said that it had dropped records. */
export interface TimehistLoss {
  /** The time of the LOST record, since the first event. */
  readonly time: number;
  /** Its CPU. */
  readonly cpu: number;
  /** How many records were dropped. */
  readonly records: number;
}

/** A finished stretch on a CPU, with the wait before it, in ns. */
export interface TimehistRow {
  /** When it ended, since the first event. */
  readonly time: number;
  /** The CPU. */
  readonly cpu: number;
  /** The number of the thread's name; -1 if it is not known. */
  readonly name: number;
  /** Whether there was no thread. */
  readonly isIdle: boolean;
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
  readonly #lost: (loss: TimehistLoss) => void;
  /** The one that is handed on. */
  readonly #row: { -readonly [K in keyof TimehistRow]: TimehistRow[K] } = {
    ...{ time: 0, cpu: 0, name: -1, isIdle: false },
    ...{ tid: 0, pid: 0, wait: 0, delay: 0, run: 0 },
  };

  /**
   * Prepares for a recording.
   *
   * @param take Receives rows in order of time. A row is valid during the call.
   * @param lost Receives the losses between the rows.
   */
  constructor(take: (row: TimehistRow) => void, lost: (loss: TimehistLoss) => void = () => {}) {
    super();
    this.#take = take;
    this.#lost = lost;
  }

  /** Takes a context switch. */
  switched({ time, cpu, from }: ContextSwitch, run: Run, i: number): void {
    // Each CPU has an idle thread of its own; -1 is what the kernel calls threads that have ended.
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

  /** The name of a row's thread; `<idle>` where there was none. */
  comm({ isIdle, name, tid }: TimehistRow): string {
    return isIdle ? "<idle>" : name < 0 ? `:${tid}` : this.engine?.names.text(name) ?? "";
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

  /** Counts lost records, and passes on where they were lost. */
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
