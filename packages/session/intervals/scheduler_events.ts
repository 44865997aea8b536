import {
  PERF_RECORD_EXIT,
  PERF_RECORD_FORK,
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_SAMPLE,
} from "@perfdata/format/constants";
import {
  EXIT,
  FORK,
  layoutOf,
  LOST,
  type PerfDataReader,
  prefixSize,
} from "@perfdata/format/records";
import { intAt } from "@perfdata/format/bytes";
import type { Engine } from "../engine/engine.ts";
import { LostRecords } from "../samples/lost_records.ts";
import { type FieldPlace, Tracepoints } from "../events/tracepoints.ts";
import { RelativeTime } from "../order/relative_time.ts";
import type { Run } from "../order/run.ts";

const FORK_AT = layoutOf(FORK);
const EXIT_AT = layoutOf(EXIT);
const LOST_SIZE = prefixSize(LOST);
/** Position of the count in a LOST record: at its end. */
const LOST_PLACE: FieldPlace = { offset: LOST_SIZE - 8, size: 8 };

/** The scheduler's tracepoints to read, and their fields. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  "sched:sched_switch": ["prev_pid", "prev_state", "next_pid"],
  "sched:sched_waking": ["pid"],
  "sched:sched_wakeup": ["pid"],
  "sched:sched_wakeup_new": ["pid"],
  "sched:sched_stat_runtime": ["pid", "runtime"],
};

/** A CPU switched from one thread to another. */
export interface ContextSwitch {
  /** Time in ns since the first event. */
  readonly time: number;
  /** The CPU. */
  readonly cpu: number;
  /** The thread that leaves the CPU. */
  readonly from: number;
  /** State of the leaving thread; 0 means that it could continue. */
  readonly state: number;
  /** The thread that gets the CPU; -1 if unknown. */
  readonly to: number;
}

/**
 * Receives scheduler events in order of time. Times are ns since the first event, durations are ns.
 * Row `i` of `run` is the event.
 */
export interface SchedulerListener {
  /** A CPU switched from one thread to another. `change` is valid during the call. */
  switched(change: ContextSwitch, run: Run, i: number): void;
  /** A thread was woken. `isInterrupt`: an interrupt handler woke it, not the thread of the row. */
  woken(time: number, tid: number, run: Run, i: number, isInterrupt: boolean): void;
  /** A thread ran for this long since its last such event. */
  ran(time: number, tid: number, runtime: number): void;
  /** A thread begins; an earlier thread with this id has ended. */
  begun?(time: number, tid: number): void;
  /** A thread ends. */
  ended?(time: number, tid: number): void;
  /**
   * Records were lost on a CPU before this moment. `records` is the number that was not reported
   * before. `own` is the count of this LOST record, part of which may have been reported. A time of
   * -1 means that the records were only counted, at unknown times; a `cpu` of -1 means that it is
   * unknown.
   */
  lost?(time: number, cpu: number, records: number, own: number): void;
}

/** TRACE_FLAG_HARDIRQ and TRACE_FLAG_SOFTIRQ of include/linux/trace_events.h. */
const IN_INTERRUPT = 0x18;

/**
 * Bit of `prev_state` for a preempted thread: the one after the reported states (TASK_REPORT_MAX of
 * include/linux/sched.h, since 4.14).
 */
const PREEMPTED = 0x100;

/**
 * State of a leaving thread without a recorded state: it waits, unless a record says that it was
 * preempted.
 */
const UNKNOWN_STATE = 1;

