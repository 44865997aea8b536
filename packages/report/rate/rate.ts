import {
  layoutOf,
  LOST,
  type PerfDataReader,
  type PerfEvent,
  prefixSize,
  READ,
  type ReadLayout,
  readLayout,
  SampleFields,
  THROTTLE,
  trailerEnd,
} from "@perfdata/format/records";
import { floatAt, IdMap, intAt, numberAt } from "@perfdata/format/bytes";
import {
  PERF_EVENT_HEADER_SIZE,
  PERF_RECORD_ID_INDEX,
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_READ,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_THROTTLE,
  PERF_RECORD_UNTHROTTLE,
  PERF_SAMPLE_READ,
} from "@perfdata/format/constants";
import { ID_INDEX, idIndexEntry } from "@perfdata/user-records";
import {
  type Consumer,
  CounterValues,
  countsPerThread,
  type Engine,
  type EngineOptions,
  lostSamples,
  type Run,
  runEngine,
} from "@perfdata/session";
import type { RatePoint } from "./rate_stream.ts";
import { RateStreams } from "./rate_streams.ts";

// Offsets of the fields of records. THROTTLE and UNTHROTTLE have the same.
const ID_INDEX_AT = layoutOf(ID_INDEX);
const ID_INDEX_ENTRY = layoutOf(idIndexEntry);
const COUNTS = layoutOf(READ);
const LOST_RECORDS = layoutOf(LOST);
const PAUSE = layoutOf(THROTTLE);

/** Scope of a counter: a CPU with all its threads, or one thread on a CPU. */
export type RateBy = "cpu" | "thread";

/** A throttling or a loss. */
export interface RateIncident {
  /** Kind of the incident. */
  readonly what: "throttle" | "unthrottle" | "lost" | "lost_samples";
  /** Index of the event, or -1 if it is not recorded. */
  readonly event: number;
  /** CPU, or -1 if it is not recorded. */
  readonly cpu: number;
  /** Nanoseconds since the start of the analysis; `undefined` if not recorded. */
  readonly time: number | undefined;
  /** Number of lost records or samples. */
  readonly lost: number;
}

/** Options of the analysis. */
export interface RateOptions {
  /**
   * Scope of counters. By default from the file's ID_INDEX: `thread` if counters were opened for
   * threads, otherwise `cpu`.
   */
  readonly by?: RateBy | undefined;
  /**
   * Selection of samples by their own fields: pairs of successive samples of a counter whose later
   * one is selected. Other records are selected in the same way, except by `events` and `records`.
   */
  readonly filter?: EngineOptions["filter"];
  /** Called for each two successive samples of a counter. */
  readonly point?: (point: RatePoint) => void;
  /** Called for each throttling and loss. */
  readonly incident?: (incident: RateIncident) => void;
  /** Called when the events are known, before the first point. */
  readonly begin?: (events: readonly RateEvent[]) => void;
  /** Called after each batch of records with its size in the file. */
  readonly progress?: (bytes: number) => void;
  /** Called with the origin of all times in ns, before the first time. */
  readonly start?: (time: bigint) => void;
}

/** The properties of an event that the analysis uses. */
export interface RateEvent {
  /** Its name. */
  readonly name: string;
  /** Requested samples per second; `undefined` with a fixed period. */
  readonly requestedFrequency: number | undefined;
  /** Requested events per sample; `undefined` with a frequency. */
  readonly requestedPeriod: number | undefined;
}

/** Totals of an event over all its counters. */
export interface RateEventSummary extends RateEvent {
  /** Number of samples. */
  readonly samples: number;
  /** Events counted between first and last samples. */
  readonly count: number;
  /** Events that READ records counted at the end of threads. */
  readonly readAtExit: number | undefined;
  /** Number of throttlings. */
  readonly throttled: number;
  /** Number of resumptions after throttling. */
  readonly unthrottled: number;
  /** Lost samples (LOST_SAMPLES, or `PERF_FORMAT_LOST` if it was recorded). */
  readonly lostSamples: number;
}

/** Rates of a file's events. */
export interface RateReport {
  /** Scope of counters. */
  readonly by: RateBy;
  /** First time in the file in ns, the origin of the points' times. */
  readonly start: bigint | undefined;
  /** The events. */
  readonly events: readonly RateEventSummary[];
  /** The counters, by event, CPU and thread. */
  readonly streams: RateStreams;
  /** Records lost because a buffer was full (LOST). They do not tell the event. */
  readonly lostRecords: number;
  /** Samples dropped because they have no time or an unknown event. */
  readonly leftOut: number;
}

