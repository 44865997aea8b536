import {
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
  PERF_SAMPLE_READ,
  type PerfDataReader,
  type PerfEvent,
  type RecordBatch,
} from "@perfdata/format";
import {
  AddressSpaces,
  isTimeOrdered,
  KERNEL_SPACE,
  Machine,
  MachineHistory,
  type MachineHistoryData,
} from "@perfdata/session";
import {
  type Aggregate,
  type AggregateOptions,
  binaryKey,
  type EventShape,
  eventShape,
  type EventTotal,
  isMemory,
  knownBinaries,
  type MappedBinary,
  mappedBinary,
  type SampleFilter,
} from "./aggregate.ts";
import { ChainCounter, type FrameLookup } from "./call_chains.ts";
import { CallTree, type CallTreeColumns } from "./call_tree.ts";
import { Histogram, type HistogramColumns } from "./histogram.ts";

const FORK = 7;
const FINISHED_ROUND = 68;
const COMPRESSED = 81;
const COMPRESSED2 = 83;
const CPUMODE_MASK = 7;
const KERNEL = 1;
const USER = 2;
const GUEST_KERNEL = 4;
const GUEST_USER = 5;
const MAP_HUGETLB = 0x40000;

const MACHINE_LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** How far apart the places are, in bytes, at which a file may be cut into ranges. */
const STEP = 1 << 20;

/** What the first pass over a file found: all that is needed to look at its ranges one by one. */
export interface FileIndex {
  /** The machine at any time. */
  readonly history: MachineHistoryData;
  /** Thread ids and epochs of forks, two words each. */
  readonly forks: Int32Array;
  /** File offsets of records, at most one in each {@link STEP} bytes; the last is the data's end. */
  readonly cuts: readonly number[];
  /** Whether records are ordered by time; else they count as they stand in the file. */
  readonly ordered: boolean;
  /** Records that came later than their time allows. */
  readonly violations: number;
}

/** The samples of a range of a file, as they can be handed to another thread. */
export interface RangeCounts {
  /** Samples and periods. */
  readonly columns: HistogramColumns;
  /** The call chains, where they were asked for. */
  readonly calls: CallTreeColumns | undefined;
  /** The binaries in the keys. */
  readonly binaries: readonly MappedBinary[];
  /** The comms in the keys. */
  readonly comms: readonly string[];
  /** Totals by number of event. */
  readonly totals: readonly EventTotal[];
  /** Samples of no known event, or shorter than their event says. */
  readonly leftOut: number;
}

/** Records that change the machine, until they can be put in order. */
class MetaRecords {
  #bytes = new Uint8Array(1 << 16);
  #used = 0;
  readonly #starts: number[] = [];
  readonly #hi: number[] = [];
  readonly #lo: number[] = [];
  readonly #offsets: number[] = [];

