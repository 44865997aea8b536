import { enlarge } from "@perfdata/format/bytes";
import { Moments, type MomentsPart } from "./moments.ts";
import { Rounds } from "./rounds.ts";

/** Threads of samples in the form for sending them to another thread. */
export interface SeenThreadsPart {
  /** Process id of each pair. */
  readonly pid: Int32Array<ArrayBuffer>;
  /** Thread id of each pair. */
  readonly tid: Int32Array<ArrayBuffer>;
  /** Moment of the first sample of each pair. */
  readonly moments: MomentsPart;
}

/**
 * The threads of samples, with the moment of their first sample: perf knows a thread from then on,
 * even without a record of its beginning.
 */
export class SeenThreads {
  /** Moment of the first sample of each pair of process and thread. */
  readonly moments: Moments;
  /** Process id of each pair. */
  pid: Int32Array<ArrayBuffer> = new Int32Array(64);
  /** Thread id of each pair. */
  tid: Int32Array<ArrayBuffer> = new Int32Array(64);
  readonly #rounds: Rounds;
  readonly #isTimed: boolean;
  #slots = new Int32Array(256).fill(-1);
  #last = -1;

  /** Copies the threads into the form for another thread, which only reads them. */
  part(): SeenThreadsPart {
    const { count } = this;
    return {
      pid: this.pid.slice(0, count),
      tid: this.tid.slice(0, count),
      moments: this.moments.part(),
    };
  }

  /** Restores the threads that another thread sent. */
  static of({ pid, tid, moments }: SeenThreadsPart): SeenThreads {
    const seen = new SeenThreads(new Rounds(), false, Moments.of(moments));
    seen.pid = pid;
    seen.tid = tid;
    return seen;
  }

  /**
   * Creates an empty list, or one for pairs with these moments.
   *
   * @param rounds The FINISHED_ROUND records before the next sample.
   * @param isTimed Whether samples are in order of time; otherwise the first sample is that of the
   * file.
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

  /** Adds the thread of a sample. The time is as in {@link KeptRecords.add}. */
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
    // Usually the file is in order of time, so that the first sample stays the earliest.
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
