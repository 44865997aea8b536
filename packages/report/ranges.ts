import type { PerfDataReader, PerfEvent, RecordBatch } from "@perfdata/format";
import { PERF_RECORD_SAMPLE } from "@perfdata/format/perf-event";
import {
  KERNEL_SPACE,
  MachineHistory,
  type MachineHistoryData,
} from "@perfdata/session/machine-history";
import {
  type Aggregate,
  type AggregateOptions,
  binaryKey,
  type EventShape,
  eventShape,
  type EventTotal,
  isMemory,
  type MappedBinary,
  mappedBinary,
  type SampleFilter,
} from "./aggregate.ts";
import { ChainCounter, type FrameLookup } from "./call_chains.ts";
import { CallTree, type CallTreeColumns } from "./call_tree.ts";
import type { FileIndex } from "./file_index.ts";
import { Histogram, type HistogramColumns } from "./histogram.ts";
import { TALLY_WORDS, type TallyColumns } from "./sample_tally.ts";

const CPUMODE_MASK = 7;
const KERNEL = 1;
const USER = 2;
const GUEST_KERNEL = 4;
const GUEST_USER = 5;
const MAP_HUGETLB = 0x40000;

const MACHINE_LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

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

/** Threads of which is remembered what they were when they were looked up last. */
const THREADS = 1 << 12;
const THREAD_WORDS = 16;
// The words of such a thread: its id, the epochs from and before which it is as it is here, process,
// comm, and a key: the comm, or where processes or threads are told apart a number of its own.
const TID = 0;
const FROM = 1;
const UNTIL = 2;
const PID = 3;
const COMM = 4;
const KEY = 5;
/** What it has mapped. */
const LAYER = 6;
/**
 * The binary of its last address, or -1, what is to be taken away from addresses there, and between
 * which addresses that is so.
 */
const BINARY = 7;
const SHIFT_HI = 8;
const SHIFT_LO = 9;
const FROM_HI = 10;
const FROM_LO = 11;
const TO_HI = 12;
const TO_LO = 13;

/** Keys that are remembered: what distinguishes them, seven words, and their row. */
const SAMPLES = 1 << 13;
const SAMPLE_WORDS = 8;

/** Epochs that are looked at one by one before all are searched. */
const NEAR = 16;

/** Later than any epoch. */
const LAST_EPOCH = 0x7fff_ffff;

