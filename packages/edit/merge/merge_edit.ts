import {
  KERNEL_RECORDS,
  layoutOf,
  type Payload,
  PerfEvent,
  type RecordBatch,
  RecordCodec,
  setRecordSize,
} from "@perfdata/format/records";
import {
  PERF_EVENT_HEADER_SIZE,
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_AUXTRACE_INFO,
  PERF_RECORD_FINISHED_ROUND,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
  PERF_SAMPLE_READ,
} from "@perfdata/format/constants";
import { AUXTRACE, USER_RECORDS } from "@perfdata/user-records";
import { auxtraceOf, type PayloadPart } from "../copy/aux_cut.ts";
import { DROP, type Edit, KEEP, type Verdict } from "../copy/copy.ts";
import { idsOf, Part, withIdentifier } from "./merge_part.ts";

const AUXTRACE_AT = layoutOf(AUXTRACE);

/** Names of fields with process or thread ids. */
const PID_FIELDS: ReadonlySet<string> = new Set([
  "pid",
  "tid",
  "ppid",
  "ptid",
  "next_prev_pid",
  "next_prev_tid",
]);
/** Records with event ids in a field `id`. */
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
export class PartEdit implements Edit {
  samples = 0;
  readonly #part: Part;
  readonly #newHost: boolean;
  readonly #losses: string[];
  readonly #codec = new RecordCodec([...KERNEL_RECORDS, ...USER_RECORDS]);
  /** The events as in the result, for the layout of written records. */
  readonly #written: readonly PerfEvent[];
  /** Upper half of the event ids of this input. */
  readonly #input: number;
  /** Buffer for a sample of the result, copied before the next sample. */
  readonly #sampleBytes = new Uint8Array(1 << 16);
  readonly #sampleView = new DataView(this.#sampleBytes.buffer);
  #kernelMaps = 0;
  #undecoded = 0;