  add(bytes: Uint8Array, start: number, end: number, hi: number, lo: number, offset: number): void {
    const size = end - start;
    if (this.#used + size > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.#used + size));
      larger.set(this.#bytes.subarray(0, this.#used));
      this.#bytes = larger;
    }
    this.#bytes.set(bytes.subarray(start, end), this.#used);
    this.#starts.push(this.#used);
    this.#hi.push(hi);
    this.#lo.push(lo);
    this.#offsets.push(offset);
    this.#used += size;
  }

  /** Applies them by time; what has the same time, as it stands in the file. */
  apply(machine: Machine, littleEndian: boolean): Int32Array {
    const his = this.#hi;
    const los = this.#lo;
    // Most of a file is in order already, which sorting takes advantage of.
    const order = Uint32Array.from(his, (_, i) => i).sort((a, b) =>
      (his[a] as number) - (his[b] as number) || (los[a] as number) - (los[b] as number) || a - b
    );
    const forks: number[] = [];
    const view = new DataView(this.#bytes.buffer);
    for (const i of order) {
      const start = this.#starts[i] as number;
      const end = start + view.getUint16(start + 6, littleEndian);
      machine.at(his[i] as number, los[i] as number, this.#offsets[i] as number);
      machine.apply(this.#bytes, view, start, end);
      if (view.getUint32(start, littleEndian) === FORK && end - start >= 24) {
        forks.push(view.getInt32(start + 16, littleEndian), machine.epoch);
      }
    }
    return Int32Array.from(forks);
  }
}

/**
 * Reads what changes the machine, and notes where the file can be cut.
 *
 * @returns `undefined` where ranges cannot be looked at one by one: in a pipe, in compressed data,
 * and where READ values count from sample to sample.
 * @throws {PerfDataError} In strict mode, where the file is damaged.
 */
export async function indexFile(reader: PerfDataReader): Promise<FileIndex | undefined> {
  const events = reader.events.all;
  if (
    reader.isPipe || reader.fileSize === undefined ||
    events.some(({ layout }) => layout.sampleType & PERF_SAMPLE_READ)
  ) return undefined;
  const ordered = isTimeOrdered(reader);
  const le = reader.littleEndian;
  const meta = new MetaRecords();
  const cuts: number[] = [];
  let nextCut = 0;
  // As perf delivers: what has no time at once, that is behind all that was flushed before.
  let flushed: [number, number] = [0, 0];
  let limit: [number, number] = [0, 0];
  let youngest: [number, number] = [0, 0];
  let violations = 0;
  const later = ([hi, lo]: [number, number], [h, l]: [number, number]) =>
    hi > h || (hi === h && lo > l);
  for await (const batch of reader.batches()) {
    const { view, count } = batch;
    if (count > 0 && batch.offsetOf(0) >= nextCut) {
      cuts.push(batch.offsetOf(0));
      nextCut = batch.offsetOf(0) + STEP;
    }
    let lastTimed = -1;
    const { words, starts } = batch;
    const fast = batch.aligned && le && MACHINE_LITTLE_ENDIAN;
    for (let i = 0; i < count; i++) {
      const start = starts[i] as number;
      const type = fast ? words[start >> 2] as number : view.getInt32(start, le);
      if (type === PERF_RECORD_SAMPLE) {
        lastTimed = i;
        continue;
      }
      if (type >= PERF_RECORD_USER_TYPE_START) {
        if (type === COMPRESSED || type === COMPRESSED2) return undefined;
        if (type === FINISHED_ROUND && ordered) {
          if (lastTimed >= 0) {
            const time = timeOf(batch, lastTimed, events);
            if (later(time, youngest)) youngest = time;
          }
          flushed = limit;
          limit = youngest;
        }
        continue;
      }
      const end = start + view.getUint16(start + 6, le);
      let time = ordered ? timeOf(batch, i, events) : [0, 0] as [number, number];
      const timed = ordered && (time[0] | time[1]) !== 0 && (time[0] & time[1]) !== -1;
      if (!timed) time = flushed;
      else {
        if (later(time, youngest)) youngest = time;
        if (later(flushed, time)) {
          violations++;
          time = flushed;
        }
      }
      meta.add(batch.bytes, start, end, time[0], time[1], batch.offsetOf(i));
    }
    if (lastTimed >= 0 && ordered) {
      const time = timeOf(batch, lastTimed, events);
      if (later(time, youngest)) youngest = time;
    }
  }
  cuts.push(reader.data.offset + reader.data.size);
  const machine = new Machine(le, { history: true });
  machine.arch = reader.arch;
  machine.setKnownBinaries(await knownBinaries(reader));
  const forks = meta.apply(machine, le);
  return { history: machine.history().data, forks, cuts, ordered, violations };
}

/** Time of a record as two halves; zeros where it has none. */
function timeOf(batch: RecordBatch, i: number, events: readonly PerfEvent[]): [number, number] {
  const { view, littleEndian: le } = batch;
  const start = batch.start(i);
  const end = start + batch.size(i);
  const type = batch.type(i);
  const event = events.length === 1 ? 0 : batch.events.indexOf(view, start, end, type, le);
  const layout = events[event]?.layout;
  if (layout === undefined) return [0, 0];
  const at = type === PERF_RECORD_SAMPLE
    ? (layout.time < 0 ? -1 : start + layout.time)
    : (layout.trailer.time === 0 ? -1 : end - (end - start & 7) + layout.trailer.time);
  if (at < start + 8 || at + 8 > end) return [0, 0];
  return [view.getUint32(at + (le ? 4 : 0), le), view.getUint32(at + (le ? 0 : 4), le)];
}

/** Threads of which is remembered what they were when they were looked up last. */
const CACHE = 1 << 12;

/** Looks samples up in a history and counts them. */
class RangeCounter implements FrameLookup {
  foundHi = 0;
  foundLo = 0;
  readonly calls: CallTree | undefined;
  readonly #chains: ChainCounter | undefined;
  readonly histogram = new Histogram(1 << 14);
  readonly totals: EventTotal[];
  readonly binaries: MappedBinary[] = [];
  readonly comms: string[] = [];
  leftOut = 0;

  readonly #events: readonly PerfEvent[];
  readonly #shapes: readonly EventShape[];
  readonly #le: boolean;
  readonly #options: AggregateOptions;
  readonly #ordered: boolean;
  readonly #keyPid: boolean;
  readonly #keyTid: boolean;
  readonly #keyCpu: boolean;
  readonly #history: MachineHistory;
  readonly #data: MachineHistoryData;
  readonly #spaces = new AddressSpaces();
  readonly #forked: ReadonlySet<string>;
  /** Times of the changes, as far as doubles are exact; else epochs are looked up each time. */
  readonly #times: Float64Array;

  // The epoch of the last sample, and between which times it lasts.
  #epoch = 0;
  #after = 1;
  #before = 0;

  // By low bits of the thread id: the thread, the epochs in which it is as it is here.
  readonly #tids = new Int32Array(CACHE);
  readonly #from = new Int32Array(CACHE);
  readonly #until = new Int32Array(CACHE);
  readonly #threadComms = new Int32Array(CACHE);
  readonly #threadRoots = new Int32Array(CACHE);
  readonly #threadPids = new Int32Array(CACHE);
  readonly #threadMaps = new Int32Array(CACHE);
  #kernelFrom = 1;
  #kernelUntil = 0;
  #kernelRoot = 0;
  /** Of the sample that is being counted: where its thread is remembered. */
  #slot = 0;

  readonly #commByName: (number | undefined)[] = [];
  readonly #commByText = new Map<string, number>();
  readonly #binaryBySource: (number | undefined)[] = [];
  readonly #binaryByKey = new Map<string, number>();
  /** By binary: whether its addresses stay those of the process. */
  readonly #identity: boolean[] = [];

  constructor(reader: PerfDataReader, index: FileIndex, options: AggregateOptions) {
    if (options.calls === true) {
      this.calls = new CallTree();
      this.#chains = new ChainCounter(this.calls, this);
    }
    this.#events = reader.events.all;
    this.#shapes = this.#events.map(eventShape);
    this.totals = this.#events.map(() => ({ samples: 0, period: 0 }));
    this.#le = reader.littleEndian;
    this.#options = options;
    this.#ordered = index.ordered;
    this.#keyPid = options.keys?.pid === true;
    this.#keyTid = options.keys?.tid === true;
    this.#keyCpu = options.keys?.cpu === true;
    const data = index.history;
    this.#data = data;
    this.#history = new MachineHistory(data);
    Object.assign(this.#spaces, {
      left: data.left,
      right: data.right,
      map: data.nodeMaps,
      startHi: data.startHi,
      startLo: data.startLo,
      endHi: data.endHi,
      endLo: data.endLo,
    });
    const forked = new Set<string>();
    for (let i = 0; i < index.forks.length; i += 2) {
      forked.add(`${index.forks[i]} ${index.forks[i + 1]}`);
    }
    this.#forked = forked;
    this.#times = Float64Array.from(
      data.timeHi,
      (hi, i) => hi * 2 ** 32 + (data.timeLo[i] as number),
    );
  }

  take(batch: RecordBatch): void {
    const { filter = {} } = this.#options;
    const plain = filter.cpus === undefined && filter.time === undefined &&
      filter.events === undefined && filter.pids === undefined && filter.tids === undefined;
    const shape = this.#shapes[0];
    if (
      plain && shape !== undefined && this.#shapes.length === 1 && batch.aligned && this.#le &&
      MACHINE_LITTLE_ENDIAN && shape.ip >= 0 && shape.pid >= 0 && shape.time >= 0
    ) this.#takeWords(batch, shape);
    else this.#takeAny(batch, filter);
  }

  /** The usual case: one event, nothing filtered, words in this machine's byte order. */
  #takeWords(batch: RecordBatch, shape: EventShape): void {
    const { words, starts, count } = batch;
    const ip = shape.ip >> 2;
    const pid = shape.pid >> 2;
    const time = shape.time >> 2;
    const cpu = shape.cpu >> 2;
    const period = shape.period >> 2;
    const { fixed, size: least } = shape;
    const chain = this.#chains === undefined ? -1 : shape.chain;
    let samples = 0;
    let sum = 0;
    for (let i = 0; i < count; i++) {
      const at = (starts[i] as number) >> 2;
      if (words[at] !== PERF_RECORD_SAMPLE) continue;
      const head = words[at + 1] as number;
      const size = head >>> 16;
      if (
        size < least || (chain >= 0 && !chainFits(batch, 4 * at + chain, 4 * at + size, true))
      ) {
        this.leftOut++;
        continue;
      }
      const each = period < 0 ? fixed : ((words[at + period + 1] as number) >>> 0) * 2 ** 32 +
        ((words[at + period] as number) >>> 0);
      samples++;
      sum += each;
      this.#count(
        batch,
        i,
        0,
        head & CPUMODE_MASK,
        words[at + pid] as number,
        words[at + pid + 1] as number,
        cpu < 0 ? -1 : words[at + cpu] as number,
        (words[at + time + 1] as number) >>> 0,
        (words[at + time] as number) >>> 0,
        (words[at + ip + 1] as number) >>> 0,
        (words[at + ip] as number) >>> 0,
        each,
        chain < 0 ? -1 : 4 * at + chain,
      );
    }
    const total = this.totals[0] as EventTotal;
    total.samples += samples;
    total.period += sum;
  }

