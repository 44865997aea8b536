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

/** Value of `#cpus` for a thread without a CPU. */
const OFF = -2;
const ANY_CPU = -1;

/**
 * Counts the threads that have a CPU at a moment, from records of context switches (`perf record
 * --switch-events`) or `sched:sched_switch`. Rows are passed one by one, in order of time.
 *
 * A thread has a CPU from the switch to it, or from its first sample, until the switch away or its
 * end. Idle threads do not count. If CPUs were recorded, a thread that runs on a CPU has replaced
 * the previous one, even if the switch is missing.
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
  /** The CPU of each thread, by thread id. */
  readonly #cpus = new Map<number, number>();
  /** The thread that ran last on each CPU, by CPU. */
  readonly #running = new Map<number, number>();
  #count = 0;
  /** `#count` at the last sample: the sample of a switch is counted before the switch. */
  #atSample = 0;
  /** Lost records, which may include switches. */
  lostRecords = 0;

  private constructor(engine: Engine, events: SchedulerEvents) {
    this.#engine = engine;
    this.#events = events;
  }

  /** Prepares for a recording; for a stream, to be called again after TRACING_DATA was read. */
  static async open(engine: Engine): Promise<Parallelism> {
    return new Parallelism(engine, await SchedulerEvents.open(engine));
  }

  /**
   * Names of recorded scheduler tracepoints that cannot be read, because their formats are missing.
   */
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

  /** Number of threads that had a CPU at the last sample; at least 1. */
  get threads(): number {
    return Math.max(1, this.#atSample);
  }

  /** Processes a row. */
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

  /** Applies a context switch. Threads without any record of their own do not count. */
  switched({ cpu, from, to }: ContextSwitch): void {
    this.#leave(from);
    if (to === 0 || this.#cpus.has(to)) this.#enter(to, cpu);
  }

  /** Does nothing: a thread that was woken has no CPU yet. */
  woken(): void {}

  /** Does nothing: switches tell when threads run. */
  ran(): void {}

  /** Starts a thread; an earlier thread with this id has ended. */
  begun(_time: number, tid: number): void {
    this.#leave(tid);
    this.#cpus.set(tid, OFF);
  }

  /** Ends a thread: its last switch is missing if threads were recorded one by one. */
  ended(_time: number, tid: number): void {
    this.#leave(tid);
  }

  /** Forgets the threads on the CPU that lost records, until their next record. */
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
