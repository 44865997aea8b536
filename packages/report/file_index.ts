import type { PerfDataReader, RecordBatch } from "@perfdata/format";
import {
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
  PERF_SAMPLE_READ,
} from "@perfdata/format/perf-event";
import { Machine } from "@perfdata/session/machine";
import type { MachineHistoryData } from "@perfdata/session/machine-history";
import { isTimeOrdered } from "@perfdata/session/order";
import { PERF_RECORD_FINISHED_ROUND as FINISHED_ROUND } from "@perfdata/format/record-types";
import { RecordTime } from "@perfdata/session/record-time";
import { knownBinaries } from "./aggregate.ts";
import type { SampleTally, TallyColumns } from "./sample_tally.ts";

const MMAP = 1;
const FORK = 7;
const MMAP2 = 10;
const COMPRESSED = 81;
const COMPRESSED2 = 83;
/** Types of records that may stand where a file is cut: those of the kernel, and perf's own. */
const LAST_KERNEL_TYPE = 22;
const LAST_USER_TYPE = 90;

const MACHINE_LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** How far apart the places are, in bytes, at which a file may be cut into ranges. */
const STEP = 1 << 20;

/** What the first pass over a file found: all that is needed to look at its ranges one by one. */
export interface FileIndex {
  /** The machine at any time. */
  readonly history: MachineHistoryData;
  /** Thread ids and epochs of forks, two words each. */
  readonly forks: Int32Array;
  /** File offsets of records, at most one in each MB; the last is the data's end. */
  readonly cuts: readonly number[];
  /** Whether records are ordered by time; else they count as they stand in the file. */
  readonly ordered: boolean;
  /** Records that came later than their time allows. */
  readonly violations: number;
}

/** What changes the machine in a part of a file, as it can be handed to another thread. */
export interface PartScan {
  /**
   * Records that change the machine, one after the other, each at a multiple of 8; of those that map
   * what another one maps, the first 40 bytes.
   */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Where each starts in `bytes`. */
  readonly starts: Int32Array<ArrayBuffer>;
  /** By record: that which has the rest of it, which may be itself. */
  readonly rests: Int32Array<ArrayBuffer>;
  /** High half of its time; both halves are 0 where it has none. */
  readonly hi: Uint32Array<ArrayBuffer>;
  /** Low half of its time. */
  readonly lo: Uint32Array<ArrayBuffer>;
  /** File offset of each. */
  readonly offsets: Float64Array<ArrayBuffer>;
  /**
   * Three numbers a FINISHED_ROUND: how many records stand before it, and the two halves of the
   * latest time before it. What comes after the last of them follows as one more.
   */
  readonly rounds: Float64Array<ArrayBuffer>;
  /** File offsets of records, at most one in each MB. */
  readonly cuts: readonly number[];
  /** The samples of the part, where they could be counted right away. */
  readonly tally: TallyColumns | undefined;
  /** Whether it ends where it should; else it goes to the end of the file. */
  readonly stopped: boolean;
}

/** Whether the ranges of a file can be looked at one by one; not all of it is known before a scan. */
export function isIndexable(reader: PerfDataReader): boolean {
  return !reader.isPipe && reader.fileSize !== undefined &&
    !reader.events.all.some(({ layout }) => layout.sampleType & PERF_SAMPLE_READ);
}

/**
 * Reads what changes the machine, and notes where the file can be cut.
 *
 * @returns `undefined` where ranges cannot be looked at one by one: in a pipe, in compressed data,
 * and where READ values count from sample to sample.
 * @throws {PerfDataError} In strict mode, where the file is damaged.
 */
export async function indexFile(reader: PerfDataReader): Promise<FileIndex | undefined> {
  if (!isIndexable(reader)) return undefined;
  const scan = await scanPart(reader, reader.data.offset);
  return scan === undefined ? undefined : await makeIndex(reader, [scan]);
}

/**
 * Finds where a record starts, without having read what is before it: where many records seem to
 * follow each other. It is a guess, which {@link scanPart} checks.
 *
 * @param near File offset from which to look.
 * @returns Its file offset, or `undefined`.
 */