  #takeAny(batch: RecordBatch, filter: SampleFilter): void {
    const { view, count, events } = batch;
    const le = this.#le;
    const low = le ? 0 : 4;
    const high = 4 - low;
    const single = this.#events.length === 1;
    const { cpus, time: window, events: only, pids, tids } = filter;
    for (let i = 0; i < count; i++) {
      const start = batch.start(i);
      if (view.getUint32(start, le) !== PERF_RECORD_SAMPLE) continue;
      const end = start + view.getUint16(start + 6, le);
      const event = single ? 0 : events.indexOf(view, start, end, PERF_RECORD_SAMPLE, le);
      const shape = this.#shapes[event];
      const chain = this.#chains === undefined || shape === undefined || shape.chain < 0
        ? -1
        : start + shape.chain;
      if (
        shape === undefined || start + shape.size > end ||
        (chain >= 0 && !chainFits(batch, chain, end, le))
      ) {
        this.leftOut++;
        continue;
      }
      if (only !== undefined && !only.has(event)) continue;
      const cpu = shape.cpu < 0 ? -1 : view.getInt32(start + shape.cpu, le);
      if (cpus !== undefined && !cpus.has(cpu)) continue;
      let timeHi = 0;
      let timeLo = 0;
      if (shape.time >= 0) {
        timeHi = view.getUint32(start + shape.time + high, le);
        timeLo = view.getUint32(start + shape.time + low, le);
      }
      if (window !== undefined) {
        const when = BigInt(timeHi) << 32n | BigInt(timeLo);
        if (when < window[0] || when > window[1]) continue;
      }
      const tid = shape.pid < 0 ? -1 : view.getInt32(start + shape.pid + 4, le);
      const period = shape.period < 0
        ? shape.fixed
        : view.getUint32(start + shape.period + high, le) * 2 ** 32 +
          view.getUint32(start + shape.period + low, le);
      const total = this.totals[event] as EventTotal;
      total.samples++;
      total.period += period;
      if (tids !== undefined && !tids.has(tid)) continue;
      const pid = shape.pid < 0 ? -1 : view.getInt32(start + shape.pid, le);
      if (pids !== undefined && !pids.has(pid)) continue;
      this.#count(
        batch,
        i,
        event,
        view.getUint16(start + 4, le) & CPUMODE_MASK,
        pid,
        tid,
        cpu,
        timeHi,
        timeLo,
        shape.ip < 0 ? 0 : view.getUint32(start + shape.ip + high, le),
        shape.ip < 0 ? 0 : view.getUint32(start + shape.ip + low, le),
        period,
        chain,
      );
    }
  }

  /** Looks a sample up and counts it. `chain` is where the length of its call chain is, or -1. */
  #count(
    batch: RecordBatch,
    i: number,
    event: number,
    cpumode: number,
    pid: number,
    tid: number,
    cpu: number,
    timeHi: number,
    timeLo: number,
    hi: number,
    lo: number,
    period: number,
    chain: number,
  ): void {
    if (cpumode === GUEST_KERNEL || cpumode === GUEST_USER) return;
    const when = this.#ordered ? timeHi * 2 ** 32 + timeLo : -1;
    if (!(when > this.#after && when < this.#before)) {
      this.#setEpoch(when, timeHi, timeLo, batch.offsetOf(i));
    }
    const epoch = this.#epoch;
    const slot = tid & (CACHE - 1);
    if (
      this.#tids[slot] !== tid || epoch < (this.#from[slot] as number) ||
      epoch >= (this.#until[slot] as number)
    ) this.#findThread(slot, pid, tid, epoch);
    this.#slot = slot;
    const comm = this.#threadComms[slot] as number;
    const keyPid = this.#keyPid ? this.#threadPids[slot] as number : 0;
    const keyTid = this.#keyTid ? tid : 0;
    const keyCpu = this.#keyCpu ? cpu : 0;
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
        keyPid,
        keyTid,
        keyCpu,
        period,
      );
      return;
    }
    if (epoch < this.#kernelFrom || epoch >= this.#kernelUntil) this.#findKernel(epoch);
    this.#chains.add(
      this.calls.context(event, comm, keyPid, keyTid, keyCpu),
      this.#threadRoots[slot] as number,
      this.#kernelRoot,
      batch.view,
      chain + 8,
      chain < 0 ? 0 : batch.view.getUint32(chain + (this.#le ? 0 : 4), this.#le),
      this.#le,
      cpumode,
      hi,
      lo,
      period,
    );
  }

  locate(cpumode: number, hi: number, lo: number): number {
    const { startHi, startLo, endHi, endLo } = this.#spaces;
    hi >>>= 0;
    lo >>>= 0;
    let map = -1;
    if (cpumode === USER) {
      const slot = this.#slot;
      // Samples of a thread come in flocks: the map of the last one is often that of the next.
      map = this.#threadMaps[slot] as number;
      if (map >= 0) {
        const fromHi = startHi[map] as number;
        const toHi = endHi[map] as number;
        if (
          hi < fromHi || (hi === fromHi && lo < (startLo[map] as number)) ||
          hi > toHi || (hi === toHi && lo >= (endLo[map] as number))
        ) map = -1;
      }
      if (map < 0) {
        map = this.#spaces.find(this.#threadRoots[slot] as number, hi, lo);
        this.#threadMaps[slot] = map;
      }
    } else if (cpumode === KERNEL) {
      const epoch = this.#epoch;
      if (epoch < this.#kernelFrom || epoch >= this.#kernelUntil) this.#findKernel(epoch);
      map = this.#spaces.find(this.#kernelRoot, hi, lo);
    }
    this.foundHi = hi;
    this.foundLo = lo;
    if (map < 0) return -1;
    const source = this.#data.mapSources[map] as number;
    const binary = this.#binaryBySource[source] ?? this.#addBinary(map, source, cpumode === KERNEL);
    if (this.#identity[binary]) return binary;
    const { pgoffHi, pgoffLo } = this.#data;
    const sum = lo - (startLo[map] as number) + (pgoffLo[map] as number);
    const carry = sum < 0 ? -1 : sum >= 2 ** 32 ? 1 : 0;
    this.foundHi = hi - (startHi[map] as number) + (pgoffHi[map] as number) + carry;
    this.foundLo = sum;
    return binary;
  }

  #setEpoch(when: number, timeHi: number, timeLo: number, offset: number): void {
    const times = this.#times;
    const epoch = when < 0
      ? this.#history.epochAt(0, 0, offset)
      : this.#history.epochAt(timeHi, timeLo, offset);
    this.#epoch = epoch;
    // Beyond 2^53 ns doubles are not exact: then nothing lies between the bounds.
    const exact = when >= 0 && timeHi < 2 ** 21;
    this.#after = exact ? times[epoch - 1] ?? -1 : 1;
    this.#before = exact ? times[epoch] ?? Infinity : 0;
  }

  #findThread(slot: number, pid: number, tid: number, epoch: number): void {
    const data = this.#data;
    const row = this.#history.threadRow(epoch, tid);
    let from = 0;
    let until = Infinity;
    let space = -1;
    let known = pid;
    if (row >= 0) {
      from = data.threadEpochs[row] as number;
      if (data.threads[row + 1] === data.threads[row]) until = data.threadEpochs[row + 1] as number;
      space = data.threadSpaces[row] as number;
      known = data.pids[row] as number;
      if (known === -1) known = pid;
    } else if (pid !== tid && pid !== -1) {
      // A thread that no record announced shares what its process has mapped.
      const leader = this.#history.threadRow(epoch, pid);
      if (leader >= 0) {
        space = data.threadSpaces[leader] as number;
        from = data.threadEpochs[leader] as number;
        if (data.threads[leader + 1] === data.threads[leader]) {
          until = data.threadEpochs[leader + 1] as number;
        }
        const later = nextRow(data.tids, data.tidEpochs, pid, epoch);
        if (later >= 0) until = Math.min(until, data.tidEpochs[later] as number);
      } else until = epoch + 1;
    }
    const next = nextRow(data.tids, data.tidEpochs, tid, epoch);
    if (next >= 0) until = Math.min(until, data.tidEpochs[next] as number);
    if (next > 0 && data.tids[next - 1] === tid) {
      from = Math.max(from, data.tidEpochs[next - 1] as number);
    } else if (next < 0) {
      const last = nextRow(data.tids, data.tidEpochs, tid, -1);
      for (let i = last; i >= 0 && data.tids[i] === tid; i++) {
        from = Math.max(from, data.tidEpochs[i] as number);
      }
    }
    let root = 0;
    if (space >= 0) {
      const after = nextRow(data.spaceIds, data.spaceEpochs, space, epoch);
      if (after >= 0) until = Math.min(until, data.spaceEpochs[after] as number);
      const at = after >= 0 ? after - 1 : lastOf(data.spaceIds, space);
      if (at >= 0 && data.spaceIds[at] === space) {
        root = data.roots[at] as number;
        from = Math.max(from, data.spaceEpochs[at] as number);
      }
    }
    this.#tids[slot] = tid;
    this.#from[slot] = from;
    this.#until[slot] = Math.min(until, 0x7fff_ffff);
    this.#threadRoots[slot] = root;
    this.#threadPids[slot] = known;
    this.#threadMaps[slot] = -1;
    this.#threadComms[slot] = this.#commOf(row, tid, epoch);
  }

  #findKernel(epoch: number): void {
    const { spaceIds, spaceEpochs, roots } = this.#data;
    const after = nextRow(spaceIds, spaceEpochs, KERNEL_SPACE, epoch);
    const at = after >= 0 ? after - 1 : lastOf(spaceIds, KERNEL_SPACE);
    const known = at >= 0 && spaceIds[at] === KERNEL_SPACE;
    this.#kernelRoot = known ? roots[at] as number : 0;
    this.#kernelFrom = known ? spaceEpochs[at] as number : 0;
    this.#kernelUntil = after >= 0 ? spaceEpochs[after] as number : Infinity;
  }

  /**
   * The comm of a thread. What it did before it got its first name counts under that name
   * (`thread__set_comm` of tools/perf/util/thread.c), unless it was forked anew before.
   */
  #commOf(row: number, tid: number, epoch: number): number {
    const data = this.#data;
    let name = row < 0 ? -1 : data.comms[row] as number;
    if (name < 0) {
      let at = row + 1;
      if (row < 0) {
        const next = nextRow(data.tids, data.tidEpochs, tid, epoch);
        const thread = next < 0 ? -1 : data.tidThreads[next] as number;
        at = next < 0
          ? data.threads.length
          : nextRow(data.threads, data.threadEpochs, thread, (data.tidEpochs[next] as number) - 1);
        if (at < 0) at = data.threads.length;
      }
      for (; at < data.threads.length; at++) {
        const when = data.threadEpochs[at] as number;
        const then = this.#history.threadRow(when, tid);
        if (then < 0 || data.threads[then] !== data.threads[at]) break;
        if (this.#forked.has(`${tid} ${when}`)) break;
        name = data.comms[at] as number;
        if (name >= 0) break;
      }
    }
    if (name < 0) return this.#comm(`:${tid}`);
    return this.#commByName[name] ??= this.#comm(this.#history.name(name));
  }

  #comm(text: string): number {
    let comm = this.#commByText.get(text);
    if (comm === undefined) {
      comm = this.comms.push(text) - 1;
      this.#commByText.set(text, comm);
    }
    return comm;
  }

  #addBinary(map: number, source: number, kernel: boolean): number {
    const { name, buildId, flags } = this.#history.source(map);
    const text = this.#history.name(name);
    const { nameBytes, nameStarts } = this.#data;
    const id = buildId < 0
      ? undefined
      : nameBytes.slice(nameStarts[buildId], nameStarts[buildId + 1]);
    const mapped = mappedBinary(text, id, kernel, this.#data, map);
    const key = binaryKey(mapped);
    let binary = this.#binaryByKey.get(key);
    if (binary === undefined) {
      binary = this.binaries.push(mapped) - 1;
      this.#binaryByKey.set(key, binary);
      this.#identity.push(
        kernel ? text.startsWith("[kernel") : isMemory(text) || (flags & MAP_HUGETLB) !== 0,
      );
    }
    return this.#binaryBySource[source] = binary;
  }
}

