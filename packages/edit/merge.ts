import {
  decodeFeature,
  encodeFeature,
  type Feature,
  FEATURE_NAMES,
  HEADER_BUILD_ID,
  HEADER_CLOCK_DATA,
  HEADER_EVENT_DESC,
  HEADER_GROUP_DESC,
  HEADER_HOSTNAME,
  HEADER_SAMPLE_TIME,
  KERNEL_RECORDS,
  longestAttr,
  PERF_EVENT_HEADER_SIZE,
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_AUXTRACE_INFO,
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_READ,
  PerfDataReader,
  PerfEvent,
  type PerfEventAttr,
  type RecordBatch,
  RecordCodec,
  type WriterEvent,
  type WriterFeature,
} from "@perfdata/format";
import { USER_RECORDS } from "@perfdata/user-records";
import { copyRecording, DROP, type Edit, KEEP, type Verdict } from "./copy.ts";
import type { RecordingHead, RecordingOutput } from "./output.ts";

/** `PID_MAX_LIMIT` of include/linux/threads.h: no process id of a 64-bit Linux is larger. */
export const PIDS_OF_A_HOST: number = 1 << 22;

/** Most hosts whose process ids fit into 32 signed bits side by side. */
const MOST_HOSTS = 511;

/** Ids of input `k` begin at `k` times this. */
const IDS_OF_AN_INPUT = 1n << 32n;

/** A recording to be merged. */
export interface MergeInput {
  /** What the report calls it. */
  readonly name: string;
  /** The recording: a file or a directory, not a stream, since it is read twice. */
  readonly reader: PerfDataReader;
}

/** How to merge. */
export interface MergeOptions {
  /**
   * How times become comparable. `wall`: by CLOCK_DATA, which says which time of day a time is, where
   * all inputs have it. `start`: each recording begins when the first one does. `keep`: as they are.
   * By default `wall` for recordings of several hosts, and otherwise `keep`.
   */
  readonly time?: "wall" | "start" | "keep";
  /** Called with the bytes that were read since the call before. */
  readonly progress?: (bytes: number) => void;
}

/** What was done to an input. */
export interface MergedInput {
  /** As in {@link MergeInput}. */
  readonly name: string;
  /** Name of its host, where it says so. */
  readonly host: string | undefined;
  /** Added to its process and thread ids, except for those that are 0 or -1. */
  readonly pidOffset: number;
  /** Added to its event ids. */
  readonly idOffset: bigint;
  /** Added to its times, ns. */
  readonly timeOffset: bigint;
  /** Samples. */
  samples: number;
}

/** What a merge did. */
export interface MergeReport {
  /** The inputs, in order. */
  readonly inputs: readonly MergedInput[];
  /** Events of the result. */
  readonly events: number;
  /** What the result has not of an input, a line each. */
  readonly losses: readonly string[];
}

/**
 * Merges recordings into one.
 *
 * - Events with the same attr become one; others stay apart. Every sample and record gets the id of
 *   its event as `PERF_SAMPLE_IDENTIFIER`; its upper half is the number of the input, so that each
 *   sample can be traced to the file that it came from.
 * - Process and thread ids of the n-th host are n × 2²² higher; recordings of one host share theirs.
 * - Build ids are united; other features are those of the first input that has them.
 * - FINISHED_ROUND records go, since they promise an order that several files do not have; a reader
 *   sorts by time instead.
 *
 * Memory grows with the number of inputs and their events only.
 *
 * @throws {RangeError} Where there are more hosts, or more inputs, than fit.
 * @throws {PerfDataError} Where an input is damaged.
 */
export async function mergeRecordings(
  inputs: readonly MergeInput[],
  output: RecordingOutput,
  options: MergeOptions = {},
): Promise<MergeReport> {
  const first = inputs[0]?.reader;
  if (first === undefined) throw new RangeError("merge: no recordings");
  for (const { name, reader } of inputs) {
    if (reader.littleEndian !== first.littleEndian) {
      throw new RangeError(`merge: ${name} has another byte order than ${inputs[0]?.name}`);
    }
  }
  const losses: string[] = [];
  const parts: Part[] = [];
  for (const [i, input] of inputs.entries()) parts.push(await Part.open(input, i));
  const hosts = [...new Set(parts.map(({ host }) => host))];
  if (hosts.length > MOST_HOSTS) throw new RangeError(`merge: more than ${MOST_HOSTS} hosts`);
  for (const part of parts) part.pidOffset = hosts.indexOf(part.host) * PIDS_OF_A_HOST;
  alignTimes(parts, options.time ?? (hosts.length > 1 ? "wall" : "keep"), losses);

  const { events, numbers } = uniteEvents(parts);
  await output.begin({ littleEndian: first.littleEndian, events });
  const features = new Features(parts, events, numbers, losses);
  await output.features(await features.early());
  const report: MergedInput[] = [];
  for (const part of parts) {
    const edit = new PartEdit(part, report.length, hosts, losses);
    await copyRecording(part.input.reader, new Body(output), {
      edit,
      ...(options.progress === undefined ? {} : { progress: options.progress }),
    });
    edit.finish();
    const { host, pidOffset, idOffset, timeOffset } = part;
    report.push({
      name: part.input.name,
      host,
      pidOffset,
      idOffset,
      timeOffset,
      samples: edit.samples,
    });
  }
  await output.end();
  return { inputs: report, events: events.length, losses };
}

