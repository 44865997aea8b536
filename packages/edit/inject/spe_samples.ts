import {
  emptyAttr,
  KERNEL_RECORDS,
  type Payload,
  type PerfDataReader,
  PerfEvent,
  type RecordBatch,
  RecordCodec,
  SampleFields,
} from "@perfdata/format/records";
import { joinBytes, numberAt, PerfDataError } from "@perfdata/format/bytes";
import {
  HEADER_CPUID,
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_AUXTRACE_INFO,
  PERF_RECORD_COMM,
  PERF_RECORD_FORK,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_SWITCH_OUT,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_MMAP2,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_SWITCH_CPU_WIDE,
  PERF_RECORD_TIME_CONV,
  PERF_SAMPLE_ADDR,
  PERF_SAMPLE_CPU,
  PERF_SAMPLE_DATA_SRC,
  PERF_SAMPLE_IDENTIFIER,
  PERF_SAMPLE_IP,
  PERF_SAMPLE_PERIOD,
  PERF_SAMPLE_PHYS_ADDR,
  PERF_SAMPLE_TID,
  PERF_SAMPLE_TIME,
  PERF_SAMPLE_WEIGHT,
} from "@perfdata/format/constants";
import { recordedFeatures } from "@perfdata/session";
import { SPE_PACKET, SpePacket } from "@perfdata/session/auxtrace";
import { armSpeInfo, AUXTRACE, AUXTRACE_INFO, PERF_AUXTRACE_ARM_SPE } from "@perfdata/user-records";
import {
  EVENT_UPDATE,
  PERF_EVENT_UPDATE__NAME,
  TIME_CONV,
  type TimeConv,
} from "@perfdata/user-records/metadata";
import { DROP, type Edit, KEEP, type Verdict } from "../copy/copy.ts";
import type { RecordingHead } from "../copy/recording_output.ts";
import { accessOf, type SpeRecord } from "./spe_access.ts";

/** Difference between the id of the first event and the id of an event that perf synthesizes. */
const ID_OFFSET = 1_000_000_000n;
/** Number of bytes of AUX data read at once. */
const CHUNK = 1 << 18;
/** Minimum size of a block of samples. */
const BLOCK = 1 << 18;
const NO_CPU = 0xffff_ffff;

const codec = new RecordCodec([
  ...KERNEL_RECORDS,
  AUXTRACE,
  AUXTRACE_INFO,
  EVENT_UPDATE,
  TIME_CONV,
]);
/** Records that assign threads to processes, or give them names or mappings. */
const THREAD_RECORDS = new Set([PERF_RECORD_COMM, PERF_RECORD_FORK, PERF_RECORD_MMAP2]);

/** Threads that ran on a CPU, and the times from which on they ran. */
interface Switches {
  readonly times: bigint[];
  readonly tids: number[];
}

/** Properties of the recording, read before its AUX data. */
interface Known {
  readonly timeConv: TimeConv | undefined;
  /** Process of each thread. */
  readonly pids: ReadonlyMap<number, number>;
  readonly switches: ReadonlyMap<number, Switches>;
  /** Returns `MIDR_EL1` of a CPU. */
  readonly midr: (cpu: number) => bigint;
}

/** The incomplete SPE record of an AUX buffer. */
interface Queue {
  record: SpeRecord;
}

function emptyRecord(): SpeRecord {
  return {
    ip: 0n,
    addr: 0n,
    physAddr: 0n,
    events: 0,
    source: 0,
    latency: 0,
    context: undefined,
    isStore: undefined,
    time: 0n,
  };
}

/** Converts an address packet to a code address. The packet has its lower seven bytes and the exception level. */
function codeAddress(hi: number, lo: number): bigint {
  const address = BigInt(hi & 0xff_ffff) << 32n | BigInt(lo);
  // Exception levels 1 and 2 in the non-secure state use the upper half of the addresses.
  const isKernel = hi >>> 31 === 1 && [1, 2].includes(hi >>> 29 & 3);
  return isKernel ? address | 0xffn << 56n : address;
}

/** Converts an address packet to a data address. The upper byte is a tag; in the kernel, all its bits are set. */
function dataAddress(hi: number, lo: number): bigint {
  const address = BigInt(hi & 0xff_ffff) << 32n | BigInt(lo);
  return (hi >>> 20 & 15) === 15 ? address | 0xffn << 56n : address;
}