/** Whether the call chain whose length is at `at` fits into a record. */
function chainFits({ view }: RecordBatch, at: number, end: number, le: boolean): boolean {
  return at + 8 <= end && view.getUint32(at + (le ? 4 : 0), le) === 0 &&
    view.getUint32(at + (le ? 0 : 4), le) <= (end - at - 8) / 8;
}

/** The first row of `key` that is later than `epoch`, or -1. */
function nextRow(keys: Int32Array, epochs: Int32Array, key: number, epoch: number): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const k = keys[middle] as number;
    if (k < key || (k === key && (epochs[middle] as number) <= epoch)) low = middle + 1;
    else high = middle;
  }
  return keys[low] === key ? low : -1;
}

/** The last row of `key`, or that of a smaller one, or -1. */
function lastOf(keys: Int32Array, key: number): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] as number) <= key) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/**
 * Counts the samples of a range of a file.
 *
 * @param reader The file, opened by whoever counts.
 * @param index What {@link indexFile} found.
 * @param from File offset of the first record: one of the index's cuts.
 * @param to File offset after the last record: one of the index's cuts.
 */
export async function countRange(
  reader: PerfDataReader,
  index: FileIndex,
  from: number,
  to: number,
  options: AggregateOptions = {},
): Promise<RangeCounts> {
  const counter = new RangeCounter(reader, index, options);
  let taken = 0;
  for await (const batch of reader.batches({ from, to })) {
    counter.take(batch);
    const { recordBytes, payloadBytes } = reader.stats;
    options.progress?.(recordBytes + payloadBytes - taken);
    taken = recordBytes + payloadBytes;
  }
  return {
    columns: counter.histogram.columns(),
    calls: counter.calls?.columns(),
    binaries: counter.binaries,
    comms: counter.comms,
    totals: counter.totals,
    leftOut: counter.leftOut,
  };
}