/** An input with what its head says. */
class Part {
  readonly input: MergeInput;
  readonly events: readonly PerfEvent[];
  readonly features: ReadonlyMap<number, Uint8Array>;
  readonly host: string | undefined;
  readonly idOffset: bigint;
  pidOffset = 0;
  timeOffset = 0n;

  private constructor(input: MergeInput, index: number, features: Map<number, Uint8Array>) {
    this.input = input;
    this.events = [...input.reader.events.all];
    this.features = features;
    this.idOffset = BigInt(index) * IDS_OF_AN_INPUT;
    const host = this.feature(HEADER_HOSTNAME);
    this.host = typeof host === "string" ? host : undefined;
  }

  /** Reads features, and of a pipe the records that describe it. */
  static async open(input: MergeInput, index: number): Promise<Part> {
    const collected = new Map<number, Uint8Array>();
    const collector: RecordingOutput = {
      position: 0,
      begin: () => Promise.resolve(),
      features(features) {
        for (const { id, bytes } of features) collected.set(id, bytes);
        return Promise.resolve();
      },
      write: () => Promise.resolve(),
      auxtrace: () => Promise.resolve(),
      payload: () => Promise.resolve(),
      end: () => Promise.resolve(),
    };
    const { reader } = input;
    await copyRecording(reader, collector, {
      // A file has its features in a table; a pipe may have them anywhere.
      batches: (options) => reader.isPipe ? reader.batches(options) : none(),
    });
    return new Part(input, index, collected);
  }

  /** A decoded feature, where the input has it and it can be read. */
  feature(id: number): unknown {
    const bytes = this.features.get(id);
    if (bytes === undefined) return undefined;
    const { littleEndian } = this.input.reader;
    const feature = decodeFeature(id, bytes, { littleEndian });
    return feature.name === "RAW" ? undefined : feature.value;
  }
}

async function* none(): AsyncGenerator<RecordBatch, void, void> {}

function alignTimes(
  parts: readonly Part[],
  how: "wall" | "start" | "keep",
  losses: string[],
): void {
  if (how === "keep") return;
  const id = how === "wall" ? HEADER_CLOCK_DATA : HEADER_SAMPLE_TIME;
  const moments = parts.map((part) => {
    const value = part.feature(id) as Readonly<Record<string, bigint>> | undefined;
    return how === "wall"
      ? value && (value["wall_clock_ns"] ?? 0n) - (value["clockid_time_ns"] ?? 0n)
      : value?.["first_sample_time"];
  });
  const without = parts.filter((_, i) => moments[i] === undefined);
  if (without.length > 0) {
    losses.push(
      `times are kept as they are: ${without.length} of ${parts.length} recordings have no ` +
        `${FEATURE_NAMES[id]} (${without[0]?.input.name})`,
    );
    return;
  }
  const [zero = 0n] = moments as bigint[];
  parts.forEach((part, i) => {
    const moment = moments[i] as bigint;
    part.timeOffset = how === "wall" ? moment - zero : zero - moment;
  });
}

/** The events of all inputs: those with the same attr are one. */
function uniteEvents(parts: readonly Part[]): {
  events: WriterEvent[];
  /** By input and number of its event: the number in the result. */
  numbers: number[][];
} {
  const events: { attr: PerfEventAttr; ids: bigint[] }[] = [];
  const byAttr = new Map<string, number>();
  const numbers = parts.map((part) =>
    part.events.map((event, i) => {
      const attr = withIdentifier(event.attr);
      const key = JSON.stringify(
        attr,
        (_, value) => typeof value === "bigint" ? `${value}n` : value,
      );
      let number = byAttr.get(key);
      if (number === undefined) {
        number = events.push({ attr, ids: [] }) - 1;
        byAttr.set(key, number);
      }
      events[number]?.ids.push(...idsOf(part, event, i));
      return number;
    })
  );
  return { events, numbers };
}

