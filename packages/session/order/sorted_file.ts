import type { TempFile } from "@perfdata/format/bytes";
import { recordSize } from "@perfdata/format/records";
import { RUN_ROWS, type RunWriter } from "./run.ts";
import { BIAS, Block, type WaitingRows } from "./waiting_rows.ts";

/** Number of bytes for each write. */
const PIECE = 1 << 20;

/** Bytes of a sorted run that are read at once: room for a record of 64 KB and its row. */
const WINDOW = 1 << 18;

/**
 * Bytes of a row in the file: time, event, size, file offset. The record follows, padded to a
 * multiple of 8.
 */
const HEAD = 24;

/** A sorted run in the file, whose next rows are in memory. */
interface SortedRun {
  /** File offset of the rows that are not in memory yet. */
  position: number;
  readonly end: number;
  /** The window of rows in memory, and its index among the blocks. */
  block: Block | undefined;
  number: number;
  /** Offset of the next row in the window. */
  at: number;
  // Biased time of the next row.
  hi: number;
  lo: number;
}

/**
 * A temporary file with sorted runs of waiting records, which are merged at their delivery.
 *
 * ```text
 *  memory:  waiting rows ──append, endRun──▶ | run | run | run |  file
 *                                                ╲     │     ╱
 *                             a window of each:   ──deliver──▶ Run
 * ```
 */
export class SortedFile {
  readonly #file: TempFile;
  readonly #littleEndian: boolean;
  readonly #blocks: Block[];
  readonly #free: number[] = [];
  /** Runs in the order of their creation. */
  #runs: SortedRun[] = [];
  readonly #piece = new Block(PIECE);
  #pieceUsed = 0;
  #written = 0;
  #runStart = 0;
  /** The latest waiting time, biased. */
  youngest: readonly [hi: number, lo: number] = [BIAS, BIAS];
  // The last delivered time, biased.
  lastHi = BIAS;
  lastLo = BIAS;

  /** @param blocks Blocks that rows refer to by index. Windows are added to it. */
  constructor(file: TempFile, littleEndian: boolean, blocks: Block[]) {
    this.#file = file;
    this.#littleEndian = littleEndian;
    this.#blocks = blocks;
  }

  get isEmpty(): boolean {
    return this.#runs.length === 0;
  }

