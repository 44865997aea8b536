import type { PerfDataReader, PerfEvent } from "@perfdata/format";
import { PerfDataError } from "@perfdata/format/error";
import { HEADER_BUILD_ID } from "@perfdata/format/feature-names";
import { buildIdText, decodeObjectFeature } from "@perfdata/format/object-feature";
import { PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_READ } from "@perfdata/format/perf-event";
import { SampleFields } from "@perfdata/format/sample-layout";
// Not all of session and symbols: a thread of its own loads what it counts with and no more.
import { type KnownBinary, Machine } from "@perfdata/session/machine";
import { deliverInOrder, type RecordBytes, type RecordSink } from "@perfdata/session/order";
import { type Address, addressFromHalves } from "@perfdata/symbols/address";
import { ChainCounter, type FrameLookup } from "./call_chains.ts";
import { CallTree } from "./call_tree.ts";
import { Histogram } from "./histogram.ts";
import { type ReadShape, readShape } from "./read_shape.ts";
import type { EventTotal, SampleKeys } from "./sample_counts.ts";
export type { EventTotal, SampleKeys } from "./sample_counts.ts";

const COMM = 3;
const FORK = 7;
const SAMPLE = 9;
const CPUMODE_MASK = 7;
const KERNEL = 1;
const GUEST_KERNEL = 4;
const GUEST_USER = 5;
const MAP_HUGETLB = 0x40000;

/** Which samples count. What is left out is in no total either, if nothing else is said. */
export interface SampleFilter {
  /** Numbers of events. */
  readonly events?: ReadonlySet<number> | undefined;
  /** CPUs. */
  readonly cpus?: ReadonlySet<number> | undefined;
  /** Processes. Others are in the totals, as with perf. */
  readonly pids?: ReadonlySet<number> | undefined;
  /** Threads. Others are in the totals, as with perf. */
  readonly tids?: ReadonlySet<number> | undefined;
  /** First and last time in ns. */
  readonly time?: readonly [bigint, bigint] | undefined;
}

/** How to aggregate. */
export interface AggregateOptions {
  /** Which samples count. */
  readonly filter?: SampleFilter;
  /** What is told apart. */
  readonly keys?: SampleKeys;
  /** Whether call chains are counted as well, into {@link Aggregate.calls}. */
  readonly calls?: boolean;
  /** Called for each record in the order of time, where one thread reads them all. */
  readonly record?: RecordSink["record"];
  /** Called after a record that a payload follows, where one thread reads them all. */
  readonly payload?: NonNullable<RecordSink["payload"]>;
  /** Called with the bytes that were read since the call before. */
  readonly progress?: (bytes: number) => void;
}

/** What is mapped at some addresses. */
export interface MappedBinary {
  /** Path or bracketed name. */
  readonly name: string;
  /** Build id in hex, where the recording has it. */
  readonly buildId: string | undefined;
  /** Whether the kernel maps it. */
  readonly kernel: boolean;
  /** First address of what the kernel maps; of others, it differs from process to process. */
  readonly start?: Address;
  /** First address after it. */
  readonly end?: Address;
}

/**
 * What is mapped by a map.
 *
 * @param name its name
 * @param buildId its build id, or nothing
 * @param at row of `spaces`
 */
export function mappedBinary(
  name: string,
  buildId: Uint8Array | undefined,
  kernel: boolean,
  spaces: MapColumns,
  at: number,
): MappedBinary {
  const { startHi, startLo, endHi, endLo } = spaces;
  return {
    name,
    buildId: buildId && buildIdText({ build_id: buildId, build_id_size: buildId.length }),
    kernel,
    ...(kernel
      ? {
        start: addressFromHalves(startHi[at] as number, startLo[at] as number),
        end: addressFromHalves(endHi[at] as number, endLo[at] as number),
      }
      : {}),
  };
}

/** The range of maps, by number of the map. */
type MapColumns = Readonly<
  Record<"startHi" | "startLo" | "endHi" | "endLo", { readonly [map: number]: number }>
