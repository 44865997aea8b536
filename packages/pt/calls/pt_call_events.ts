import { enlarge } from "@perfdata/format/enlarge";

/** What happened: rows in order of each thread's execution. */
export class CallEvents {
  /** Number of rows. */
  count = 0;
  /** 0 a call, 1 a return, 2 a return that was not seen: the trace ends, or longjmp passed it by. */
  kind: Uint8Array = new Uint8Array(256);
  /** The thread. */
  tid: Int32Array = new Int32Array(256);
  /** Process of the thread, or -1. */
  cpu: Int32Array = new Int32Array(256);
  /** Calls around it. */
  depth: Int32Array = new Int32Array(256);
  /** What is called: a place of `PtCode.table`. */
  place: Int32Array = new Int32Array(256);
  /** When, ns; -1 where there is no time. */
  time: Float64Array = new Float64Array(256);
  /** Of a return: ns since the call; -1 where it is not known. */
  duration: Float64Array = new Float64Array(256);
  /** Of a return: instructions since the call, of this and what it called. */
  insns: Float64Array = new Float64Array(256);
  /** Of a return: core clocks since the call in which the thread ran; 0 without CYC packets. */
  cycles: Float64Array = new Float64Array(256);

  /** Adds a row. */
  add(
    kind: number,
    tid: number,
    cpu: number,
    depth: number,
    place: number,
    time: number,
    duration: number,
    insns: number,
    cycles: number,
  ): void {
    if (this.count === this.kind.length) this.#grow();
    const n = this.count++;
    this.kind[n] = kind;
    this.tid[n] = tid;
    this.cpu[n] = cpu;
    this.depth[n] = depth;
    this.place[n] = place;
    this.time[n] = time;
    this.duration[n] = duration;
    this.insns[n] = insns;
    this.cycles[n] = cycles;
  }

  /** Forgets all rows. */
  clear(): void {
    this.count = 0;
  }

  #grow(): void {
    const n = this.count + 1;
    this.kind = enlarge(this.kind, n);
    this.tid = enlarge(this.tid, n);
    this.cpu = enlarge(this.cpu, n);
    this.depth = enlarge(this.depth, n);
    this.place = enlarge(this.place, n);
    this.time = enlarge(this.time, n);
    this.duration = enlarge(this.duration, n);
    this.insns = enlarge(this.insns, n);
    this.cycles = enlarge(this.cycles, n);
  }
}