  /** Appends a row to the sorted run that is being written. */
  append(rows: WaitingRows, row: number): void {
    const from = this.#blocks[rows.block[row] as number] as Block;
    const start = rows.at[row] as number;
    const size = recordSize(from.view, start, this.#littleEndian);
    const needed = HEAD + (size + 7 & ~7);
    if (this.#pieceUsed + needed > PIECE) this.#write();
    const { bytes, view } = this.#piece;
    const at = this.#pieceUsed;
    const hi = rows.timeHi[row] as number;
    const lo = rows.timeLo[row] as number;
    view.setInt32(at, hi, true);
    view.setInt32(at + 4, lo, true);
    view.setInt32(at + 8, rows.event[row] as number, true);
    view.setInt32(at + 12, size, true);
    view.setFloat64(at + 16, rows.offset[row] as number, true);
    bytes.set(from.bytes.subarray(start, start + size), at + HEAD);
    this.#pieceUsed = at + needed;
    const [youngestHi, youngestLo] = this.youngest;
    if (hi > youngestHi || (hi === youngestHi && lo > youngestLo)) this.youngest = [hi, lo];
  }

  /** Ends the sorted run that is being written; returns its bytes. */
  endRun(): number {
    this.#write();
    const position = this.#runStart;
    const end = this.#runStart = this.#written;
    const run = { position, end, block: undefined, number: 0, at: 0, hi: 0, lo: 0 };
    this.#runs.push(run);
    return end - position;
  }

  #write(): void {
    this.#file.writeAt(this.#piece.bytes.subarray(0, this.#pieceUsed), this.#written);
    this.#written += this.#pieceUsed;
    this.#pieceUsed = 0;
  }

  /**
   * Delivers rows up to the limit. At equal times, rows of the earlier run come first.
   *
   * @returns Whether any row was delivered.
   */
  deliver(limitHi: number, limitLo: number, to: RunWriter): boolean {
    let some = false;
    for (const run of this.#runs) if (run.block === undefined) this.#load(run, to);
    while (this.#runs.length > 0) {
      let first = this.#runs[0] as SortedRun;
      let second: SortedRun | undefined;
      for (let i = 1; i < this.#runs.length; i++) {
        const run = this.#runs[i] as SortedRun;
        if (isBefore(run, first)) {
          second = first;
          first = run;
        } else if (second === undefined || isBefore(run, second)) second = run;
      }
      if (first.hi > limitHi || (first.hi === limitHi && first.lo > limitLo)) break;
      const winsTies = second === undefined ||
        this.#runs.indexOf(first) < this.#runs.indexOf(second);
      some = true;
      if (this.#advance(first, second, winsTies, limitHi, limitLo, to)) continue;
      this.#runs = this.#runs.filter((run) => run !== first);
      to.flush();
      this.#free.push(first.number);
    }
    if (this.#runs.length === 0) {
      this.#written = this.#runStart = 0;
      this.youngest = [BIAS, BIAS];
    }
    return some;
  }

  /**
   * Delivers rows of a run, as long as it is the first and not beyond the limit.
   *
   * @returns Whether the run has more rows.
   */
  #advance(
    run: SortedRun,
    second: SortedRun | undefined,
    winsTies: boolean,
    limitHi: number,
    limitLo: number,
    to: RunWriter,
  ): boolean {
    do {
      const { view } = run.block as Block;
      const { at, hi, lo } = run;
      const event = view.getInt32(at + 8, true);
      if (to.run.count === RUN_ROWS) to.flush();
      const offset = view.getFloat64(at + 16, true);
      to.add(run.number, at + HEAD, offset, event, hi ^ BIAS, lo ^ BIAS);
      this.lastHi = hi;
      this.lastLo = lo;
      run.at = at + HEAD + (view.getInt32(at + 12, true) + 7 & ~7);
      if (!this.#load(run, to)) return false;
    } while (
      (second === undefined || isBefore(run, second) || (winsTies && !isBefore(second, run))) &&
      (run.hi < limitHi || (run.hi === limitHi && run.lo <= limitLo))
    );
    return true;
  }

  /**
   * Loads the next row of a run into its window.
   *
   * @returns Whether there is a next row.
   */
  #load(run: SortedRun, to: RunWriter): boolean {
    let { block } = run;
    if (block === undefined) {
      run.number = this.#free.pop() ?? this.#blocks.push(new Block(WINDOW)) - 1;
      block = run.block = this.#blocks[run.number] as Block;
      block.used = 0;
    }
    const left = block.used - run.at;
    const isWhole = left >= HEAD &&
      left >= HEAD + (block.view.getInt32(run.at + 12, true) + 7 & ~7);
    if (!isWhole) {
      if (run.position === run.end) return false;
      // The delivered part of the window will be overwritten.
      to.flush();
      block.bytes.copyWithin(0, run.at, block.used);
      const size = Math.min(WINDOW - left, run.end - run.position);
      const got = this.#file.readAt(block.bytes.subarray(left, left + size), run.position);
      if (got < size) throw new Error(`temporary file: ${got} bytes, expected ${size}`);
      run.position += size;
      block.used = left + size;
      run.at = 0;
    }
    run.hi = block.view.getInt32(run.at, true);
    run.lo = block.view.getInt32(run.at + 4, true);
    return true;
  }

  close(): void {
    this.#file.close();
  }
}

function isBefore(a: SortedRun, b: SortedRun): boolean {
  return a.hi < b.hi || (a.hi === b.hi && a.lo < b.lo);
}