/** The ids of an event in the result; one that had none gets one. */
function idsOf(part: Part, event: PerfEvent, i: number): bigint[] {
  const ids = event.ids.length > 0 ? event.ids : [BigInt(i + 1)];
  return ids.map((id) => id + part.idOffset);
}

function withIdentifier(attr: PerfEventAttr): PerfEventAttr {
  return { ...attr, sample_type: attr.sample_type | BigInt(PERF_SAMPLE_IDENTIFIER) };
}

/** Hands on the records of one input; head, features and end are those of the whole. */
class Body implements RecordingOutput {
  readonly #output: RecordingOutput;

  constructor(output: RecordingOutput) {
    this.#output = output;
  }

  get position(): number {
    return this.#output.position;
  }

  begin(_: RecordingHead): Promise<void> {
    return Promise.resolve();
  }

  features(): Promise<void> {
    return Promise.resolve();
  }

  write(records: Uint8Array): Promise<void> {
    return this.#output.write(records);
  }

  auxtrace(record: Uint8Array): Promise<void> {
    return this.#output.auxtrace(record);
  }

  payload(bytes: Uint8Array): Promise<void> {
    return this.#output.payload(bytes);
  }

  end(): Promise<void> {
    return Promise.resolve();
  }
}

/** The features of the result. */
class Features {
  readonly #parts: readonly Part[];
  readonly #events: readonly WriterEvent[];
  readonly #numbers: readonly (readonly number[])[];
  readonly #losses: string[];

  constructor(
    parts: readonly Part[],
    events: readonly WriterEvent[],
    numbers: readonly (readonly number[])[],
    losses: string[],
  ) {
    this.#parts = parts;
    this.#events = events;
    this.#numbers = numbers;
    this.#losses = losses;
  }

