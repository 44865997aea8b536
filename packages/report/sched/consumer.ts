import {
  type Consumer,
  type ContextSwitch,
  type Engine,
  type Needs,
  type Run,
  SchedulerEvents,
  type SchedulerListener,
} from "@perfdata/session";

/** Reads the scheduler's events in time order: base class of its views. */
export abstract class SchedulerConsumer implements Consumer, SchedulerListener {
  /** The machine has the names of threads, the features the formats of tracepoints. */
  readonly needs: Needs = { machine: true, features: true };
  #engine: Engine | undefined;
  #events: SchedulerEvents | undefined;
  /** Number of lost records. */
  lostRecords = 0;

  /** Finds the tracepoints. */
  async start(engine: Engine): Promise<void> {
    this.#engine = engine;
    await this.described();
  }

  /** Finds the tracepoints, once a stream has sent their formats. */
  async described(): Promise<void> {
    if (this.#engine !== undefined) this.#events = await SchedulerEvents.open(this.#engine);
  }

  /** Handles the events of a group of records. */
  rows(run: Run): void {
    for (let i = 0; i < run.count; i++) {
      this.record(run, i);
      this.#events?.row(run, i, this);
    }
  }

  /** Handles any record, before its scheduler event. */
  protected record(_run: Run, _i: number): void {}

  /** Whether the recording has readable context switches. */
  get hasSwitches(): boolean {
    return this.has("sched_switch");
  }

  /** Whether the recording has wakeups. */
  get hasWakeups(): boolean {
    return this.has("sched_waking") || this.has("sched_wakeup");
  }

  /** Whether the recording has a readable scheduler tracepoint with this name. */
  protected has(name: string): boolean {
    return this.#events?.names.has(`sched:${name}`) ?? false;
  }

  /** Recorded scheduler tracepoints that are unreadable, since their formats are missing. */
  get undescribed(): readonly string[] {
    return this.#events?.undescribed ?? [];
  }

  /** Number of scheduler events with truncated data. */
  get damaged(): number {
    return this.#events?.damaged ?? 0;
  }

  /** Time of the first event in ns. */
  get base(): bigint {
    return this.#events?.base ?? 0n;
  }

  /** Upper half of `base`. */
  get baseHi(): number {
    return this.#events?.baseHi ?? 0;
  }

  /** Lower half of `base`. */
  get baseLo(): number {
    return this.#events?.baseLo ?? 0;
  }

  /** The engine; `undefined` before the pass. */
  protected get engine(): Engine | undefined {
    return this.#engine;
  }

  abstract switched(change: ContextSwitch, run: Run, i: number): void;

  /** Handles a wakeup. */
  woken(_time: number, _tid: number, _run: Run, _i: number, _isInterrupt: boolean): void {}

  /** Handles an interval in which a thread ran. */
  ran(_time: number, _tid: number, _runtime: number): void {}

  /** Counts lost records. */
  lost(_time: number, _cpu: number, records: number, _own = 0): void {
    this.lostRecords += records;
  }
}
