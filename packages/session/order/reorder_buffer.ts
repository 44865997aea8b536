import { PerfDataError } from "@perfdata/format/bytes";
import type { PerfDataReader, RecordBatch } from "@perfdata/format/records";
import { PERF_RECORD_FINISHED_ROUND } from "@perfdata/format/constants";
import type { FutureTimes } from "./future_times.ts";
import type { OrderStats } from "./order.ts";
import { isKnownTime, RecordTime, TimeColumns } from "./record_time.ts";
import { type Run, RUN_ROWS, RunWriter } from "./run.ts";
import { RunHeap } from "./run_heap.ts";
import { SortedFile } from "./sorted_file.ts";
import { BIAS, BLOCK, Block, WaitingRows } from "./waiting_rows.ts";

/** Minimum number of rows before checking which of them can be delivered. */
const FEW = 1 << 15;

/** Number of records that one call processes: see `RUN_ROWS`. */
const CHUNK = 256;

/** Bytes of waiting records in memory before they are moved to a temporary file. */
const HOLD = 2 ** 27;

/** Limit of waiting records in memory without a temporary file. */
const MOST_HELD = 2 ** 31;

/** Bytes of a row in `WaitingRows`. */
const ROW = 32;

/** The next FINISHED_ROUND from record `i` on, or the end of the batch. */
function nextRound(batch: RecordBatch, i: number): number {
  const { view, littleEndian, starts, count } = batch;
  while (
    i < count && view.getInt32(starts[i] as number, littleEndian) !== PERF_RECORD_FINISHED_ROUND
  ) i++;
  return i;
}

/**
 * Holds the records of the current round and the rest of the previous round. It is one class,
 * because adding, sorting and delivering share the same growing columns.
 *
 * The kernel wrote a buffer for each CPU, so the file has sorted runs: stretches of records with
 * rising times. Records are merged from the heads of these runs:
 *
 * ```text
 *  rest of the previous round:  | run | run |
 *  this round:                              | run | run | run | ...
 *  at FINISHED_ROUND:           each run is delivered up to the limit; the blocks of the previous
 *                               round are then empty, and used for the next round
 * ```
 */
export class ReorderBuffer {
  readonly #run: RunWriter;
  readonly #stats: OrderStats;
  readonly #time: RecordTime;
  readonly #times = new TimeColumns(CHUNK);
  readonly #future: FutureTimes | undefined;
  readonly #hold: number;
  readonly #reader: PerfDataReader;
  /** Waiting records in a temporary file. */
  #file: SortedFile | undefined;
  /**
   * Whether FINISHED_ROUND records are ignored, so that all records with a time wait for the end.
   */
  waitsForEnd: boolean = false;
  /** Number of waiting rows at which deliverable rows are searched. */
  #enough = FEW;
  // Indices of memory blocks: of the previous round, of this round, and free ones.
  #before: number[] = [];
  #current: number[] = [];
  #free: number[] = [];
  #bytes = 0;
  #count = 0;
  readonly #waiting = new WaitingRows();
  /** Memory blocks. Block 0 is the batch, whose records without a time are delivered at once. */
  readonly #blocks: Block[] = [new Block(0)];
  /** Indices of the rows to deliver next. */
  readonly #next = new Int32Array(RUN_ROWS);
  /** First row of each sorted run. */
  #runs: number[] = [];
  // Biased times: the limit of the next round, and the last delivered time.
  #limitHi = BIAS;
  #limitLo = BIAS;
  #flushedHi = BIAS;
  #flushedLo = BIAS;

  /**
   * Creates an empty buffer.
   *
   * @param deliver Receives sorted records, with the columns block, start, offset, event and time.
   * @param future Bounds of later times, if there are no FINISHED_ROUND records.
   * @param hold Bytes of waiting records in memory before they are moved to a temporary file.
   */
  constructor(
    deliver: (run: Run) => void,
    stats: OrderStats,
    reader: PerfDataReader,
    future: FutureTimes | undefined,
    hold: number = HOLD,
  ) {
    this.#run = new RunWriter(deliver);
    this.#run.run.blocks = this.#blocks;
    this.#stats = stats;
    this.#time = new RecordTime(reader.events);
    this.#reader = reader;
    this.#future = future;
    this.#hold = hold;
  }