  early(): Promise<WriterFeature[]> {
    const [first] = this.#parts as [Part];
    const littleEndian = first.input.reader.littleEndian;
    const ids = new Set(this.#parts.flatMap(({ features }) => [...features.keys()]));
    const made: WriterFeature[] = [];
    for (const id of [...ids].sort((a, b) => a - b)) {
      const own = this.#made(id);
      if (own !== undefined) {
        made.push({ id, bytes: encodeFeature(own, { littleEndian }) });
        continue;
      }
      // Numbers of events in groups are not those of the result.
      if (id === HEADER_GROUP_DESC && this.#parts.length > 1) {
        this.#losses.push("GROUP_DESC: groups of events are left out");
        continue;
      }
      const having = this.#parts.filter(({ features }) => features.has(id));
      const bytes = having[0]?.features.get(id) as Uint8Array;
      const others = having.filter(({ features }) => !same(features.get(id), bytes)).length;
      if (others > 0) {
        const name = FEATURE_NAMES[id] ?? `feature ${id}`;
        this.#losses.push(`${name}: that of ${having[0]?.input.name}; ${others} others differ`);
      }
      made.push({ id, bytes });
    }
    return Promise.resolve(made);
  }

  #made(id: number): Feature | undefined {
    const values = this.#parts.map((part) => part.feature(id));
    if (id === HEADER_BUILD_ID) {
      const seen = new Map<string, unknown>();
      for (const value of values as (Readonly<Record<string, unknown>>[] | undefined)[]) {
        for (const entry of value ?? []) {
          seen.set(`${entry["filename"]}\0${entry["build_id"]}\0${entry["misc"]}`, entry);
        }
      }
      return { id, name: "BUILD_ID", value: [...seen.values()] } as unknown as Feature;
    }
    if (id === HEADER_SAMPLE_TIME) {
      const times =
        (values as ({ first_sample_time: bigint; last_sample_time: bigint } | undefined)[])
          .flatMap((value, i) =>
            value === undefined || value.last_sample_time === 0n ? [] : [
              value.first_sample_time + (this.#parts[i]?.timeOffset ?? 0n),
              value.last_sample_time + (this.#parts[i]?.timeOffset ?? 0n),
            ]
          );
      const value = {
        first_sample_time: times.reduce((a, b) => b < a ? b : a, times[0] ?? 0n),
        last_sample_time: times.reduce((a, b) => b > a ? b : a, 0n),
      };
      return { id, name: "SAMPLE_TIME", value } as unknown as Feature;
    }
    return id === HEADER_EVENT_DESC ? this.#eventDesc(values) : undefined;
  }

  #eventDesc(values: readonly unknown[]): Feature {
    const names: string[] = [];
    for (const [i, value] of values.entries()) {
      const descs = (value as { events: readonly { name: string }[] } | undefined)?.events ?? [];
      descs.forEach(({ name }, j) => {
        const number = this.#numbers[i]?.[j];
        if (number !== undefined) names[number] ??= name;
      });
    }
    const size = longestAttr(this.#events);
    const value = {
      attr_size: size,
      events: this.#events.map(({ attr, ids = [] }, i) => ({ attr, name: names[i] ?? "", ids })),
    };
    return { id: HEADER_EVENT_DESC, name: "EVENT_DESC", value } as unknown as Feature;
  }
}

function same(a: Uint8Array | undefined, b: Uint8Array): boolean {
  return a !== undefined && a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** Fields of records that are process or thread ids. */
const PID_FIELDS: ReadonlySet<string> = new Set([
  "pid",
  "tid",
  "ppid",
  "ptid",
  "next_prev_pid",
  "next_prev_tid",
]);
/** Records with ids of events in a field `id`. */
const WITH_IDS: ReadonlySet<string> = new Set([
  "SAMPLE",
  "LOST",
  "READ",
  "THROTTLE",
  "UNTHROTTLE",
  "ID_INDEX",
  "EVENT_UPDATE",
  "STAT",
]);

/** Changes the records of one input. */
class PartEdit implements Edit {
  samples = 0;
  readonly #part: Part;
  readonly #index: number;
  readonly #newHost: boolean;
  readonly #losses: string[];
  readonly #codec = new RecordCodec([...KERNEL_RECORDS, ...USER_RECORDS]);
  /** The events as the result has them: for the layout of what is written. */
  readonly #written: readonly PerfEvent[];
  #auxLost = 0;
  #kernelMaps = 0;
  #undecoded = 0;

  constructor(part: Part, index: number, hosts: readonly (string | undefined)[], losses: string[]) {
    this.#part = part;
    this.#index = index;
    this.#newHost = hosts.indexOf(part.host) > 0;
    this.#losses = losses;
    this.#written = part.events.map((event, i) =>
      new PerfEvent(withIdentifier(event.attr), idsOf(part, event, i), () => event.arch)
    );
  }

  record(batch: RecordBatch, i: number): Verdict {
    const type = batch.type(i);
    if (type === PERF_RECORD_FINISHED_ROUND) return DROP;
    const isAux = type === PERF_RECORD_AUXTRACE || type === PERF_RECORD_AUXTRACE_INFO;
    if (isAux && this.#index > 0) {
      if (type === PERF_RECORD_AUXTRACE) this.#auxLost += batch.payload?.size ?? 0;
      return DROP;
    }
    const { view, events, littleEndian: le } = batch;
    const start = batch.start(i);
    const end = start + batch.size(i);
    const number = events.indexOf(view, start, end, type, le);
    const event = this.#part.events[number];
    if (type === PERF_RECORD_SAMPLE) this.samples++;
    if (type === PERF_RECORD_SAMPLE && event !== undefined) {
      const bytes = this.#sample(batch, i, event, number);
      if (bytes !== undefined) return bytes;
    }
    return this.#decoded(batch, i, event, number);
  }

  /** A sample without READ values: fields at fixed places change, an id comes before them. */
  #sample(
    batch: RecordBatch,
    i: number,
    event: PerfEvent,
    number: number,
  ): Uint8Array | undefined {
    const { layout } = event;
    const size = batch.size(i);
    if (layout.sampleType & PERF_SAMPLE_READ || layout.fixedSize > size) return undefined;
    const added = layout.identifier < 0 ? 8 : 0;
    if (size + added > 0xffff) return undefined;
    const record = batch.recordBytes(i);
    const bytes = new Uint8Array(size + added);
    bytes.set(record.subarray(0, PERF_EVENT_HEADER_SIZE));
    bytes.set(record.subarray(PERF_EVENT_HEADER_SIZE), PERF_EVENT_HEADER_SIZE + added);
    const view = new DataView(bytes.buffer);
    const { littleEndian: le } = batch;
    view.setUint16(6, bytes.length, le);
    const { idOffset, timeOffset, pidOffset } = this.#part;
    const id = layout.identifier >= 0
      ? view.getBigUint64(layout.identifier, le) + idOffset
      : layout.id >= 0
      ? view.getBigUint64(added + layout.id, le) + idOffset
      : this.#written[number]?.ids[0] ?? idOffset;
    view.setBigUint64(PERF_EVENT_HEADER_SIZE, id, le);
    if (layout.id >= 0) view.setBigUint64(added + layout.id, id, le);
    if (layout.time >= 0 && timeOffset !== 0n) {
      const at = added + layout.time;
      view.setBigUint64(at, view.getBigUint64(at, le) + timeOffset, le);
    }
    if (layout.pid >= 0 && pidOffset !== 0) {
      for (const at of [added + layout.pid, added + layout.pid + 4]) {
        view.setInt32(at, shifted(view.getInt32(at, le), pidOffset), le);
      }
    }
    return bytes;
  }

  /** Any other record: by its declaration. */
  #decoded(
    batch: RecordBatch,
    i: number,
    event: PerfEvent | undefined,
    number: number,
  ): Verdict {
    const type = batch.type(i);
    const context = batch.context(i);
    const record = this.#codec.decode(batch.recordBytes(i), context);
    const unknownEvent = type === PERF_RECORD_SAMPLE && event === undefined;
    if ("raw" in record || unknownEvent) {
      if (type < PERF_RECORD_USER_TYPE_START) this.#undecoded++;
      return type < PERF_RECORD_USER_TYPE_START ? DROP : KEEP;
    }
    const { pid, filename } = record.body as { pid?: number; filename?: string };
    if (this.#newHost && pid === -1 && filename !== undefined) {
      this.#kernelMaps++;
      return DROP;
    }
    const { idOffset } = this.#part;
    const body = this.#change(record.body, WITH_IDS.has(record.name));
    const written = this.#written[Math.max(number, 0)];
    const isKernels = type < PERF_RECORD_USER_TYPE_START;
    const isSample = type === PERF_RECORD_SAMPLE;
    if (isSample) {
      const sample = body as { identifier?: bigint; id?: bigint };
      sample.identifier ??= sample.id ?? written?.ids[0] ?? idOffset;
    }
    const id = record.sample_id;
    const sampleId = id && {
      ...this.#change(id, true) as typeof id,
      identifier: (id.identifier ?? id.id ?? event?.ids[0] ?? 0n) + idOffset,
    };
    // perf marks with id 0 what it synthesised; such a record is of the first event.
    if (sampleId !== undefined && (id?.identifier ?? id?.id) === 0n) {
      sampleId.identifier = this.#written[0]?.ids[0] ?? idOffset;
    }
    try {
      return this.#codec.encode(
        {
          ...record,
          body,
          ...(sampleId === undefined ? {} : { sample_id: sampleId }),
        } as typeof record,
        { littleEndian: batch.littleEndian, event: isKernels ? written : event },
      );
    } catch (error) {
      // With an id it is longer than a record may be.
      if (!(error instanceof RangeError)) throw error;
      this.#undecoded++;
      return DROP;
    }
  }

  /** A value with the ids and times in it changed. */
  #change(value: unknown, withIds: boolean): unknown {
    if (Array.isArray(value)) return value.map((part) => this.#change(part, withIds));
    if (value instanceof Uint8Array || typeof value !== "object" || value === null) return value;
    const { pidOffset, timeOffset, idOffset } = this.#part;
    return Object.fromEntries(
      Object.entries(value).map(([name, part]) => {
        if (PID_FIELDS.has(name)) {
          return [
            name,
            typeof part === "bigint"
              ? BigInt(shifted(Number(part), pidOffset))
              : shifted(Number(part), pidOffset),
          ];
        }
        if (name === "time" && typeof part === "bigint") return [name, part + timeOffset];
        if (withIds && (name === "id" || name === "identifier") && typeof part === "bigint") {
          return [name, part === 0n ? part : part + idOffset];
        }
        return [name, this.#change(part, withIds)];
      }),
    );
  }

  finish(): void {
    const { input: { name }, host = "another host" } = this.#part;
    if (this.#auxLost > 0) {
      this.#losses.push(`${name}: ${this.#auxLost} bytes of AUX data are left out`);
    }
    if (this.#kernelMaps > 0) {
      this.#losses.push(
        `${name}: ${this.#kernelMaps} maps of the kernel of ${host} are left out; ` +
          "kernel addresses are looked up in the first host's",
      );
    }
    if (this.#undecoded > 0) {
      this.#losses.push(`${name}: ${this.#undecoded} records that cannot be decoded are left out`);
    }
  }
}

/** An id of a process or thread of another host; 0 is the idle task, and -1 nobody, on each. */
function shifted(pid: number, offset: number): number {
  return pid > 0 ? pid + offset : pid;
}
