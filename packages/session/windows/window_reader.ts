import { type PerfDataReader, type RecordBatch, recordSize } from "@perfdata/format/records";
import { enlarge } from "@perfdata/format/bytes";
import { PERF_RECORD_FINISHED_ROUND } from "@perfdata/format/constants";
import { BlockReader } from "../reading/blocks.ts";
import { stepOf } from "../index/moments.ts";
import type { Rounds } from "../index/rounds.ts";
import { isKnownTime, RecordTime, TimeColumns } from "../order/record_time.ts";
import { type RecordBytes, Run, RUN_ROWS } from "../order/run.ts";
import type { Window } from "./plan.ts";

/** Number of records whose times are read at once. */
const CHUNK = 1 << 12;

const BIAS = 1 << 31;

/**
 * Reads windows of time, and delivers their records in groups (`Run`), in order of time.
 *
 * The records of the window's blocks are read in the order of the file. Records with moments in the
 * window are sorted: runs of rising moments, one per CPU and round, are merged two by two.
 */
export class WindowReader {
  readonly #reader: PerfDataReader;
  readonly #rounds: Rounds;
  readonly #isTimed: boolean;
  readonly #blocksInOrder: BlockReader;
  readonly #time: RecordTime;
  readonly #times = new TimeColumns(CHUNK);
  readonly #run = new Run();
  readonly #deliverRun: (run: Run) => void;
  #delivered = 0;
  /** Buffers for records, which the next window overwrites. */
  readonly #blocks: RecordBytes[] = [];
  #used = 0;
  // Bounds of the window. Halves of times are biased, so that they compare as signed numbers.
  #fromStep = 0;
  #fromHi = BIAS;
  #fromLo = BIAS;
  #toStep = 0;
  #toHi = BIAS;
  #toLo = BIAS;
  // Columns of the window's records.
  #count = 0;
  #step = new Int32Array(CHUNK);
  #hi = new Int32Array(CHUNK);
  #lo = new Int32Array(CHUNK);
  #block = new Int32Array(CHUNK);
  #start = new Int32Array(CHUNK);
  #offset = new Float64Array(CHUNK);
  #event = new Int32Array(CHUNK);
  #position = new Float64Array(CHUNK);
  #round = new Int32Array(CHUNK);
  /** First row of each sorted run: a stretch of rising moments. */
  #runs: number[] = [];
  // Indices of the rows in sorted order, and space for sorting.
  #order = new Int32Array(CHUNK);
  #spare = new Int32Array(CHUNK);