/** Follows all counters of a file: a consumer of the engine. */
class RateAnalysis implements Consumer {
  /**
   * Nothing from the machine. A thread runs on several CPUs, whose buffers follow each other in the
   * file.
   */
  readonly needs = { machine: false } as const;
  readonly streams = new RateStreams();
  readonly incidents: NonNullable<RateOptions["incident"]>;
  readonly point: NonNullable<RateOptions["point"]>;
  by: RateBy | undefined;
  leftOut = 0;
  lostRecords = 0;
  /** Lost samples by event: from its samples, from its count at the end, and from the hardware. */
  readonly #lostInReads: number[] = [];
  readonly #lostAtEnd: number[] = [];
  readonly #lostInHardware: number[] = [];
  samples: number[] = [];
  readAtExit: (number | undefined)[] = [];
  /** Whether {@link RateOptions.begin} was called. */
  begun = false;
  /** First time, the origin of others, so that they stay exact. */
  first: bigint | undefined;
  #firstHi = 0;
  #firstLo = 0;
  readonly #options: RateOptions;
  readonly #filter: NonNullable<RateOptions["filter"]>;
  #known = 0;
  readonly #byId = new IdMap<number>();
  readonly #fields: SampleFields[] = [];
  readonly #shapes: ReadLayout[] = [];
  /** Counts of each thread, for inherited counters. */
  readonly #threadCounts = new CounterValues();
  /** Sums of thread counts, by counter. */
  readonly #cpuCounts = new Map<number, bigint>();
  #engine: Engine | undefined;
  readonly #reader: PerfDataReader;
  readonly #events: readonly PerfEvent[];
  readonly #le: boolean;
  /** Common fields of the counters in the current sample. */
  readonly #now = { cpu: -1, tid: -1, time: 0, isChosen: false };

  constructor(reader: PerfDataReader, options: RateOptions) {
    this.#options = options;
    this.#filter = options.filter ?? {};
    this.#reader = reader;
    this.#events = reader.events.all;
    this.#le = reader.littleEndian;
    this.by = options.by;
    this.point = options.point ?? (() => {});
    this.incidents = options.incident ?? (() => {});
  }

  start(engine: Engine): void {
    this.#engine = engine;
  }

  /** Announces the events, if that has not happened yet. */
  finish(): void {
    this.#learnEvents();
    if (!this.begun) this.#begin();
  }

