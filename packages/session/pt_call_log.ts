import { enlarge } from "@perfdata/format/enlarge";
import type { LatencyTable } from "./pt_latency.ts";

/** The row that a called place is counted in. */
export interface CallRows {
  /** Finds out the rows of places that are new. */
  resolve(): Promise<void> | void;
  /** The row of a place, which is found out; -1 where its calls do not count. */
  of(place: number): number;
}

/** Rows that are not known in advance: each place is one. */
export const PLACE_ROWS: CallRows = { resolve: () => {}, of: (place) => place };

const CALL = 0;

/**
 * Calls and their ends that are not counted yet: which of them are recursions is known only when it is
 * known what is called, since several places may be one function.
 */
export class CallLog {
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
  readonly #tids: number[] = [];

  /** A thread, or the idle task of a CPU; returns its number. */
  thread(tid: number): number {
    this.#open.push(new Int32Array(64));
    return this.#tids.push(tid) - 1;
  }

  /** A call of a place. */
  call(thread: number, place: number): void {
    this.#add(CALL, thread, place, -1, -1, 0, false);
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
    this.#add(kind, thread, place, since, end, insns, counts);
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

  /** Counts what came; time of calls is that between `from` and `to`, ns. */
  settle(rows: CallRows, latency: LatencyTable, from: number, to: number): void {
    for (let n = 0; n < this.#count; n++) {
      const row = rows.of(this.#place[n] as number);
      if (row < 0) continue;
      const thread = this.#thread[n] as number;
      let open = this.#open[thread] as Int32Array;
      if (row >= open.length) open = this.#open[thread] = enlarge(open, row + 1);
      const kind = this.#kind[n] as number;
      if (kind === CALL) {
        open[row] = (open[row] as number) + 1;
        continue;
      }
      const others = open[row] = (open[row] as number) - 1;
      const since = this.#since[n] as number;
      const end = this.#end[n] as number;
      const isKnown = since >= 0 && end >= 0;
      // A recursion is a part of the call around it.
      const time = isKnown && others === 0
        ? Math.max(0, Math.min(end, to) - Math.max(since, from))
        : 0;
      if (this.#counts[n] === 0) {
        if (time > 0) latency.addTime(row, time);
        continue;
      }
      const insns = others === 0 ? this.#insns[n] as number : 0;
      const tid = this.#tids[thread] as number;
      latency.add(row, tid, since, isKnown ? end - since : -1, insns, time, kind === 1);
    }
    this.#count = 0;
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