export async function guessRecord(
  reader: PerfDataReader,
  near: number,
): Promise<number | undefined> {
  const MANY = 64;
  const { offset, size } = reader.data;
  // Records are 8-aligned from the start of the data on.
  const from = offset + (near - offset & ~7);
  const length = Math.min(1 << 18, offset + size - from);
  if (length < 8) return undefined;
  const bytes = await reader.readSection(from, length, "records");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const le = reader.littleEndian;
  for (let start = 0; start < length >> 1; start += 8) {
    let at = start;
    let records = 0;
    for (; records < MANY && at + 8 <= length; records++) {
      const type = view.getUint32(at, le);
      const size = view.getUint16(at + 6, le);
      if (
        size < 8 || size % 8 !== 0 || type === 0 || type > LAST_USER_TYPE ||
        (type > LAST_KERNEL_TYPE && type < PERF_RECORD_USER_TYPE_START)
      ) break;
      at += size;
    }
    if (records === MANY) return from + start;
  }
  return undefined;
}

/** What else to do in a scan. */
export interface ScanOptions {
  /** Counts samples meanwhile. */
  readonly tally?: SampleTally | undefined;
  /** Called with the bytes that were read since the call before. */
  readonly progress?: ((bytes: number) => void) | undefined;
}

/**
 * Reads what changes the machine in a part of a file.
 *
 * @param from File offset of a record.
 * @param until File offset to stop at, if a record starts there; else all is read to the end.
 * @returns `undefined` where the data is compressed.
 * @throws {PerfDataError} In strict mode, where the file is damaged.
 */
export async function scanPart(
  reader: PerfDataReader,
  from: number,
  until: number = Infinity,
  { tally, progress }: ScanOptions = {},
): Promise<PartScan | undefined> {
  const ordered = isTimeOrdered(reader);
  const le = reader.littleEndian;
  const { offset, size } = reader.data;
  const log = new PartLog(Math.min(until, offset + size) - from);
  const time = new RecordTime(reader.events);
  const cuts: number[] = [];
  let nextCut = 0;
  let stopped = false;
  let read = 0;
  for await (const batch of reader.batches({ from })) {
    const { view, words, starts } = batch;
    let { count } = batch;
    if (count > 0 && batch.offsetOf(count - 1) >= until) {
      const at = indexOf(starts, count, until - batch.offset);
      stopped = at >= 0;
      if (stopped) count = at;
      else until = Infinity;
    }
    if (count > 0 && batch.offsetOf(0) >= nextCut) {
      cuts.push(batch.offsetOf(0));
      nextCut = batch.offsetOf(0) + STEP;
    }
    let lastSample = -1;
    let tallied = 0;
    const fast = batch.aligned && le && MACHINE_LITTLE_ENDIAN;
    for (let i = 0; i < count; i++) {
      const start = starts[i] as number;
      const type = fast ? words[start >> 2] as number : view.getInt32(start, le);
      if (type === PERF_RECORD_SAMPLE) {
        lastSample = i;
        continue;
      }
      if (type >= PERF_RECORD_USER_TYPE_START) {
        if (type === COMPRESSED || type === COMPRESSED2) return undefined;
        if (type === FINISHED_ROUND && ordered) {
          if (lastSample >= 0) log.see(time.read(batch, lastSample));
          log.round();
        }
        continue;
      }
      const end = start + view.getUint16(start + 6, le);
      if (tally !== undefined) {
        tally.take(batch, tallied, i);
        tally.change(batch, start, end, type);
        tallied = i + 1;
      }
      if (ordered) log.see(time.read(batch, i));
      log.add(batch, start, end, type, time);
    }
    tally?.take(batch, tallied, count);
    if (progress !== undefined) {
      const { recordBytes, payloadBytes } = reader.stats;
      progress(recordBytes + payloadBytes - read);
      read = recordBytes + payloadBytes;
    }
    if (lastSample >= 0 && ordered) log.see(time.read(batch, lastSample));
    if (stopped) break;
  }
  log.round();
  return { ...log.columns(), cuts, tally: tally?.columns(), stopped };
}

/** The record that starts at an offset, or -1. */
function indexOf(starts: Int32Array, count: number, offset: number): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((starts[middle] as number) < offset) low = middle + 1;
    else high = middle;
  }
  return low < count && starts[low] === offset ? low : -1;
}

