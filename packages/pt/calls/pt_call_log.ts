import { enlarge } from "@perfdata/format/enlarge";
import type { OwnSums } from "./pt_call_part.ts";
import type { LatencyTable } from "./pt_latency.ts";

/** The row that a called place is counted in. */
export interface CallRows {
  /** Finds out the rows of places that are new. */
  resolve(): Promise<void> | void;
  /** The row of a place, `undefined` until it is found out; -1 where its calls do not count. */
  of(place: number): number | undefined;
}

/** Rows that are not known in advance: each place is one. */
export const PLACE_ROWS: CallRows = { resolve: () => {}, of: (place) => place };

const CALL = 0;
/** In place of a kind: what came before has a number, `place`; what was open is somebody else's. */
const END = 3;

/** What counts calls, and which part of them counts. */
export interface CallCounting {
  /** The rows of places. */
  readonly rows: CallRows;
  /** Takes the calls. */
  readonly latency: LatencyTable;
  /** Time of calls is that from here on, ns. */
  readonly from: number;
  /** Time of calls is that up to here, ns. */
  readonly to: number;
  /** What of it others have to decide who know what is open around it. */
  readonly own?: OwnSums | undefined;
}

/**
 * Counts calls and their ends. Which of them are recursions is known only when it is known what is called,
 * since several places may be one function: from the first place on that is new, they wait.
 */
export class CallLog {
  readonly #counting: CallCounting;
  #count = 0;
  /** 0 a call, 1 a return, 2 a return that was not seen. */
  #kind = new Uint8Array(256);
  #thread = new Int32Array(256);
  #place = new Int32Array(256);
  #since = new Float64Array(256);
  #end = new Float64Array(256);
  #insns = new Float64Array(256);
  #counts = new Uint8Array(256);
  /** How often each row is open, by thread. */
  readonly #open: Int32Array[] = [];
  /** Rows that were opened since the last {@linkcode CallLog.handOver}. */
  readonly #opened: number[] = [];
  readonly #tids: number[] = [];

  /** Begins with nothing. */
  constructor(counting: CallCounting) {
    this.#counting = counting;
  }

  /** A thread, or the idle task of a CPU; returns its number. */
  thread(tid: number): number {
    this.#open.push(new Int32Array(64));
    return this.#tids.push(tid) - 1;
  }

  /** A call of a place. */
  call(thread: number, place: number): void {
    const row = this.#count === 0 ? this.#counting.rows.of(place) : undefined;
    if (row === undefined) this.#add(CALL, thread, place, -1, -1, 0, false);
    else this.#begin(row, thread);
  }

  /**
   * The end of the innermost call of a place.
   *
   * @param kind 1 where its return was seen, else 2.
   * @param since When it began, ns; -1 where that is not known.
   * @param end When it ended, ns.
   * @param counts Whether it is one of the calls that are asked for.
   */
  end(
    kind: number,
    thread: number,
    place: number,
    since: number,
    end: number,
    insns: number,
    counts: boolean,
  ): void {
    const row = this.#count === 0 ? this.#counting.rows.of(place) : undefined;
    if (row === undefined) this.#add(kind, thread, place, since, end, insns, counts);
    else this.#finish(row, kind, thread, since, end, insns, counts);
  }

  /** What is open of a thread is handed over, and what was added before has a number. */
  handOver(thread: number, number: number): void {
    if (this.#count === 0) this.#handOver(thread, number);
    else this.#add(END, thread, number, -1, -1, 0, false);
  }

  /** Whether a call of a row is open in a thread. */
  isOpen(thread: number, row: number): boolean {
    return ((this.#open[thread] as Int32Array)[row] ?? 0) > 0;
  }

  #handOver(thread: number, number: number): void {
    const open = this.#open[thread] as Int32Array;
    for (const row of this.#opened) open[row] = 0;
    this.#opened.length = 0;
    this.#counting.own?.end(number);
  }

  #add(
    kind: number,
    thread: number,
    place: number,
    since: number,
    end: number,
    insns: number,
    counts: boolean,
  ): void {
    if (this.#count === this.#kind.length) this.#grow();
    const n = this.#count++;
    this.#kind[n] = kind;
    this.#thread[n] = thread;
    this.#place[n] = place;
    this.#since[n] = since;
    this.#end[n] = end;
    this.#insns[n] = insns;
    this.#counts[n] = counts ? 1 : 0;
  }

  /** Counts what waits; the rows of all places are found out. */
  settle(): void {
    const { rows } = this.#counting;
    for (let n = 0; n < this.#count; n++) {
      const kind = this.#kind[n] as number;
      const thread = this.#thread[n] as number;
      if (kind === END) {
        this.#handOver(thread, this.#place[n] as number);
        continue;
      }
      const row = rows.of(this.#place[n] as number) as number;
      if (kind === CALL) this.#begin(row, thread);
      else {
        this.#finish(
          row,
          kind,
          thread,
          this.#since[n] as number,
          this.#end[n] as number,
          this.#insns[n] as number,
          this.#counts[n] !== 0,
        );
      }
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

  #finish(
    row: number,
    kind: number,
    thread: number,
    since: number,
    end: number,
    insns: number,
    counts: boolean,
  ): void {
    if (row < 0) return;
    const { latency, from, to, own } = this.#counting;
    const open = this.#open[thread] as Int32Array;
    const others = open[row] = (open[row] as number) - 1;
    const isKnown = since >= 0 && end >= 0;
    // A recursion is a part of the call around it.
    const time = isKnown && others === 0
      ? Math.max(0, Math.min(end, to) - Math.max(since, from))
      : 0;
    const ownInsns = counts && others === 0 ? insns : 0;
    if (time > 0 || ownInsns > 0) (own ?? latency).addOwn(row, time, ownInsns);
    if (!counts) return;
    const tid = this.#tids[thread] as number;
    latency.add(row, tid, since, isKnown ? end - since : -1, kind === 1);
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
