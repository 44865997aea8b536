import { enlarge } from "@perfdata/format/bytes";
import type { OwnSums } from "./pt_call_ops.ts";
import type { LatencyTable } from "./pt_latency.ts";

/** Rows of {@linkcode LatencyTable}, by called place. */
export interface CallRows {
  /** Finds the rows of new places. */
  resolve(): Promise<void> | void;
  /** The row of a place, `undefined` until known; -1 if its calls do not count. */
  of(place: number): number | undefined;
}

/** Rows that are known in advance: each place is a row. */
export const PLACE_ROWS: CallRows = { resolve: () => {}, of: (place) => place };

/** Ends of calls: a return, or none because the trace ends or longjmp left the call. */
export const CALL_END = { RETURNED: 1, PASSED: 2 } as const;

/** Further kinds of entries: a call; and a hand-over, whose number is in `place`. */
const CALL = 0;
const HANDED_OVER = 3;

/** The end of the innermost call of a place. */
export class EndedCall {
  /** {@linkcode CALL_END}. */
  kind: number;
  place: number;
  /** Start time in ns; -1 if unknown. */
  since: number = -1;
  /** End time in ns; -1 if unknown. */
  end: number = -1;
  /** Instructions since the start. */
  insns = 0;
  /** Whether the call passes the filter. */
  counts: boolean;

  /** Creates the end of a call with unknown times. */
  constructor(kind: number = CALL_END.PASSED, place = -1, counts = false) {
    this.kind = kind;
    this.place = place;
    this.counts = counts;
  }

  /** Duration in ns; -1 if unknown. */
  get duration(): number {
    return this.since < 0 || this.end < 0 ? -1 : this.end - this.since;
  }
}

/** Outputs of {@linkcode CallLog}, and the time filter. */
export interface CallCounting {
  readonly rows: CallRows;
  readonly latency: LatencyTable;
  /** Start of the time filter in ns. */
  readonly from: number;
  /** End of the time filter in ns. */
  readonly to: number;
  /** Receives sums that depend on the open calls around them, for the joining thread. */
  readonly own?: OwnSums | undefined;
}

/**
 * Counts calls and their ends. A recursion is known only if the function of its place is known,
 * since several places may be one function. So all entries wait from the first new place on.
 */
export class CallLog {
  readonly #counting: CallCounting;
  #count = 0;
  /** Kind of each waiting entry: {@linkcode CALL_END}, `CALL` or `HANDED_OVER`. */
  #kind = new Uint8Array(256);
  #thread = new Int32Array(256);
  #place = new Int32Array(256);
  #since = new Float64Array(256);
  #end = new Float64Array(256);
  #insns = new Float64Array(256);
  #counts = new Uint8Array(256);
  /** The count of open calls by thread and row. */
  readonly #open: Int32Array[] = [];
  /** Rows that were opened since the last {@linkcode CallLog.handOver}. */
  readonly #opened: number[] = [];
  readonly #tids: number[] = [];

  constructor(counting: CallCounting) {
    this.#counting = counting;
  }

  /** Adds a thread, or the idle task of a CPU; returns its index. */
  thread(tid: number): number {
    this.#open.push(new Int32Array(64));
    return this.#tids.push(tid) - 1;
  }

  call(thread: number, place: number): void {
    const row = this.#count === 0 ? this.#counting.rows.of(place) : undefined;
    if (row === undefined) this.#add(CALL, thread, place);
    else this.#begin(row, thread);
  }

  end(thread: number, ended: EndedCall): void {
    const row = this.#count === 0 ? this.#counting.rows.of(ended.place) : undefined;
    if (row !== undefined) return this.#finish(row, thread, ended);
    const n = this.#add(ended.kind, thread, ended.place);
    this.#since[n] = ended.since;
    this.#end[n] = ended.end;
    this.#insns[n] = ended.insns;
    this.#counts[n] = ended.counts ? 1 : 0;
  }

  /** Forgets the open calls of a thread, which the joining thread continues; ends their sums. */
  handOver(thread: number, number: number): void {
    if (this.#count === 0) this.#handOver(thread, number);
    else this.#add(HANDED_OVER, thread, number);
  }

  isOpen(thread: number, row: number): boolean {
    return ((this.#open[thread] as Int32Array)[row] ?? 0) > 0;
  }

  #handOver(thread: number, number: number): void {
    const open = this.#open[thread] as Int32Array;
    for (const row of this.#opened) open[row] = 0;
    this.#opened.length = 0;
    this.#counting.own?.end(number);
  }

  #add(kind: number, thread: number, place: number): number {
    if (this.#count === this.#kind.length) this.#grow();
    const n = this.#count++;
    this.#kind[n] = kind;
    this.#thread[n] = thread;
    this.#place[n] = place;
    return n;
  }

  /** Counts the waiting entries, after the rows of all places were resolved. */
  settle(): void {
    const { rows } = this.#counting;
    const ended = new EndedCall();
    for (let n = 0; n < this.#count; n++) {
      const kind = this.#kind[n] as number;
      const thread = this.#thread[n] as number;
      const place = this.#place[n] as number;
      if (kind === HANDED_OVER) {
        this.#handOver(thread, place);
        continue;
      }
      const row = rows.of(place) as number;
      if (kind === CALL) {
        this.#begin(row, thread);
        continue;
      }
      ended.kind = kind;
      ended.place = place;
      ended.since = this.#since[n] as number;
      ended.end = this.#end[n] as number;
      ended.insns = this.#insns[n] as number;
      ended.counts = this.#counts[n] !== 0;
      this.#finish(row, thread, ended);
    }
    this.#count = 0;
  }

  #begin(row: number, thread: number): void {
    if (row < 0) return;
    let open = this.#open[thread] as Int32Array;
    if (row >= open.length) open = this.#open[thread] = enlarge(open, row + 1);
    if (this.#counting.own !== undefined && open[row] === 0) this.#opened.push(row);
    open[row] = (open[row] as number) + 1;
  }

  #finish(row: number, thread: number, ended: EndedCall): void {
    if (row < 0) return;
    const { latency, from, to, own } = this.#counting;
    const { kind, since, end, duration, counts } = ended;
    const open = this.#open[thread] as Int32Array;
    const others = open[row] = (open[row] as number) - 1;
    // A recursive call is part of the call around it.
    const time = duration !== -1 && others === 0
      ? Math.max(0, Math.min(end, to) - Math.max(since, from))
      : 0;
    const insns = counts && others === 0 ? ended.insns : 0;
    if (time > 0 || insns > 0) (own ?? latency).addOwn(row, time, insns);
    if (!counts) return;
    latency.add(row, this.#tids[thread] as number, since, duration, kind === CALL_END.RETURNED);
  }

  #grow(): void {
    const n = this.#count + 1;
    this.#kind = enlarge(this.#kind, n);
    this.#thread = enlarge(this.#thread, n);
    this.#place = enlarge(this.#place, n);
    this.#since = enlarge(this.#since, n);
    this.#end = enlarge(this.#end, n);
    this.#insns = enlarge(this.#insns, n);
    this.#counts = enlarge(this.#counts, n);
  }
}