/**
 * Puts together what the scans of all parts of a file found.
 *
 * @param scans In the order of the parts.
 * @param shared Whether it will be handed to other threads.
 */
export async function makeIndex(
  reader: PerfDataReader,
  scans: readonly PartScan[],
  shared: boolean = false,
): Promise<FileIndex> {
  const ordered = isTimeOrdered(reader);
  const records = scans.reduce((sum, { starts }) => sum + starts.length, 0);
  const machine = new Machine(reader.littleEndian, { history: true, records, shared });
  machine.arch = reader.arch;
  machine.setKnownBinaries(await knownBinaries(reader));
  const violations = ordered ? deliver(scans) : 0;
  const forks = apply(machine, scans, reader.littleEndian);
  const cuts = [...scans.flatMap(({ cuts }) => cuts), reader.data.offset + reader.data.size];
  return { history: machine.history().data, forks, cuts, ordered, violations };
}

/**
 * Gives each record the time at which perf delivers it: what has no time comes at once, that is
 * behind all that was flushed before, and so does what is late.
 *
 * @returns how many are late
 */
function deliver(scans: readonly PartScan[]): number {
  let [flushedHi, flushedLo, limitHi, limitLo, youngestHi, youngestLo] = [0, 0, 0, 0, 0, 0];
  let violations = 0;
  for (const { hi, lo, rounds } of scans) {
    let i = 0;
    for (let r = 0; r < rounds.length; r += 3) {
      for (; i < (rounds[r] as number); i++) {
        const h = hi[i] as number;
        const l = lo[i] as number;
        const timed = (h | l) !== 0;
        const late = flushedHi > h || (flushedHi === h && flushedLo > l);
        if (timed && late) violations++;
        if (timed && !late) continue;
        hi[i] = flushedHi;
        lo[i] = flushedLo;
      }
      const seenHi = rounds[r + 1] as number;
      const seenLo = rounds[r + 2] as number;
      if (seenHi > youngestHi || (seenHi === youngestHi && seenLo > youngestLo)) {
        youngestHi = seenHi;
        youngestLo = seenLo;
      }
      // The last is no round but the end of the part.
      if (r + 3 === rounds.length) break;
      flushedHi = limitHi;
      flushedLo = limitLo;
      limitHi = youngestHi;
      limitLo = youngestLo;
    }
  }
  return violations;
}

/** Applies the records by time; what has the same time, as it stands in the file. */
function apply(machine: Machine, scans: readonly PartScan[], littleEndian: boolean): Int32Array {
  const total = scans.reduce((sum, { starts }) => sum + starts.length, 0);
  const hi = new Uint32Array(total);
  const lo = new Uint32Array(total);
  const firsts: number[] = [];
  let next = 0;
  for (const scan of scans) {
    firsts.push(next);
    hi.set(scan.hi, next);
    lo.set(scan.lo, next);
    next += scan.starts.length;
  }
  const parts = scans.map((scan) => ({
    ...scan,
    view: new DataView(scan.bytes.buffer, scan.bytes.byteOffset, scan.bytes.byteLength),
    /** By record that others have their rest from: what it maps, once that is known. */
    sources: new Int32Array(scan.starts.length).fill(-1),
  }));
  const order = timeOrder(hi, lo);
  const forks: number[] = [];
  for (let n = 0; n < total; n++) {
    const i = order[n] as number;
    let number = 0;
    while (number + 1 < firsts.length && i >= (firsts[number + 1] as number)) number++;
    const part = parts[number] as typeof parts[number];
    const { bytes, view, starts, sources } = part;
    const at = i - (firsts[number] as number);
    const start = starts[at] as number;
    machine.at(hi[i] as number, lo[i] as number, part.offsets[at] as number);
    const type = view.getInt32(start, littleEndian);
    if (type === MMAP || type === MMAP2) {
      const rest = part.rests[at] as number;
      let source = sources[rest] as number;
      if (source < 0) {
        const whole = starts[rest] as number;
        const end = whole + view.getUint16(whole + 6, littleEndian);
        // What is too short to map anything.
        if (end - whole < (type === MMAP ? 40 : 72)) continue;
        source = machine.mmapSource(bytes, view, whole, end);
        sources[rest] = source;
      }
      machine.applyMmap(view, start, source);
      continue;
    }
    const end = start + view.getUint16(start + 6, littleEndian);
    machine.apply(bytes, view, start, end);
    if (type === FORK && end - start >= 24) {
      forks.push(view.getInt32(start + 16, littleEndian), machine.epoch);
    }
  }
  return Int32Array.from(forks);
}

