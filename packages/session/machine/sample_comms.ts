import { enlarge, intAt } from "@perfdata/format/bytes";
import { COMM, FORK, layoutOf } from "@perfdata/format/records";
import { PERF_RECORD_COMM, PERF_RECORD_FORK } from "@perfdata/format/constants";
import type { Engine } from "../engine/engine.ts";
import { TidTable } from "./machine_tids.ts";
import type { Run } from "../order/run.ts";

// Offsets of the fields of records.
const NAME = layoutOf(COMM);
const TASK = layoutOf(FORK);

/**
 * The comms (thread names) of samples, as indices of names.
 *
 * Samples of a thread before its first name count for that name, as in perf (`thread__set_comm` of
 * tools/perf/util/thread.c). A thread that never gets a name is `:tid`.
 *
 * Even numbers are names of the engine. Odd numbers are threads without a name, of which there may
 * be millions.
 */
export class SampleComms {
  readonly #engine: Engine;
  readonly #tids = new TidTable();
  /** The present unnamed thread with a thread id, by index of the id in `#tids`, or -1. */
  #unnamed = new Int32Array(0);
  /** Thread ids and processes of unnamed threads; -1 if unknown. */
  #unnamedTids = new Int32Array(256);
  #unnamedPids = new Int32Array(256);
  #unnamedCount = 0;
  /** Names that unnamed threads got later. */
  readonly #late = new Map<number, string>();

  /** Starts without comms. */
  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Thread ids of unnamed threads, then their processes, for {@link SampleComms.ofPart}. */
  part(): Int32Array<ArrayBuffer> {
    const count = this.#unnamedCount;
    const part = new Int32Array(2 * count);
    part.set(this.#unnamedTids.subarray(0, count));
    part.set(this.#unnamedPids.subarray(0, count), count);
    return part;
  }

  /** The comm of the sample in row `i` of a group of records. */
  of(run: Run, i: number): number {
    const { past } = this.#engine;
    const name = past === undefined
      ? run.comm[i] as number
      : past.namedComms[run.thread[i] as number] as number;
    return this.ofThread(name, run.tid[i] as number, run.process[i] as number);
  }

  /**
   * The comm of a thread by its name, a number of the engine's names, or -1.
   *
   * @param pid Its process, or -1 if unknown.
   */
  ofThread(name: number, tid: number, pid: number): number {
    return name >= 0 ? 2 * name : this.#unnamedOf(tid, pid);
  }

  /**
   * The comm here for a comm in another thread's {@link SampleComms.part} of the same recording.
   */
  ofPart(part: Int32Array, comm: number): number {
    const unnamed = comm >> 1;
    return (comm & 1) === 0 ? comm : this.#unnamedOf(
      intAt(part, unnamed),
      intAt(part, unnamed + part.length / 2),
    );
  }

  /** The name of a comm; `undefined` if the thread never got a name. */
  name(comm: number): string | undefined {
    return (comm & 1) === 0 ? this.#engine.names.text(comm >> 1) : this.#late.get(comm);
  }

  /** The thread id of an unnamed thread. */
  tid(comm: number): number {
    return this.#unnamedTids[comm >> 1] as number;
  }

  /** The process of an unnamed thread; -1 if unknown. */
  pid(comm: number): number {
    return intAt(this.#unnamedPids, comm >> 1);
  }

  /** Text of a comm; that of an unnamed thread may still change. */
  text(comm: number): string {
    return this.name(comm) ?? `:${this.tid(comm)}`;
  }

  /**
   * Applies the record in row `i`, which is not a sample: a thread may get a name, or its id is used
   * again.
   */
  record(run: Run, i: number): void {
    // The history already has later names.
    if (this.#unnamedCount === 0 || this.#engine.past !== undefined) return;
    const type = run.type[i] as number;
    if (type !== PERF_RECORD_COMM && type !== PERF_RECORD_FORK) return;
    const { view, bytes } = run.at(i);
    const start = run.start[i] as number;
    const end = run.end[i] as number;
    const idAt = (field: number): number =>
      start + field + 4 <= end
        ? view.getInt32(start + field, this.#engine.reader.littleEndian)
        : -1;
    if (type === PERF_RECORD_FORK) {
      this.#end(idAt(TASK.tid));
      // If the parent belongs to another process than its thread, its id now means a new thread;
      // see `Machine`.
      const parent = this.#known(idAt(TASK.ptid));
      const pid = this.#unnamedPids[parent] ?? -1;
      if (pid >= 0 && pid !== idAt(TASK.ppid)) this.#end(idAt(TASK.ptid));
      return;
    }
    const unnamed = this.#end(idAt(NAME.tid));
    if (unnamed < 0) return;
    const text = bytes.subarray(start + NAME.comm, end);
    const nul = text.indexOf(0);
    const name = new TextDecoder().decode(nul < 0 ? text : text.subarray(0, nul));
    this.#late.set(2 * unnamed + 1, name);
  }

  /** The present unnamed thread with a thread id, or -1. */
  #known(tid: number): number {
    return this.#unnamed[this.#tids.find(tid)] ?? -1;
  }

  /** Forgets the unnamed thread with a thread id, which got a name or ended; returns it, or -1. */
  #end(tid: number): number {
    const unnamed = this.#known(tid);
    if (unnamed >= 0) this.#unnamed[this.#tids.find(tid)] = -1;
    return unnamed;
  }

  #unnamedOf(tid: number, pid: number): number {
    const number = this.#tids.add(tid);
    if (number >= this.#unnamed.length) {
      const known = this.#unnamed.length;
      this.#unnamed = enlarge(this.#unnamed, Math.max(256, number + 1)).fill(-1, known);
    }
    let unnamed = this.#unnamed[number] as number;
    if (unnamed < 0) {
      unnamed = this.#unnamed[number] = this.#unnamedCount++;
      if (unnamed === this.#unnamedTids.length) {
        this.#unnamedTids = enlarge(this.#unnamedTids, unnamed + 1);
        this.#unnamedPids = enlarge(this.#unnamedPids, unnamed + 1);
      }
      this.#unnamedTids[unnamed] = tid;
      this.#unnamedPids[unnamed] = -1;
    }
    if (this.#unnamedPids[unnamed] === -1) this.#unnamedPids[unnamed] = pid;
    return 2 * unnamed + 1;
  }
}