  /**
   * Prepares for the windows of a file.
   *
   * @param isTimed Whether records are sorted by time; otherwise the order of the file counts.
   * @param take Receives the records, with the columns up to the time, position and round.
   */
  constructor(
    reader: PerfDataReader,
    rounds: Rounds,
    isTimed: boolean,
    take: (run: Run) => void,
  ) {
    this.#deliverRun = (run) => {
      this.#delivered += run.count;
      take(run);
    };
    this.#reader = reader;
    this.#rounds = rounds;
    this.#isTimed = isTimed;
    this.#blocksInOrder = new BlockReader(reader);
    this.#time = new RecordTime(reader.events);
    this.#run.blocks = this.#blocks;
  }

  /** Reads a window; returns the number of its records. */
  async read(window: Window): Promise<number> {
    this.#delivered = 0;
    if (!this.#isTimed) {
      for (const range of window.ranges) await this.#blocksInOrder.read(range, this.#deliverRun);
      return this.#delivered;
    }
    const [[fromStep, fromHi, fromLo], [toStep, toHi, toLo]] = [window.from, window.to];
    this.#fromStep = fromStep;
    this.#fromHi = fromHi ^ BIAS;
    this.#fromLo = fromLo ^ BIAS;
    this.#toStep = toStep;
    this.#toHi = toHi ^ BIAS;
    this.#toLo = toLo ^ BIAS;
    this.#count = this.#used = 0;
    this.#runs = [];
    for (const { from, to, first, round } of window.ranges) {
      let position = first;
      let rounds = round;
      for await (const batch of this.#reader.batches({ from, to, quiet: true })) {
        rounds = this.#take(batch, position, rounds);
        position += batch.count;
      }
    }
    this.#sort();
    this.#deliver();
    return this.#delivered;
  }

  /**
   * Adds the records of a batch that are in the window; returns the number of FINISHED_ROUND
   * records up to its end.
   */
  #take(batch: RecordBatch, position: number, round: number): number {
    const { count } = batch;
    const before = this.#count;
    this.#reserve(before + count);
    for (let from = 0; from < count; from += CHUNK) {
      const to = from + CHUNK < count ? from + CHUNK : count;
      this.#time.readAll(batch, from, to, this.#times);
      round = this.#takeSome(batch, from, to, position, round);
    }
    const n = this.#count;
    if (n > before) {
      const first = this.#start[before] as number;
      const last = this.#start[n - 1] as number;
      this.#place(before, this.#keep(batch, first, last));
    }
    return round;
  }

  /** Adds records whose times have been read. */
  #takeSome(batch: RecordBatch, from: number, to: number, position: number, round: number): number {
    const { starts, view, littleEndian: le, inflatedFrom, offset: base } = batch;
    const { hi: timeHi, lo: timeLo, event: events } = this.#times;
    const [steps, his, los] = [this.#step, this.#hi, this.#lo];
    const rounds = this.#rounds;
    let n = this.#count;
    for (let i = from, k = 0; i < to; i++, k++) {
      const start = starts[i] as number;
      let hi = timeHi[k] as number;
      let lo = timeLo[k] as number;
      if (!isKnownTime(hi, lo)) hi = lo = 0;
      const step = stepOf(rounds, round, hi, lo);
      const own = round;
      if (view.getInt32(start, le) === PERF_RECORD_FINISHED_ROUND) round++;
      hi ^= BIAS;
      lo ^= BIAS;
      if (!this.#isInside(step, hi, lo)) continue;
      if (n === 0 || isBefore(step, hi, lo, steps[n - 1], his[n - 1], los[n - 1])) {
        this.#runs.push(n);
      }
      steps[n] = step;
      his[n] = hi;
      los[n] = lo;
      this.#start[n] = start;
      this.#offset[n] = inflatedFrom >= 0 ? inflatedFrom : base + start;
      this.#event[n] = events[k] as number;
      this.#position[n] = position + i;
      this.#round[n++] = own;
    }
    this.#count = n;
    return round;
  }

  #isInside(step: number, hi: number, lo: number): boolean {
    if (step < this.#fromStep || step > this.#toStep) return false;
    if (step === this.#fromStep && isBefore(0, hi, lo, 0, this.#fromHi, this.#fromLo)) return false;
    return step !== this.#toStep || isBefore(0, hi, lo, 0, this.#toHi, this.#toLo);
  }

  /** Sets the block and offset of the rows from `before` on. */
  #place(before: number, moved: number): void {
    const [starts, blocks] = [this.#start, this.#block];
    const block = this.#used - 1;
    for (let i = before; i < this.#count; i++) {
      (starts[i] as number) += moved;
      blocks[i] = block;
    }
  }

  /** Copies the bytes of a batch from one record to another; returns the change of their offset. */
  #keep(batch: RecordBatch, first: number, last: number): number {
    const { view, bytes, littleEndian: le } = batch;
    const from = first & ~7;
    const to = last + recordSize(view, last, le);
    let block = this.#blocks[this.#used];
    if (block === undefined || block.bytes.length < to - from) {
      const memory = new ArrayBuffer(Math.max(to - from, 1 << 18) + 7 & ~7);
      block = this.#blocks[this.#used] = {
        bytes: new Uint8Array(memory),
        view: new DataView(memory),
        words: new Int32Array(memory),
      };
    }
    block.bytes.set(bytes.subarray(from, to));
    this.#used++;
    return -from;
  }

  #reserve(count: number): void {
    if (count <= this.#step.length) return;
    this.#step = enlarge(this.#step, count);
    this.#hi = enlarge(this.#hi, count);
    this.#lo = enlarge(this.#lo, count);
    this.#block = enlarge(this.#block, count);
    this.#start = enlarge(this.#start, count);
    this.#offset = enlarge(this.#offset, count);
    this.#event = enlarge(this.#event, count);
    this.#position = enlarge(this.#position, count);
    this.#round = enlarge(this.#round, count);
    this.#order = new Int32Array(this.#step.length);
    this.#spare = new Int32Array(this.#step.length);
  }

  /** Sorts the numbers of the rows; rows with equal moments keep their order. */
  #sort(): void {
    const count = this.#count;
    for (let i = 0; i < count; i++) this.#order[i] = i;
    let runs = this.#runs;
    while (runs.length > 1) {
      const merged: number[] = [];
      const [from, into] = [this.#order, this.#spare];
      for (let run = 0; run < runs.length; run += 2) {
        const start = runs[run] as number;
        const middle = runs[run + 1] ?? count;
        this.#merge(from, into, start, middle, runs[run + 2] ?? count);
        merged.push(start);
      }
      this.#order = into;
      this.#spare = from;
      runs = merged;
    }
  }

  /** Merges two adjacent sorted runs. */
  #merge(from: Int32Array, into: Int32Array, start: number, middle: number, end: number): void {
    const [steps, his, los] = [this.#step, this.#hi, this.#lo];
    let a = start;
    let b = middle;
    let to = start;
    while (a < middle && b < end) {
      const x = from[a] as number;
      const y = from[b] as number;
      const isSecond = isBefore(
        steps[y] as number,
        his[y] as number,
        los[y] as number,
        steps[x],
        his[x],
        los[x],
      );
      into[to++] = isSecond ? y : x;
      if (isSecond) b++;
      else a++;
    }
    while (a < middle) into[to++] = from[a++] as number;
    while (b < end) into[to++] = from[b++] as number;
  }

  #deliver(): void {
    const run = this.#run;
    const order = this.#order;
    for (let from = 0; from < this.#count; from += RUN_ROWS) {
      const rows = Math.min(RUN_ROWS, this.#count - from);
      for (let i = 0; i < rows; i++) {
        const row = order[from + i] as number;
        run.block[i] = this.#block[row] as number;
        run.start[i] = this.#start[row] as number;
        run.offset[i] = this.#offset[row] as number;
        run.event[i] = this.#event[row] as number;
        run.timeHi[i] = (this.#hi[row] as number) ^ BIAS;
        run.timeLo[i] = (this.#lo[row] as number) ^ BIAS;
        run.position[i] = this.#position[row] as number;
        run.round[i] = this.#round[row] as number;
      }
      run.count = rows;
      this.#deliverRun(run);
    }
  }
}

/** Whether the first moment is before the other. */
function isBefore(
  step: number,
  hi: number,
  lo: number,
  otherStep: number | undefined,
  otherHi: number | undefined,
  otherLo: number | undefined,
): boolean {
  if (step !== otherStep) return step < (otherStep as number);
  return hi !== otherHi ? hi < (otherHi as number) : lo < (otherLo as number);
}
