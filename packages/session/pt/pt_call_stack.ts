import { enlarge } from "@perfdata/format/enlarge";

/** How far down a return is searched for its call: across frames that longjmp left. */
const MAX_SEARCH = 4096;

/** How the last block of a thread ended. */
export const PENDING = { NONE: 0, CALL: 1, RETURN: 2, LEAVE: 3, COME_BACK: 4, JUMP: 5 } as const;

/** The calls of a thread. */
export class CallStack {
  readonly tid: number;
  /** What ran first, and is not known to have been called. */
  base = -1;
  /** The node of the innermost call, or -1. */
  node = -1;
  /** Instructions that were given to a node. */
  noted = 0;
  /** Since when `node` is innermost, ns; -1 where the thread does not run. */
  nodeSince = -1;
  depth = 0;
  place = new Int32Array(64);
  returnLow = new Int32Array(64);
  returnHigh = new Int32Array(64);
  since = new Float64Array(64);
  sinceInsns = new Float64Array(64);
  sinceCycles = new Float64Array(64);
  insns = 0;
  /** Core clocks in which it ran. */
  cycles = 0;
  /** How the last block ended, and where a call would return to. */
  pending: number = PENDING.NONE;
  pendingBlock = 0;
  pendingLow = 0;
  pendingHigh = 0;
  /** Where execution goes on after user space was left; only `resumes` says whether it is known. */
  resumes = false;
  resumeLow = 0;
  resumeHigh = 0;
  /** Its number in the `CallLog`. */
  readonly number: number;

  constructor(tid: number, number: number) {
    this.tid = tid;
    this.number = number;
  }

  push(place: number, low: number, high: number, time: number): void {
    const n = this.depth++;
    if (n === this.place.length) {
      this.place = enlarge(this.place, n + 1);
      this.returnLow = enlarge(this.returnLow, n + 1);
      this.returnHigh = enlarge(this.returnHigh, n + 1);
      this.since = enlarge(this.since, n + 1);
      this.sinceInsns = enlarge(this.sinceInsns, n + 1);
      this.sinceCycles = enlarge(this.sinceCycles, n + 1);
    }
    this.place[n] = place;
    this.returnLow[n] = low;
    this.returnHigh[n] = high;
    this.since[n] = time;
    this.sinceInsns[n] = this.insns;
    this.sinceCycles[n] = this.cycles;
  }

  /** Forgets the outer half of the calls: so many are open because their returns were not seen. */
  forgetOldest(): void {
    const n = this.depth >> 1;
    for (
      const column of [
        this.place,
        this.returnLow,
        this.returnHigh,
        this.since,
        this.sinceInsns,
        this.sinceCycles,
      ]
    ) column.copyWithin(0, n, this.depth);
    this.depth -= n;
  }

  /** How many frames a return to an address ends; 0 where none returns there. */
  returnsTo(low: number, high: number): number {
    const bottom = Math.max(0, this.depth - MAX_SEARCH);
    for (let i = this.depth - 1; i >= bottom; i--) {
      if (this.returnLow[i] === low && this.returnHigh[i] === high) return this.depth - i;
    }
    return 0;
  }
}