  constructor(part: Part, hosts: readonly (string | undefined)[], losses: string[]) {
    this.#part = part;
    this.#newHost = hosts.indexOf(part.host) > 0;
    this.#losses = losses;
    this.#input = Number(part.idOffset >> 32n);
    this.#written = part.events.map((event, i) =>
      new PerfEvent(withIdentifier(event.attr), idsOf(part, event, i), () => event.arch)
    );
  }

  record(batch: RecordBatch, i: number): Verdict {
    const type = batch.type(i);
    if (type === PERF_RECORD_FINISHED_ROUND) return DROP;
    const { aux } = this.#part;
    if (type === PERF_RECORD_AUXTRACE_INFO) return aux?.isFirst === true ? KEEP : DROP;
    if (type === PERF_RECORD_AUXTRACE) return this.#auxtrace(batch, i);
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

  /** Changes buffer, CPU, thread and offset of an AUXTRACE record. */
  #auxtrace(batch: RecordBatch, i: number): Verdict {
    const { aux, cpuOffset, pidOffset } = this.#part;
    const moved = aux?.parts.get(batch.payload?.offset ?? -1);
    if (aux === undefined || moved === undefined) return DROP;
    const { littleEndian: le } = batch;
    const record = auxtraceOf(batch, i, moved.part, moved.shift);
    const view = new DataView(record.buffer);
    view.setUint32(AUXTRACE_AT.idx, view.getUint32(AUXTRACE_AT.idx, le) + aux.idxOffset, le);
    const cpu = view.getInt32(AUXTRACE_AT.cpu, le);
    if (cpu >= 0) view.setInt32(AUXTRACE_AT.cpu, cpu + cpuOffset, le);
    const tid = view.getInt32(AUXTRACE_AT.tid, le);
    view.setInt32(AUXTRACE_AT.tid, shifted(tid, pidOffset), le);
    return record;
  }

  part(payload: Payload): PayloadPart | undefined {
    return this.#part.aux?.parts.get(payload.offset)?.part;
  }

  /** Changes a sample without READ values: fields with fixed offsets change, and an id is inserted. */
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
    const bytes = this.#sampleBytes;
    const view = this.#sampleView;
    const { littleEndian: le } = batch;
    const start = batch.start(i);
    bytes.set(batch.bytes.subarray(start, start + PERF_EVENT_HEADER_SIZE));
    bytes.set(
      batch.bytes.subarray(start + PERF_EVENT_HEADER_SIZE, start + size),
      PERF_EVENT_HEADER_SIZE + added,
    );
    setRecordSize(view, 0, size + added, le);
    const { idOffset, timeOffset, pidOffset, cpuOffset } = this.#part;
    const id = layout.identifier >= 0 ? layout.identifier : layout.id < 0 ? -1 : added + layout.id;
    if (id < 0) {
      view.setBigUint64(PERF_EVENT_HEADER_SIZE, this.#written[number]?.ids[0] ?? idOffset, le);
    } else {
      // Halves instead of a bigint, since there may be millions of samples.
      const [low, high] = [le ? 0 : 4, le ? 4 : 0];
      const lower = view.getUint32(id + low, le);
      const upper = view.getUint32(id + high, le) + this.#input;
      view.setUint32(PERF_EVENT_HEADER_SIZE + low, lower, le);
      view.setUint32(PERF_EVENT_HEADER_SIZE + high, upper, le);
      if (layout.id >= 0) {
        view.setUint32(added + layout.id + low, lower, le);
        view.setUint32(added + layout.id + high, upper, le);
      }
    }
    if (layout.time >= 0 && timeOffset !== 0n) {
      const at = added + layout.time;
      view.setBigUint64(at, view.getBigUint64(at, le) + timeOffset, le);
    }
    if (layout.cpu >= 0 && cpuOffset !== 0) {
      const at = added + layout.cpu;
      view.setUint32(at, view.getUint32(at, le) + cpuOffset, le);
    }
    if (layout.pid >= 0 && pidOffset !== 0) {
      for (const at of [added + layout.pid, added + layout.tid]) {
        view.setInt32(at, shifted(view.getInt32(at, le), pidOffset), le);
      }
    }
    return bytes.subarray(0, size + added);
  }

  /** Changes any other record, by its declaration. */
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
    // perf marks synthesized records with id 0; they belong to the first event.
    if (sampleId !== undefined && (id?.identifier ?? id?.id) === 0n) {
      sampleId.identifier = this.#written[0]?.ids[0] ?? idOffset;
    }
    try {
      return this.#codec.encode(
        {
          ...record,
          body,
          sample_id: sampleId,
        } as typeof record,
        { littleEndian: batch.littleEndian, event: isKernels ? written : event },
      );
    } catch (error) {
      // The inserted id makes the record too long.
      if (!(error instanceof RangeError)) throw error;
      this.#undecoded++;
      return DROP;
    }
  }

  /** Returns a value with its ids and times changed. */
  #change(value: unknown, withIds: boolean): unknown {
    if (Array.isArray(value)) return value.map((part) => this.#change(part, withIds));
    if (value instanceof Uint8Array || typeof value !== "object" || value === null) return value;
    const { pidOffset, timeOffset, idOffset, cpuOffset } = this.#part;
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
        if (withIds && name === "cpu") return [name, cpuOf(part, cpuOffset)];
        return [name, this.#change(part, withIds)];
      }),
    );
  }

  finish(): void {
    const { input: { name }, host = "another host" } = this.#part;
    if (this.#kernelMaps > 0) {
      this.#losses.push(
        `${name}: maps of the kernel of ${host} are left out (${this.#kernelMaps}); ` +
          "kernel addresses are looked up in the first host's",
      );
    }
    if (this.#undecoded > 0) {
      this.#losses.push(`${name}: ${this.#undecoded} records that cannot be decoded are left out`);
    }
  }
}

/** Returns a process or thread id of another host. 0 (idle) and -1 (none) are the same on all hosts. */
function shifted(pid: number, offset: number): number {
  return pid > 0 ? pid + offset : pid;
}

/** Returns a CPU number of the result; -1, as 32 or 64 bits, means no CPU. */
function cpuOf(cpu: unknown, offset: number): unknown {
  if (typeof cpu === "bigint") return cpu >= 0n && cpu < 1n << 31n ? cpu + BigInt(offset) : cpu;
  return typeof cpu === "number" && cpu >= 0 && cpu < 2 ** 31 ? cpu + offset : cpu;
}
