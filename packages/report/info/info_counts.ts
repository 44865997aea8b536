import {
  CHOSEN,
  type Consumer,
  type Engine,
  FarTimes,
  isGuestMode,
  type JoinedNumbers,
  LostRecords,
  type Needs,
  type Places,
  type Run,
  type Shareable,
  streamFeature,
  type TimePart,
  TimeSpan,
  type TimesPart,
} from "@perfdata/session";
import {
  KERNEL_RECORDS,
  layoutOf,
  type PerfDataReader,
  type RecordBatch,
  RecordCodec,
  SampleFields,
} from "@perfdata/format/records";
import { enlarge, floatAt, intAt } from "@perfdata/format/bytes";
import {
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_AUXTRACE_INFO,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_THROTTLE,
  PERF_RECORD_USER_TYPE_START,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_STACK_USER,
  PERF_SAMPLE_WEIGHT,
  PERF_SAMPLE_WEIGHT_STRUCT,
} from "@perfdata/format/constants";
import { AUXTRACE, USER_RECORDS } from "@perfdata/user-records";

// Offsets of the fields of an AUXTRACE record.
const TRACE = layoutOf(AUXTRACE);

/** An event: requested frequency or period, and recorded samples. */
export interface EventInfo {
  /** Name of the event. */
  name: string;
  /** Number of samples. */
  samples: number;
  /** Period of the samples. */
  period: number;
  /** The largest period of a sample. */
  largestPeriod: number;
  /** Sum of the samples' weights; 0 if they have none. */
  weight: number;
  /** The largest weight of a sample. */
  largestWeight: number;
  /** Requested samples per second; `undefined` with a fixed period. */
  readonly frequency: number | undefined;
  /** The fixed period; `undefined` with a frequency. */
  readonly fixedPeriod: number | undefined;
}

/** Statistics of the sources of stacks. */
export interface StackInfo {
  /** Samples with a call chain. */
  chains: number;
  /** Addresses in call chains, including context markers. */
  entries: number;
  /** Samples with a copy of the user stack, for unwinding. */
  copies: number;
  /** Size of the largest copy in bytes. */
  copySize: number;
  /** Samples with a branch stack. */
  branches: number;
}

/** Number of CPUs in the table of those already counted. */
const CPUS = 1 << 12;

/** Counts the values of `recordingInfo`. */
export class InfoCounts implements Consumer, Shareable<InfoPart> {
  readonly needs: Needs = { order: "any", places: true, unmapped: false, addresses: false };
  readonly events: EventInfo[] = [];
  readonly stacks: StackInfo = { chains: 0, entries: 0, copies: 0, copySize: 0, branches: 0 };
  readonly processes = new Set<number>();
  readonly threads = new Set<number>();
  readonly cpus = new Set<number>();
  /** Samples of guests by their hypervisor's process. */
  readonly guests = new Map<number, number>();
  /** Samples by object plus one; 0 is for samples without an object. */
  byObject: Float64Array<ArrayBuffer> = new Float64Array(64);
  /** Features from records. */
  readonly features = new Map<number, Uint8Array>();
  samples = 0;
  #lost: LostRecords | undefined;
  throttled = 0;
  auxBytes = 0;
  auxType: number | undefined;
  /** First and last time of samples, and of other kernel records. */
  readonly ofSamples = new TimeSpan();
  readonly ofOthers = new TimeSpan();
  /** Finds sample times that are far from all others. */
  readonly farTimes = new FarTimes();
  #reader: PerfDataReader | undefined;
  #places: Places | undefined;
  readonly #codec = new RecordCodec([...KERNEL_RECORDS, ...USER_RECORDS]);
  readonly #fields: (SampleFields | null)[] = [];
  /** Process and thread id that were counted last for each thread number. */
  #pids = new Int32Array(256).fill(-2);
  #tids = new Int32Array(256).fill(-2);
  readonly #hasCpu = new Uint8Array(CPUS);
  /** Whether records other than samples are counted in a scan of the file, not in the pass. */
  #isScanned = false;

  /** @param reader The recording, if records other than samples are read before the pass. */
  constructor(reader?: PerfDataReader) {
    this.#reader = reader;
  }

  start({ past, reader, places }: Engine): void {
    this.#reader = reader;
    this.#places = places;
    this.#isScanned ||= past !== undefined;
  }

  rows(run: Run): void {
    const { type, chosen, start, end, timeHi, timeLo } = run;
    for (let i = 0; i < run.count; i++) {
      if (type[i] === PERF_RECORD_SAMPLE) {
        if (chosen[i] !== CHOSEN.NO) this.#sample(run, i);
      } else if (!this.#isScanned) {
        const { bytes, view } = run.at(i);
        const [from = 0, to = 0] = [start[i], end[i]];
        this.#other(bytes, view, from, to, intAt(timeHi, i), intAt(timeLo, i));
      }
    }
  }

