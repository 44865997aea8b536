import { enlarge } from "@perfdata/format/bytes";
import type { RecordBytes } from "./run.ts";

/** Room for the rows of most rounds; unused room takes no memory. */
const FIRST_ROWS = 1 << 16;

/** Bytes of a {@link Block} of the re-order buffer; batches are shorter. */
export const BLOCK = 1 << 20;

/** Bytes that records are copied into. */
export class Block implements RecordBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly view: DataView;
  readonly words: Int32Array;
  /** How many of its bytes are used. */
  used = 0;

  /** Makes one of `size` bytes. */
  constructor(size: number) {
    this.bytes = new Uint8Array(size);
    this.view = new DataView(this.bytes.buffer);
    this.words = new Int32Array(this.bytes.buffer);
  }

  /** Whether this many bytes can be appended. */
  hasRoom(size: number): boolean {
    return this.used + 7 + size <= this.bytes.length;
  }

  /** Copies `bytes[from, to)`, so that its alignment stays; returns how far it moved. */
  append(bytes: Uint8Array, from: number, to: number): number {
    const at = this.used + ((from - this.used) & 7);
    this.used = at + to - from;
    this.bytes.set(bytes.subarray(from, to), at);
    return at - from;
  }
}

/**
 * Added to both halves of a time, so that signed words are in the order of unsigned ones: V8 takes it
 * that a number stays below 2^31 where it has always been, and compiles anew once it does not.
 */
export const BIAS: number = 1 << 31;

/** The records that wait: a row each. */
export class WaitingRows {
  /** The upper half of its time, biased. */
  timeHi = new Int32Array(FIRST_ROWS);
  /** The lower half, biased. */
  timeLo = new Int32Array(FIRST_ROWS);
  /** Where the record is in its block. */
  at = new Int32Array(FIRST_ROWS);
  /** The number of its block. */
  block = new Int32Array(FIRST_ROWS);
  /** Its file offset. */
  offset = new Float64Array(FIRST_ROWS);
  /** Number of its event. */
  event = new Int32Array(FIRST_ROWS);

  /** Makes room for this many rows; those that are there stay. */
  reserve(rows: number): void {
    if (rows <= this.at.length) return;
    this.timeHi = enlarge(this.timeHi, rows);
    this.timeLo = enlarge(this.timeLo, rows);
    this.at = enlarge(this.at, rows);
    this.block = enlarge(this.block, rows);
    this.offset = enlarge(this.offset, rows);
    this.event = enlarge(this.event, rows);
  }

  /** Moves the rows in `[from, to)` to `into` and the rows after it. */
  move(into: number, from: number, to: number): void {
    this.timeHi.copyWithin(into, from, to);
    this.timeLo.copyWithin(into, from, to);
    this.at.copyWithin(into, from, to);
    this.block.copyWithin(into, from, to);
    this.offset.copyWithin(into, from, to);
    this.event.copyWithin(into, from, to);
  }
}