/**
 * Synthesizes samples from Arm SPE data: each load or store becomes a sample of an event `memory`, with address,
 * data source, latency as its weight, and physical address, like perf's `--itrace=M`. The samples replace the
 * AUX data.
 */
export class SpeSamples implements Edit {
  /** Number of samples written. */
  samples = 0;
  /** Number of records that are not loads or stores. */
  others = 0;
  /** Number of bytes that are not packets. */
  damaged = 0;
  readonly #reader: PerfDataReader;
  readonly #known: Known;
  readonly #event: PerfEvent;
  readonly #id: bigint;
  readonly #queues = new Map<number, Queue>();
  readonly #running = new Map<number, number>();
  /** Encoded samples with empty fields, by CPU mode; `#fields` has the positions of the fields. */
  readonly #templates = new Map<number, Uint8Array<ArrayBuffer>>();
  readonly #fields: SampleFields;
  #hasContexts = false;
  #now: { idx: number; cpu: number; tid: number; offset: number } | undefined;

  private constructor(reader: PerfDataReader, known: Known, type: number) {
    this.#reader = reader;
    this.#known = known;
    const { all } = reader.events;
    const speEvent = all.find(({ attr }) => attr.type === type) ?? all[0];
    const { flags } = speEvent?.attr ?? emptyAttr();
    const hasTime = known.timeConv !== undefined;
    const attr = {
      ...emptyAttr(),
      size: speEvent?.attr.size ?? 120,
      sample_period: 1n,
      sample_type: BigInt(
        PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ADDR |
          PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC |
          (hasTime ? PERF_SAMPLE_TIME : 0),
      ) | (speEvent?.attr.sample_type ?? 0n) & BigInt(PERF_SAMPLE_PHYS_ADDR),
      read_format: speEvent?.attr.read_format ?? 0n,
    };
    attr.flags = { ...attr.flags, sample_id_all: flags.sample_id_all };
    for (const flag of ["exclude_user", "exclude_kernel", "exclude_hv"] as const) {
      attr.flags[flag] = flags[flag];
    }
    this.#id = (speEvent?.ids[0] ?? 0n) + ID_OFFSET;
    this.#event = new PerfEvent(attr, [this.#id], () => "aarch64");
    this.#fields = new SampleFields(attr);
  }

  /**
   * Reads the properties of a recording that its AUX data does not have.
   *
   * @param reader The recording: a file, since it is read twice.
   * @returns `undefined` if the recording has no Arm SPE data.
   * @throws {PerfDataError} If samples of several events could not be distinguished.
   */
  static async of(reader: PerfDataReader): Promise<SpeSamples | undefined> {
    let timeConv: TimeConv | undefined;
    let type: number | undefined;
    const pids = new Map<number, number>();
    const switches = new Map<number, Switches>();
    const midrs = new Map<number, bigint>();
    for await (const batch of reader.batches({ quiet: true })) {
      for (let i = 0; i < batch.count; i++) {
        const kind = batch.type(i);
        const isKnown = THREAD_RECORDS.has(kind) || kind === PERF_RECORD_SWITCH_CPU_WIDE ||
          kind === PERF_RECORD_TIME_CONV || kind === PERF_RECORD_AUXTRACE_INFO;
        if (!isKnown) continue;
        const record = codec.decode(batch.recordBytes(i).slice(), batch.context(i));
        if (record.name === "TIME_CONV") timeConv = record.body;
        else if (record.name === "AUXTRACE_INFO") {
          const { body } = record;
          if (body.type !== PERF_AUXTRACE_ARM_SPE) continue;
          const info = armSpeInfo(body);
          type = info === undefined
            ? -1
            : Number("pmu_type" in info ? info.pmu_type : info.pmu_type_v2);
          const cpus = info !== undefined && "cpus" in info ? info.cpus : [];
          for (const { cpu, midr } of cpus) {
            if (midr !== undefined) midrs.set(Number(cpu), midr);
          }
        } else if (record.name === "COMM" || record.name === "FORK" || record.name === "MMAP2") {
          pids.set(record.body.tid, record.body.pid);
        } else if (record.name === "SWITCH_CPU_WIDE") {
          const { cpu, time } = record.sample_id ?? {};
          if (cpu === undefined || time === undefined) continue;
          if ((record.misc & PERF_RECORD_MISC_SWITCH_OUT) === 0) continue;
          const list = switches.get(cpu) ?? { times: [], tids: [] };
          switches.set(cpu, list);
          list.times.push(time);
          list.tids.push(record.body.next_prev_tid);
        }
      }
    }
    if (type === undefined) return undefined;
    const { all } = reader.events;
    if (all.some(({ attr }) => (attr.sample_type & BigInt(PERF_SAMPLE_IDENTIFIER)) === 0n)) {
      throw new PerfDataError(
        "samples of another event cannot be added: those of the recording have no identifier",
      );
    }
    const said = await recordedFeatures(reader, new Set([HEADER_CPUID]));
    const cpuid = said.get(HEADER_CPUID);
    const [hex] = typeof cpuid === "string" ? /^(0x)?[0-9a-f]+/i.exec(cpuid) ?? [] : [];
    const common = hex === undefined ? 0n : BigInt(`0x${hex.replace(/^0x/i, "")}`);
    const midr = (cpu: number): bigint => midrs.get(cpu) ?? common;
    return new SpeSamples(reader, { timeConv, pids, switches, midr }, type);
  }

