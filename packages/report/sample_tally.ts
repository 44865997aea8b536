import type { PerfDataReader, RecordBatch } from "@perfdata/format";
import { PERF_RECORD_SAMPLE } from "@perfdata/format/perf-event";
import { type EventShape, eventShape } from "./aggregate.ts";

const MMAP = 1;
const COMM = 3;
const EXIT = 4;
const FORK = 7;
const MMAP2 = 10;
const NAMESPACES = 16;
const KSYMBOL = 17;
const CPUMODE_MASK = 7;
const KERNEL = 1;
const GUEST_KERNEL = 4;
const GUEST_USER = 5;

const MACHINE_LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** Words of a row in {@link TallyColumns.rows}: tid, generation, lo, hi, cpumode, pid, samples. */
export const TALLY_WORDS = 8;

/** Processes whose changes are told apart, by low bits of the process id. */
const GENERATIONS = 1 << 12;

/** So many rows are fine in any case; more only where there are many more samples. */
const FEW = 1 << 14;

/** Samples by thread and address, before it is known what was mapped there. */
export interface TallyColumns {
  /** Tid, generation, low and high half of the address, cpumode, pid, samples, nothing. */
  readonly rows: Int32Array<ArrayBuffer>;
  /** What the high halves of times are relative to. */
  readonly baseHi: number;
  /** Time of the first sample of each row, with its high half relative to `baseHi`. */
  readonly first: Float64Array<ArrayBuffer>;
  /** Time of the last one. */
  readonly last: Float64Array<ArrayBuffer>;
  /** Sum of the periods of each row. */
  readonly periods: Float64Array<ArrayBuffer>;
  /** All samples. */
  readonly samples: number;
  /** Sum of their periods. */
  readonly period: number;
  /** Samples that are too short. */
  readonly leftOut: number;
}

/**
 * Counts samples while it is still being read what was mapped where: by thread and address, with the
 * times between which they were taken. If nothing that matters changed between these times, a row
 * can be looked up later on as if it were one sample, and the file need not be read once more.
 *
 * A change of a process in the file begins new rows for it, so that hardly any row is of two states.
 */
export class SampleTally {
  readonly #shape: EventShape;
  readonly #generations = new Int32Array(GENERATIONS);
  #count = 0;
  #rows = new Int32Array(1024 * TALLY_WORDS);
  #first = new Float64Array(1024);
  #last = new Float64Array(1024);
  #periods = new Float64Array(1024);
  #slots = new Int32Array(2048).fill(-1);
  #baseHi = -1;
  #samples = 0;
  #period = 0;
  #leftOut = 0;
  #useless = false;

  private constructor(shape: EventShape) {
    this.#shape = shape;
  }

  /** A tally for a file, or `undefined` where it has not one event with all that is needed. */
  static of(reader: PerfDataReader): SampleTally | undefined {
    const [event] = reader.events.all;
    if (event === undefined || reader.events.all.length > 1) return undefined;
    const shape = eventShape(event);
    return reader.littleEndian && MACHINE_LITTLE_ENDIAN && shape.ip >= 0 && shape.pid >= 0 &&
        shape.time >= 0
      ? new SampleTally(shape)
      : undefined;
  }

