import {
  decodeFeature,
  FEATURE_NAMES,
  featureName,
  HEADER_CLOCK_DATA,
  HEADER_CMDLINE,
  HEADER_DIR_FORMAT,
  KERNEL_RECORDS,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_STACK_USER,
  type PerfDataReader,
  type RecordBatch,
  RecordCodec,
  SampleFields,
} from "@perfdata/format";
import {
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_AUXTRACE_INFO,
  PERF_RECORD_HEADER_FEATURE,
  PERF_RECORD_LOST,
  PERF_RECORD_LOST_SAMPLES,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_THROTTLE,
  PERF_RECORD_USER_TYPE_START,
} from "@perfdata/format/record-types";
import { type Consumer, type Engine, type Needs, runEngine } from "@perfdata/session/engine";
import { CHOSEN, type Run } from "@perfdata/session/run";
import { streamFeature } from "@perfdata/session/stream-feature";
import { enlarge } from "@perfdata/format/enlarge";
import { layoutOf } from "@perfdata/format/struct";
import { AUXTRACE, PERF_AUXTRACE_NAMES, USER_RECORDS } from "@perfdata/user-records";

// Where the field of a record lies.
const TRACE = layoutOf(AUXTRACE);

/** An event of a recording: what was asked for, and what came. */
export interface EventInfo {
  /** Its name. */
  name: string;
  /** Samples. */
  samples: number;
  /** Sum of their periods. */
  period: number;
  /** Samples a second that were asked for; `undefined` with a fixed period. */
  readonly frequency: number | undefined;
  /** The fixed period; `undefined` with a frequency. */
  readonly fixedPeriod: number | undefined;
}

/** What the stacks of a recording are made of. */
export interface StackInfo {
  /** Samples with a call chain. */
  chains: number;
  /** Addresses in them, context markers included. */
  entries: number;
  /** Samples with a copy of the user stack, from which the chain is to be unwound. */
  copies: number;
  /** Bytes of the largest copy. */
  copySize: number;
  /** Samples with a branch stack. */
  branches: number;
}

/** How many samples fell into objects that can be recognized. */
export interface ObjectInfo {
  /** Distinct objects that were sampled. */
  readonly count: number;
  /** Samples in objects whose build id the recording has. */
  readonly identified: number;
  /** Samples in objects without a build id: names of theirs cannot be verified. */
  readonly unidentified: number;
  /** Samples at addresses where nothing is known to be mapped. */
  readonly unmapped: number;
}

/** A recording in short. */
export interface RecordingInfo {
  /** The form it has. */
  readonly form: "file" | "pipe";
  /** Whether it is the file `data` of a directory, most of whose records are in the files beside it. */
  readonly partOfDirectory: boolean;
  /** Bytes, where that is known. */
  readonly bytes: number | undefined;
  /** Byte order. */
  readonly littleEndian: boolean;
  /** Features that are a text each, such as HOSTNAME, by their names. */
  readonly machine: Readonly<Record<string, string>>;
  /** The command that recorded. */
  readonly command: readonly string[] | undefined;
  /** Time of day of the first sample, ns since 1970, if the chosen clock gives it. */
  readonly startedAt: bigint | undefined;
  /** First and last time of a sample, ns; where none has a time, of the kernel's other records. */
  readonly span: readonly [bigint, bigint] | undefined;
  /** Whether any sample has a time. */
  readonly timed: boolean;
  /** Records, those that came out of compressed ones included. */
  readonly records: number;
  /** The events. */
  readonly events: readonly EventInfo[];
  /** Samples. */
  readonly samples: number;
  /** Samples of no known event, or damaged. */
  readonly leftOut: number;
  /** Records for which the ring buffer had no room, and samples that the hardware lost. */
  readonly lost: number;
  /** How often an event paused since it interrupted too often. */
  readonly throttled: number;
  /** Distinct processes that were sampled. */
  readonly processes: number;
  /** Distinct threads. */
  readonly threads: number;
  /** Distinct CPUs. */
  readonly cpus: number;
  /** Stacks. */
  readonly stacks: StackInfo;
  /** What made the AUX data, and how many bytes there are. */
  readonly aux: { readonly type: string; readonly bytes: number } | undefined;
  /** Objects. */
  readonly objects: ObjectInfo;
}

