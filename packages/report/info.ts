import {
  decodeFeature,
  FEATURE_NAMES,
  featureName,
  HEADER_CLOCK_DATA,
  HEADER_CMDLINE,
  HEADER_DIR_FORMAT,
  KERNEL_RECORDS,
  type Payload,
  PERF_SAMPLE_BRANCH_STACK,
  PERF_SAMPLE_CALLCHAIN,
  PERF_SAMPLE_STACK_USER,
  type PerfDataReader,
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
import { PERF_AUXTRACE_NAMES, USER_RECORDS } from "@perfdata/user-records";

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

/** Counts what {@link recordingInfo} reports. */
class InfoCounts implements Consumer {
  readonly needs: Needs = { places: true };
  readonly events: EventInfo[] = [];
  readonly stacks: StackInfo = { chains: 0, entries: 0, copies: 0, copySize: 0, branches: 0 };
  readonly processes = new Set<number>();
  readonly threads = new Set<number>();
  readonly cpus = new Set<number>();
  /** Samples by number of the object; negative numbers are not mapped. */
  readonly byObject = new Map<number, number>();
  /** Features that came as records. */
  readonly features = new Map<number, Uint8Array>();
  samples = 0;
  lost = 0;
  throttled = 0;
  auxBytes = 0;
  auxType: number | undefined;
  first: bigint | undefined;
  last = 0n;
  /** First and last time of a record before the first sample with a time. */
  firstOther: bigint | undefined;
  lastOther = 0n;
  readonly #codec = new RecordCodec([...KERNEL_RECORDS, ...USER_RECORDS]);
  readonly #fields: SampleFields[] = [];
  #engine: Engine | undefined;

  start(engine: Engine): void {
    this.#engine = engine;
  }

  rows(run: Run): void {
    const engine = this.#engine as Engine;
    for (let i = 0; i < run.count; i++) {
      if (this.first === undefined && (run.type[i] as number) < PERF_RECORD_USER_TYPE_START) {
        this.#other(run.time(i));
      }
      switch (run.type[i]) {
        case PERF_RECORD_SAMPLE:
          if (run.chosen[i] !== CHOSEN.NO) this.#sample(run, i, engine);
          break;
        case PERF_RECORD_THROTTLE:
          this.throttled++;
          break;
        case PERF_RECORD_LOST:
        case PERF_RECORD_LOST_SAMPLES:
        case PERF_RECORD_AUXTRACE_INFO:
        case PERF_RECORD_HEADER_FEATURE:
          this.#rare(run, i, engine);
          break;
        default:
          // In the dialect of Google's old perf each feature has a record type of its own.
          if (engine.reader.isGoogleDialect) this.#rare(run, i, engine);
      }
    }
  }

  #other(time: bigint): void {
    // What was there before the recording has no time.
    if (time === 0n) return;
    if (this.firstOther === undefined || time < this.firstOther) this.firstOther = time;
    if (time > this.lastOther) this.lastOther = time;
  }

  async payload(payload: Payload): Promise<void> {
    if (payload.type === PERF_RECORD_AUXTRACE) this.auxBytes += payload.size;
    await Promise.resolve();
  }

  /** Records of which there are few. */
  #rare(run: Run, i: number, { reader }: Engine): void {
    const { bytes, view } = run.at(i);
    const [start = 0, end = 0] = [run.start[i], run.end[i]];
    const feature = streamFeature(reader, bytes, view, start, end);
    if (feature !== undefined) {
      this.features.set(feature.id, feature.payload.slice());
      return;
    }
    const record = this.#codec.decode(bytes.subarray(start, end), {
      littleEndian: reader.littleEndian,
      event: reader.events.all[run.event[i] as number],
    });
    if (record.name === "LOST" || record.name === "LOST_SAMPLES") {
      this.lost += Number(record.body.lost);
    } else if (record.name === "AUXTRACE_INFO") {
      this.auxType ??= record.body.type;
    }
  }

  #sample(run: Run, i: number, engine: Engine): void {
    const { reader, places } = engine;
    this.samples++;
    const event = this.#event(run.event[i] as number, reader);
    event.samples++;
    event.period += run.period[i] as number;
    this.processes.add(run.process[i] as number);
    this.threads.add(run.tid[i] as number);
    if ((run.cpu[i] as number) >= 0) this.cpus.add(run.cpu[i] as number);
    const place = run.place[i] as number;
    const object = place < 0 ? place : places.object(place);
    this.byObject.set(object, (this.byObject.get(object) ?? 0) + 1);
    const time = run.time(i);
    if (time > 0n) {
      if (this.first === undefined || time < this.first) this.first = time;
      if (time > this.last) this.last = time;
    }
    this.#stack(run, i, reader);
  }

  #stack(run: Run, i: number, reader: PerfDataReader): void {
    const number = run.event[i] as number;
    const event = reader.events.all[number];
    if (event === undefined) return;
    const { sampleType } = event.layout;
    const any = PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_BRANCH_STACK;
    if ((sampleType & any) === 0) return;
    const fields = this.#fields[number] ??= new SampleFields(event.attr);
    const { view } = run.at(i);
    const [start = 0, end = 0] = [run.start[i], run.end[i]];
    if (!fields.locate(view, start, end, reader.littleEndian)) return;
    const { stacks } = this;
    if (sampleType & PERF_SAMPLE_CALLCHAIN && fields.callchainLength > 0) {
      stacks.chains++;
      stacks.entries += fields.callchainLength;
    }
    if (sampleType & PERF_SAMPLE_STACK_USER && fields.stackUserSize > 0) {
      stacks.copies++;
      stacks.copySize = Math.max(stacks.copySize, fields.stackUserSize);
    }
    if (sampleType & PERF_SAMPLE_BRANCH_STACK && fields.branchStackLength > 0) stacks.branches++;
  }

  #event(number: number, reader: PerfDataReader): EventInfo {
    return this.events[number] ??= emptyInfo(reader, number);
  }
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
  const counts = new InfoCounts();
  const engine = await runEngine(reader, [counts], progress === undefined ? {} : { progress });
  const features = await featuresOf(reader, counts.features);
  const machine: Record<string, string> = {};
  for (const [id, value] of features) {
    const name = FEATURE_NAMES[id] ?? "";
    if (TEXTS.has(name) && typeof value === "string") machine[name] = value;
  }
  const timed = counts.first !== undefined;
  const [first, last] = timed ? [counts.first, counts.last] : [counts.firstOther, counts.lastOther];
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
  for (const [number, samples] of counts.byObject) {
    const object = places.objects[number];
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