>;

/** By which binaries are told apart. */
export function binaryKey({ name, buildId, kernel, start }: MappedBinary): string {
  return `${name}\0${buildId}\0${kernel}\0${start}`;
}

/** Samples of a file by event, comm, binary and address. */
export interface Aggregate {
  /** Samples and periods; the binaries in its keys are those of `binaries`. */
  readonly histogram: Histogram;
  /** The call chains, where they were asked for; binaries and comms go by the same numbers. */
  readonly calls: CallTree | undefined;
  /** The binaries. */
  readonly binaries: readonly MappedBinary[];
  /** Totals by number of event. */
  readonly totals: readonly EventTotal[];
  /** Comms by number. */
  readonly comms: readonly string[];
  /** Samples of no known event, or shorter than their event says. */
  readonly leftOut: number;
  /** Records that came later than their time allows; they were used late. */
  readonly violations: number;
}

/** Where the samples of an event have what counts; -1 for what they do not have. */
export interface EventShape {
  /** Of the instruction pointer. */
  readonly ip: number;
  /** Of the process id; the thread id follows. */
  readonly pid: number;
  /** Of the CPU. */
  readonly cpu: number;
  /** Of the time. */
  readonly time: number;
  /** Of the period. */
  readonly period: number;
  /** Period of samples that do not have it. */
  readonly fixed: number;
  /** Bytes that a sample has at least. */
  readonly size: number;
  /** Of the number of entries in the call chain; -1 where it is not at the same place in all. */
  readonly chain: number;
  /** Shape of the READ values, where there are any. */
  readonly read: ReadShape | undefined;
  /** Finds READ values and call chains, where there are any. */
  readonly fields: SampleFields | undefined;
}

/** Where the samples of an event have what counts. */
export function eventShape(event: PerfEvent): EventShape {
  const { layout, attr } = event;
  const reads = (layout.sampleType & PERF_SAMPLE_READ) !== 0;
  const chains = (layout.sampleType & PERF_SAMPLE_CALLCHAIN) !== 0;
  return {
    ip: layout.ip,
    pid: layout.pid,
    cpu: layout.cpu,
    time: layout.time,
    period: layout.period,
    fixed: Number(attr.sample_period),
    size: layout.fixedSize,
    chain: chains && !reads ? layout.fixedSize : -1,
    read: reads ? readShape(event.readFormat) : undefined,
    fields: reads || chains ? new SampleFields(attr) : undefined,
  };
}

/**
 * Takes samples, looks them up in a machine, and adds them to a histogram.
 */
class Aggregator implements FrameLookup {
  foundHi = 0;
  foundLo = 0;
  readonly calls: CallTree | undefined;
  readonly histogram = new Histogram(1 << 14);
  readonly totals: EventTotal[] = [];
  readonly binaries: MappedBinary[] = [];
  readonly comms: string[] = [];
  leftOut = 0;
  readonly #events: readonly PerfEvent[];
  readonly #shapes: EventShape[] = [];
  readonly #byId = new Map<number, number>();
  readonly #lastCount = new Map<number, number>();
  readonly #machine: Machine;
  readonly #le: boolean;
  readonly #filter: SampleFilter;
  readonly #keyPid: boolean;
  readonly #keyTid: boolean;
  readonly #keyCpu: boolean;
  /** By a map's source: the binary, or -1 where it was not met. Kernel maps have no source. */
  readonly #bySource = new Map<number, number>();
  readonly #byName = new Map<string, number>();
  /** By binary: whether its addresses stay those of the process. */
  readonly #identity: boolean[] = [];
  /** By number of a name: the comm. */
  readonly #commByName: (number | undefined)[] = [];
  readonly #unnamedByTid = new Map<number, number>();
  #lastSource = -1;
  #lastBinary = -1;
  readonly #chains: ChainCounter | undefined;
  #thread = -1;
  /** Goes up where another thread or another state of the machine is looked at. */
  #moment = 0;

