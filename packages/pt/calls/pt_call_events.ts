import { enlarge } from "@perfdata/format/bytes";

/**
 * Rows from a worker thread to the one that knows their threads and CPUs: columns of {@linkcode
 * CallEvents}.
 */
export interface CallEventPart {
  /** A call or a return: see there. */
  readonly kind: Uint8Array<ArrayBuffer>;
  /** Calls around it among those that are known there. */
  readonly depth: Int32Array<ArrayBuffer>;
  /** A place there. */
  readonly place: Int32Array<ArrayBuffer>;
  /** When, ns. */
  readonly time: Float64Array<ArrayBuffer>;
  /** Of a return: ns since the call. */
  readonly duration: Float64Array<ArrayBuffer>;
  /** Of a return: instructions since the call. */
  readonly insns: Float64Array<ArrayBuffer>;
  /** For a return: core clocks since the call; empty if all are 0. */
  readonly cycles: Float64Array<ArrayBuffer>;
}

/** Rows that are joined: from one up to another, of a thread on a CPU (-1: not known), `depth` calls deep. */
export type JoinedRows = Readonly<Record<"from" | "to" | "tid" | "cpu" | "depth", number>>;

/** Calls and returns: rows in order of each thread's execution. */
export class CallEvents {
  /** Number of rows. */
  count = 0;
  /** 0 a call, 1 a return, 2 a return that was not seen: the trace ends, or longjmp passed it by. */
  kind: Uint8Array = new Uint8Array(256);
  /** The thread. */
  tid: Int32Array = new Int32Array(256);
  /** The CPU, or -1. */
  cpu: Int32Array = new Int32Array(256);
  /** Calls around it. */
  depth: Int32Array = new Int32Array(256);
  /** The called function: a place of `PtCode.table`. */
  place: Int32Array = new Int32Array(256);
  /** When, ns; -1 if there is no time. */
  time: Float64Array = new Float64Array(256);
  /** For a return: ns since the call; -1 if not known. */
  duration: Float64Array = new Float64Array(256);
  /** For a return: instructions since the call, including callees. */
  insns: Float64Array = new Float64Array(256);
  /** Of a return: core clocks since the call in which the thread ran; 0 without CYC packets. */
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

  /** Forgets all rows. */
  clear(): void {
    this.count = 0;
  }

  /** Forgets the first rows. */
  drop(rows: number): void {
    for (const column of this.#columns) column.copyWithin(0, rows, this.count);
    this.count -= rows;
  }

  /** Hands out all rows, and is empty then. */
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
   * Adds rows that another thread has handed out.
   *
   * @param rows Which of them, whose they are, and how many calls are around them that the other one does not know.
   * @param placeOf The place here of one there.
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
    // Traces in which threads are not sure are decoded by one thread.
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
