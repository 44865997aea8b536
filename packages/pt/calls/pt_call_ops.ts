import { enlarge } from "@perfdata/format/bytes";
import type { CallEvents } from "./pt_call_events.ts";
import type { CallStack } from "./pt_call_stack.ts";

/** Operations that a worker leaves to the joining thread, because they depend on earlier calls. */
export const CALL_OP = {
  /**
   * The following operations belong to a buffer's thread: `a` its number, `time` the buffer's position,
   * ns.
   */
  STEP: 0,
  /** Up to here, sums under the number `a` are known; at most `b` calls were open at once. */
  SUMS: 1,
  /** A call was made last, from before `address`, with `a` calls around it since `SUMS`. */
  SITE: 2,
  /** A call of the place `a` is open that returns to `address`. */
  FRAME: 3,
  /** Execution continues at `address`, after what nobody knows yet. */
  GO_ON: 4,
  /** A return to `address`. */
  RETURN: 5,
  /** A jump to `address`, which may be after a call. */
  JUMP: 6,
  /** Tracing begins again at `address`; where it should is not known yet. */
  ENABLED: 7,
  /** Tracing ends after what nobody knows yet. */
  DISABLED: 8,
  /** The thread no longer runs: `a` is what its last block waits for (-1 nobody knows) to return to `address`. */
  LEFT: 9,
  /** It will go on at `address`, if `a` is 1; 0 nobody knows where. */
  RESUMES: 10,
  /** The first that runs in the step is at `address`. */
  BASE: 11,
  /** Up to here, rows of `CallEvents` up to `a` have happened, with a depth as of the operation before. */
  ROWS: 12,
} as const;

/** Numbers of an operation. */
const WORDS = 8;
const WORD = { KIND: 0, LOW: 1, HIGH: 2, TIME: 3, INSNS: 4, CYCLES: 5, A: 6, B: 7 } as const;

/**
 * Results of a thread for a range of a buffer besides sums: operations on open calls, in order of
 * execution. Calls that begin and end in it are not among them.
 */
export class CallOps {
  /** How many. */
  count = 0;
  #words = new Float64Array(64 * WORDS);
  readonly #events: Pick<CallEvents, "count"> | undefined;
  /** Rows that an operation says of that they have happened. */
  #rows = 0;

  /**
   * Begins with none.
   *
   * @param events Calls one by one, between which the operations are; none if there are sums.
   */
  constructor(events?: Pick<CallEvents, "count">) {
    this.#events = events;
  }

  /**
   * Adds an operation.
   *
   * @param stack The thread, for what it has executed up to here.
   * @param a See {@linkcode CALL_OP}, as of the address (bits 31:0, 63:32) and the time, ns.
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

  /** Adds {@linkcode CALL_OP.SUMS} with a number. */
  addSums(stack: CallStack, number: number): void {
    this.add(CALL_OP.SUMS, stack, number);
    this.#words[WORDS * (this.count - 1) + WORD.B] = stack.peak;
  }

  /** Adds {@linkcode CALL_OP.FRAME} of a call that is open: what was executed is that up to it. */
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

  /** Hands out what was added since the call before. */
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

  /** Reads what `CallOps.take` gave. */
  constructor(words: Float64Array) {
    this.#words = words;
  }

  /** Whether there is a next one, which it goes to then. */
  next(): boolean {
    return (this.#at += WORDS) < this.#words.length;
  }

  /** The kind of the next one; -1 if there is none. */
  get following(): number {
    return this.#words[this.#at + WORDS] ?? -1;
  }

  /** Which operation: {@linkcode CALL_OP}. */
  get kind(): number {
    return this.#word(WORD.KIND);
  }

  /** Bits 31:0 of its address. */
  get low(): number {
    return this.#word(WORD.LOW);
  }

  /** Bits 63:32 of its address. */
  get high(): number {
    return this.#word(WORD.HIGH);
  }

  /** When, ns. */
  get time(): number {
    return this.#word(WORD.TIME);
  }

  /** Instructions of the thread since the step began. */
  get insns(): number {
    return this.#word(WORD.INSNS);
  }

  /** Core clocks of the thread since the step began. */
  get cycles(): number {
    return this.#word(WORD.CYCLES);
  }

  /** Its first number. */
  get a(): number {
    return this.#word(WORD.A);
  }

  /** Its second number. */
  get b(): number {
    return this.#word(WORD.B);
  }

  #word(word: number): number {
    return this.#words[this.#at + word] as number;
  }
}

/** Time and instructions of calls that count if nobody around them has called the same: rows of four numbers. */
export class OwnSums {
  #words = new Float64Array(256);
  #used = 0;
  /** By row, of the present number. */
  #time = new Float64Array(64);
  #insns = new Float64Array(64);
  #touched = new Uint8Array(64);
  readonly #rows: number[] = [];

  /** Adds to a row. */
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

  /** What was added since the last call has a number. */
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

  /** Hands out all of them: number, row, ns, instructions. */
  take(): Float64Array<ArrayBuffer> {
    const words = this.#words.slice(0, this.#used);
    this.#used = 0;
    return words;
  }
}
