import { enlarge } from "@perfdata/format/bytes";
import type { RecordBytes } from "./run.ts";

/** Rows that are enough for most rounds. Unused rows take no physical memory. */
const FIRST_ROWS = 1 << 16;

/** Bytes of a {@link Block} of the re-order buffer; batches are shorter. */
export const BLOCK = 1 << 20;

/** A memory block of the re-order buffer, into which records are copied. */
export class Block implements RecordBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly view: DataView;
  readonly words: Int32Array;
  /** Number of used bytes. */
  used = 0;

  /** Allocates a block of `size` bytes. */
  constructor(size: number) {
    this.bytes = new Uint8Array(size);
    this.view = new DataView(this.bytes.buffer);
    this.words = new Int32Array(this.bytes.buffer);
  }

  /** Whether this many bytes can be appended. */
  hasRoom(size: number): boolean {
    return this.used + 7 + size <= this.bytes.length;
  }

  /** Copies `bytes[from, to)` with the same alignment; returns the change of the offset. */
  append(bytes: Uint8Array, from: number, to: number): number {
    const at = this.used + ((from - this.used) & 7);
    this.used = at + to - from;
    this.bytes.set(bytes.subarray(from, to), at);
    return at - from;
  }
}

/**
 * Added to both halves of a time, so that signed words have the order of the unsigned ones. V8
 * assumes that a number that was always below 2^31 stays so, and recompiles if it does not.
 */
export const BIAS: number = 1 << 31;

/** Columns of the waiting records. */
export class WaitingRows {
  /** Upper half of the time, biased. */
  timeHi = new Int32Array(FIRST_ROWS);
  /** Lower half, biased. */
  timeLo = new Int32Array(FIRST_ROWS);
  /** Offset of the record in its memory block. */
  at = new Int32Array(FIRST_ROWS);
  /** Index of the memory block with the record. */
  block = new Int32Array(FIRST_ROWS);
  /** File offset of the record. */
  offset = new Float64Array(FIRST_ROWS);
  /** Index of the event. */
  event = new Int32Array(FIRST_ROWS);

  /** Makes room for this many rows; keeps the present ones. */
  reserve(rows: number): void {
    if (rows <= this.at.length) return;
    this.timeHi = enlarge(this.timeHi, rows);
    this.timeLo = enlarge(this.timeLo, rows);
    this.at = enlarge(this.at, rows);
    this.block = enlarge(this.block, rows);
    this.offset = enlarge(this.offset, rows);
    this.event = enlarge(this.event, rows);
  }

  /** Moves the rows in `[from, to)` to the row `into`. */
  move(into: number, from: number, to: number): void {
    this.timeHi.copyWithin(into, from, to);
    this.timeLo.copyWithin(into, from, to);
    this.at.copyWithin(into, from, to);
    this.block.copyWithin(into, from, to);
    this.offset.copyWithin(into, from, to);
    this.event.copyWithin(into, from, to);
  }
}