/** Bytes of an MMAP or MMAP2 record that say where something is mapped: the rest says what. */
const WHERE = 40;

/** Collects what a {@link PartScan} is made of. */
class PartLog {
  #bytes: Uint8Array<ArrayBuffer>;
  #words: Int32Array<ArrayBuffer>;
  #used = 0;
  #count = 0;
  #starts = new Int32Array(1 << 10);
  #rests = new Int32Array(1 << 10);
  #hi = new Uint32Array(1 << 10);
  #lo = new Uint32Array(1 << 10);
  #offsets = new Float64Array(1 << 10);
  readonly #rounds: number[] = [];
  #youngestHi = 0;
  #youngestLo = 0;
  /** By hash of what is mapped: a record that has it, or -1. */
  #slots = new Int32Array(1 << 10).fill(-1);
  #whole = 0;

  /** @param size Bytes that are read. */
  constructor(size: number) {
    // Memory that is not used is not there: what is put in need not be moved when more comes.
    this.#bytes = new Uint8Array(Math.max(1 << 16, Math.min(size >> 3, 1 << 28) & ~7));
    this.#words = new Int32Array(this.#bytes.buffer);
  }

  add(batch: RecordBatch, start: number, end: number, type: number, time: RecordTime): void {
    const from = this.#used;
    const to = from + (end - start + 7 & ~7);
    if (to > this.#bytes.length) {
      this.#bytes = enlarge(this.#bytes, to);
      this.#words = new Int32Array(this.#bytes.buffer);
    }
    if (batch.aligned) {
      const { words } = batch;
      const into = this.#words;
      for (let at = start >> 2, n = from >> 2; at < end + 3 >> 2; at++, n++) {
        into[n] = words[at] as number;
      }
    } else this.#bytes.set(batch.bytes.subarray(start, end), from);
    const i = this.#count++;
    if (i === this.#starts.length) {
      this.#starts = enlarge(this.#starts, i + 1);
      this.#rests = enlarge(this.#rests, i + 1);
      this.#hi = enlarge(this.#hi, i + 1);
      this.#lo = enlarge(this.#lo, i + 1);
      this.#offsets = enlarge(this.#offsets, i + 1);
    }
    this.#starts[i] = from;
    const { known } = time;
    this.#hi[i] = known ? time.hi >>> 0 : 0;
    this.#lo[i] = known ? time.lo >>> 0 : 0;
    this.#offsets[i] = batch.offset + start;
    const rest = type === MMAP || type === MMAP2 ? this.#restOf(i, type, from + end - start) : i;
    this.#rests[i] = rest;
    this.#used = rest === i ? to : from + WHERE;
  }