  /** Adds the event. */
  head(head: RecordingHead): RecordingHead {
    const { attr } = this.#event;
    return { ...head, events: [...head.events, { attr, ids: [this.#id] }] };
  }

  /** Returns the record with the event's name. */
  before(): Uint8Array {
    const body = { type: BigInt(PERF_EVENT_UPDATE__NAME), id: this.#id, name: "memory" };
    return codec.encode(
      { type: 78, name: "EVENT_UPDATE", misc: 0, body },
      { littleEndian: this.#reader.littleEndian },
    );
  }

  /** Drops the records about AUX data. */
  record(batch: RecordBatch, i: number): Verdict {
    const type = batch.type(i);
    if (type === PERF_RECORD_AUXTRACE_INFO) return DROP;
    if (type !== PERF_RECORD_AUXTRACE) return KEEP;
    const record = codec.decode(batch.recordBytes(i).slice(), batch.context(i));
    if (record.name !== "AUXTRACE") return KEEP;
    const { idx, cpu, tid, offset } = record.body;
    this.#now = { idx, cpu: cpu === NO_CPU ? -1 : cpu, tid: tid | 0, offset: Number(offset) };
    return DROP;
  }

  /** Returns the samples that replace AUX data. */
  async *instead(payload: Payload): AsyncGenerator<Uint8Array, void, void> {
    if (this.#now === undefined) return;
    const { idx, cpu, tid, offset } = this.#now;
    const queue = this.#queues.get(idx) ?? { record: emptyRecord() };
    this.#queues.set(idx, queue);
    const packet = new SpePacket();
    let input = new Uint8Array(CHUNK);
    let length = 0;
    let base = offset;
    let block: Uint8Array[] = [];
    let size = 0;
    for (let isEnd = false; !isEnd;) {
      const got = await payload.read(input.subarray(length));
      isEnd = got === 0;
      length += got;
      let at = 0;
      while (at < length) {
        // An incomplete packet waits for the next part.
        if (!isEnd && length - at < 2 * 16) break;
        packet.read(input, at, length, base + at);
        if (packet.size === 0) {
          this.damaged++;
          at++;
          // perf continues with an empty record.
          queue.record = emptyRecord();
          continue;
        }
        at += packet.size;
        if (!this.#addPacket(queue.record, packet)) continue;
        const sample = this.#sample(queue.record, cpu, tid);
        queue.record = emptyRecord();
        if (sample === undefined) continue;
        block.push(sample);
        size += sample.length;
        if (size < BLOCK) continue;
        yield joinBytes(block);
        [block, size] = [[], 0];
      }
      input.copyWithin(0, at, length);
      base += at;
      length -= at;
      if (length === input.length) input = new Uint8Array(2 * length);
    }
    if (size > 0) yield joinBytes(block);
  }

  #addPacket(record: SpeRecord, { kind, index, hi, lo }: SpePacket): boolean {
    switch (kind) {
      case SPE_PACKET.TIMESTAMP:
        record.time = BigInt(hi) << 32n | BigInt(lo);
        return true;
      case SPE_PACKET.END:
        return true;
      case SPE_PACKET.ADDRESS:
        if (index === 0) record.ip = codeAddress(hi, lo);
        else if (index === 2) record.addr = dataAddress(hi, lo);
        else if (index === 3) record.physAddr = BigInt(hi & 0xff_ffff) << 32n | BigInt(lo);
        return false;
      case SPE_PACKET.COUNTER:
        if (index === 0) record.latency = lo & 0xffff;
        return false;
      case SPE_PACKET.CONTEXT:
        record.context = lo | 0;
        return false;
      case SPE_PACKET.OPERATION_TYPE:
        if (index === 1) record.isStore = (lo & 1) === 1 || record.isStore === true;
        return false;
      case SPE_PACKET.EVENTS:
        record.events |= lo;
        return false;
      case SPE_PACKET.DATA_SOURCE:
        record.source = lo;
        return false;
      default:
        return false;
    }
  }

  /** Returns the sample of a record; `undefined` if it is not a load or store. */
  #sample(record: SpeRecord, cpu: number, tid: number): Uint8Array | undefined {
    const { context, ip } = record;
    if (context !== undefined) {
      this.#hasContexts = true;
      this.#running.set(cpu, context);
    }
    const data_src = accessOf(record, this.#known.midr(cpu));
    if (data_src === 0n) {
      this.others++;
      return undefined;
    }
    this.samples++;
    const time = this.#time(record.time);
    const thread = this.#threadOf(cpu, tid, time);
    const misc = ip >> 63n === 1n ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
    const { littleEndian: le } = this.#reader;
    const { layout } = this.#event;
    const bytes = this.#template(misc).slice();
    const view = new DataView(bytes.buffer);
    view.setBigUint64(layout.ip, ip, le);
    view.setInt32(layout.pid, this.#known.pids.get(thread) ?? thread, le);
    view.setInt32(layout.tid, thread, le);
    if (layout.time >= 0) view.setBigUint64(layout.time, time ?? 0n, le);
    view.setBigUint64(layout.addr, record.addr, le);
    view.setInt32(layout.cpu, cpu, le);
    const { weight, dataSrc, physAddr } = this.#fields;
    view.setBigUint64(weight, BigInt(record.latency), le);
    view.setBigUint64(dataSrc, data_src, le);
    if (physAddr >= 0) view.setBigUint64(physAddr, record.physAddr, le);
    return bytes;
  }

  /** Returns an encoded sample with empty fields in a CPU mode, and locates its fields. */
  #template(misc: number): Uint8Array<ArrayBuffer> {
    const known = this.#templates.get(misc);
    if (known !== undefined) return known;
    const { littleEndian } = this.#reader;
    const body = {
      ...{ identifier: this.#id, ip: 0n, pid: 0, tid: 0, time: 0n, addr: 0n, cpu: 0, res: 0 },
      ...{ period: 1n, weight: 0n, data_src: 0n, phys_addr: 0n },
    };
    const record = { type: PERF_RECORD_SAMPLE, name: "SAMPLE", misc, body } as const;
    const bytes = codec.encode(record, { littleEndian, event: this.#event }).slice();
    this.#fields.locate(new DataView(bytes.buffer), 0, bytes.length, littleEndian);
    this.#templates.set(misc, bytes);
    return bytes;
  }

  /** Returns the running thread: from context packets, else from switches, else the thread of the buffer. */
  #threadOf(cpu: number, tid: number, time: bigint | undefined): number {
    if (this.#hasContexts) return this.#running.get(cpu) ?? tid;
    const switches = this.#known.switches.get(cpu);
    if (switches === undefined || time === undefined) return tid;
    const { times, tids } = switches;
    let [low, high] = [0, times.length];
    while (low < high) {
      const middle = low + high >> 1;
      if ((times[middle] as bigint) <= time) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? tid : numberAt(tids, low - 1);
  }

  /** Converts ticks of the timer to ns of perf's clock. */
  #time(ticks: bigint): bigint | undefined {
    const { timeConv } = this.#known;
    if (timeConv === undefined) return undefined;
    const { time_shift, time_mult, time_zero, time_cycles = 0n, time_mask = 0n } = timeConv;
    const isShort = timeConv.cap_user_time_short === 1;
    const cycles = isShort ? time_cycles + (ticks - time_cycles & time_mask) : ticks;
    const part = cycles & (1n << time_shift) - 1n;
    const time = time_zero + (cycles >> time_shift) * time_mult + (part * time_mult >> time_shift);
    return BigInt.asUintN(64, time);
  }
}
