import type { PerfEvent } from "@perfdata/format/records";
import { IdMap } from "@perfdata/format/bytes";
import { PERF_SAMPLE_READ, PERF_SAMPLE_TID } from "@perfdata/format/constants";

/** The value of a counter at its last sample, as halves. */
export interface CounterValue {
  /** Upper half, unsigned. */
  hi: number;
  /** Lower half, unsigned. */
  lo: number;
}

/**
 * Whether each thread has a value of its own for one id in the samples of an event. Inherited
 * counters have the id of the counter that they were copied from. Kernels since 6.12 allow such
 * group reads if samples have the thread id.
 */
export function countsPerThread({ attr, layout }: PerfEvent): boolean {
  const needed = PERF_SAMPLE_READ | PERF_SAMPLE_TID;
  return attr.flags.inherit && (layout.sampleType & needed) === needed;
}

/**
 * The last values of counters, initially 0: by id, and by id and thread for inherited counters (see
 * {@linkcode countsPerThread}).
 *
 * @example
 * ```ts
 * import { CounterValues } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const values = new CounterValues();
 * values.ofThread(0, 5, 7, 7).lo = 100;
 * assertEquals([values.ofThread(0, 5, 7, 7).lo, values.ofThread(0, 5, 7, 8).lo, values.of(0, 5).lo], [100, 0, 0]);
 * ```
 */
export class CounterValues {
  readonly #shared = new IdMap<CounterValue>();
  readonly #threads = new IdMap<IdMap<CounterValue>>();

  /** The value of the counter with an id; the caller updates it. */
  of(idHi: number, idLo: number): CounterValue {
    return this.#shared.get(idHi, idLo) ?? added(this.#shared, idHi, idLo, { hi: 0, lo: 0 });
  }

  /** The value of a thread for an id; the caller updates it. */
  ofThread(idHi: number, idLo: number, pid: number, tid: number): CounterValue {
    const own = this.#threads.get(pid, tid) ??
      added(this.#threads, pid, tid, new IdMap<CounterValue>());
    return own.get(idHi, idLo) ?? added(own, idHi, idLo, { hi: 0, lo: 0 });
  }
}

function added<T>(map: IdMap<T>, hi: number, lo: number, value: T): T {
  map.set(BigInt(hi >>> 0) << 32n | BigInt(lo >>> 0), value);
  return value;
}