  get lost(): number {
    return this.#lost?.total ?? 0;
  }

  /** Counts a record other than a sample, while the file is scanned. */
  other(batch: RecordBatch, i: number, hi: number, lo: number): void {
    this.#isScanned = true;
    const start = batch.start(i);
    this.#other(batch.bytes, batch.view, start, start + batch.size(i), hi, lo);
  }

  part(): InfoPart {
    const { events, stacks, processes, threads, cpus, guests, byObject, samples } = this;
    const [span, times] = [this.ofSamples.part(), this.farTimes.part()];
    return { events, stacks, processes, threads, cpus, guests, byObject, samples, span, times };
  }

  join(part: InfoPart, { objects }: JoinedNumbers): void {
    for (const [number, of] of part.events.entries()) {
      const { samples, period, largestPeriod } = of;
      if (samples === 0) continue;
      const event = this.#event(number);
      event.samples += samples;
      event.period += period;
      event.largestPeriod = Math.max(event.largestPeriod, largestPeriod);
      event.weight += of.weight;
      event.largestWeight = Math.max(event.largestWeight, of.largestWeight);
    }
    const { stacks } = this;
    stacks.chains += part.stacks.chains;
    stacks.entries += part.stacks.entries;
    stacks.copies += part.stacks.copies;
    stacks.copySize = Math.max(stacks.copySize, part.stacks.copySize);
    stacks.branches += part.stacks.branches;
    for (const pid of part.processes) this.processes.add(pid);
    for (const tid of part.threads) this.threads.add(tid);
    for (const cpu of part.cpus) this.cpus.add(cpu);
    for (const [pid, samples] of part.guests) this.#ofGuest(pid, samples);
    for (const [at, samples] of part.byObject.entries()) {
      if (samples > 0) this.#inObject(at === 0 ? -1 : intAt(objects, at - 1), samples);
    }
    this.samples += part.samples;
    this.ofSamples.join(part.span);
    this.farTimes.join(part.times);
  }