/** CPUs of which it is noted in a table whether they were sampled. */
const CPUS = 1 << 12;

/** Counts what {@link recordingInfo} reports. */
class InfoCounts implements Consumer {
  readonly needs: Needs = { order: "any", places: true, addresses: false };
  readonly events: EventInfo[] = [];
  readonly stacks: StackInfo = { chains: 0, entries: 0, copies: 0, copySize: 0, branches: 0 };
  readonly processes = new Set<number>();
  readonly threads = new Set<number>();
  readonly cpus = new Set<number>();
  /** Samples by place, which is an object, plus one. */
  byPlace: Float64Array<ArrayBuffer> = new Float64Array(64);
  /** Features that came as records. */
  readonly features = new Map<number, Uint8Array>();
  samples = 0;
  lost = 0;
  throttled = 0;
  auxBytes = 0;
  auxType: number | undefined;
  /** First and last time of samples, and of the kernel's other records. */
  readonly ofSamples = new TimeSpan();
  readonly ofOthers = new TimeSpan();
  readonly #reader: PerfDataReader;
  readonly #codec = new RecordCodec([...KERNEL_RECORDS, ...USER_RECORDS]);
  readonly #fields: (SampleFields | null)[] = [];
  /** By number of a thread: its process and id that were counted last. */
  #pids = new Int32Array(256).fill(-2);
  #tids = new Int32Array(256).fill(-2);
  readonly #hasCpu = new Uint8Array(CPUS);
  #isAnyOrder = false;

  constructor(reader: PerfDataReader) {
    this.#reader = reader;
  }

  start({ past }: Engine): void {
    this.#isAnyOrder = past !== undefined;
  }

  rows(run: Run): void {
    const { type, chosen, start, end, timeHi, timeLo } = run;
    for (let i = 0; i < run.count; i++) {
      if (type[i] === PERF_RECORD_SAMPLE) {
        if (chosen[i] !== CHOSEN.NO) this.#sample(run, i);
      } else if (!this.#isAnyOrder) {
        const { bytes, view } = run.at(i);
        const [from = 0, to = 0] = [start[i], end[i]];
        this.#other(bytes, view, from, to, timeHi[i] as number, timeLo[i] as number);
      }
    }
  }

  other(batch: RecordBatch, i: number, hi: number, lo: number): void {
    const start = batch.start(i);
    this.#other(batch.bytes, batch.view, start, start + batch.size(i), hi, lo);
  }