  /** Adds the records of a batch, and delivers those that need not wait. */
  take(batch: RecordBatch): void {
    // The batch serves as a block: its bytes are read, and nothing is appended.
    this.#blocks[0] = batch as unknown as Block;
    for (let i = 0; i < batch.count;) {
      let stop = nextRound(batch, i);
      if (stop > i) this.#takeRun(batch, i, stop);
      if (stop < batch.count) {
        this.#run.add(0, batch.start(stop), batch.offsetOf(stop), 0);
        if (!this.waitsForEnd) this.#finishRound();
        stop++;
      }
      i = stop;
    }
    if (this.#future !== undefined && this.#count >= this.#enough) {
      const [hi, lo] = this.#future.boundAfter(this.#stats.queued);
      this.#flush(hi ^ BIAS, lo ^ BIAS);
      this.#run.flush();
      this.#freeBlocks();
      // Each search reads all waiting rows, so wait until their number has doubled.
      this.#enough = Math.max(FEW, 2 * this.#count);
    }
    // The batch will be overwritten.
    this.#run.flush();
    const held = this.#bytes + ROW * this.#count;
    if (held > this.#hold) this.#relieve(held);
  }

  /** Moves waiting records to a temporary file. */
  #relieve(held: number): void {
    const { temp } = this.#reader;
    if (temp !== undefined) {
      this.#file ??= new SortedFile(temp(), this.#reader.littleEndian, this.#blocks);
      this.#spill(this.#file);
    } else if (held > MOST_HELD) {
      throw new PerfDataError(
        `records: ${MOST_HELD / 2 ** 30} GB wait for ${
          this.waitsForEnd
            ? "the build ids at the end of a stream, by which stacks are unwound"
            : "a FINISHED_ROUND that says that nothing older comes"
        }; --temp DIR sorts them in a file`,
      );
    }
  }

