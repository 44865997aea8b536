import { enlarge } from "@perfdata/format/enlarge";

/** What one thread leaves to who joins: it depends on calls that were made before. */
export const CALL_OP = {
  /** What follows is of a buffer's thread: `a` its number, `time` the buffer's position, ns. */
  STEP: 0,
  /** Up to here, what was noted under the number `a` is known; at most `b` calls were open at once. */
  SUMS: 1,
  /** A call was made last, from before `address`, with `a` calls around it since `SUMS`. */
  SITE: 2,
  /** A call of the place `a` is open that returns to `address`. */
  FRAME: 3,
  /** Execution goes on at `address`, after what nobody knows yet. */
  GO_ON: 4,
  /** A return to `address`. */
  RETURN: 5,
  /** A jump to `address`, which may be after a call. */
  JUMP: 6,
  /** Tracing begins again at `address`, where it had ended to go on at `resume`. */
  RESUME: 7,
  /** Tracing begins again at `address`; where it should is not known yet. */
  ENABLED: 8,
  /** Tracing ends after what nobody knows yet. */
  DISABLED: 9,
  /** The thread no longer runs: `a` is what its last block waits for (-1 nobody knows) to return to `address`. */
  LEFT: 10,
  /** It will go on at `address`, if `a` is 1; 0 nobody knows where. */
  RESUMES: 11,
  /** The first that runs in the step is at `address`. */
  BASE: 12,
} as const;

/** Numbers of an operation. */
const WORDS = 8;

/**
 * What a thread found in a range of a buffer beyond sums: operations on the calls that are open, in the order of
 * execution. Calls that begin and end in it are not among them.
 */
export class CallOps {
  /** How many. */
  count = 0;
  #words = new Float64Array(64 * WORDS);

  /** Adds an operation. */
  add(
    kind: number,
    low: number,
    high: number,
    time: number,
    insns: number,
    cycles: number,
    a: number,
    b = 0,
  ): void {
    const at = WORDS * this.count++;
    if (at === this.#words.length) this.#words = enlarge(this.#words, at + WORDS);
    const words = this.#words;
    words[at] = kind;
    words[at + 1] = low;
    words[at + 2] = high;
    words[at + 3] = time;
    words[at + 4] = insns;
    words[at + 5] = cycles;
    words[at + 6] = a;
    words[at + 7] = b;
  }

  /** Hands out what was added since the call before. */
  take(): Float64Array<ArrayBuffer> {
    const words = this.#words.slice(0, WORDS * this.count);
    this.count = 0;
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

  /** The kind of the next one; -1 where there is none. */
  get following(): number {
    return this.#words[this.#at + WORDS] ?? -1;
  }

  /** Which operation: {@linkcode CALL_OP}. */
  get kind(): number {
    return this.#words[this.#at] as number;
  }

  /** Bits 31:0 of its address. */
  get low(): number {
    return this.#words[this.#at + 1] as number;
  }

  /** Bits 63:32 of its address. */
  get high(): number {
    return this.#words[this.#at + 2] as number;
  }

  /** When, ns. */
  get time(): number {
    return this.#words[this.#at + 3] as number;
  }

  /** Instructions of the thread since the step began. */
  get insns(): number {
    return this.#words[this.#at + 4] as number;
  }

  /** Core clocks of the thread since the step began. */
  get cycles(): number {
    return this.#words[this.#at + 5] as number;
  }

  /** Its first number. */
  get a(): number {
    return this.#words[this.#at + 6] as number;
  }

  /** Its second number. */
  get b(): number {
    return this.#words[this.#at + 7] as number;
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