  constructor(reader: PerfDataReader, machine: Machine, options: AggregateOptions) {
    if (options.calls === true) {
      this.calls = new CallTree();
      this.#chains = new ChainCounter(this.calls, this);
    }
    this.#events = reader.events.all;
    this.#le = reader.littleEndian;
    this.#machine = machine;
    this.#filter = options.filter ?? {};
    this.#keyPid = options.keys?.pid === true;
    this.#keyTid = options.keys?.tid === true;
    this.#keyCpu = options.keys?.cpu === true;
  }

  #u64(view: DataView, at: number): number {
    const low = view.getUint32(this.#le ? at : at + 4, this.#le);
    return view.getUint32(this.#le ? at + 4 : at, this.#le) * 2 ** 32 + low;
  }

  #learnEvents(): void {
    for (let i = this.#shapes.length; i < this.#events.length; i++) {
      const event = this.#events[i] as PerfEvent;
      this.#shapes.push(eventShape(event));
      this.totals.push({ samples: 0, period: 0 });
      for (const id of event.ids) this.#byId.set(Number(id), i);
    }
  }

  sample(at: RecordBytes, start: number, end: number, index: number): void {
    const { view } = at;
    const le = this.#le;
    if (this.#shapes.length < this.#events.length) this.#learnEvents();
    const shape = this.#shapes[index];
    if (shape === undefined || start + shape.size > end) {
      this.leftOut++;
      return;
    }
    const { cpus, time, events, pids, tids } = this.#filter;
    const cpu = shape.cpu < 0 ? -1 : view.getInt32(start + shape.cpu, le);
    if (cpus !== undefined && !cpus.has(cpu)) return;
    if (time !== undefined) {
      const when = shape.time < 0 ? 0n : view.getBigUint64(start + shape.time, le);
      if (when < time[0] || when > time[1]) return;
    }
    let pid = -1;
    let tid = -1;
    if (shape.pid >= 0) {
      pid = view.getInt32(start + shape.pid, le);
      tid = view.getInt32(start + shape.pid + 4, le);
    }
    let hi = 0;
    let lo = 0;
    if (shape.ip >= 0) {
      lo = view.getUint32(start + shape.ip + (le ? 0 : 4), le);
      hi = view.getUint32(start + shape.ip + (le ? 4 : 0), le);
    }
    const cpumode = view.getUint16(start + 4, le) & CPUMODE_MASK;
    const machine = this.#machine;
    const thread = machine.thread(pid, tid);
    const recorded = machine.comms[thread] as number;
    const comm = recorded >= 0
      ? this.#commByName[recorded] ?? this.#addComm(recorded)
      : this.#unnamed(machine.tids[thread] as number);
    if (thread !== this.#thread) {
      this.#thread = thread;
      this.#moment++;
    }
    // In the totals only.
    const apart = cpumode === GUEST_KERNEL || cpumode === GUEST_USER ||
      (pids !== undefined && !pids.has(machine.pids[thread] as number)) ||
      (tids !== undefined && !tids.has(tid));
    const keyPid = this.#keyPid ? machine.pids[thread] as number : 0;
    const keyTid = this.#keyTid ? tid : 0;
    const keyCpu = this.#keyCpu ? cpu : 0;
    const { read, fields } = shape;
    const chained = this.#chains !== undefined && fields !== undefined;
    if ((chained || read !== undefined) && fields?.locate(view, start, end, le) === false) {
      this.leftOut++;
      return;
    }
    if (read === undefined || fields === undefined) {
      const period = shape.period < 0 ? shape.fixed : this.#u64(view, start + shape.period);
      if (events !== undefined && !events.has(index)) return;
      this.#addTotal(index, period);
      if (apart) return;
      this.#count(view, index, comm, cpumode, hi, lo, keyPid, keyTid, keyCpu, period, fields);
      return;
    }
    // READ values: each event of the group got what it counted since its sample before.
    const n = read.group ? this.#u64(view, fields.read) : 1;
    for (let k = 0; k < n; k++) {
      const entry = fields.read + read.head + k * read.entry;
      const id = read.id < 0 ? undefined : this.#u64(view, entry + read.id);
      const which = id === undefined ? index : this.#byId.get(id);
      if (which === undefined) {
        this.leftOut++;
        continue;
      }
      const value = this.#u64(view, entry);
      const counter = id ?? -1 - index;
      const period = value - (this.#lastCount.get(counter) ?? 0);
      this.#lastCount.set(counter, value);
      if (period === 0 || (events !== undefined && !events.has(which))) continue;
      this.#addTotal(which, period);
      if (apart) continue;
      this.#count(view, which, comm, cpumode, hi, lo, keyPid, keyTid, keyCpu, period, fields);
    }
  }

  #addTotal(event: number, period: number): void {
    const total = this.totals[event] as EventTotal;
    total.samples++;
    total.period += period;
  }

  #count(
    view: DataView,
    event: number,
    comm: number,
    cpumode: number,
    hi: number,
    lo: number,
    pid: number,
    tid: number,
    cpu: number,
    period: number,
    fields: SampleFields | undefined,
  ): void {
    if (this.#chains === undefined || this.calls === undefined) {
      const binary = this.locate(cpumode, hi, lo);
      const { foundHi, foundLo } = this;
      this.histogram.add(
        event,
        comm,
        binary,
        cpumode,
        foundHi,
        foundLo,
        pid,
        tid,
        cpu,
        period,
      );
      return;
    }
    const length = fields?.callchainLength ?? 0;
    this.#chains.add(
      this.calls.context(event, comm, pid, tid, cpu),
      this.#moment,
      this.#moment,
      this.#chains.decode(view, fields?.callchain ?? 0, length, this.#le),
      0,
      length,
      cpumode,
      hi,
      lo,
      period,
    );
  }

  locate(cpumode: number, hi: number, lo: number): number {
    const machine = this.#machine;
    this.foundHi = hi;
    this.foundLo = lo;
    const map = machine.map(this.#thread, cpumode, hi, lo);
    if (map < 0) return -1;
    const binary = this.#binaryOf(map, cpumode === KERNEL);
    if (this.#identity[binary]) return binary;
    // From an address of the process to an offset in what is mapped.
    const { startHi, startLo, pgoffHi, pgoffLo } = machine.spaces;
    const low = (lo >>> 0) - (startLo[map] as number) + (pgoffLo[map] as number);
    const carry = low < 0 ? -1 : low >= 2 ** 32 ? 1 : 0;
    this.foundHi = hi - (startHi[map] as number) + (pgoffHi[map] as number) + carry;
    this.foundLo = low;
    return binary;
  }

  #addComm(name: number): number {
    return this.#commByName[name] = this.comms.push(this.#machine.names.text(name)) - 1;
  }

  /** The comm of a thread that has none yet; see {@link Aggregator.apply}. */
  #unnamed(tid: number): number {
    let comm = this.#unnamedByTid.get(tid);
    if (comm === undefined) {
      comm = this.comms.push(`:${tid}`) - 1;
      this.#unnamedByTid.set(tid, comm);
    }
    return comm;
  }

  /**
   * Applies a record to the machine. What a thread did before it got its first name counts under
   * that name (`thread__set_comm` of tools/perf/util/thread.c).
   */
  apply({ bytes, view }: RecordBytes, start: number, end: number, type: number): void {
    const machine = this.#machine;
    this.#moment++;
    if (this.#unnamedByTid.size === 0 || (type !== COMM && type !== FORK)) {
      machine.apply(bytes, view, start, end);
      return;
    }
    const at = start + (type === COMM ? 12 : 16);
    const tid = at + 4 <= end ? view.getInt32(at, this.#le) : -1;
    const comm = this.#unnamedByTid.get(tid);
    machine.apply(bytes, view, start, end);
    if (comm === undefined) return;
    this.#unnamedByTid.delete(tid);
    if (type === COMM) this.comms[comm] = machine.commText(machine.thread(tid, tid));
  }

  #binaryOf(map: number, kernel: boolean): number {
    const machine = this.#machine;
    const source = machine.spaces.source[map] as number;
    if (source === this.#lastSource) return this.#lastBinary;
    let binary = this.#bySource.get(source);
    if (binary === undefined) {
      const { name, buildId, flags } = machine.mapSource(map);
      const text = machine.names.text(name);
      const id = buildId < 0 ? undefined : machine.names.get(buildId);
      const mapped = mappedBinary(text, id, kernel, machine.spaces, map);
      const key = binaryKey(mapped);
      binary = this.#byName.get(key) ?? -1;
      if (binary < 0) {
        binary = this.binaries.push(mapped) - 1;
        this.#byName.set(key, binary);
        this.#identity.push(
          kernel ? text.startsWith("[kernel") : isMemory(text) || (flags & MAP_HUGETLB) !== 0,
        );
      }
      this.#bySource.set(source, binary);
    }
    this.#lastSource = source;
    this.#lastBinary = binary;
    return binary;
  }
}

