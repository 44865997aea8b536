import { enlarge } from "@perfdata/format/bytes";
import { Moments, type MomentsPart } from "./moments.ts";
import { Rounds } from "./rounds.ts";

/** Threads of samples as they are sent to another thread. */
export interface SeenThreadsPart {
  /** Process of each. */
  readonly pid: Int32Array<ArrayBuffer>;
  /** Thread of each. */
  readonly tid: Int32Array<ArrayBuffer>;
  /** When each is seen first. */
  readonly moments: MomentsPart;
}

/**
 * The threads of samples, and when each is seen first: perf knows a thread from then on, also where no
 * record says that it began.
 */
export class SeenThreads {
  /** When each is seen first: as many as there are pairs of process and thread. */
  readonly moments: Moments;
  /** Process of each. */
  pid: Int32Array<ArrayBuffer> = new Int32Array(64);
  /** Thread of each. */
  tid: Int32Array<ArrayBuffer> = new Int32Array(64);
  readonly #rounds: Rounds;
  readonly #isTimed: boolean;
  #slots = new Int32Array(256).fill(-1);
  #last = -1;

  /** All of them, to be sent to another thread, if they are only read. */
  part(): SeenThreadsPart {
    const { count } = this;
    return {
      pid: this.pid.slice(0, count),
      tid: this.tid.slice(0, count),
      moments: this.moments.part(),
    };
  }

  /** Those of a part. */
  static of({ pid, tid, moments }: SeenThreadsPart): SeenThreads {
    const seen = new SeenThreads(new Rounds(), false, Moments.of(moments));
    seen.pid = pid;
    seen.tid = tid;
    return seen;
  }

  /**
   * Has the pairs whose moments are given, or none.
   *
   * @param rounds The FINISHED_ROUND records before the sample that is seen next.
   * @param isTimed Whether samples happen in the order of their times; otherwise the first one is that of the file.
   */
  constructor(rounds: Rounds, isTimed: boolean, moments: Moments = new Moments()) {
    this.#rounds = rounds;
    this.#isTimed = isTimed;
    this.moments = moments;
  }

  /** Number of pairs. */
  get count(): number {
    return this.moments.count;
  }

  /** Takes a thread of a sample, which has a time as {@link KeptRecords.add} says. */
  see(pid: number, tid: number, hi: number, lo: number, position: number): void {
    const rounds = this.#rounds;
    const round = rounds.count;
    let number = this.#last;
    if (number < 0 || this.tid[number] !== tid || this.pid[number] !== pid) {
      number = this.#last = this.#find(pid, tid);
      if (number < 0) {
        this.#add(pid, tid, round, hi, lo, position);
        return;
      }
    }
    // Mostly those that come later in the file are later.
    const { moments } = this;
    const firstHi = moments.hi[number] as number;
    const firstLo = moments.lo[number] as number;
    hi >>>= 0;
    lo >>>= 0;
    if (
      this.#isTimed && (hi < firstHi || (hi === firstHi && lo < firstLo)) &&
      round < rounds.flush(moments.step[number] as number, firstHi, firstLo)
    ) moments.set(number, round, hi, lo, position);
  }

  #find(pid: number, tid: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let slot = hash(pid, tid) & mask;; slot = slot + 1 & mask) {
      const number = slots[slot] as number;
      if (number < 0 || (this.tid[number] === tid && this.pid[number] === pid)) return number;
    }
  }

  #add(pid: number, tid: number, round: number, hi: number, lo: number, position: number): void {
    const number = this.#last = this.moments.add(round, hi, lo, position);
    if (number >= this.pid.length) {
      this.pid = enlarge(this.pid, number + 1);
      this.tid = enlarge(this.tid, number + 1);
    }
    this.pid[number] = pid;
    this.tid[number] = tid;
    if (this.count * 2 > this.#slots.length) {
      this.#slots = new Int32Array(this.#slots.length * 2).fill(-1);
      for (let i = 0; i < number; i++) this.#put(i);
    }
    this.#put(number);
  }

  #put(number: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = hash(this.pid[number] as number, this.tid[number] as number) & mask;
    while ((slots[slot] as number) >= 0) slot = slot + 1 & mask;
    slots[slot] = number;
  }
}

function hash(pid: number, tid: number): number {
  const mixed = Math.imul(pid, 0x85ebca6b) ^ Math.imul(tid, 0x9e3779b1);
  return mixed ^ mixed >>> 15;
}
