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

/** Records of a batch that are taken in one call: see `RUN_ROWS`. */
const CHUNK = 256;

/** Bytes that wait in memory before they go to a temporary file. */
const HOLD = 2 ** 27;

/** Bytes that wait in memory at most where there is no temporary file. */
const MOST_HELD = 2 ** 31;

/** Bytes of a row of those that wait. */
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
 * Holds the records of the round that is being read and those left of the round before. One class,
 * since taking, ordering and delivering work on the same columns, which are replaced as they grow.
 *
 * The kernel wrote a buffer for each CPU, so that the records are in runs of rising times. They
 * are delivered from the heads of the runs:
 *
 * ```text
 *  left of the round before:  | run | run |
 *  this round:                            | run | run | run | ...
 *  at FINISHED_ROUND:         each run up to the limit goes; the blocks of the round before hold
 *                             nothing any more, and are used for the next round
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
  /** What waits elsewhere. */
  #file: SortedFile | undefined;
  /** Whether FINISHED_ROUND records are passed over: all that has a time waits for the end. */
  waitsForEnd: boolean = false;
  /** How many rows may wait until it is looked which may go. */
  #enough = FEW;
  // Numbers of blocks: those of the round before, those of this round, and those that are free.
  #before: number[] = [];
  #current: number[] = [];
  #free: number[] = [];
  #bytes = 0;
  #count = 0;
  readonly #waiting = new WaitingRows();
  /** By number; the first stands for the batch, whose records without a time are delivered at once. */
  readonly #blocks: Block[] = [new Block(0)];
  /** Rows that are delivered next. */
  readonly #next = new Int32Array(RUN_ROWS);
  /** Where each run of rising times starts. */
  #runs: number[] = [];
  // Biased times: that up to which the next round delivers, and that which was delivered last.
  #limitHi = BIAS;
  #limitLo = BIAS;
  #flushedHi = BIAS;
  #flushedLo = BIAS;

  /**
   * Makes an empty buffer.
   *
   * @param deliver Gets runs, of which block to time are filled.
   * @param future The times that are to come, if no FINISHED_ROUND bounds them.
   * @param hold Bytes that wait in memory before they go to a temporary file.
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

  /** Takes the records of a batch, and delivers what may go by now. */
  take(batch: RecordBatch): void {
    // Only its bytes are read, and nothing is added to them.
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
      // Each look goes through all that waits: not before it has doubled.
      this.#enough = Math.max(FEW, 2 * this.#count);
    }
    // The batch is overwritten after this.
    this.#run.flush();
    const held = this.#bytes + ROW * this.#count;
    if (held > this.#hold) this.#relieve(held);
  }

  /** Puts what waits into a temporary file. */
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

  /** Puts all that waits in memory into the file, as one run. */
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

  /** Delivers from the file what is not younger than the limit. */
  #merge(file: SortedFile, limitHi: number, limitLo: number): void {
    if (file.deliver(limitHi, limitLo, this.#run)) {
      this.#flushedHi = file.lastHi;
      this.#flushedLo = file.lastLo;
    }
    this.#run.flush();
  }

  /** Says that nothing in these blocks is needed any more. */
  #release(numbers: readonly number[]): void {
    for (const number of numbers) {
      const block = this.#blocks[number] as Block;
      this.#bytes -= block.used;
      block.used = 0;
      this.#free.push(number);
    }
  }

  /** Removes the temporary file. */
  [Symbol.dispose](): void {
    this.#file?.close();
    this.#file = undefined;
  }

  /** Takes back the blocks in which nothing waits. */
  #freeBlocks(): void {
    const waiting = new Set(this.#waiting.block.subarray(0, this.#count));
    const [kept, free] = [true, false].map((used) =>
      this.#current.filter((number) => waiting.has(number) === used)
    ) as [number[], number[]];
    this.#current = kept;
    this.#release(free);
  }

  /** Delivers all that waits. */
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
    // One copy for the whole run, records that do not wait included.
    const moved = this.#copy(batch.bytes, batch.start(from), batch.start(last) + batch.size(last));
    this.#waiting.reserve(this.#count + to - from);
    const before = this.#count;
    for (let i = from; i < to; i += CHUNK) {
      this.#takeSome(batch, i, i + CHUNK < to ? i + CHUNK : to, moved);
    }
    this.#stats.queued += this.#count - before;
    if (this.#bytes > this.#stats.peakBytes) this.#stats.peakBytes = this.#bytes;
  }

  /** Puts records into the buffer whose bytes are in a block, or delivers those without a time. */
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

  /** Copies bytes into the last of the current blocks; returns how far they moved. */
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
    // Nothing is left of the round before this one.
    this.#release(this.#before);
    this.#before = this.#current;
    this.#current = [];
  }

  /** The highest time that was read: of those that wait each run ends with its own. */
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

  /** Delivers what is not younger than the limit: what came first comes first at equal times. */
  #flush(limitHi: number, limitLo: number): void {
    if ((limitHi === BIAS && limitLo === BIAS) || this.#count === 0) return;
    this.#takeUpTo(limitHi, limitLo, (count) => this.#deliver(count));
  }

  /** Hands on the next rows, up to the limit, and keeps the others. */
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
   * Takes rows of all runs as the next ones, as many as fit, or until two runs are left.
   *
   * @returns How many: none if all runs are at the limit.
   */
  #takeFromAll(runs: RunHeap, limitHi: number, limitLo: number): number {
    const { timeHi, timeLo } = this.#waiting;
    let next = 0;
    for (let run = runs.first; run >= 0 && runs.size !== 2 && next < RUN_ROWS; run = runs.first) {
      const row = runs.heads[run] as number;
      if (isLater(timeHi[row], timeLo[row], limitHi, limitLo)) break;
      // Up to the head of the next run, which comes first at the same time if it came first.
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
   * Takes the row `from` and those after it that are not younger than a bound as the next ones.
   *
   * @param isFirst Whether those as old as the bound are taken.
   * @param n How many were taken before.
   * @returns The first row that is not taken.
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
   * Takes rows of the last two runs as the next ones, up to where one of them ends: where two CPUs
   * were busy each row may be of the other run.
   *
   * @returns How many: fewer than fit where a run has ended, none where both are at the limit.
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
      // At the same time that which came first comes first.
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

  /** Keeps the runs from their heads on. */
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
