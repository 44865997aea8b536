import { enlarge } from "@perfdata/format/bytes";
import type { CallEvents } from "./pt_call_events.ts";
import type { CallStack } from "./pt_call_stack.ts";

/** Operations that a worker leaves to the joining thread, because they depend on earlier calls. */
export const CALL_OP = {
  /**
   * The following operations belong to a buffer's thread: `a` is its number, `time` the position in
   * ns.
   */
  STEP: 0,
  /** Sums up to here have the owner `a`; at most `b` calls were open at once. */
  SUMS: 1,
  /**
   * The last execution of the call that returns to the address in `time` had `a` calls around it,
   * counted since `SUMS`.
   */
  SITE: 2,
  /** A call of the place `a` is open, which returns to `address`. */
  FRAME: 3,
  /** Execution continues at `address`, after a block that the worker does not know. */
  GO_ON: 4,
  /** A return to `address`. */
  RETURN: 5,
  /** A jump to `address`, which may be after a call. */
  JUMP: 6,
  /** Tracing begins again at `address`; the worker does not know where it was left. */
  ENABLED: 7,
  /** Tracing ends after a block that the worker does not know. */
  DISABLED: 8,
  /**
   * The thread stops running. `a` is the end of its last block ({@linkcode PENDING}, -1 if
   * unknown), with the return address `address`.
   */
  LEFT: 9,
  /** The thread will continue at `address` if `a` is 1; at an unknown address if `a` is 0. */
  RESUMES: 10,
  /** The first code of the step is at `address`. */
  BASE: 11,
  /**
   * The next rows of `CallEvents`, up to `a`, come before the next operation. Their depth is
   * relative to the depth here.
   */
  ROWS: 12,
} as const;

/** Number of words of an operation. */
const WORDS = 8;
const WORD = { KIND: 0, LOW: 1, HIGH: 2, TIME: 3, INSNS: 4, CYCLES: 5, A: 6, B: 7 } as const;

/**
 * Results of a worker for a range of a buffer, besides sums: operations on calls that were open
 * before, in order of execution. Calls that begin and end in the range are not among them.
 */
export class CallOps {
  /** The count of operations. */
  count = 0;
  #words = new Float64Array(64 * WORDS);
  readonly #events: Pick<CallEvents, "count"> | undefined;
  /** The count of rows that have a ROWS operation. */
  #rows = 0;

  /**
   * Starts without operations.
   *
   * @param events Calls that are listed one by one, which need ROWS operations between them;
   * undefined if calls are summed.
   */
  constructor(events?: Pick<CallEvents, "count">) {
    this.#events = events;
  }

  /**
   * Adds an operation.
   *
   * @param stack The thread, with its numbers of instructions and cycles.
   * @param a See {@linkcode CALL_OP}, as for the address (bits 31:0, 63:32) and the time in ns.
   */
  add(kind: number, stack: CallStack, a = 0, low = 0, high = 0, time = -1): void {
    const rows = this.#events?.count ?? 0;
    if (rows > this.#rows) {
      this.#rows = rows;
      this.add(CALL_OP.ROWS, stack, rows);
    }
    const at = this.#next(kind);
    const words = this.#words;
    words[at + WORD.LOW] = low;
    words[at + WORD.HIGH] = high;
    words[at + WORD.TIME] = time;
    words[at + WORD.INSNS] = stack.insns;
    words[at + WORD.CYCLES] = stack.cycles;
    words[at + WORD.A] = a;
  }

  /** Adds {@linkcode CALL_OP.SUMS} with an owner. */
  addSums(stack: CallStack, number: number): void {
    this.add(CALL_OP.SUMS, stack, number);
    this.#words[WORDS * (this.count - 1) + WORD.B] = stack.peak;
  }

  /**
   * Adds {@linkcode CALL_OP.FRAME} for an open call, with the numbers of instructions and cycles at
   * the call.
   */
  addFrame(stack: CallStack, n: number): void {
    const at = this.#next(CALL_OP.FRAME);
    const words = this.#words;
    words[at + WORD.LOW] = stack.returnLow[n] as number;
    words[at + WORD.HIGH] = stack.returnHigh[n] as number;
    words[at + WORD.TIME] = stack.since[n] as number;
    words[at + WORD.INSNS] = stack.sinceInsns[n] as number;
    words[at + WORD.CYCLES] = stack.sinceCycles[n] as number;
    words[at + WORD.A] = stack.place[n] as number;
  }