  #ofGuest(pid: number, samples: number): void {
    this.guests.set(pid, (this.guests.get(pid) ?? 0) + samples);
  }

  /** @param object Index of the object; negative if nothing was mapped. */
  #inObject(object: number, samples: number): void {
    const at = object < 0 ? 0 : object + 1;
    if (at >= this.byObject.length) this.byObject = enlarge(this.byObject, at + 1);
    this.byObject[at] = floatAt(this.byObject, at) + samples;
  }

  /** Counts a record other than a sample. */
  #other(
    bytes: Uint8Array,
    view: DataView,
    start: number,
    end: number,
    hi: number,
    lo: number,
  ): void {
    const reader = this.#reader as PerfDataReader;
    const le = reader.littleEndian;
    const type = view.getUint32(start, le);
    // Records of the state before the recording have no time.
    if (type < PERF_RECORD_USER_TYPE_START) this.ofOthers.see(hi, lo);
    // In the dialect of Google's old perf each feature has its own record type.
    if (reader.isGoogleDialect && type >= PERF_RECORD_USER_TYPE_START) {
      this.#rare(bytes, view, start, end);
      return;
    }
    switch (type) {
      case PERF_RECORD_THROTTLE:
        this.throttled++;
        break;
      case PERF_RECORD_AUXTRACE:
        if (end - start >= TRACE.size + 8) {
          this.auxBytes += Number(view.getBigUint64(start + TRACE.size, le));
        }
        break;
      case PERF_RECORD_LOST:
      case PERF_RECORD_LOST_SAMPLES:
        this.#lost ??= new LostRecords(reader);
        this.#lost.add(view, start, end, hi, lo);
        break;
      case PERF_RECORD_AUXTRACE_INFO:
      case PERF_RECORD_HEADER_FEATURE:
        this.#rare(bytes, view, start, end);
    }
  }

  #rare(bytes: Uint8Array, view: DataView, start: number, end: number): void {
    const reader = this.#reader as PerfDataReader;
    const { littleEndian, events } = reader;
    const feature = streamFeature(reader, bytes, view, start, end);
    if (feature !== undefined) {
      this.features.set(feature.id, feature.payload.slice());
      return;
    }
    const type = view.getUint32(start, littleEndian);
    const record = this.#codec.decode(bytes.subarray(start, end), {
      littleEndian,
      event: events.all[events.indexOf(view, start, end, type, littleEndian)],
    });
    if (record.name === "AUXTRACE_INFO") {
      this.auxType ??= record.body.type;
    }
  }

  #sample(run: Run, i: number): void {
    this.samples++;
    const number = intAt(run.event, i);
    const event = this.#event(number);
    event.samples++;
    const period = floatAt(run.period, i);
    event.period += period;
    if (period > event.largestPeriod) event.largestPeriod = period;
    this.#thread(intAt(run.thread, i), intAt(run.process, i), intAt(run.tid, i));
    const cpu = intAt(run.cpu, i);
    if (cpu >= CPUS) this.cpus.add(cpu);
    else if (cpu >= 0 && this.#hasCpu[cpu] === 0) {
      this.#hasCpu[cpu] = 1;
      this.cpus.add(cpu);
    }
    if (isGuestMode(intAt(run.misc, i) & PERF_RECORD_MISC_CPUMODE_MASK)) {
      this.#ofGuest(intAt(run.process, i), 1);
    }
    const place = intAt(run.place, i);
    this.#inObject(place < 0 ? -1 : this.#places?.object(place) ?? -1, 1);
    const [timeHi, timeLo] = [intAt(run.timeHi, i), intAt(run.timeLo, i)];
    this.ofSamples.see(timeHi, timeLo);
    if ((timeHi | timeLo) !== 0) this.farTimes.see(timeHi);
    this.#parts(run, i, number, event);
  }

  /** Counts a thread, which was usually counted before. */
  #thread(thread: number, pid: number, tid: number): void {
    if (thread >= this.#pids.length) {
      const known = this.#pids.length;
      this.#pids = enlarge(this.#pids, thread + 1).fill(-2, known);
      this.#tids = enlarge(this.#tids, thread + 1).fill(-2, known);
    }
    if (this.#pids[thread] === pid && this.#tids[thread] === tid) return;
    this.#pids[thread] = pid;
    this.#tids[thread] = tid;
    this.processes.add(pid);
    this.threads.add(tid);
  }

  /** Counts the parts of a sample whose offsets depend on other parts. */
  #parts(run: Run, i: number, number: number, event: EventInfo): void {
    let fields = this.#fields[number];
    if (fields === undefined) fields = this.#fields[number] = this.#fieldsOf(number);
    if (fields === null) return;
    const { view } = run.at(i);
    const [start = 0, end = 0] = [run.start[i], run.end[i]];
    const { littleEndian } = this.#reader as PerfDataReader;
    if (!fields.locate(view, start, end, littleEndian)) return;
    const { stacks } = this;
    const { callchainLength, stackUserSize } = fields;
    if (callchainLength > 0) {
      stacks.chains++;
      stacks.entries += callchainLength;
    }
    if (stackUserSize > 0) {
      stacks.copies++;
      stacks.copySize = Math.max(stacks.copySize, stackUserSize);
    }
    if (fields.branchStackLength > 0) stacks.branches++;
    const weight = fields.weightValue(view, littleEndian);
    if (weight < 0) return;
    event.weight += weight;
    if (weight > event.largestWeight) event.largestWeight = weight;
  }

  /** The fields of an event's samples; `null` if stacks and weights are not among them. */
  #fieldsOf(number: number): SampleFields | null {
    const event = (this.#reader as PerfDataReader).events.all[number];
    if (event === undefined) return null;
    const any = PERF_SAMPLE_STACK_USER | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_WEIGHT |
      PERF_SAMPLE_WEIGHT_STRUCT;
    return event.hasChain || (event.layout.sampleType & any) !== 0 ? event.sampleFields() : null;
  }

  #event(number: number): EventInfo {
    return this.events[number] ??= emptyInfo(this.#reader as PerfDataReader, number);
  }
}

/** Counts of one thread. */
export interface InfoPart {
  /** By index of the event. */
  readonly events: readonly EventInfo[];
  readonly stacks: StackInfo;
  readonly processes: ReadonlySet<number>;
  readonly threads: ReadonlySet<number>;
  readonly cpus: ReadonlySet<number>;
  /** Samples of guests by process. */
  readonly guests: ReadonlyMap<number, number>;
  /** Samples by object plus one. */
  readonly byObject: Float64Array<ArrayBuffer>;
  readonly samples: number;
  /** Time span of the samples. */
  readonly span: TimePart;
  /** Samples by time. */
  readonly times: TimesPart;
}

/** An event without samples. */
export function emptyInfo(reader: PerfDataReader, number: number): EventInfo {
  const attr = reader.events.all[number]?.attr;
  const value = Number(attr?.sample_period ?? 0n);
  return {
    name: "",
    samples: 0,
    period: 0,
    largestPeriod: 0,
    weight: 0,
    largestWeight: 0,
    frequency: attr?.flags.freq ? value : undefined,
    fixedPeriod: attr?.flags.freq ? undefined : value,
  };
}