/** Cuts a file into ranges of about the same size. */
export function cutRanges(index: FileIndex, count: number): [number, number][] {
  const { cuts } = index;
  const first = cuts[0] as number;
  const last = cuts.at(-1) as number;
  const bounds = [first];
  for (let i = 1; i < count; i++) {
    const ideal = first + (last - first) * i / count;
    const cut = cuts.find((offset) => offset >= ideal) ?? last;
    if (cut > (bounds.at(-1) as number) && cut < last) bounds.push(cut);
  }
  return bounds.map((from, i) => [from, bounds[i + 1] ?? last]);
}

/** Puts the samples of ranges together; their order does not matter. */
export function mergeRanges(parts: readonly RangeCounts[], violations: number): Aggregate {
  const histogram = new Histogram(1 << 14);
  const binaries: MappedBinary[] = [];
  const binaryNumbers = new Map<string, number>();
  const comms: string[] = [];
  const commNumbers = new Map<string, number>();
  const totals: EventTotal[] = [];
  let calls: CallTree | undefined;
  let leftOut = 0;
  for (const part of parts) {
    const commOf = part.comms.map((text) => {
      let comm = commNumbers.get(text);
      if (comm === undefined) {
        comm = comms.push(text) - 1;
        commNumbers.set(text, comm);
      }
      return comm;
    });
    const binaryOf = part.binaries.map((binary) => {
      const key = binaryKey(binary);
      let number = binaryNumbers.get(key);
      if (number === undefined) {
        number = binaries.push(binary) - 1;
        binaryNumbers.set(key, number);
      }
      return number;
    });
    const { entries, periods } = part.columns;
    for (let i = 0; i < periods.length; i++) {
      const at = i * 10;
      entries[at + 1] = commOf[entries[at + 1] as number] as number;
      const binary = entries[at + 2] as number;
      if (binary >= 0) entries[at + 2] = binaryOf[binary] as number;
    }
    histogram.merge(part.columns);
    if (part.calls !== undefined) (calls ??= new CallTree()).merge(part.calls, commOf, binaryOf);
    part.totals.forEach(({ samples, period }, event) => {
      const total = totals[event] ??= { samples: 0, period: 0 };
      total.samples += samples;
      total.period += period;
    });
    leftOut += part.leftOut;
  }
  calls?.addTo(histogram);
  return { histogram, calls, binaries, totals, comms, leftOut, violations };
}