/** Decodes the scheduler's tracepoints by the recorded formats. */
export class SchedulerEvents {
  readonly #tracepoints: Tracepoints;
  readonly #littleEndian: boolean;
  readonly #lost: LostRecords;
  readonly #time = new RelativeTime();
  /** Reused argument of `SchedulerListener.switched`. */
  readonly #switch: { -readonly [K in keyof ContextSwitch]: ContextSwitch[K] } = {
    ...{ time: 0, cpu: 0, from: 0, state: 0, to: 0 },
  };

  private constructor(tracepoints: Tracepoints, reader: PerfDataReader) {
    this.#tracepoints = tracepoints;
    this.#littleEndian = reader.littleEndian;
    this.#lost = new LostRecords(reader);
  }

  /**
   * Finds the scheduler's tracepoints in a recording.
   *
   * @param unformatted Names of tracepoints that are read without a format, such as the
   * `sched:sched_switch` of simpleperf: the thread of the sample leaves its CPU, and the next
   * thread is unknown.
   */
  static async open(
    engine: Engine,
    unformatted: readonly string[] = [],
  ): Promise<SchedulerEvents> {
    const found = await Tracepoints.open(engine, FIELDS, unformatted);
    return new SchedulerEvents(found, engine.reader);
  }

  /** Names of the recorded tracepoints that can be read. */
  get names(): ReadonlySet<string> {
    return this.#tracepoints.names;
  }

  /** Names of recorded tracepoints that cannot be read, because their formats are missing. */
  get undescribed(): readonly string[] {
    return this.#tracepoints.undescribed;
  }

  /**
   * Whether `sched:sched_switch` was recorded without its format, so that no record tells when a
   * thread gets a CPU.
   */
  get isLeavingOnly(): boolean {
    return this.#tracepoints.isUnformatted("sched:sched_switch");
  }

  /** Samples of the tracepoints whose raw data are too short. */
  get damaged(): number {
    return this.#tracepoints.damaged;
  }

  /** Time of the first event in ns, which other times are relative to. */
  get base(): bigint {
    return this.#time.base;
  }

  /** Upper half of the base; 0 before the first event. */
  get baseHi(): number {
    return Math.max(0, this.#time.baseHi);
  }

  /** Lower half of the base; 0 before the first event. */
  get baseLo(): number {
    return this.#time.baseLo;
  }

  /**
   * Passes the event in a row to the listener, if it is about the scheduler, threads or lost
   * records.
   */
  row(run: Run, i: number, listener: SchedulerListener): void {
    if (run.type[i] !== PERF_RECORD_SAMPLE) return this.#record(run, i, listener);
    const source = this.#tracepoints.of(run, i);
    if (source === undefined) return;
    const { view } = run.at(i);
    const { fields, places, name, flags } = source;
    const { raw } = fields;
    const time = this.timeOf(run, i);
    if (places.length === 0) {
      const change = this.#switch;
      change.time = time;
      change.cpu = run.cpu[i] as number;
      change.from = run.tid[i] as number;
      change.state = UNKNOWN_STATE;
      change.to = -1;
      listener.switched(change, run, i);
      return;
    }
    const first = this.#value(view, raw, places[0]);
    if (name === "sched:sched_switch") {
      const state = this.#value(view, raw, places[1]);
      const change = this.#switch;
      change.time = time;
      change.cpu = run.cpu[i] as number;
      change.from = first;
      change.state = (state & PREEMPTED) !== 0 ? 0 : state;
      change.to = this.#value(view, raw, places[2]);
      listener.switched(change, run, i);
    } else if (name === "sched:sched_stat_runtime") {
      listener.ran(time, first, this.#value(view, raw, places[1]));
    } // sched_wakeup repeats sched_waking: skip it if the latter was recorded.
    else if (name !== "sched:sched_wakeup" || !this.names.has("sched:sched_waking")) {
      const found = flags < 0 || flags >= fields.rawSize ? 0 : view.getUint8(raw + flags);
      listener.woken(time, first, run, i, (found & IN_INTERRUPT) !== 0);
    }
  }

  /** Whether the sample shows that a thread, not an idle task, left its CPU. */
  isLeaving(event: number, run: Run, i: number): boolean {
    const source = this.#tracepoints.ofEvent(event);
    if (source?.name !== "sched:sched_switch") return false;
    // In a pid namespace, foreign threads have tid 0 in the sample; the raw data has their id.
    if (run.tid[i] !== 0) return true;
    if (source.places.length === 0 || !this.#tracepoints.isSound(source, run, i)) return false;
    return this.#value(run.at(i).view, source.fields.raw, source.places[0]) > 0;
  }

  /** Reads a field of raw data, exact up to 2^53. */
  #value(view: DataView, raw: number, place: FieldPlace | undefined): number {
    const { offset, size } = place as FieldPlace;
    const le = this.#littleEndian;
    const at = raw + offset;
    if (size === 4) return view.getInt32(at, le);
    const low = view.getUint32(at + (le ? 0 : 4), le);
    // deno-lint-ignore perfdata/halves -- threads, states, and how long a thread ran
    return view.getInt32(at + (le ? 4 : 0), le) * 2 ** 32 + low;
  }

  /** Passes on a record that is not a sample. */
  #record(run: Run, i: number, listener: SchedulerListener): void {
    const type = run.type[i];
    const start = run.start[i] as number;
    const le = this.#littleEndian;
    const { view } = run.at(i);
    if (type === PERF_RECORD_LOST || type === PERF_RECORD_LOST_SAMPLES) {
      const { timeHi, timeLo, end } = run;
      const [hi, lo] = [intAt(timeHi, i), intAt(timeLo, i)];
      const records = this.#lost.add(view, start, intAt(end, i), hi, lo);
      const isCounted = type === PERF_RECORD_LOST_SAMPLES;
      const time = isCounted ? -1 : this.timeOf(run, i);
      const isWhole = !isCounted && intAt(end, i) - start >= LOST_SIZE;
      const own = isWhole ? this.#value(view, start, LOST_PLACE) : 0;
      listener.lost?.(time, intAt(run.cpu, i), records, own);
    } else if (type === PERF_RECORD_FORK) {
      listener.begun?.(this.timeOf(run, i), view.getInt32(start + FORK_AT.tid, le));
    } else if (type === PERF_RECORD_EXIT) {
      listener.ended?.(this.timeOf(run, i), view.getInt32(start + EXIT_AT.tid, le));
    }
  }

  /** Time of a row in ns since the first event; 0 if the row has no time. */
  timeOf(run: Run, i: number): number {
    return this.#time.of(run, i);
  }
}