  /** Prepares for new events, which a pipe sends between records. */
  #learnEvents(): void {
    for (; this.#known < this.#events.length; this.#known++) {
      const event = this.#events[this.#known] as PerfEvent;
      this.#fields.push(new SampleFields(event.attr));
      this.#shapes.push(readLayout(event.readFormat));
      for (const id of event.ids) this.#byId.set(id, this.#known);
      this.#lostInReads.push(0);
      this.#lostAtEnd.push(0);
      this.#lostInHardware.push(0);
      this.samples.push(0);
      this.readAtExit.push(undefined);
    }
  }

  #u64(view: DataView, at: number): number {
    const low = view.getUint32(this.#le ? at : at + 4, this.#le);
    const high = view.getUint32(this.#le ? at + 4 : at, this.#le);
    // deno-lint-ignore perfdata/halves -- periods and losses, which are averaged and added up
    return high * 2 ** 32 + low;
  }

  /** The event of the id at `at`. */
  #eventOf(view: DataView, at: number): number | undefined {
    const le = this.#le;
    return this.#byId.get(view.getInt32(le ? at + 4 : at, le), view.getInt32(le ? at : at + 4, le));
  }

  /** A time relative to the first one. */
  #time(view: DataView, at: number): number {
    return this.#since(
      view.getUint32(this.#le ? at + 4 : at, this.#le),
      view.getUint32(this.#le ? at : at + 4, this.#le),
    );
  }

  #since(high: number, low: number): number {
    if (this.first === undefined) {
      this.#firstHi = high;
      this.#firstLo = low;
      this.first = BigInt(high) << 32n | BigInt(low);
      this.#options.start?.(this.first);
    }
    // deno-lint-ignore perfdata/halves -- a distance: exact over 104 days
    return (high - this.#firstHi) * 2 ** 32 + low - this.#firstLo;
  }

  #counter(event: number, cpu: number, tid: number, source: "read" | "period"): number {
    return this.streams.counter(event, cpu, this.by === "thread" ? tid : -1, source);
  }

  /** ID_INDEX tells whether counters were opened for CPUs or for threads. */
  #idIndex(view: DataView, start: number, end: number): void {
    const first = start + ID_INDEX_AT.entries;
    if (this.by !== undefined || end - first < prefixSize(idIndexEntry)) return;
    this.by = view.getBigInt64(first + ID_INDEX_ENTRY.tid, this.#le) < 0n ? "cpu" : "thread";
  }

  /** Analyzes a group of records. */
  rows(run: Run): void {
    this.#learnEvents();
    for (let i = 0; i < run.count; i++) {
      const type = intAt(run.type, i);
      if (type === PERF_RECORD_SAMPLE) {
        if (!this.begun) this.#begin();
        this.#sample(run, i);
      } else if (type === PERF_RECORD_ID_INDEX) {
        this.#idIndex(run.at(i).view, intAt(run.start, i), intAt(run.end, i));
      } else if (
        type === PERF_RECORD_THROTTLE || type === PERF_RECORD_UNTHROTTLE ||
        type === PERF_RECORD_LOST || type === PERF_RECORD_LOST_SAMPLES || type === PERF_RECORD_READ
      ) {
        this.#other(run, i, type);
      }
    }
  }

  #begin(): void {
    this.begun = true;
    this.#options.begin?.(this.events());
  }

  /** The count of an event's lost samples. Its samples and its final count report the same ones. */
  lostSamples(event: number): number {
    const [reads = 0, atEnd = 0] = [this.#lostInReads[event], this.#lostAtEnd[event]];
    return Math.max(reads, atEnd) + (this.#lostInHardware[event] ?? 0);
  }

  /** The events, with the names known so far. */
  events(): RateEvent[] {
    const names = this.#engine?.eventNames ?? [];
    return this.#events.map((event, i) => rateEvent(event, names[i] ?? ""));
  }

  #sample(run: Run, i: number): void {
    const { view } = run.at(i);
    const start = intAt(run.start, i);
    const end = intAt(run.end, i);
    const index = intAt(run.event, i);
    const event = this.#events[index];
    if (event === undefined) {
      this.leftOut++;
      return;
    }
    const isChosen = this.#isChosen(run, i);
    if (isChosen) this.samples[index] = numberAt(this.samples, index) + 1;
    const { layout, attr } = event;
    if (layout.time < 0 || start + layout.fixedSize > end) {
      this.leftOut++;
      return;
    }
    const now = this.#now;
    now.time = this.#time(view, start + layout.time);
    now.cpu = intAt(run.cpu, i);
    const tid = now.tid = intAt(run.tid, i);
    now.isChosen = isChosen;
    this.by ??= layout.cpu < 0 && tid >= 0 ? "thread" : "cpu";
    // Without a recorded period, use the fixed one. A frequency has no period.
    const periodAt = event.periodAt(view, start, end, this.#le);
    const period = periodAt >= 0
      ? this.#u64(view, periodAt)
      : attr.flags.freq
      ? undefined
      : Number(attr.sample_period);
    if (!(layout.sampleType & PERF_SAMPLE_READ)) {
      this.#add(index, undefined, period);
      return;
    }
    const fields = this.#fields[index] as SampleFields;
    if (!fields.locate(view, start, end, this.#le)) {
      this.leftOut++;
      return;
    }
    const shape = this.#shapes[index] as ReadLayout;
    const n = shape.group ? this.#u64(view, fields.read) : 1;
    const isPerThread = countsPerThread(event);
    for (let k = 0; k < n; k++) {
      const at = fields.read + shape.head + k * shape.entry;
      // In a group without ids, values are in the order of the group, leader first.
      const which = shape.id < 0 ? index + k : this.#eventOf(view, at + shape.id) ?? -1;
      if (this.#events[which] === undefined) {
        this.leftOut++;
        continue;
      }
      const own = which === index;
      let count = view.getBigUint64(at, this.#le);
      if (isPerThread && this.by !== "thread") {
        count = this.#countOfCpu(which, count, run, i, shape.id < 0 ? -1 : at + shape.id);
      }
      const counter = this.#add(which, count, own ? period : undefined);
      if (shape.lost >= 0) {
        const lost = this.#u64(view, at + shape.lost);
        const stream = this.streams.stream(counter);
        if (lost > stream.lost) {
          const more = isChosen ? lost - stream.lost : 0;
          this.#lostInReads[which] = numberAt(this.#lostInReads, which) + more;
          stream.lost = lost;
        }
      }
    }
  }

  /**
   * The sum of an event's counts on the sample's CPU, if each thread has its own count.
   *
   * @param count Count of the thread.
   * @param idAt Offset of the counter's id, or -1.
   */
  #countOfCpu(event: number, count: bigint, run: Run, i: number, idAt: number): bigint {
    const { view } = run.at(i);
    const le = this.#le;
    const hi = idAt < 0 ? 0 : view.getInt32(le ? idAt + 4 : idAt, le);
    const lo = idAt < 0 ? event : view.getInt32(le ? idAt : idAt + 4, le);
    const last = this.#threadCounts.ofThread(hi, lo, intAt(run.pid, i), intAt(run.tid, i));
    const before = BigInt(last.hi) << 32n | BigInt(last.lo);
    last.hi = Number(count >> 32n);
    last.lo = Number(count & 0xffff_ffffn);
    const counter = this.#counter(event, this.#now.cpu, -1, "read");
    // A new thread that reuses ids begins at 0.
    const sum = (this.#cpuCounts.get(counter) ?? 0n) + (count < before ? count : count - before);
    this.#cpuCounts.set(counter, sum);
    return sum;
  }

  /** Adds an event's count or period in a sample. Returns its counter. */
  #add(event: number, count: bigint | undefined, period: number | undefined): number {
    const { cpu, tid, time, isChosen } = this.#now;
    const counter = this.#counter(event, cpu, tid, count === undefined ? "period" : "read");
    const point = this.streams.sample(counter, time, count, period, isChosen);
    if (point !== undefined) this.point(point);
    return counter;
  }

  /** Whether a record passes the filter by its own fields. */
  #isChosen(run: Run, i: number): boolean {
    const { events, cpus, pids, tids, time, records } = this.#filter;
    if (cpus !== undefined && !cpus.has(intAt(run.cpu, i))) return false;
    if (pids !== undefined && !pids.has(intAt(run.pid, i))) return false;
    if (tids !== undefined && !tids.has(intAt(run.tid, i))) return false;
    if (time !== undefined) {
      const now = run.time(i);
      if (now < time[0] || now > time[1]) return false;
    }
    if (run.type[i] !== PERF_RECORD_SAMPLE) return true;
    if (events !== undefined && !events.has(intAt(run.event, i))) return false;
    return records === undefined || records.has(floatAt(run.offset, i));
  }

  #other(run: Run, i: number, type: number): void {
    if (!this.#isChosen(run, i)) return;
    const { view } = run.at(i);
    const start = intAt(run.start, i);
    const end = intAt(run.end, i);
    const index = intAt(run.event, i);
    const cpu = intAt(run.cpu, i);
    const tid = intAt(run.tid, i);
    const hi = intAt(run.timeHi, i);
    const lo = intAt(run.timeLo, i);
    let time = (hi | lo) === 0 || type === PERF_RECORD_READ
      ? undefined
      : this.#since(hi >>> 0, lo >>> 0);
    const trailer = this.#events[index]?.layout.trailer;
    const left = (trailer === undefined ? end : trailerEnd(start, end) - trailer.size) - start -
      PERF_EVENT_HEADER_SIZE;
    if (type === PERF_RECORD_READ) {
      const event = this.#events[index];
      if (event === undefined) return;
      const shape = this.#shapes[index] as ReadLayout;
      const at = start + COUNTS.values + shape.head;
      if (at + 8 > start + PERF_EVENT_HEADER_SIZE + left) return;
      this.readAtExit[index] = (this.readAtExit[index] ?? 0) + this.#u64(view, at);
      return;
    }
    if (type === PERF_RECORD_LOST_SAMPLES) {
      if (left < 8) return;
      const { count: lost, isSum } = lostSamples(this.#reader, view, start, end, hi, lo);
      const sums = isSum ? this.#lostAtEnd : this.#lostInHardware;
      if (index >= 0) sums[index] = numberAt(sums, index) + lost;
      this.incidents({ what: "lost_samples", event: index, cpu, time, lost });
      return;
    }
    if (left < 16) return;
    if (type === PERF_RECORD_LOST) {
      const lost = this.#u64(view, start + LOST_RECORDS.lost);
      this.lostRecords += lost;
      // The id is that of the event that wrote next, not of those that lost records.
      this.incidents({ what: "lost", event: -1, cpu, time, lost });
      return;
    }
    time = this.#time(view, start + PAUSE.time);
    const which = this.#eventOf(view, start + PAUSE.id) ?? index;
    if (which >= 0) {
      this.by ??= cpu < 0 && tid >= 0 ? "thread" : "cpu";
      const { sampleType } = (this.#events[which] as PerfEvent).layout;
      const stream = this.streams.stream(
        this.#counter(which, cpu, tid, sampleType & PERF_SAMPLE_READ ? "read" : "period"),
      );
      if (type === PERF_RECORD_THROTTLE) stream.throttled++;
      else stream.unthrottled++;
    }
    const what = type === PERF_RECORD_THROTTLE ? "throttle" : "unthrottle";
    this.incidents({ what, event: which, cpu, time, lost: 0 });
  }
}

function rateEvent(event: PerfEvent, name: string): RateEvent {
  const value = Number(event.attr.sample_period);
  const requested = value > 0 ? value : undefined;
  return event.attr.flags.freq
    ? { name, requestedFrequency: requested, requestedPeriod: undefined }
    : { name, requestedFrequency: undefined, requestedPeriod: requested };
}

/**
 * Analyzes how fast the events of a file occurred, and how often they were sampled.
 *
 * Each two successive samples of a counter give the event rate λ = Δcount/Δt and the effective
 * sampling frequency λ/P. Counts are READ values if the samples have them (`PERF_SAMPLE_READ`),
 * otherwise the samples' periods. Samples are read in time order. Memory depends on the number of
 * counters, and on the part of the file that has to be sorted.
 *
 * @throws {PerfDataError} In strict mode, if the file is damaged.
 *
 * @example
 * ```ts
 * import {
 *   bytesSource,
 *   emptyAttr,
 *   memorySink,
 *   PerfDataReader,
 *   PerfDataWriter,
 * } from "@perfdata/format";
 * import { PERF_SAMPLE_PERIOD, PERF_SAMPLE_TIME } from "@perfdata/format/constants";
 * import { analyzeRate } from "@perfdata/report/figures";
 * import { assertEquals } from "@std/assert";
 *
 * const sink = memorySink();
 * const sample_type = BigInt(PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD);
 * const writer = await PerfDataWriter.file(sink, { events: [{ attr: { ...emptyAttr(), sample_type } }] });
 * for (const time of [1000, 2000, 3000]) {
 *   await writer.write(new Uint8Array(Uint32Array.of(9, 24 << 16, time, 0, 50, 0).buffer));
 * }
 * await writer.close();
 * const { streams: [counter] } = await analyzeRate(await PerfDataReader.open(bytesSource(sink.bytes())));
 * assertEquals([counter?.count, counter?.rate?.mean], [100, 5e7]);
 * ```
 */
export async function analyzeRate(
  reader: PerfDataReader,
  options: RateOptions = {},
): Promise<RateReport> {
  const analysis = new RateAnalysis(reader, options);
  const { progress } = options;
  await runEngine(reader, [analysis], progress === undefined ? {} : { progress });
  // A file that is read as a stream has its names only now.
  const events = analysis.events();
  const { streams } = analysis;
  const sums = events.map(() => ({ count: 0, throttled: 0, unthrottled: 0 }));
  for (const { event, count, throttled, unthrottled } of streams) {
    const sum = sums[event];
    if (sum === undefined) continue;
    sum.count += count;
    sum.throttled += throttled;
    sum.unthrottled += unthrottled;
  }
  return {
    by: analysis.by ?? "cpu",
    start: analysis.first,
    events: events.map((event, i) => ({
      ...event,
      samples: analysis.samples[i] ?? 0,
      count: sums[i]?.count ?? 0,
      readAtExit: analysis.readAtExit[i],
      throttled: sums[i]?.throttled ?? 0,
      unthrottled: sums[i]?.unthrottled ?? 0,
      lostSamples: analysis.lostSamples(i),
    })),
    streams,
    lostRecords: analysis.lostRecords,
    leftOut: analysis.leftOut,
  };
}