  /** Takes what is in a batch from record `start` up to record `end`. */
  take(batch: RecordBatch, start: number, end: number): void {
    if (!batch.aligned) this.#useless = true;
    if (this.#useless) return;
    const { words, starts } = batch;
    const { fixed, size: least } = this.#shape;
    const ip = this.#shape.ip >> 2;
    const pidAt = this.#shape.pid >> 2;
    const timeAt = this.#shape.time >> 2;
    const periodAt = this.#shape.period >> 2;
    const generations = this.#generations;
    for (let i = start; i < end; i++) {
      const at = (starts[i] as number) >> 2;
      if (words[at] !== PERF_RECORD_SAMPLE) continue;
      const head = words[at + 1] as number;
      if (head >>> 16 < least) {
        this.#leftOut++;
        continue;
      }
      const period = periodAt < 0 ? fixed : ((words[at + periodAt + 1] as number) >>> 0) * 2 ** 32 +
        ((words[at + periodAt] as number) >>> 0);
      this.#samples++;
      this.#period += period;
      const cpumode = head & CPUMODE_MASK;
      if (cpumode === GUEST_KERNEL || cpumode === GUEST_USER) continue;
      const timeHi = (words[at + timeAt + 1] as number) >>> 0;
      if (this.#baseHi < 0) this.#baseHi = timeHi;
      const time = (timeHi - this.#baseHi) * 2 ** 32 + ((words[at + timeAt] as number) >>> 0);
      const pid = words[at + pidAt] as number;
      const row = this.#row(
        words[at + pidAt + 1] as number,
        generations[pid & (GENERATIONS - 1)] as number,
        words[at + ip] as number,
        words[at + ip + 1] as number,
        cpumode,
        pid,
        time,
      );
      const count = row * TALLY_WORDS + 6;
      this.#rows[count] = (this.#rows[count] as number) + 1;
      this.#periods[row] = (this.#periods[row] as number) + period;
      if (time < (this.#first[row] as number)) this.#first[row] = time;
      else if (time > (this.#last[row] as number)) this.#last[row] = time;
    }
    if (this.#count > FEW && this.#count * 8 > this.#samples) this.#useless = true;
  }

  /** Takes note of a record that may change what a process is. */
  change({ view }: RecordBatch, start: number, end: number, type: number): void {
    if (end - start < 16) return;
    const pid = view.getInt32(start + 8, true);
    if (type === MMAP || type === MMAP2) {
      if ((view.getUint16(start + 4, true) & CPUMODE_MASK) === KERNEL) this.#changeAll();
      else this.#changeOf(pid);
    } else if (type === COMM || type === FORK || type === EXIT || type === NAMESPACES) {
      this.#changeOf(pid);
    } else if (type === KSYMBOL) this.#changeAll();
  }

  /** What was counted; `undefined` where rows are too many, or times too far apart. */
  columns(): TallyColumns | undefined {
    const count = this.#count;
    if (this.#useless) return undefined;
    const first = this.#first.slice(0, count);
    const last = this.#last.slice(0, count);
    if (!first.every(Number.isSafeInteger) || !last.every(Number.isSafeInteger)) return undefined;
    return {
      rows: this.#rows.slice(0, count * TALLY_WORDS),
      baseHi: this.#baseHi,
      first,
      last,
      periods: this.#periods.slice(0, count),
      samples: this.#samples,
      period: this.#period,
      leftOut: this.#leftOut,
    };
  }

  #changeOf(pid: number): void {
    const at = pid & (GENERATIONS - 1);
    this.#generations[at] = (this.#generations[at] as number) + 1;
  }

  #changeAll(): void {
    for (let at = 0; at < GENERATIONS; at++) this.#changeOf(at);
  }

  #row(
    tid: number,
    generation: number,
    lo: number,
    hi: number,
    cpumode: number,
    pid: number,
    time: number,
  ): number {
    const rows = this.#rows;
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = hash(tid, generation, lo) & mask;
    for (;;) {
      const row = slots[slot] as number;
      if (row < 0) break;
      const at = row * TALLY_WORDS;
      if (
        rows[at + 2] === lo && rows[at] === tid && rows[at + 1] === generation &&
        rows[at + 3] === hi && rows[at + 4] === cpumode && rows[at + 5] === pid
      ) return row;
      slot = slot + 1 & mask;
    }
    const row = this.#count++;
    if (row === this.#periods.length) {
      this.#rows = doubled(rows);
      this.#first = doubled(this.#first);
      this.#last = doubled(this.#last);
      this.#periods = doubled(this.#periods);
    }
    this.#rows.set([tid, generation, lo, hi, cpumode, pid, 0], row * TALLY_WORDS);
    this.#first[row] = time;
    this.#last[row] = time;
    slots[slot] = row;
    if (this.#count * 2 > mask) this.#rehash();
    return row;
  }

  #rehash(): void {
    const slots = new Int32Array(this.#slots.length * 2).fill(-1);
    const mask = slots.length - 1;
    const rows = this.#rows;
    for (let row = 0; row < this.#count; row++) {
      const at = row * TALLY_WORDS;
      let slot = hash(rows[at] as number, rows[at + 1] as number, rows[at + 2] as number) & mask;
      while ((slots[slot] as number) >= 0) slot = slot + 1 & mask;
      slots[slot] = row;
    }
    this.#slots = slots;
  }
}

function hash(tid: number, generation: number, lo: number): number {
  let hash = Math.imul(lo, 0x9e3779b1) ^ Math.imul(tid, 0x85ebca6b) ^
    Math.imul(generation, 0xc2b2ae35);
  hash ^= hash >>> 16;
  return hash ^ hash >>> 11;
}

function doubled<T extends Int32Array<ArrayBuffer> | Float64Array<ArrayBuffer>>(array: T): T {
  const larger = new (array.constructor as { new (length: number): T })(array.length * 2);
  larger.set(array);
  return larger;
}