/** Stands for a binary where an address is not yet looked up. */
const ABSOLUTE = -2;

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
  readonly #forks: Int32Array;
  #forked: ReadonlySet<string> | undefined;
  /** What the high halves of times are relative to: doubles are exact for 104 days. */
  readonly #baseHi: number;

  // The epoch of the last sample, and between which times it lasts.
  #epoch = 0;
  #after = 1;
  #before = 0;

  /** By low bits of the thread id: a thread, as it is in some epochs; see {@link TID} and so on. */
  readonly #threads = new Int32Array(THREADS * THREAD_WORDS);
  #threadCount = 0;
  /** Rows of the histogram, each at the place that the hash of its key says. */
  readonly #rows = new Int32Array(SAMPLES * SAMPLE_WORDS).fill(-1);
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
    this.#forks = index.forks;
    this.#baseHi = data.timeHi[0] ?? 0;
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
    const { histogram } = this;
    const ordered = this.#ordered;
    const baseHi = this.#baseHi;
    const chained = this.#chains !== undefined;
    const keyed = this.#keyCpu;
    const threads = this.#threads;
    const rows = this.#rows;
    let epoch = this.#epoch;
    let after = this.#after;
    let before = this.#before;
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
      const cpumode = head & CPUMODE_MASK;
      if (cpumode === GUEST_KERNEL || cpumode === GUEST_USER) continue;
      const timeHi = (words[at + time + 1] as number) >>> 0;
      const timeLo = words[at + time] as number;
      // Its lower half may pass 2^31: V8 takes it that a `>>> 0` never does, until it does.
      const when = (timeHi - baseHi) * 2 ** 32 + timeLo + (timeLo < 0 ? 2 ** 32 : 0);
      if (!(when > after && when < before) || !ordered) {
        this.#setEpoch(when, timeHi, timeLo, batch.offsetOf(i));
        epoch = this.#epoch;
        after = this.#after;
        before = this.#before;
        if (epoch < this.#kernelFrom || epoch >= this.#kernelUntil) this.#findKernel(epoch);
      }
      const tid = words[at + pid + 1] as number;
      const slot = (tid & THREADS - 1) * THREAD_WORDS;
      if (
        threads[slot + TID] !== tid || epoch < (threads[slot + FROM] as number) ||
        epoch >= (threads[slot + UNTIL] as number)
      ) this.#findThread(slot, words[at + pid] as number, tid, epoch);
      const hi = words[at + ip + 1] as number;
      const lo = words[at + ip] as number;
      if (chained) {
        const start = chain < 0 ? -1 : 4 * at + chain;
        this.#countChain(batch, slot, 0, cpumode, tid, cpu, hi, lo, each, start);
        continue;
      }
      // As `#row` has it: most samples are like one before.
      let binary = ABSOLUTE;
      let inHi = hi;
      let inLo = lo;
      if (cpumode === USER) {
        const h = hi >>> 0;
        const l = lo >>> 0;
        const fromHi = (threads[slot + FROM_HI] as number) >>> 0;
        const toHi = (threads[slot + TO_HI] as number) >>> 0;
        if (
          h < fromHi || (h === fromHi && l < (threads[slot + FROM_LO] as number) >>> 0) ||
          h > toHi || (h === toHi && l >= (threads[slot + TO_LO] as number) >>> 0)
        ) this.#enterMap(slot, h, l);
        binary = threads[slot + BINARY] as number;
        const shift = threads[slot + SHIFT_LO] as number;
        inLo = lo - shift | 0;
        inHi = hi - (threads[slot + SHIFT_HI] as number) - (l < shift >>> 0 ? 1 : 0) | 0;
      }
      const key = threads[slot + KEY] as number;
      const keyCpu = !keyed ? 0 : cpu < 0 ? -1 : words[at + cpu] as number;
      const place = placeOf(inLo, binary, key, 0);
      if (
        rows[place] !== inLo || rows[place + 1] !== binary || rows[place + 2] !== inHi ||
        rows[place + 3] !== key || rows[place + 4] !== cpumode || rows[place + 5] !== 0 ||
        rows[place + 6] !== keyCpu
      ) this.#remember(place, slot, 0, binary, cpumode, inHi, inLo, tid, keyCpu);
      histogram.count(rows[place + 7] as number, each);
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

  /**
   * Counts samples that were counted by thread and address, of a file with one event.
   *
   * @param unsettled Threads that may have changed between samples of one row.
   * @param settle Whether to count the samples of all threads but these, or to find these.
   */
  takeTally(tally: TallyColumns, unsettled: Set<number>, settle: boolean): void {
    const { rows, first, last, periods, baseHi } = tally;
    const history = this.#history;
    const epochAt = (time: number): number => {
      const hi = baseHi + Math.floor(time / 2 ** 32);
      const lo = time - Math.floor(time / 2 ** 32) * 2 ** 32;
      const epoch = history.epochAt(hi, lo, -1);
      // What changed at the very same time may come before or after.
      return history.epochAt(hi, lo) === epoch ? epoch : -1;
    };
    for (let row = 0; row < periods.length; row++) {
      const at = row * TALLY_WORDS;
      const tid = rows[at] as number;
      if (unsettled.has(tid)) continue;
      const cpumode = rows[at + 4] as number;
      const epoch = epochAt(first[row] as number);
      const slot = (tid & THREADS - 1) * THREAD_WORDS;
      if (!settle) {
        const end = epochAt(last[row] as number);
        if (epoch < 0 || end < 0) {
          unsettled.add(tid);
          continue;
        }
        this.#findThread(slot, rows[at + 5] as number, tid, epoch);
        this.#findKernel(epoch);
        if (
          end >= (this.#threads[slot + UNTIL] as number) ||
          (cpumode === KERNEL && end >= this.#kernelUntil)
        ) unsettled.add(tid);
        continue;
      }
      this.#epoch = epoch;
      this.#findThread(slot, rows[at + 5] as number, tid, epoch);
      this.#findKernel(epoch);
      this.#slot = slot;
      const binary = this.locate(cpumode, rows[at + 3] as number, rows[at + 2] as number);
      const { foundHi, foundLo } = this;
      this.histogram.add(
        0,
        this.#threads[slot + COMM] as number,
        binary,
        cpumode,
        foundHi,
        foundLo,
        0,
        0,
        0,
        periods[row] as number,
        rows[at + 6] as number,
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
    const when = (timeHi - this.#baseHi) * 2 ** 32 + timeLo;
    if (!this.#ordered || !(when > this.#after && when < this.#before)) {
      this.#setEpoch(when, timeHi, timeLo, batch.offsetOf(i));
    }
    const epoch = this.#epoch;
    const slot = (tid & THREADS - 1) * THREAD_WORDS;
    const threads = this.#threads;
    if (
      threads[slot + TID] !== tid || epoch < (threads[slot + FROM] as number) ||
      epoch >= (threads[slot + UNTIL] as number)
    ) this.#findThread(slot, pid, tid, epoch);
    if (epoch < this.#kernelFrom || epoch >= this.#kernelUntil) this.#findKernel(epoch);
    if (this.#chains !== undefined) {
      this.#countChain(batch, slot, event, cpumode, tid, cpu, hi, lo, period, chain);
      return;
    }
    const row = this.#row(slot, event, cpumode, hi | 0, lo | 0, tid, this.#keyCpu ? cpu : 0);
    this.histogram.count(row, period);
  }

  /** The row of the histogram for an address of the thread in a slot. */
  #row(
    slot: number,
    event: number,
    cpumode: number,
    hi: number,
    lo: number,
    tid: number,
    keyCpu: number,
  ): number {
    let binary = ABSOLUTE;
    if (cpumode === USER) {
      const low = lo >>> 0;
      const threads = this.#threads;
      if (!this.#isInMap(slot, hi >>> 0, low)) this.#enterMap(slot, hi >>> 0, low);
      binary = threads[slot + BINARY] as number;
      const shift = threads[slot + SHIFT_LO] as number;
      lo = lo - shift | 0;
      hi = hi - (threads[slot + SHIFT_HI] as number) - (low < shift >>> 0 ? 1 : 0) | 0;
    }
    const key = this.#threads[slot + KEY] as number;
    const rows = this.#rows;
    const place = placeOf(lo, binary, key, event);
    if (
      rows[place] !== lo || rows[place + 1] !== binary || rows[place + 2] !== hi ||
      rows[place + 3] !== key || rows[place + 4] !== cpumode || rows[place + 5] !== event ||
      rows[place + 6] !== keyCpu
    ) this.#remember(place, slot, event, binary, cpumode, hi, lo, tid, keyCpu);
    return rows[place + 7] as number;
  }

  /** Puts a row of the histogram where it is looked for. */
  #remember(
    place: number,
    slot: number,
    event: number,
    binary: number,
    cpumode: number,
    hi: number,
    lo: number,
    tid: number,
    keyCpu: number,
  ): void {
    let number = binary;
    let inHi = hi;
    let inLo = lo;
    if (binary === ABSOLUTE) {
      this.#slot = slot;
      number = this.locate(cpumode, hi, lo);
      inHi = this.foundHi;
      inLo = this.foundLo;
    }
    const threads = this.#threads;
    const rows = this.#rows;
    rows[place] = lo;
    rows[place + 1] = binary;
    rows[place + 2] = hi;
    rows[place + 3] = threads[slot + KEY] as number;
    rows[place + 4] = cpumode;
    rows[place + 5] = event;
    rows[place + 6] = keyCpu;
    rows[place + 7] = this.histogram.row(
      event,
      threads[slot + COMM] as number,
      number,
      cpumode,
      inHi,
      inLo,
      this.#keyPid ? threads[slot + PID] as number : 0,
      this.#keyTid ? tid : 0,
      keyCpu,
    );
  }

  #countChain(
    { view, words, aligned }: RecordBatch,
    slot: number,
    event: number,
    cpumode: number,
    tid: number,
    cpu: number,
    hi: number,
    lo: number,
    period: number,
    chain: number,
  ): void {
    if (this.#chains === undefined || this.calls === undefined) return;
    this.#slot = slot;
    const threads = this.#threads;
    const length = chain < 0 ? 0 : view.getUint32(chain + (this.#le ? 0 : 4), this.#le);
    const direct = aligned && this.#le && MACHINE_LITTLE_ENDIAN;
    this.#chains.add(
      this.calls.context(
        event,
        threads[slot + COMM] as number,
        this.#keyPid ? threads[slot + PID] as number : 0,
        this.#keyTid ? tid : 0,
        this.#keyCpu ? cpu : 0,
      ),
      threads[slot + LAYER] as number,
      this.#kernelRoot,
      direct ? words : this.#chains.decode(view, chain + 8, length, this.#le),
      direct ? (chain >> 2) + 2 : 0,
      length,
      cpumode,
      hi,
      lo,
      period,
    );
  }

  locate(cpumode: number, hi: number, lo: number): number {
    hi >>>= 0;
    lo >>>= 0;
    this.foundHi = hi;
    this.foundLo = lo;
    if (cpumode === USER) {
      const slot = this.#slot;
      const threads = this.#threads;
      if (!this.#isInMap(slot, hi, lo)) this.#enterMap(slot, hi, lo);
      const shift = threads[slot + SHIFT_LO] as number;
      this.foundHi = hi - (threads[slot + SHIFT_HI] as number) - (lo < shift >>> 0 ? 1 : 0);
      this.foundLo = lo - shift;
      return threads[slot + BINARY] as number;
    }
    if (cpumode !== KERNEL) return -1;
    const map = this.#history.kernelMap(this.#kernelRoot, hi, lo);
    if (map < 0) return -1;
    const binary = this.#binaryOf(map, true);
    if (this.#identity[binary]) return binary;
    const { startHi, startLo, pgoffHi, pgoffLo } = this.#data;
    const sum = lo - (startLo[map] as number) + (pgoffLo[map] as number);
    const carry = sum < 0 ? -1 : sum >= 2 ** 32 ? 1 : 0;
    this.foundHi = hi - (startHi[map] as number) + (pgoffHi[map] as number) + carry;
    this.foundLo = sum;
    return binary;
  }

  /** Whether an address is where the last one of the thread in a slot was. */
  #isInMap(slot: number, hi: number, lo: number): boolean {
    const threads = this.#threads;
    const fromHi = (threads[slot + FROM_HI] as number) >>> 0;
    const toHi = (threads[slot + TO_HI] as number) >>> 0;
    return (hi > fromHi || (hi === fromHi && lo >= (threads[slot + FROM_LO] as number) >>> 0)) &&
      (hi < toHi || (hi === toHi && lo < (threads[slot + TO_LO] as number) >>> 0));
  }

  /** Finds the map of an address of the thread in a slot, and what its addresses are relative to. */
  #enterMap(slot: number, hi: number, lo: number): void {
    const { layers } = this.#history;
    const data = this.#data;
    const threads = this.#threads;
    const map = layers.find(threads[slot + LAYER] as number, hi, lo, data);
    threads[slot + FROM_HI] = layers.fromHi;
    threads[slot + FROM_LO] = layers.fromLo;
    threads[slot + TO_HI] = layers.toHi;
    threads[slot + TO_LO] = layers.toLo;
    const binary = map < 0 ? -1 : this.#binaryOf(map, false);
    threads[slot + BINARY] = binary;
    if (binary < 0 || this.#identity[binary]) {
      threads[slot + SHIFT_HI] = threads[slot + SHIFT_LO] = 0;
      return;
    }
    const { startHi, startLo, pgoffHi, pgoffLo } = data;
    const low = (startLo[map] as number) - (pgoffLo[map] as number);
    threads[slot + SHIFT_LO] = low;
    threads[slot + SHIFT_HI] = (startHi[map] as number) - (pgoffHi[map] as number) -
      (low < 0 ? 1 : 0);
  }

  #binaryOf(map: number, kernel: boolean): number {
    const source = this.#data.mapSources[map] as number;
    return this.#binaryBySource[source] ?? this.#addBinary(map, source, kernel);
  }

  /** Whether a thread was forked at an epoch; hardly ever asked. */
  #isFork(tid: number, epoch: number): boolean {
    if (this.#forked === undefined) {
      const forked = new Set<string>();
      for (let i = 0; i < this.#forks.length; i += 2) {
        forked.add(`${this.#forks[i]} ${this.#forks[i + 1]}`);
      }
      this.#forked = forked;
    }
    return this.#forked.has(`${tid} ${epoch}`);
  }

  #setEpoch(when: number, timeHi: number, timeLo: number, offset: number): void {
    if (!this.#ordered || !Number.isSafeInteger(when)) {
      this.#epoch = this.#ordered
        ? this.#history.epochAt(timeHi, timeLo >>> 0, offset)
        : this.#history.epochAt(0, 0, offset);
      // Nothing lies between these bounds.
      this.#after = 1;
      this.#before = 0;
      return;
    }
    // Mostly it is one of the next.
    let epoch = this.#epoch;
    for (let i = 0; i < NEAR && this.#timeOf(epoch) < when; i++) epoch++;
    let after = this.#timeOf(epoch - 1);
    let before = this.#timeOf(epoch);
    if (!(after < when && when < before)) {
      epoch = this.#history.epochAt(timeHi, timeLo >>> 0, offset);
      after = this.#timeOf(epoch - 1);
      before = this.#timeOf(epoch);
    }
    this.#epoch = epoch;
    this.#after = after;
    this.#before = before;
  }

  /** When an epoch ends: a double is exact as far as those of samples are. */
  #timeOf(epoch: number): number {
    const { timeHi, timeLo } = this.#data;
    if (epoch < 0) return -Infinity;
    if (epoch >= timeHi.length) return Infinity;
    return ((timeHi[epoch] as number) - this.#baseHi) * 2 ** 32 + (timeLo[epoch] as number);
  }

  #findThread(slot: number, pid: number, tid: number, epoch: number): void {
    const data = this.#data;
    const history = this.#history;
    let from = 0;
    let until = LAST_EPOCH;
    let space = -1;
    let known = pid;
    let row = -1;
    const number = history.tid(tid);
    if (number >= 0) {
      row = history.tidRow(epoch, number);
      if (row + 1 < (data.rowStarts[number + 1] as number)) {
        until = data.rowEpochs[row + 1] as number;
      }
      if (row < (data.rowStarts[number] as number)) row = -1;
    }
    if (row >= 0) {
      from = data.rowEpochs[row] as number;
      space = data.threadSpaces[row] as number;
      known = data.pids[row] as number;
      if (known === -1) known = pid;
    } else if (pid !== tid && pid !== -1) {
      // A thread that no record announced shares what its process has mapped.
      const leader = history.tid(pid);
      const at = leader < 0 ? -1 : history.tidRow(epoch, leader);
      if (at >= 0 && at >= (data.rowStarts[leader] as number)) {
        space = data.threadSpaces[at] as number;
        from = data.rowEpochs[at] as number;
        if (at + 1 < (data.rowStarts[leader + 1] as number)) {
          until = Math.min(until, data.rowEpochs[at + 1] as number);
        }
      } else until = epoch + 1;
    }
    let root = 0;
    if (space >= 0) {
      const at = history.spaceRow(epoch, space);
      if (at + 1 < (data.spaceStarts[space + 1] as number)) {
        until = Math.min(until, data.spaceEpochs[at + 1] as number);
      }
      if (at >= (data.spaceStarts[space] as number)) {
        root = data.roots[at] as number;
        from = Math.max(from, data.spaceEpochs[at] as number);
      }
    }
    const comm = this.#commOf(row, number, tid);
    const threads = this.#threads;
    threads[slot + TID] = tid;
    threads[slot + FROM] = from;
    threads[slot + UNTIL] = until;
    threads[slot + PID] = known;
    threads[slot + COMM] = comm;
    threads[slot + KEY] = this.#keyPid || this.#keyTid ? this.#threadCount++ : comm;
    threads[slot + LAYER] = root;
    // No address is there.
    threads[slot + FROM_HI] = threads[slot + FROM_LO] = 0;
    threads[slot + TO_HI] = threads[slot + TO_LO] = 0;
  }

  #findKernel(epoch: number): void {
    const { spaceStarts, spaceEpochs, roots } = this.#data;
    const at = this.#history.spaceRow(epoch, KERNEL_SPACE);
    const known = at >= (spaceStarts[KERNEL_SPACE] as number);
    const root = known ? roots[at] as number : 0;
    if (root !== this.#kernelRoot) this.#rows.fill(-1);
    this.#kernelRoot = root;
    this.#kernelFrom = known ? spaceEpochs[at] as number : 0;
    this.#kernelUntil = at + 1 < (spaceStarts[KERNEL_SPACE + 1] as number)
      ? spaceEpochs[at + 1] as number
      : LAST_EPOCH;
  }

  /**
   * The comm of a thread. What it did before it got its first name counts under that name
   * (`thread__set_comm` of tools/perf/util/thread.c), unless it was forked anew before.
   *
   * @param row Its row, or -1.
   * @param number The number of its thread id, or -1.
   */
  #commOf(row: number, number: number, tid: number): number {
    const { comms, rowStarts, rowEpochs, threads } = this.#data;
    let name = row < 0 ? -1 : comms[row] as number;
    if (name < 0 && number >= 0) {
      let at = row < 0 ? rowStarts[number] as number : row + 1;
      const thread = threads[row < 0 ? at : row];
      for (; at < (rowStarts[number + 1] as number) && threads[at] === thread; at++) {
        if (this.#isFork(tid, rowEpochs[at] as number)) break;
        name = comms[at] as number;
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

/** Where a sample is remembered. */
function placeOf(lo: number, root: number, key: number, event: number): number {
  let hash = Math.imul(lo, 0x9e3779b1) ^ Math.imul(root, 0x85ebca6b) ^
    Math.imul(key, 0x27d4eb2f) ^ event;
  hash ^= hash >>> 16;
  return ((hash ^ hash >>> 11) & SAMPLES - 1) * SAMPLE_WORDS;
}

/** Whether the call chain whose length is at `at` fits into a record. */
function chainFits({ view }: RecordBatch, at: number, end: number, le: boolean): boolean {
  return at + 8 <= end && view.getUint32(at + (le ? 4 : 0), le) === 0 &&
    view.getUint32(at + (le ? 0 : 4), le) <= (end - at - 8) / 8;
}

/**
 * Counts the samples of ranges of a file.
 *
 * @param reader The file, opened by whoever counts.
 * @param index What `indexFile` found.
 * @param ranges File offset of the first record and after the last: two of the index's cuts.
 */
export async function countRanges(
  reader: PerfDataReader,
  index: FileIndex,
  ranges: Iterable<readonly [number, number]>,
  options: AggregateOptions = {},
): Promise<RangeCounts> {
  const counter = new RangeCounter(reader, index, options);
  for (const [from, to] of ranges) {
    let taken = 0;
    for await (const batch of reader.batches({ from, to })) {
      counter.take(batch);
      const { recordBytes, payloadBytes } = reader.stats;
      options.progress?.(recordBytes + payloadBytes - taken);
      taken = recordBytes + payloadBytes;
    }
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

/** What {@link countTallies} counted, and what it could not count. */
export interface SettledCounts {
  /** The samples of all other threads. */
  readonly counts: RangeCounts;
  /** Threads whose samples have to be looked at one by one. */
  readonly unsettled: ReadonlySet<number>;
}

/** Counts the samples of a whole file from what was counted by thread and address. */
export function countTallies(
  reader: PerfDataReader,
  index: FileIndex,
  tallies: readonly TallyColumns[],
): SettledCounts {
  const counter = new RangeCounter(reader, index, {});
  const unsettled = new Set<number>();
  for (const tally of tallies) counter.takeTally(tally, unsettled, false);
  for (const tally of tallies) counter.takeTally(tally, unsettled, true);
  const counts: RangeCounts = {
    columns: counter.histogram.columns(),
    calls: undefined,
    binaries: counter.binaries,
    comms: counter.comms,
    totals: [{
      samples: tallies.reduce((sum, { samples }) => sum + samples, 0),
      period: tallies.reduce((sum, { period }) => sum + period, 0),
    }],
    leftOut: tallies.reduce((sum, { leftOut }) => sum + leftOut, 0),
  };
  return { counts, unsettled };
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
    // The numbers of the first part stay what they are.
    if (calls === undefined) calls = part.calls && CallTree.of(part.calls);
    else if (part.calls !== undefined) calls.merge(part.calls, commOf, binaryOf);
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
