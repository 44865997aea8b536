import { floatAt, intAt } from "@perfdata/format/bytes";

/** Context switches in file order; times in ns from the start of the index. */
export interface Switched {
  readonly time: Float64Array;
  readonly pid: Int32Array;
  readonly tid: Int32Array;
  /** -1 if unknown. */
  readonly cpu: Int32Array;
  /** 1 if the thread left the CPU. */
  readonly out: Uint8Array;
  readonly more: boolean;
}

/** Ranges of time with a CPU: `from, to, from, to, …`, ordered by start. */
export type Ran = Float64Array;

/** A range of time in which a thread had a CPU. */
export interface Running {
  readonly tid: number;
  readonly pid: number;
  readonly cpu: number;
  readonly from: number;
  readonly to: number;
}

/**
 * Yields the ranges in which threads had a CPU, ordered by end. Ranges that began before a thread's first switch
 * or continue after its last one are left out.
 */
export function* runnings({ time, pid, tid, cpu, out }: Switched): Generator<Running, void, void> {
  const order = Int32Array.from(time.keys()).sort((a, b) =>
    floatAt(time, a) - floatAt(time, b) || a - b
  );
  const since = new Map<number, number>();
  for (const row of order) {
    const of = intAt(tid, row);
    if (of <= 0) continue;
    if (out[row] === 0) {
      since.set(of, floatAt(time, row));
      continue;
    }
    const from = since.get(of);
    since.delete(of);
    if (from === undefined) continue;
    yield {
      tid: of,
      pid: intAt(pid, row),
      cpu: intAt(cpu, row),
      from,
      to: floatAt(time, row),
    };
  }
}

/** Returns the ranges in which each thread, process or CPU ran. */
export function ranOf(
  switched: Switched,
  by: "cpu" | "process" | "thread",
): ReadonlyMap<number, Ran> {
  const found = new Map<number, number[]>();
  for (const { tid, pid, cpu, from, to } of runnings(switched)) {
    const key = by === "thread" ? tid : by === "cpu" ? cpu : pid;
    const list = found.get(key);
    if (list === undefined) found.set(key, [from, to]);
    else list.push(from, to);
  }
  // With several threads, a range that began first may end last.
  return new Map([...found].map(([key, list]) => {
    const pairs = Array.from({ length: list.length / 2 }, (_, i) => list.slice(2 * i, 2 * i + 2));
    pairs.sort(([a = 0], [b = 0]) => a - b);
    return [key, Float64Array.from(pairs.flat())];
  }));
}
