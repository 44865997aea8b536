import {
  PERF_RECORD_COMM,
  PERF_RECORD_MISC_SWITCH_OUT,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
  PERF_SAMPLE_TIME,
} from "@perfdata/format/constants";
import type { Engine } from "../engine/engine.ts";
import type { Run } from "../order/run.ts";
import { type ContextSwitch, SchedulerEvents, type SchedulerListener } from "./scheduler_events.ts";

/** State of a thread that has no CPU, in place of the CPU's number. */
const OFF = -2;
const ANY_CPU = -1;

/**
 * How many threads of a recording have a CPU at a moment, from records of context switches
 * (`perf record --switch-events`) or `sched:sched_switch`. Rows are taken one by one, in order of time.
 *
 * A thread has a CPU from the switch to it, or its first sample, until the switch away or its end. Idle
 * threads do not count. Where CPUs were recorded, one that runs another thread was left by the one before,
 * also where the switch is missing.
 *
 * @example
 * ```ts
 * import { PerfDataReader } from "@perfdata/format";
 * import { openSource } from "@perfdata/format/files";
 * import { Parallelism, runEngine } from "@perfdata/session";
 *
 * let parallelism: Parallelism | undefined;
 * const reader = await PerfDataReader.open(openSource("fixtures/recorded/callchain.perf.data"));
 * await runEngine(reader, [{
 *   needs: {},
 *   async start(engine) {
 *     parallelism = await Parallelism.open(engine);
 *   },
 *   rows(run) {
 *     for (let i = 0; i < run.count; i++) parallelism?.row(run, i);
 *   },
 * }]);
 * console.log(parallelism?.hasSwitches ? parallelism.threads : "no context switches were recorded");
 * ```
 */
export class Parallelism implements SchedulerListener {
  readonly #engine: Engine;
  readonly #events: SchedulerEvents;
  /** By thread of the recording: the CPU that it has. */
  readonly #cpus = new Map<number, number>();
  /** By CPU: the thread that was last known to have it. */
  readonly #running = new Map<number, number>();
  #count = 0;
  /** The same at the last sample: that of a switch is taken before it. */
  #atSample = 0;
  /** Records that were lost, and switches among them, perhaps. */
  lostRecords = 0;

  private constructor(engine: Engine, events: SchedulerEvents) {
    this.#engine = engine;
    this.#events = events;
  }

  /** Prepares for a recording; of a stream, to be called again when it is described. */
  static async open(engine: Engine): Promise<Parallelism> {
    return new Parallelism(engine, await SchedulerEvents.open(engine));
  }

  /** Names of tracepoints of the scheduler that were recorded and cannot be read: their formats are missing. */
  get undescribed(): readonly string[] {
    return this.#events.undescribed;
  }

  /** Whether the recording has context switches, with their times. */
  get hasSwitches(): boolean {
    return this.#events.names.has("sched:sched_switch") ||
      this.#engine.reader.events.all.some(({ attr, layout }) =>
        attr.flags.context_switch && (layout.sampleType & PERF_SAMPLE_TIME) !== 0
      );
  }

  /** How many threads had a CPU when the last sample was taken: one at least. */
  get threads(): number {
    return Math.max(1, this.#atSample);
  }

  /** Takes a row. */
  row(run: Run, i: number): void {
    const tid = run.tid[i] as number;
    const type = run.type[i];
    if (type === PERF_RECORD_SAMPLE) {
      this.#enter(tid, run.cpu[i] as number);
      this.#atSample = this.#count;
      this.#events.row(run, i, this);
    } else if (type === PERF_RECORD_SWITCH || type === PERF_RECORD_SWITCH_CPU_WIDE) {
      const isOut = ((run.misc[i] as number) & PERF_RECORD_MISC_SWITCH_OUT) !== 0;
      if (isOut) this.#leave(tid);
      else this.#enter(tid, run.cpu[i] as number);
    } else if (type === PERF_RECORD_COMM) {
      if (tid > 0 && !this.#cpus.has(tid)) this.#cpus.set(tid, OFF);
    } else this.#events.row(run, i, this);
  }

  /** Takes a context switch; threads of which nothing was recorded are not of the recording. */
  switched({ cpu, from, to }: ContextSwitch): void {
    this.#leave(from);
    if (to === 0 || this.#cpus.has(to)) this.#enter(to, cpu);
  }

  /** Does nothing: a thread that is woken has no CPU yet. */
  woken(): void {}

  /** Does nothing: how long threads ran is known from switches. */
  ran(): void {}

  /** Takes the beginning of a thread: what had this id is another one. */
  begun(_time: number, tid: number): void {
    this.#leave(tid);
    this.#cpus.set(tid, OFF);
  }

  /** Takes the end of a thread: where threads are recorded one by one, its last switch is not recorded. */
  ended(_time: number, tid: number): void {
    this.#leave(tid);
  }

  /** Takes a loss: threads that have a CPU are known again from what they do next. */
  lost(time: number, cpu: number, records: number): void {
    this.lostRecords += records;
    if (time < 0) return;
    for (const [tid, of] of this.#cpus) {
      if (of !== OFF && (cpu < 0 || of === cpu)) this.#leave(tid);
    }
  }

  #enter(tid: number, cpu: number): void {
    if (cpu >= 0) {
      const before = this.#running.get(cpu);
      if (before !== tid) {
        if (before !== undefined && this.#cpus.get(before) === cpu) this.#leave(before);
        this.#running.set(cpu, tid);
      }
    }
    if (tid <= 0) return;
    const known = this.#cpus.get(tid) ?? OFF;
    if (known === OFF) this.#count++;
    else if (known === cpu || cpu < 0) return;
    this.#cpus.set(tid, cpu < 0 ? ANY_CPU : cpu);
  }

  #leave(tid: number): void {
    const known = this.#cpus.get(tid);
    if (known === undefined || known === OFF) return;
    this.#cpus.set(tid, OFF);
    this.#count--;
  }
}