/** Whether a mapping is memory without a file: code in it goes by the process's addresses. */
export function isMemory(name: string): boolean {
  return name.startsWith("//anon") || name.startsWith("/dev/zero") ||
    name.startsWith("/anon_hugepage") || name.startsWith("[stack") || name.startsWith("/SYSV") ||
    name.startsWith("[heap]") || /^\/tmp\/perf-\d+\.map$/.test(name);
}

/** The binaries that the file's build id table names. */
export async function knownBinaries(
  reader: PerfDataReader,
): Promise<readonly KnownBinary[]> {
  const section = reader.features.find(({ id }) => id === HEADER_BUILD_ID)?.section;
  if (section === undefined) return [];
  try {
    const bytes = await reader.readSection(
      Number(section.offset),
      Number(section.size),
      "BUILD_ID",
    );
    const feature = decodeObjectFeature(HEADER_BUILD_ID, bytes, {
      littleEndian: reader.littleEndian,
    });
    return feature.name === "BUILD_ID" ? feature.value : [];
  } catch (error) {
    // Names only: that the section is damaged is told where the file is read.
    if (!(error instanceof PerfDataError)) throw error;
    return [];
  }
}

/**
 * Counts the samples of a file by event, comm, binary and address.
 *
 * Each sample is looked up in the machine as it was at its time: records are delivered as perf
 * delivers them (see `deliverInOrder`). Samples of a group that was read (`PERF_SAMPLE_READ`) count
 * for each of its events with what it counted since the sample before.
 *
 * @throws {PerfDataError} In strict mode, where the file is damaged.
 */
