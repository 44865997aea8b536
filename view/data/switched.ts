/** Context switches in order of the file: ns from the start of the index. */
export interface Switched {
  readonly time: Float64Array;
  readonly pid: Int32Array;
  readonly tid: Int32Array;
  /** -1 where it is not known. */
  readonly cpu: Int32Array;
  /** 1 where the thread left the CPU. */
  readonly out: Uint8Array;
  /** Whether there are more. */
  readonly more: boolean;
}

/** Times that threads had a CPU: `from, to, from, to, …` in order of their beginnings. */
export type Ran = Float64Array;

/**
 * When each thread, process or CPU ran: from where a thread got a CPU to where it left it. What began before the
 * first switch of a thread, or goes on after its last one, is not known.
 */
export function ranOf(
  switched: Switched,
  by: "cpu" | "process" | "thread",
): ReadonlyMap<number, Ran> {
  const { time, pid, tid, cpu, out } = switched;
  const order = Int32Array.from(time.keys()).sort((a, b) =>
    (time[a] as number) - (time[b] as number) || a - b
  );
  const since = new Map<number, number>();
  const found = new Map<number, number[]>();
  for (const row of order) {
    const of = tid[row] as number;
    if (of <= 0) continue;
    if (out[row] === 0) {
      since.set(of, time[row] as number);
      continue;
    }
    const from = since.get(of);
    since.delete(of);
    if (from === undefined) continue;
    const key = by === "thread" ? of : (by === "cpu" ? cpu : pid)[row] as number;
    const list = found.get(key);
    if (list === undefined) found.set(key, [from, time[row] as number]);
    else list.push(from, time[row] as number);
  }
  // Of several threads, what began first may end last.
  return new Map([...found].map(([key, list]) => {
    const pairs = Array.from({ length: list.length / 2 }, (_, i) => list.slice(2 * i, 2 * i + 2));
    pairs.sort(([a = 0], [b = 0]) => a - b);
    return [key, Float64Array.from(pairs.flat())];
  }));
}
