import { enlarge } from "@perfdata/format/bytes";
import type { OpenPaths } from "./pt_open_paths.ts";

/** Maximum number of frames in which a return searches for its call, past frames that longjmp left. */
const MAX_SEARCH = 4096;

/** Ends of the last block of a thread. */
export const PENDING = {
  NONE: 0,
  CALL: 1,
  RETURN: 2,
  LEAVE: 3,
  COME_BACK: 4,
  JUMP: 5,
  /** Unknown: another thread of this program decodes the code before. */
  UNKNOWN: 6,
} as const;

/** Whether the address is known at which execution continues after user space was left. */
export const RESUMES = { NO: 0, YES: 1, UNKNOWN: 2 } as const;

/** The open calls of a thread. */
export class CallStack {
  readonly tid: number;
  /** The place of the first code, which has no known call; -1 before it. */
  base = -1;
  /** The node of the innermost call, or -1. */
  node = -1;
  /** Instructions that were added to a node. */
  noted = 0;
  /** Time in ns since which `node` is innermost; -1 if the thread does not run. */
  nodeSince = -1;
  depth = 0;
  place: Int32Array = new Int32Array(64);
  returnLow: Int32Array = new Int32Array(64);
  returnHigh: Int32Array = new Int32Array(64);
  since: Float64Array = new Float64Array(64);
  sinceInsns: Float64Array = new Float64Array(64);
  sinceCycles: Float64Array = new Float64Array(64);
  /** 1 if the thread of the call was unsure. */
  sinceUnsure: Uint8Array = new Uint8Array(64);
  /** Whether it is unsure that this thread runs now. */
  isUnsure = false;
  insns = 0;
  /** Core clocks while it ran. */
  cycles = 0;
  /** End of the last block, and the return address of a call. */
  pending: number = PENDING.NONE;
  pendingBlock = 0;
  pendingLow = 0;
  pendingHigh = 0;
  /** Address at which execution continues after user space was left, if `resumes` is YES. */
  resumes: number = RESUMES.NO;
  resumeLow = 0;
  resumeHigh = 0;
  /** Maximum number of open calls since {@linkcode CallStack.empty}. */
  peak = 0;
  /** Indices of the calls that were made since then. */
  readonly sites: number[] = [];
  /** By index of a call: the number of calls around its last execution, and the epoch of that. */
  #siteDepth = new Int32Array(0);
  #siteEpoch = new Int32Array(0);
  #epoch = 1;
  /** The waiting paths of the buffer that it ran on last. */
  open: OpenPaths | undefined;
  /** Its index in the `CallLog`. */
  readonly number: number;

  constructor(tid: number, number: number) {
    this.tid = tid;
    this.number = number;
  }

  /** Sets the number of calls around a call that is executed. */
  noteSite(site: number, depth: number): void {
    if (site >= this.#siteDepth.length) {
      this.#siteDepth = enlarge(this.#siteDepth, site + 1);
      this.#siteEpoch = enlarge(this.#siteEpoch, site + 1);
    }
    this.#siteDepth[site] = depth;
    this.#siteEpoch[site] = this.#epoch;
  }

  /** Number of calls around the last execution of a call; -1 if there was none. */
  depthOf(site: number): number {
    return this.#siteEpoch[site] === this.#epoch ? this.#siteDepth[site] as number : -1;
  }

  /** Forgets all calls, which the joining thread takes over. */
  empty(): void {
    this.depth = 0;
    this.peak = 0;
    this.sites.length = 0;
    this.#epoch++;
  }

  /** Forgets all state, since the code before is unknown. */
  restart(): void {
    this.empty();
    this.base = -1;
    this.noted = 0;
    this.insns = 0;
    this.cycles = 0;
    this.pending = PENDING.UNKNOWN;
    this.resumes = RESUMES.UNKNOWN;
  }

  push(place: number, low: number, high: number, time: number): void {
    const n = this.depth++;
    if (n >= this.peak) this.peak = n + 1;
    if (n === this.place.length) {
      this.place = enlarge(this.place, n + 1);
      this.returnLow = enlarge(this.returnLow, n + 1);
      this.returnHigh = enlarge(this.returnHigh, n + 1);
      this.since = enlarge(this.since, n + 1);
      this.sinceInsns = enlarge(this.sinceInsns, n + 1);
      this.sinceCycles = enlarge(this.sinceCycles, n + 1);
      this.sinceUnsure = enlarge(this.sinceUnsure, n + 1);
    }
    this.place[n] = place;
    this.returnLow[n] = low;
    this.returnHigh[n] = high;
    this.since[n] = time;
    this.sinceInsns[n] = this.insns;
    this.sinceCycles[n] = this.cycles;
    this.sinceUnsure[n] = this.isUnsure ? 1 : 0;
  }

  /** Forgets the outer half of the calls, whose returns were not seen. */
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
        this.sinceUnsure,
      ]
    ) column.copyWithin(0, n, this.depth);
    this.depth -= n;
  }

  /** Whether a return without a call among these frames may end a call of the joining thread. */
  get isOpenBelow(): boolean {
    return this.depth < MAX_SEARCH;
  }

  /** Number of frames that a return to an address ends; 0 if no frame has this return address. */
  returnsTo(low: number, high: number): number {
    const bottom = Math.max(0, this.depth - MAX_SEARCH);
    for (let i = this.depth - 1; i >= bottom; i--) {
      if (this.returnLow[i] === low && this.returnHigh[i] === high) return this.depth - i;
    }
    return 0;
  }
}