export async function aggregate(
  reader: PerfDataReader,
  options: AggregateOptions = {},
): Promise<Aggregate> {
  const machine = new Machine(reader.littleEndian);
  machine.arch = reader.arch;
  machine.setKnownBinaries(await knownBinaries(reader));
  const aggregator = new Aggregator(reader, machine, options);
  const le = reader.littleEndian;
  let taken = 0;
  const order = await deliverInOrder(reader, {
    record(at, start, end, offset, event) {
      options.record?.(at, start, end, offset, event);
      const type = at.view.getUint32(start, le);
      if (type === SAMPLE) aggregator.sample(at, start, end, event);
      else aggregator.apply(at, start, end, type);
    },
    ...(options.payload === undefined ? {} : { payload: options.payload }),
    done() {
      const { recordBytes, payloadBytes } = reader.stats;
      options.progress?.(recordBytes + payloadBytes - taken);
      taken = recordBytes + payloadBytes;
      return false;
    },
  });
  aggregator.calls?.addTo(aggregator.histogram);
  return {
    histogram: aggregator.histogram,
    calls: aggregator.calls,
    binaries: aggregator.binaries,
    totals: aggregator.totals,
    comms: aggregator.comms,
    leftOut: aggregator.leftOut,
    violations: order.violations,
  };
}