  /** The record that maps the same as record `i`, the last one, which ends at `end`. */
  #restOf(i: number, type: number, end: number): number {
    const words = this.#words;
    const first = (this.#starts[i] as number) >> 2;
    const to = end >> 2;
    // Behind what is no text, to the word in which the file name ends.
    let stop = first + (type === MMAP2 ? 18 : 10);
    while (stop < to && !hasNul(words[stop] as number)) stop++;
    if (stop >= to) return i;
    const misc = (words[first + 1] as number) & 0xffff;
    let hash = misc ^ type << 16;
    for (let at = first + (WHERE >> 2); at <= stop; at++) {
      hash = Math.imul(hash ^ (words[at] as number), 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = hash & mask;
    for (;;) {
      const other = slots[slot] as number;
      if (other < 0) break;
      // All that have a slot are whole.
      const at = (this.#starts[other] as number) >> 2;
      if (words[at] === words[first] && ((words[at + 1] as number) & 0xffff) === misc) {
        let same = WHERE >> 2;
        while (first + same <= stop && words[at + same] === words[first + same]) same++;
        if (first + same > stop) return other;
      }
      slot = slot + 1 & mask;
    }
    // A full table is begun anew: then some are kept twice.
    if (++this.#whole * 2 > slots.length) {
      this.#slots = new Int32Array(Math.min(slots.length * 2, 1 << 20)).fill(-1);
      this.#whole = 1;
      slot = hash & this.#slots.length - 1;
    }
    this.#slots[slot] = i;
    return i;
  }

  see({ known, hi, lo }: RecordTime): void {
    if (!known || hi < this.#youngestHi) return;
    if (hi === this.#youngestHi && lo <= this.#youngestLo) return;
    this.#youngestHi = hi;
    this.#youngestLo = lo;
  }

  round(): void {
    this.#rounds.push(this.#count, this.#youngestHi, this.#youngestLo);
  }

  columns(): Omit<PartScan, "cuts" | "tally" | "stopped"> {
    return {
      bytes: this.#bytes.subarray(0, this.#used),
      starts: this.#starts.subarray(0, this.#count),
      rests: this.#rests.subarray(0, this.#count),
      hi: this.#hi.subarray(0, this.#count),
      lo: this.#lo.subarray(0, this.#count),
      offsets: this.#offsets.subarray(0, this.#count),
      rounds: Float64Array.from(this.#rounds),
    };
  }
}

function enlarge<T extends Uint8Array | Int32Array | Uint32Array | Float64Array>(
  array: T,
  least: number,
): T {
  const larger = new (array.constructor as { new (length: number): T })(
    Math.max(array.length * 2, least + 7 & ~7),
  );
  larger.set(array);
  return larger;
}

/** The order of times given as two halves, those that are the same as they stand. */
function timeOrder(hi: Uint32Array, lo: Uint32Array): Uint32Array {
  const count = hi.length;
  let least = Infinity;
  let most = 0;
  for (let i = 0; i < count; i++) {
    least = Math.min(least, hi[i] as number);
    most = Math.max(most, hi[i] as number);
  }
  const order = new Uint32Array(count);
  for (let i = 0; i < count; i++) order[i] = i;
  if (most - least >= 2 ** 21) {
    return order.sort((a, b) =>
      (hi[a] as number) - (hi[b] as number) || (lo[a] as number) - (lo[b] as number) || a - b
    );
  }
  // Each processor's records come in runs that are in order: neighbours are merged, then those.
  const times = new Float64Array(count);
  let runs: number[] = [];
  for (let i = 0; i < count; i++) {
    const time = ((hi[i] as number) - least) * 2 ** 32 + (lo[i] as number);
    times[i] = time;
    if (i === 0 || time < (times[i - 1] as number)) runs.push(i);
  }
  while (runs.length > 1) {
    const merged: number[] = [];
    for (let r = 0; r < runs.length; r += 2) {
      const from = runs[r] as number;
      merged.push(from);
      const middle = runs[r + 1];
      if (middle !== undefined) mergeRuns(times, order, from, middle, runs[r + 2] ?? count);
    }
    runs = merged;
  }
  return order;
}

/** Merges two runs of times that follow each other, and numbers that belong to them. */
function mergeRuns(
  times: Float64Array,
  order: Uint32Array,
  from: number,
  middle: number,
  to: number,
): void {
  // Only where they overlap is there anything to do.
  const start = firstAfter(times, from, middle, times[middle] as number);
  if (start === middle) return;
  const heldTimes = times.slice(start, middle);
  const heldOrder = order.slice(start, middle);
  let a = 0;
  let b = middle;
  for (let at = start; a < heldTimes.length; at++) {
    const time = heldTimes[a] as number;
    if (b < to && (times[b] as number) < time) {
      times[at] = times[b] as number;
      order[at] = order[b] as number;
      b++;
    } else {
      times[at] = time;
      order[at] = heldOrder[a] as number;
      a++;
    }
  }
}

/** The first of some rising times that is later than `time`. */
function firstAfter(times: Float64Array, from: number, to: number, time: number): number {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((times[middle] as number) <= time) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Whether one of the bytes of a word is 0. */
function hasNul(word: number): boolean {
  return (word - 0x0101_0101 & ~word & 0x8080_8080) !== 0;
}