  #next(kind: number): number {
    const at = WORDS * this.count++;
    if (at === this.#words.length) this.#words = enlarge(this.#words, at + WORDS);
    this.#words[at + WORD.KIND] = kind;
    this.#words[at + WORD.B] = 0;
    return at;
  }

  /** Returns the operations since the last call. */
  take(): Float64Array<ArrayBuffer> {
    const words = this.#words.slice(0, WORDS * this.count);
    this.count = this.#rows = 0;
    return words;
  }
}

/** Reads operations one after the other. */
export class CallOpReader {
  readonly #words: Float64Array;
  #at = -WORDS;

  /** Reads operations of `CallOps.take`. */
  constructor(words: Float64Array) {
    this.#words = words;
  }

  next(): boolean {
    return (this.#at += WORDS) < this.#words.length;
  }

  /** The kind of the next operation; -1 at the end. */
  get following(): number {
    return this.#words[this.#at + WORDS] ?? -1;
  }

  /** Kind of the operation: {@linkcode CALL_OP}. */
  get kind(): number {
    return this.#word(WORD.KIND);
  }

  /** Bits 31:0 of the address. */
  get low(): number {
    return this.#word(WORD.LOW);
  }

  /** Bits 63:32 of the address. */
  get high(): number {
    return this.#word(WORD.HIGH);
  }

  /** Time in ns. */
  get time(): number {
    return this.#word(WORD.TIME);
  }

  /** Instructions of the thread since the start of the step. */
  get insns(): number {
    return this.#word(WORD.INSNS);
  }

  /** Core clocks of the thread since the start of the step. */
  get cycles(): number {
    return this.#word(WORD.CYCLES);
  }

  /** The first number, `a`. */
  get a(): number {
    return this.#word(WORD.A);
  }

  /** The second number, `b`. */
  get b(): number {
    return this.#word(WORD.B);
  }

  /**
   * A small integer is returned as one, not as a double: fields into which a double is written for the first time
   * change the shape of their object, and all code about it is compiled again.
   */
  #word(word: number): number {
    const value = this.#words[this.#at + word] as number;
    const small = value | 0;
    return small === value ? small : value;
  }
}

/**
 * Time and instructions of calls that count only if no outer call of the same row is open. Only the
 * joining thread knows the outer calls, so sums are kept by owner: a point in the operations.
 */
export class OwnSums {
  #words = new Float64Array(256);
  #used = 0;
  /** Sums by row since the last {@linkcode OwnSums.end}. */
  #time = new Float64Array(64);
  #insns = new Float64Array(64);
  #touched = new Uint8Array(64);
  readonly #rows: number[] = [];

  addOwn(row: number, time: number, insns: number): void {
    if (row >= this.#time.length) {
      this.#time = enlarge(this.#time, row + 1);
      this.#insns = enlarge(this.#insns, row + 1);
      this.#touched = enlarge(this.#touched, row + 1);
    }
    if (this.#touched[row] === 0) {
      this.#touched[row] = 1;
      this.#rows.push(row);
    }
    this.#time[row] = (this.#time[row] as number) + time;
    this.#insns[row] = (this.#insns[row] as number) + insns;
  }

  /** Ends the current sums, and assigns them to an owner: the number of a CALL_OP.SUMS. */
  end(number: number): void {
    for (const row of this.#rows) {
      const at = this.#used;
      this.#used += 4;
      if (this.#used > this.#words.length) this.#words = enlarge(this.#words, this.#used);
      this.#words[at] = number;
      this.#words[at + 1] = row;
      this.#words[at + 2] = this.#time[row] as number;
      this.#words[at + 3] = this.#insns[row] as number;
      this.#time[row] = this.#insns[row] = this.#touched[row] = 0;
    }
    this.#rows.length = 0;
  }

  /** Returns all sums, four numbers each: owner, row, ns, instructions. */
  take(): Float64Array<ArrayBuffer> {
    const words = this.#words.slice(0, this.#used);
    this.#used = 0;
    return words;
  }
}
