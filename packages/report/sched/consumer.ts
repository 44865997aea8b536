import type { Consumer, Engine } from "@perfdata/session/engine";
import {
  type ContextSwitch,
  SchedulerEvents,
  type SchedulerListener,
} from "@perfdata/session/intervals";
import type { Run } from "@perfdata/session/run";

/** Takes the events of the scheduler in order of time: the common part of its views. */
export abstract class SchedulerConsumer implements Consumer, SchedulerListener {
  /** Names of threads, from the machine. */
  readonly needs: { readonly machine: boolean } = { machine: true };
  #engine: Engine | undefined;
  #events: SchedulerEvents | undefined;
  /** Records that were lost. */
  lostRecords = 0;

  /** Finds the tracepoints. */
  async start(engine: Engine): Promise<void> {
    this.#engine = engine;
    await this.described();
  }

  /** Of a stream, finds the tracepoints once their formats have come. */
  async described(): Promise<void> {
    if (this.#engine !== undefined) this.#events = await SchedulerEvents.open(this.#engine);
  }

  /** Takes the events of a run. */
  rows(run: Run): void {
    for (let i = 0; i < run.count; i++) {
      this.record(run, i);
      this.#events?.row(run, i, this);
    }
  }

  /** Takes any record, before what it says of the scheduler. */
  protected record(_run: Run, _i: number): void {}

  /** Whether the recording has context switches that can be read. */
  get hasSwitches(): boolean {
    return this.has("sched_switch");
  }

  /** Whether it says when threads were woken. */
  get hasWakeups(): boolean {
    return this.has("sched_waking") || this.has("sched_wakeup");
  }

  /** Whether the recording has a tracepoint of the scheduler that can be read. */
  protected has(name: string): boolean {
    return this.#events?.names.has(`sched:${name}`) ?? false;
  }

  /** Names of tracepoints of the scheduler that were recorded and cannot be read: their formats are missing. */
  get undescribed(): readonly string[] {
    return this.#events?.undescribed ?? [];
  }

  /** Events of the scheduler whose data were cut. */
  get damaged(): number {
    return this.#events?.damaged ?? 0;
  }

  /** When the first event was, in ns. */
  get base(): bigint {
    return this.#events?.base ?? 0n;
  }

  /** The same without a bigint: its upper half. */
  get baseHi(): number {
    return this.#events?.baseHi ?? 0;
  }

  /** Its lower half. */
  get baseLo(): number {
    return this.#events?.baseLo ?? 0;
  }

  /** The recording; there is none before the pass. */
  protected get engine(): Engine | undefined {
    return this.#engine;
  }

  abstract switched(change: ContextSwitch, run: Run, i: number): void;

  /** Takes a wakeup. */
  woken(_time: number, _tid: number, _run: Run, _i: number, _isInterrupt: boolean): void {}

  /** Takes a time that a thread ran. */
  ran(_time: number, _tid: number, _runtime: number): void {}

  /** Counts records that were lost. */
  lost(_time: number, _cpu: number, records: number, _own = 0): void {
    this.lostRecords += records;
  }
}
