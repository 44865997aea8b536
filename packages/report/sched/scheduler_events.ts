import { PERF_TYPE_TRACEPOINT } from "@perfdata/format/perf-event";
import { type PerfDataReader, type PerfEvent, SampleFields } from "@perfdata/format";
import type { Engine } from "@perfdata/session/engine";
import type { Run } from "@perfdata/session/run";

/** Tracepoints of the scheduler that are read, and the fields of theirs. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  "sched:sched_switch": ["prev_pid", "prev_state", "next_pid"],
  "sched:sched_waking": ["pid"],
  "sched:sched_wakeup": ["pid"],
  "sched:sched_wakeup_new": ["pid"],
  "sched:sched_stat_runtime": ["pid", "runtime"],
};

/** Takes what the scheduler did, in order of time: ns since the first event, and durations in ns. */
export interface SchedulerListener {
  /** A CPU changed from a thread to another; a `state` of 0 is one that could go on. */
  switched(time: number, cpu: number, from: number, state: number, to: number): void;
  /** A thread was woken. */
  woken(time: number, tid: number): void;
  /** A thread ran for so long since it was last said. */
  ran(time: number, tid: number, runtime: number): void;
}

interface Place {
  readonly offset: number;
  readonly size: number;
}

interface Format {
  readonly name: string;
  readonly places: readonly Place[];
}

interface Source extends Format {
  readonly fields: SampleFields;
}

/**
 * Set in `prev_state` where a thread was preempted: the state after those that are reported
 * (TASK_REPORT_MAX of include/linux/sched.h, since 4.14).
 */
const PREEMPTED = 0x100;

/** Reads the raw data of the scheduler's tracepoints by the formats that the recording has. */
export class SchedulerEvents {
  readonly #sources = new Map<number, Source>();
  readonly #formats = new Map<bigint, Format>();
  readonly #events: readonly PerfEvent[];
  readonly #littleEndian: boolean;
  #seen = 0;
  /** Names of the tracepoints that are there and can be read. */
  readonly names: Set<string> = new Set();
  /** Samples of them whose raw data are too short. */
  damaged = 0;
  #baseHi = -1;
  #baseLo = 0;

  /** When the first event was, in ns: what other times count from. */
  get base(): bigint {
    return this.#baseHi < 0 ? 0n : BigInt(this.#baseHi) << 32n | BigInt(this.#baseLo);
  }

  private constructor(reader: PerfDataReader) {
    this.#littleEndian = reader.littleEndian;
    this.#events = reader.events.all;
  }

  /** Finds the tracepoints of a recording. */
  static async open(engine: Engine): Promise<SchedulerEvents> {
    const { reader, described } = engine;
    const found = new SchedulerEvents(reader);
    const tracing = await described.tracing();
    if (tracing === undefined) return found;
    const { parseTracepoint } = await import("@perfdata/format/tracepoint");
    const longSize = tracing.long_size;
    for (const { name: system, formats: texts } of tracing.systems) {
      if (system !== "sched") continue;
      for (const text of texts) {
        const format = parseTracepoint(text, longSize);
        const name = `sched:${format?.name}`;
        const wanted = FIELDS[name];
        if (format === undefined || wanted === undefined) continue;
        const places = wanted.flatMap((field) => format.fields.find((f) => f.name === field) ?? []);
        if (places.length === wanted.length) {
          found.#formats.set(BigInt(format.id), { name, places });
        }
      }
    }
    found.#learn();
    return found;
  }

  /** Takes the events that came since: those of a stream may follow the formats. */
  #learn(): void {
    for (; this.#seen < this.#events.length; this.#seen++) {
      const { attr } = this.#events[this.#seen] as PerfEvent;
      const format = attr.type === PERF_TYPE_TRACEPOINT
        ? this.#formats.get(attr.config)
        : undefined;
      if (format === undefined) continue;
      this.#sources.set(this.#seen, { ...format, fields: new SampleFields(attr) });
      this.names.add(format.name);
    }
  }

  /** Hands a row of a run on, where it is an event of the scheduler. */
  row(run: Run, i: number, listener: SchedulerListener): void {
    if (this.#seen < this.#events.length) this.#learn();
    const source = this.#sources.get(run.event[i] as number);
    if (source === undefined) return;
    const le = this.#littleEndian;
    const { view } = run.at(i);
    const { fields, places, name } = source;
    const isSound = fields.locate(view, run.start[i] as number, run.end[i] as number, le);
    if (!isSound || places.some(({ offset, size }) => offset + size > fields.rawSize)) {
      this.damaged++;
      return;
    }
    const value = (k: number): number => {
      const { offset, size } = places[k] as Place;
      const at = fields.raw + offset;
      if (size === 4) return view.getInt32(at, le);
      const low = view.getUint32(at + (le ? 0 : 4), le);
      // deno-lint-ignore perfdata/halves -- threads, states, and how long a thread ran
      return view.getInt32(at + (le ? 4 : 0), le) * 2 ** 32 + low;
    };
    const hi = (run.timeHi[i] as number) >>> 0;
    const lo = (run.timeLo[i] as number) >>> 0;
    if (this.#baseHi < 0) {
      this.#baseHi = hi;
      this.#baseLo = lo;
    }
    // deno-lint-ignore perfdata/halves -- since the first one, to take differences of
    const time = (hi - this.#baseHi) * 2 ** 32 + (lo - this.#baseLo);
    if (name === "sched:sched_switch") {
      const state = value(1);
      const isPreempted = (state & PREEMPTED) !== 0;
      listener.switched(time, run.cpu[i] as number, value(0), isPreempted ? 0 : state, value(2));
    } else if (name === "sched:sched_stat_runtime") listener.ran(time, value(0), value(1));
    // A thread is woken from sched_waking on: its sched_wakeup says the same a second time.
    else if (name !== "sched:sched_wakeup" || !this.names.has("sched:sched_waking")) {
      listener.woken(time, value(0));
    }
  }
}