  /** Appends all waiting rows in memory to the file, as one sorted run. */
  #spill(file: SortedFile): void {
    if (this.#count === 0) return;
    this.#takeUpTo(~BIAS, ~BIAS, (count) => {
      for (let i = 0; i < count; i++) file.append(this.#waiting, this.#next[i] as number);
    });
    this.#stats.spilledBytes += file.endRun();
    this.#run.flush();
    this.#release(this.#before);
    this.#release(this.#current);
    this.#before = [];
    this.#current = [];
  }

  #merge(file: SortedFile, limitHi: number, limitLo: number): void {
    if (file.deliver(limitHi, limitLo, this.#run)) {
      this.#flushedHi = file.lastHi;
      this.#flushedLo = file.lastLo;
    }
    this.#run.flush();
  }

  #release(numbers: readonly number[]): void {
    for (const number of numbers) {
      const block = this.#blocks[number] as Block;
      this.#bytes -= block.used;
      block.used = 0;
      this.#free.push(number);
    }
  }

  [Symbol.dispose](): void {
    this.#file?.close();
    this.#file = undefined;
  }

  /** Frees the blocks without waiting records. */
  #freeBlocks(): void {
    const waiting = new Set(this.#waiting.block.subarray(0, this.#count));
    const [kept, free] = [true, false].map((used) =>
      this.#current.filter((number) => waiting.has(number) === used)
    ) as [number[], number[]];
    this.#current = kept;
    this.#release(free);
  }

  /** Delivers all waiting records. */
  finish(): void {
    const file = this.#file;
    if (file === undefined || file.isEmpty) this.#flush(~BIAS, ~BIAS);
    else {
      this.#spill(file);
      this.#merge(file, ~BIAS, ~BIAS);
    }
    this.#run.flush();
  }

  #takeRun(batch: RecordBatch, from: number, to: number): void {
    const last = to - 1;
    // Copies the whole sorted run at once, including records that do not wait.
    const moved = this.#copy(batch.bytes, batch.start(from), batch.start(last) + batch.size(last));
    this.#waiting.reserve(this.#count + to - from);
    const before = this.#count;
    for (let i = from; i < to; i += CHUNK) {
      this.#takeSome(batch, i, i + CHUNK < to ? i + CHUNK : to, moved);
    }
    this.#stats.queued += this.#count - before;
    if (this.#bytes > this.#stats.peakBytes) this.#stats.peakBytes = this.#bytes;
  }

  /**
   * Adds rows for records whose bytes were copied to a block. Delivers records without a time at
   * once.
   */
  #takeSome(batch: RecordBatch, from: number, to: number, moved: number): void {
    const { starts, inflatedFrom, offset: batchOffset } = batch;
    const { timeHi, timeLo, at: positions, block: blocks, offset: offsets, event: eventNumbers } =
      this.#waiting;
    const block = this.#current.at(-1) as number;
    let n = this.#count;
    let beforeHi = n > 0 ? timeHi[n - 1] as number : BIAS;
    let beforeLo = n > 0 ? timeLo[n - 1] as number : BIAS;
    const flushedHi = this.#flushedHi;
    const flushedLo = this.#flushedLo;
    let violations = 0;
    const untimedDone = this.#future?.untimedLater === true;
    const times = this.#times;
    this.#time.readAll(batch, from, to, times);
    for (let i = from, k = 0; i < to; i++, k++) {
      const start = starts[i] as number;
      const event = times.event[k] as number;
      if (!isKnownTime(times.hi[k] as number, times.lo[k] as number)) {
        if (!untimedDone) this.#run.add(0, start, batch.offsetOf(i), event);
        continue;
      }
      const hi = (times.hi[k] as number) ^ BIAS;
      const lo = (times.lo[k] as number) ^ BIAS;
      if (hi < flushedHi || (hi === flushedHi && lo < flushedLo)) violations++;
      if (n === 0 || hi < beforeHi || (hi === beforeHi && lo < beforeLo)) this.#runs.push(n);
      timeHi[n] = beforeHi = hi;
      timeLo[n] = beforeLo = lo;
      positions[n] = start + moved;
      blocks[n] = block;
      offsets[n] = inflatedFrom >= 0 ? inflatedFrom : batchOffset + start;
      eventNumbers[n] = event;
      n++;
    }
    this.#stats.violations += violations;
    this.#count = n;
  }

  /** Copies bytes to the last current block; returns the change of their offset. */
  #copy(bytes: Uint8Array, from: number, to: number): number {
    let block = this.#blocks[this.#current.at(-1) ?? -1];
    if (block === undefined || !block.hasRoom(to - from)) {
      const number = this.#free.pop() ?? this.#blocks.push(new Block(BLOCK)) - 1;
      this.#current.push(number);
      block = this.#blocks[number] as Block;
    }
    this.#bytes -= block.used;
    const moved = block.append(bytes, from, to);
    this.#bytes += block.used;
    return moved;
  }

  #finishRound(): void {
    const file = this.#file;
    const spilled = file !== undefined && !file.isEmpty;
    if (this.#count === 0 && !spilled) return;
    const [hi, lo] = this.#youngest();
    if (spilled) {
      this.#spill(file);
      if (this.#limitHi !== BIAS || this.#limitLo !== BIAS) {
        this.#merge(file, this.#limitHi, this.#limitLo);
      }
    } else this.#flush(this.#limitHi, this.#limitLo);
    this.#limitHi = hi;
    this.#limitLo = lo;
    this.#run.flush();
    // All records of the previous round were delivered.
    this.#release(this.#before);
    this.#before = this.#current;
    this.#current = [];
  }

  /** The latest time that was read. Each waiting run ends with its latest time. */
  #youngest(): [number, number] {
    let hi = this.#limitHi;
    let lo = this.#limitLo;
    const file = this.#file?.youngest;
    if (file !== undefined && isLater(file[0], file[1], hi, lo)) [hi, lo] = file;
    for (let run = 0; run < this.#runs.length; run++) {
      const last = this.#endOf(run) - 1;
      const h = this.#waiting.timeHi[last] as number;
      const l = this.#waiting.timeLo[last] as number;
      if (h > hi || (h === hi && l > lo)) {
        hi = h;
        lo = l;
      }
    }
    return [hi, lo];
  }

  /** Delivers waiting rows up to the limit; at equal times, in the order of the file. */
  #flush(limitHi: number, limitLo: number): void {
    if ((limitHi === BIAS && limitLo === BIAS) || this.#count === 0) return;
    this.#takeUpTo(limitHi, limitLo, (count) => this.#deliver(count));
  }

  /** Passes on the next rows up to the limit, and keeps the others. */
  #takeUpTo(limitHi: number, limitLo: number, to: (count: number) => void): void {
    const runs = new RunHeap(this.#runs, this.#waiting.timeHi, this.#waiting.timeLo);
    for (let count = 1; count > 0;) {
      count = runs.size === 2
        ? this.#takeFromTwo(runs, limitHi, limitLo)
        : this.#takeFromAll(runs, limitHi, limitLo);
      if (count > 0) to(count);
    }
    this.#keep(runs.heads);
  }

  /**
   * Selects the next rows from all runs, until `#next` is full or two runs are left.
   *
   * @returns The number of rows; 0 if all runs are at the limit.
   */
  #takeFromAll(runs: RunHeap, limitHi: number, limitLo: number): number {
    const { timeHi, timeLo } = this.#waiting;
    let next = 0;
    for (let run = runs.first; run >= 0 && runs.size !== 2 && next < RUN_ROWS; run = runs.first) {
      const row = runs.heads[run] as number;
      if (isLater(timeHi[row], timeLo[row], limitHi, limitLo)) break;
      // Up to the head of the next run. At equal times, the earlier run comes first.
      const other = runs.second;
      const head = other < 0 ? -1 : runs.heads[other] as number;
      const isBounded = head >= 0 && !isLater(timeHi[head], timeLo[head], limitHi, limitLo);
      const boundHi = isBounded ? timeHi[head] as number : limitHi;
      const boundLo = isBounded ? timeLo[head] as number : limitLo;
      const isFirst = !isBounded || run < other;
      const end = this.#endOf(run);
      const to = row + RUN_ROWS - next < end ? row + RUN_ROWS - next : end;
      const stop = this.#takeNext(row, to, boundHi, boundLo, isFirst, next);
      next += stop - row;
      runs.advance(stop, end);
    }
    return next;
  }

  /**
   * Selects the row `from` and later rows of its run up to a bound.
   *
   * @param isFirst Whether rows at the bound itself are selected.
   * @param n Number of rows selected before.
   * @returns The first row that is not selected.
   */
  #takeNext(
    from: number,
    to: number,
    boundHi: number,
    boundLo: number,
    isFirst: boolean,
    n: number,
  ): number {
    const { timeHi, timeLo } = this.#waiting;
    const next = this.#next;
    let i = from;
    do {
      next[n++] = i++;
    } while (
      i < to &&
      ((timeHi[i] as number) < boundHi || ((timeHi[i] as number) === boundHi &&
        (isFirst ? (timeLo[i] as number) <= boundLo : (timeLo[i] as number) < boundLo)))
    );
    return i;
  }

  /**
   * Selects rows of the last two runs, until one of them ends. If two CPUs were busy, rows
   * alternate between the runs.
   *
   * @returns The number of rows: less than `RUN_ROWS` if a run has ended, 0 if both are at the
   * limit.
   */
  #takeFromTwo(runs: RunHeap, limitHi: number, limitLo: number): number {
    const { timeHi, timeLo } = this.#waiting;
    const next = this.#next;
    const { heads } = runs;
    const second = runs.second;
    const a = runs.first < second ? runs.first : second;
    const b = runs.first < second ? second : runs.first;
    let i = heads[a] as number;
    let j = heads[b] as number;
    const endA = this.#endOf(a);
    const endB = this.#endOf(b);
    let n = 0;
    while (n < RUN_ROWS && i < endA && j < endB) {
      const hiA = timeHi[i] as number;
      const hiB = timeHi[j] as number;
      // At equal times, the earlier run comes first.
      if (hiA < hiB || (hiA === hiB && (timeLo[i] as number) <= (timeLo[j] as number))) {
        if (hiA > limitHi || (hiA === limitHi && (timeLo[i] as number) > limitLo)) break;
        next[n++] = i++;
      } else {
        if (hiB > limitHi || (hiB === limitHi && (timeLo[j] as number) > limitLo)) break;
        next[n++] = j++;
      }
    }
    runs.set(a, i, endA, b, j, endB);
    return n;
  }

  /** Delivers the first `count` of the next rows. */
  #deliver(count: number): void {
    const next = this.#next;
    const { timeHi, timeLo, at, block, offset, event } = this.#waiting;
    const { run } = this.#run;
    for (let i = 0; i < count; i++) {
      const row = next[i] as number;
      const to = run.count === RUN_ROWS ? this.#run.flush() : run.count;
      run.block[to] = block[row] as number;
      run.start[to] = at[row] as number;
      run.offset[to] = offset[row] as number;
      run.event[to] = event[row] as number;
      run.timeHi[to] = (timeHi[row] as number) ^ BIAS;
      run.timeLo[to] = (timeLo[row] as number) ^ BIAS;
      run.count = to + 1;
    }
    const last = next[count - 1] as number;
    this.#flushedHi = timeHi[last] as number;
    this.#flushedLo = timeLo[last] as number;
  }

  /** The row after the last one of a run. */
  #endOf(run: number): number {
    const runs = this.#runs;
    return run + 1 < runs.length ? runs[run + 1] as number : this.#count;
  }

  /** Removes the delivered rows, which are before the heads of the runs. */
  #keep(heads: Int32Array): void {
    const runs = this.#runs;
    const kept: number[] = [];
    let count = 0;
    for (let run = 0; run < runs.length; run++) {
      const from = heads[run] as number;
      const to = this.#endOf(run);
      if (from === to) continue;
      kept.push(count);
      this.#waiting.move(count, from, to);
      count += to - from;
    }
    this.#runs = kept;
    this.#count = count;
  }
}

function isLater(
  hi: number | undefined,
  lo: number | undefined,
  limitHi: number,
  limitLo: number,
): boolean {
  return (hi as number) > limitHi || (hi === limitHi && (lo as number) > limitLo);
}
