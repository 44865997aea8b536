import type { PerfDataReader, RecordBatch } from "@perfdata/format";
import {
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
  PERF_SAMPLE_READ,
} from "@perfdata/format/perf_event";
import { Machine } from "@perfdata/session/machine";
import type { MachineHistoryData } from "@perfdata/session/machine_history";
import { isTimeOrdered } from "@perfdata/session/order";
import { FINISHED_ROUND, RecordTime } from "@perfdata/session/record_time";
import { knownBinaries } from "./aggregate.ts";
import type { SampleTally, TallyColumns } from "./sample_tally.ts";

const FORK = 7;
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
  /** Records that change the machine, one after the other, each at a multiple of 8. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Where each starts in `bytes`. */
  readonly starts: Int32Array<ArrayBuffer>;
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
  const events = reader.events.all;
  const ordered = isTimeOrdered(reader);
  const le = reader.littleEndian;
  const log = new PartLog();
  const time = new RecordTime(events);
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
      log.add(batch, start, end, time);
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
 */
export async function makeIndex(
  reader: PerfDataReader,
  scans: readonly PartScan[],
): Promise<FileIndex> {
  const ordered = isTimeOrdered(reader);
  const machine = new Machine(reader.littleEndian, { history: true });
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
  const views = scans.map(({ bytes }) => new DataView(bytes.buffer));
  const order = timeOrder(hi, lo);
  const forks: number[] = [];
  for (let n = 0; n < total; n++) {
    const i = order[n] as number;
    let part = 0;
    while (part + 1 < firsts.length && i >= (firsts[part + 1] as number)) part++;
    const scan = scans[part] as PartScan;
    const view = views[part] as DataView;
    const at = i - (firsts[part] as number);
    const start = scan.starts[at] as number;
    const end = start + view.getUint16(start + 6, littleEndian);
    machine.at(hi[i] as number, lo[i] as number, scan.offsets[at] as number);
    machine.apply(scan.bytes, view, start, end);
    if (view.getUint32(start, littleEndian) === FORK && end - start >= 24) {
      forks.push(view.getInt32(start + 16, littleEndian), machine.epoch);
    }
  }
  return Int32Array.from(forks);
}

/** Collects what a {@link PartScan} is made of. */
class PartLog {
  #bytes = new Uint8Array(1 << 16);
  #words = new Int32Array(this.#bytes.buffer);
  #used = 0;
  #count = 0;
  #starts = new Int32Array(1 << 10);
  #hi = new Uint32Array(1 << 10);
  #lo = new Uint32Array(1 << 10);
  #offsets = new Float64Array(1 << 10);
  readonly #rounds: number[] = [];
  #youngestHi = 0;
  #youngestLo = 0;

  add(batch: RecordBatch, start: number, end: number, time: RecordTime): void {
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
      this.#hi = enlarge(this.#hi, i + 1);
      this.#lo = enlarge(this.#lo, i + 1);
      this.#offsets = enlarge(this.#offsets, i + 1);
    }
    this.#starts[i] = from;
    const { known } = time;
    this.#hi[i] = known ? time.hi : 0;
    this.#lo[i] = known ? time.lo : 0;
    this.#offsets[i] = batch.offset + start;
    this.#used = to;
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
      bytes: this.#bytes.slice(0, this.#used),
      starts: this.#starts.slice(0, this.#count),
      hi: this.#hi.slice(0, this.#count),
      lo: this.#lo.slice(0, this.#count),
      offsets: this.#offsets.slice(0, this.#count),
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
  let order = new Uint32Array(count);
  for (let i = 0; i < count; i++) order[i] = i;
  if (most - least >= 2 ** 21) {
    return order.sort((a, b) =>
      (hi[a] as number) - (hi[b] as number) || (lo[a] as number) - (lo[b] as number) || a - b
    );
  }
  const times = new Float64Array(count);
  let sorted = true;
  let span = 0;
  for (let i = 0; i < count; i++) {
    const time = ((hi[i] as number) - least) * 2 ** 32 + (lo[i] as number);
    times[i] = time;
    if (time < span) sorted = false;
    else span = time;
  }
  if (sorted) return order;
  // A radix sort from the lowest digit of 16 bits on; each step keeps the order of the step before.
  const first = times.reduce((a, b) => Math.min(a, b));
  let next = new Uint32Array(count);
  const places = new Uint32Array(2 ** 16 + 1);
  for (let unit = 1; unit <= span - first; unit *= 2 ** 16) {
    places.fill(0);
    for (let i = 0; i < count; i++) {
      const digit = Math.floor(((times[i] as number) - first) / unit) % 2 ** 16;
      places[digit + 1] = (places[digit + 1] as number) + 1;
    }
    for (let d = 1; d < places.length; d++) {
      places[d] = (places[d] as number) + (places[d - 1] as number);
    }
    for (let i = 0; i < count; i++) {
      const item = order[i] as number;
      const digit = Math.floor(((times[item] as number) - first) / unit) % 2 ** 16;
      const place = places[digit] as number;
      places[digit] = place + 1;
      next[place] = item;
    }
    [order, next] = [next, order];
  }
  return order;
}