  /** Takes a record that is no sample. */
  #other(
    bytes: Uint8Array,
    view: DataView,
    start: number,
    end: number,
    hi: number,
    lo: number,
  ): void {
    const reader = this.#reader;
    const le = reader.littleEndian;
    const type = view.getUint32(start, le);
    // What was there before the recording has no time.
    if (type < PERF_RECORD_USER_TYPE_START) this.ofOthers.see(hi, lo);
    // In the dialect of Google's old perf each feature has a record type of its own.
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
      case PERF_RECORD_AUXTRACE_INFO:
      case PERF_RECORD_HEADER_FEATURE:
        this.#rare(bytes, view, start, end);
    }
  }

  /** Records of which there are few. */
  #rare(bytes: Uint8Array, view: DataView, start: number, end: number): void {
    const reader = this.#reader;
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
    if (record.name === "LOST" || record.name === "LOST_SAMPLES") {
      this.lost += Number(record.body.lost);
    } else if (record.name === "AUXTRACE_INFO") {
      this.auxType ??= record.body.type;
    }
  }

  #sample(run: Run, i: number): void {
    this.samples++;
    const number = run.event[i] as number;
    const event = this.#event(number);
    event.samples++;
    event.period += run.period[i] as number;
    this.#thread(run.thread[i] as number, run.process[i] as number, run.tid[i] as number);
    const cpu = run.cpu[i] as number;
    if (cpu >= CPUS) this.cpus.add(cpu);
    else if (cpu >= 0 && this.#hasCpu[cpu] === 0) {
      this.#hasCpu[cpu] = 1;
      this.cpus.add(cpu);
    }
    const at = (run.place[i] as number) + 1;
    if (at >= this.byPlace.length) this.byPlace = enlarge(this.byPlace, at + 1);
    this.byPlace[at] = (this.byPlace[at] as number) + 1;
    this.ofSamples.see(run.timeHi[i] as number, run.timeLo[i] as number);
    this.#stack(run, i, number);
  }

  /** Counts a thread, mostly one that was counted. */
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

  #stack(run: Run, i: number, number: number): void {
    let fields = this.#fields[number];
    if (fields === undefined) fields = this.#fields[number] = this.#fieldsOf(number);
    if (fields === null) return;
    const { view } = run.at(i);
    const [start = 0, end = 0] = [run.start[i], run.end[i]];
    if (!fields.locate(view, start, end, this.#reader.littleEndian)) return;
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
  }

  /** What finds the stacks of an event's samples; `null` where they have none. */
  #fieldsOf(number: number): SampleFields | null {
    const event = this.#reader.events.all[number];
    if (event === undefined) return null;
    const any = PERF_SAMPLE_STACK_USER | PERF_SAMPLE_BRANCH_STACK;
    return event.hasChain || (event.layout.sampleType & any) !== 0 ? event.sampleFields() : null;
  }

  #event(number: number): EventInfo {
    return this.events[number] ??= emptyInfo(this.#reader, number);
  }
}

