import { COMM, FORK } from "@perfdata/format/records";
import { layoutOf } from "@perfdata/format/struct";
import { PERF_RECORD_COMM, PERF_RECORD_FORK } from "@perfdata/format/record-types";
import type { Engine } from "./engine.ts";
import type { Run } from "./run.ts";

// Where the fields of records lie.
const NAME = layoutOf(COMM);
const TASK = layoutOf(FORK);

/**
 * The comms of samples, by numbers of its own.
 *
 * What a thread did before it got its first name counts under that name, as with perf
 * (`thread__set_comm` of tools/perf/util/thread.c); a thread that never gets one is `:tid`.
 */
export class SampleComms {
  /** Comms by number; those of threads without a name may still change. */
  readonly texts: string[] = [];
  /** By number: the name in `engine.names`; of a thread without one, -1 minus its thread id. */
  readonly keys: number[] = [];
  readonly #engine: Engine;
  readonly #byName: (number | undefined)[] = [];
  readonly #unnamedByTid = new Map<number, number>();

  /** Knows no comm yet. */
  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** The comm of the sample in row `i` of a run. */
  of(run: Run, i: number): number {
    const { past } = this.#engine;
    const name = past === undefined
      ? run.comm[i] as number
      : past.namedComms[run.thread[i] as number] as number;
    return name >= 0 ? this.#byName[name] ?? this.#add(name) : this.#unnamed(run.tid[i] as number);
  }

  /** The number of a comm of another thread's {@link SampleComms.keys}, for the same recording. */
  ofKey(key: number): number {
    return key >= 0 ? this.#byName[key] ?? this.#add(key) : this.#unnamed(-1 - key);
  }

  /** Takes record `i` of a run that is no sample: a thread may get a name, or its id is used again. */
  record(run: Run, i: number): void {
    // The past knows which names come later.
    if (this.#unnamedByTid.size === 0 || this.#engine.past !== undefined) return;
    const type = run.type[i] as number;
    if (type !== PERF_RECORD_COMM && type !== PERF_RECORD_FORK) return;
    const { view, bytes } = run.at(i);
    const start = run.start[i] as number;
    const end = run.end[i] as number;
    const at = start + (type === PERF_RECORD_COMM ? NAME : TASK).tid;
    const tid = at + 4 <= end ? view.getInt32(at, this.#engine.reader.littleEndian) : -1;
    const comm = this.#unnamedByTid.get(tid);
    if (comm === undefined) return;
    this.#unnamedByTid.delete(tid);
    if (type === PERF_RECORD_COMM) {
      const text = bytes.subarray(start + NAME.comm, end);
      const nul = text.indexOf(0);
      this.texts[comm] = new TextDecoder().decode(nul < 0 ? text : text.subarray(0, nul));
    }
  }

  #add(name: number): number {
    this.keys.push(name);
    return this.#byName[name] = this.texts.push(this.#engine.names.text(name)) - 1;
  }

  #unnamed(tid: number): number {
    let comm = this.#unnamedByTid.get(tid);
    if (comm === undefined) {
      comm = this.texts.push(`:${tid}`) - 1;
      this.keys.push(-1 - tid);
      this.#unnamedByTid.set(tid, comm);
    }
    return comm;
  }
}
