import { enlarge } from "@perfdata/format/bytes";

/**
 * Rows from a worker for the joining thread, which knows their threads and CPUs: columns of
 * {@linkcode CallEvents}.
 */
export interface CallEventPart {
  /** Kind of each row: see {@linkcode CallEvents.kind}. */
  readonly kind: Uint8Array<ArrayBuffer>;
  /** Number of calls around it in the worker. */
  readonly depth: Int32Array<ArrayBuffer>;
  /** Place in the worker. */
  readonly place: Int32Array<ArrayBuffer>;
  /** Time in ns. */
  readonly time: Float64Array<ArrayBuffer>;
  /** For a return: ns since the call. */
  readonly duration: Float64Array<ArrayBuffer>;
  /** For a return: instructions since the call. */
  readonly insns: Float64Array<ArrayBuffer>;
  /** For a return: core clocks since the call; empty if all are 0. */
  readonly cycles: Float64Array<ArrayBuffer>;
}

/**
 * Rows to join: from one number up to another, with their thread, CPU (-1 if unknown) and depth of
 * calls.
 */
export type JoinedRows = Readonly<Record<"from" | "to" | "tid" | "cpu" | "depth", number>>;

/** Kinds of rows of {@linkcode CallEvents}. */
export const CALL_ROW = {
  /** A call. */
  CALL: 0,
  /** A return. */
  RETURN: 1,
  /** The end of a call without a return: by the end of the trace, or by longjmp. */
  PASSED: 2,
  /**
   * A value that the code at `place` wrote with PTWRITE: its lower 32 bits are in `insns`, its
   * upper ones in `cycles`.
   */
  PTWRITE: 3,
} as const;

/** Calls and returns: rows in order of each thread's execution. */
export class CallEvents {
  /** Number of rows. */
  count = 0;
  /** Kind of the row: {@linkcode CALL_ROW}. */
  kind: Uint8Array = new Uint8Array(256);
  /** The thread. */
  tid: Int32Array = new Int32Array(256);
  /** The CPU, or -1. */
  cpu: Int32Array = new Int32Array(256);
  /** Number of calls around it. */
  depth: Int32Array = new Int32Array(256);
  /** The called function: a place of `PtCode.table`. */
  place: Int32Array = new Int32Array(256);
  /** Time in ns; -1 without times. */
  time: Float64Array = new Float64Array(256);
  /** For a return: ns since the call; -1 if unknown. */
  duration: Float64Array = new Float64Array(256);
  /** For a return: instructions since the call, including callees. */
  insns: Float64Array = new Float64Array(256);
  /** For a return: core clocks since the call while the thread ran; 0 without CYC packets. */
  cycles: Float64Array = new Float64Array(256);
  /** 1 if the row may be of another thread: for a return, at the return or at the call. */
  unsure: Uint8Array = new Uint8Array(256);

  /** Adds a row for a call, or for a return without details; returns its number. */
  add(kind: number, tid: number, cpu: number, depth: number, place: number, time: number): number {
    if (this.count === this.kind.length) this.#grow();
    const n = this.count++;
    this.kind[n] = kind;
    this.tid[n] = tid;
    this.cpu[n] = cpu;
    this.depth[n] = depth;
    this.place[n] = place;
    this.time[n] = time;
    this.duration[n] = -1;
    this.insns[n] = this.cycles[n] = this.unsure[n] = 0;
    return n;
  }

  /** The value of a row of PTWRITE. */
  written(row: number): bigint {
    return BigInt(this.cycles[row] ?? 0) << 32n | BigInt(this.insns[row] ?? 0);
  }

  /** Forgets all rows. */
  clear(): void {
    this.count = 0;
  }

  /** Removes the first rows. */
  drop(rows: number): void {
    for (const column of this.#columns) column.copyWithin(0, rows, this.count);
    this.count -= rows;
  }

  /** Returns all rows and removes them here. */
  take(): CallEventPart {
    const { count } = this;
    let clocked = 0;
    while (clocked < count && this.cycles[clocked] === 0) clocked++;
    const part = {
      kind: this.kind.slice(0, count) as Uint8Array<ArrayBuffer>,
      depth: this.depth.slice(0, count) as Int32Array<ArrayBuffer>,
      place: this.place.slice(0, count) as Int32Array<ArrayBuffer>,
      time: this.time.slice(0, count) as Float64Array<ArrayBuffer>,
      duration: this.duration.slice(0, count) as Float64Array<ArrayBuffer>,
      insns: this.insns.slice(0, count) as Float64Array<ArrayBuffer>,
      cycles: this.cycles.slice(0, clocked < count ? count : 0) as Float64Array<ArrayBuffer>,
    };
    this.count = 0;
    return part;
  }

  /**
   * Adds rows of another thread.
   *
   * @param rows Range of the rows, their thread and CPU, and the number of calls around them that
   * the other thread does not know.
   * @param placeOf Places here, by places of the other thread.
   */
  join(part: CallEventPart, rows: JoinedRows, placeOf: Int32Array): void {
    const { from, to, tid, cpu, depth } = rows;
    const n = this.count;
    const end = this.count += to - from;
    while (this.kind.length < end) this.#grow();
    this.kind.set(part.kind.subarray(from, to), n);
    this.tid.fill(tid, n, end);
    this.cpu.fill(cpu, n, end);
    this.time.set(part.time.subarray(from, to), n);
    this.duration.set(part.duration.subarray(from, to), n);
    this.insns.set(part.insns.subarray(from, to), n);
    if (part.cycles.length > 0) this.cycles.set(part.cycles.subarray(from, to), n);
    else this.cycles.fill(0, n, end);
    // Traces with unsure threads are decoded by one thread.
    this.unsure.fill(0, n, end);
    let row = n;
    for (const around of part.depth.subarray(from, to)) this.depth[row++] = depth + around;
    row = n;
    for (const place of part.place.subarray(from, to)) this.place[row++] = placeOf[place] as number;
  }

  get #columns(): (Uint8Array | Int32Array | Float64Array)[] {
    const { kind, tid, cpu, depth, place, time, duration, insns, cycles, unsure } = this;
    return [kind, tid, cpu, depth, place, time, duration, insns, cycles, unsure];
  }

  #grow(): void {
    const n = this.kind.length + 1;
    this.kind = enlarge(this.kind, n);
    this.tid = enlarge(this.tid, n);
    this.cpu = enlarge(this.cpu, n);
    this.depth = enlarge(this.depth, n);
    this.place = enlarge(this.place, n);
    this.time = enlarge(this.time, n);
    this.duration = enlarge(this.duration, n);
    this.insns = enlarge(this.insns, n);
    this.cycles = enlarge(this.cycles, n);
    this.unsure = enlarge(this.unsure, n);
  }
}