/** The first and the last of some times, without an allocation for each. */
class TimeSpan {
  /** The first; `undefined` where there is none. */
  get first(): bigint | undefined {
    return this.#some ? joined(this.#firstHi, this.#firstLo) : undefined;
  }
  /** The last; 0 where there is none. */
  get last(): bigint {
    return joined(this.#lastHi, this.#lastLo);
  }
  #some = false;
  #firstHi = 0xffff_ffff;
  #firstLo = 0xffff_ffff;
  #lastHi = 0;
  #lastLo = 0;

  /** Takes a time, of which 0 is none. */
  see(hi: number, lo: number): void {
    if ((hi | lo) === 0) return;
    hi >>>= 0;
    lo >>>= 0;
    this.#some = true;
    if (hi > this.#lastHi || (hi === this.#lastHi && lo > this.#lastLo)) {
      this.#lastHi = hi;
      this.#lastLo = lo;
    }
    if (hi < this.#firstHi || (hi === this.#firstHi && lo < this.#firstLo)) {
      this.#firstHi = hi;
      this.#firstLo = lo;
    }
  }
}

function joined(hi: number, lo: number): bigint {
  return BigInt(hi) << 32n | BigInt(lo);
}

/** An event without samples. */
function emptyInfo(reader: PerfDataReader, number: number): EventInfo {
  const attr = reader.events.all[number]?.attr;
  const value = Number(attr?.sample_period ?? 0n);
  return {
    name: "",
    samples: 0,
    period: 0,
    frequency: attr?.flags.freq ? value : undefined,
    fixedPeriod: attr?.flags.freq ? undefined : value,
  };
}

/** Features that are one text each. */
const TEXTS: ReadonlySet<string> = new Set([
  "HOSTNAME",
  "OSRELEASE",
  "VERSION",
  "ARCH",
  "CPUDESC",
  "CPUID",
]);

/**
 * A recording in short: who recorded what, when, how much of it, and how complete it will be.
 *
 * @param reader The recording.
 * @param progress Called with the bytes that were read since the call before.
 * @throws {PerfDataError} In strict mode, where the recording is damaged.
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { recordingInfo } from "@perfdata/report/info";
 * import { assertEquals } from "@std/assert";
 *
 * const file = bytesSource(await Deno.readFile("fixtures/recorded/two-events.perf.data"));
 * const info = await recordingInfo(await PerfDataReader.open(file));
 * assertEquals([info.samples, info.machine["HOSTNAME"]], [42, "fixture-host"]);
 * ```
 */
export async function recordingInfo(
  reader: PerfDataReader,
  progress?: (bytes: number) => void,
): Promise<RecordingInfo> {
  const counts = new InfoCounts(reader);
  const engine = await runEngine(reader, [counts], progress === undefined ? {} : { progress });
  const features = await featuresOf(reader, counts.features);
  const machine: Record<string, string> = {};
  for (const [id, value] of features) {
    const name = FEATURE_NAMES[id] ?? "";
    if (TEXTS.has(name) && typeof value === "string") machine[name] = value;
  }
  const timed = counts.ofSamples.first !== undefined;
  const { first, last } = timed ? counts.ofSamples : counts.ofOthers;
  const clock = features.get(HEADER_CLOCK_DATA) as
    | { readonly wall_clock_ns: bigint; readonly clockid_time_ns: bigint }
    | undefined;
  const commandLine = features.get(HEADER_CMDLINE) as
    | { readonly argv?: readonly string[]; readonly line?: string }
    | undefined;
  const events = reader.events.all.map((_, number) =>
    counts.events[number] ?? emptyInfo(reader, number)
  );
  events.forEach((event, number) => event.name = engine.eventNames[number] ?? "");
  return {
    form: reader.isPipe ? "pipe" : "file",
    // Of a directory that was opened as such, the source says where its files are joined.
    partOfDirectory: reader.seams === undefined &&
      reader.features.some(({ id }) => id === HEADER_DIR_FORMAT),
    bytes: reader.fileSize,
    littleEndian: reader.littleEndian,
    machine,
    command: commandLine?.argv ??
      (commandLine?.line === undefined ? undefined : [commandLine.line]),
    startedAt: clock === undefined || first === undefined
      ? undefined
      : clock.wall_clock_ns - clock.clockid_time_ns + first,
    span: first === undefined ? undefined : [first, last],
    timed,
    records: reader.stats.records,
    events,
    samples: counts.samples,
    leftOut: engine.leftOut,
    lost: counts.lost,
    throttled: counts.throttled,
    processes: counts.processes.size,
    threads: counts.threads.size,
    cpus: counts.cpus.size,
    stacks: counts.stacks,
    aux: counts.auxType === undefined && counts.auxBytes === 0 ? undefined : {
      type: PERF_AUXTRACE_NAMES[counts.auxType ?? 0] ?? `type ${counts.auxType}`,
      bytes: counts.auxBytes,
    },
    objects: objectInfo(counts, engine),
  };
}

function objectInfo(counts: InfoCounts, { places }: Engine): ObjectInfo {
  let [identified, unidentified, unmapped, count] = [0, 0, 0, 0];
  for (const [at, samples] of counts.byPlace.entries()) {
    if (samples === 0) continue;
    const object = at === 0 ? undefined : places.objects[places.object(at - 1)];
    if (object === undefined) {
      unmapped += samples;
      continue;
    }
    count++;
    if (object.buildId === undefined) unidentified += samples;
    else identified += samples;
  }
  return { count, identified, unidentified, unmapped };
}

/** The features that can be decoded: of a file its sections, of a pipe what came as records. */
async function featuresOf(
  reader: PerfDataReader,
  recorded: ReadonlyMap<number, Uint8Array>,
): Promise<Map<number, unknown>> {
  const sections = new Map(recorded);
  for (const { id, section } of reader.features) {
    if (!TEXTS.has(FEATURE_NAMES[id] ?? "") && id !== HEADER_CLOCK_DATA && id !== HEADER_CMDLINE) {
      continue;
    }
    const [offset, size] = [Number(section.offset), Number(section.size)];
    if (reader.fileSize !== undefined && offset + size > reader.fileSize) continue;
    sections.set(id, await reader.readSection(offset, size, featureName(id)));
  }
  const values = new Map<number, unknown>();
  for (const [id, bytes] of sections) {
    const feature = decodeFeature(id, bytes, { littleEndian: reader.littleEndian });
    if (feature.name !== "RAW") values.set(id, feature.value);
  }
  return values;
}
