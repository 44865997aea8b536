import { floatAt, intAt } from "@perfdata/format/bytes";
import { FlowRows } from "../lists/pt_list.ts";

/**
 * A row in the execution of a thread, independent of where decoding began. Times are not: those
 * from CYC packets depend on earlier ones.
 */
export interface StepCursor {
  /** Time in ns; -1 without times. */
  readonly time: number;
  /** Index of the buffer; -1 for a cursor after all rows up to the time. */
  readonly buffer: number;
  /** Offset in the buffer of the packet of the last event. */
  readonly offset: number;
  /** Number of rows after the same event before it. */
  readonly ordinal: number;
}

/** A cursor after all rows up to a time. */
export function cursorAt(time: number): StepCursor {
  return { time, buffer: -1, offset: 0, ordinal: 0 };
}

/** The rows that {@linkcode StepRows} keeps. */
export interface KeptSteps {
  /** The limit. */
  readonly cursor: StepCursor;
  /** Whether the last rows up to the cursor are kept, or the first rows from it on. */
  readonly keeps: "last" | "first";
  /** Maximum number of rows. */
  readonly most: number;
}

/** A number of rows at a cursor, at most; others are dropped while they are added. */
export class StepRows extends FlowRows {
  /** The buffer of each row. */
  readonly buffer: Int32Array;
  /** Offset in the buffer of the last event before each row. */
  readonly offset: Float64Array;
  /** Number of rows after the same event before each row. */
  readonly ordinal: Float64Array;
  /** Number of calls around each row, relative to the first row that was decoded. */
  readonly depth: Int32Array;
  /** Node of the call site from which the function of each row was called; -1 if unknown. */
  readonly node: Int32Array;
  /** Buffer of the next row. */
  nextBuffer: number = -1;
  /** Offset of the last event before the next row. */
  nextOffset: number = 0;
  /** Depth of the next row. */
  nextDepth: number = 0;
  /** Node of the next row. */
  nextNode: number = -1;
  /** Whether rows are the same wherever decoding began; others are not kept. */
  isSure: boolean = true;
  /** Whether no further row can be kept. */
  isFull: boolean = false;
  /** Called before the first row is kept. */
  began: () => void = () => {};
  readonly #kept: KeptSteps;
  /** Index of a row that is written and not kept. */
  readonly #spare: number;
  #buffer = -1;
  #offset = -1;
  #ordinal = 0;

  /** Starts empty. */
  constructor(kept: KeptSteps) {
    // Half of the rows are moved at a time.
    const spare = 2 * kept.most;
    super(spare + 1);
    this.#spare = spare;
    this.#kept = kept;
    this.buffer = new Int32Array(spare + 1);
    this.offset = new Float64Array(spare + 1);
    this.ordinal = new Float64Array(spare + 1);
    this.depth = new Int32Array(spare + 1);
    this.node = new Int32Array(spare + 1);
  }

  /** Makes room for a row; returns its number, or that of a row that is not kept. */
  override next(time: number): number {
    const { nextBuffer, nextOffset } = this;
    if (nextOffset === this.#offset && nextBuffer === this.#buffer) this.#ordinal++;
    else {
      this.#buffer = nextBuffer;
      this.#offset = nextOffset;
      this.#ordinal = 0;
    }
    if (!this.isSure || !this.#keeps(time)) return this.#spare;
    if (this.count === 0) this.began();
    if (this.count === this.#spare) this.#drop(this.#kept.most);
    const n = this.count++;
    this.buffer[n] = nextBuffer;
    this.offset[n] = nextOffset;
    this.ordinal[n] = this.#ordinal;
    this.depth[n] = this.nextDepth;
    this.node[n] = this.nextNode;
    return n;
  }

  #keeps(time: number): boolean {
    const { cursor, keeps, most } = this.#kept;
    const distance = cursor.buffer !== this.#buffer
      ? time - cursor.time
      : this.#offset - cursor.offset || this.#ordinal - cursor.ordinal;
    if (keeps === "last") {
      this.isFull ||= distance > 0;
      return distance <= 0;
    }
    if (distance < 0) return false;
    this.isFull = this.count === most;
    return !this.isFull;
  }

  /** Removes the first rows. */
  #drop(rows: number): void {
    for (const column of this.#columns) column.copyWithin(0, rows, this.count);
    this.count -= rows;
  }

  /** Removes rows beyond the maximum, after the last one was added. */
  finish(): void {
    if (this.count > this.#kept.most) this.#drop(this.count - this.#kept.most);
  }

  /** Removes the first row. */
  dropFirst(): void {
    this.#drop(1);
  }

  /** Changes all depths. */
  shift(depth: number): void {
    for (let i = 0; i < this.count; i++) this.depth[i] = intAt(this.depth, i) + depth;
  }

  /** The cursor of a row. */
  cursor(row: number): StepCursor {
    return {
      time: floatAt(this.time, row),
      buffer: intAt(this.buffer, row),
      offset: floatAt(this.offset, row),
      ordinal: floatAt(this.ordinal, row),
    };
  }

  /** Whether a row is the one at a cursor; any row is at the cursor of a time. */
  isAt(row: number, { buffer, offset, ordinal }: StepCursor): boolean {
    return buffer < 0 || (row >= 0 && row < this.count && this.buffer[row] === buffer &&
      this.offset[row] === offset && this.ordinal[row] === ordinal);
  }

  get #columns(): (Uint8Array | Int32Array | Float64Array | BigUint64Array)[] {
    const { row, kind, tid, cpu, unsure, time, uncertainty, a, b, high, low, payload } = this;
    const { buffer, offset, ordinal, depth, node } = this;
    const own = [buffer, offset, ordinal, depth, node];
    return [row, kind, tid, cpu, unsure, time, uncertainty, a, b, high, low, payload, ...own];
  }
}
