import type { Profile } from "../columns/profile.ts";

/** The rows of samples of one event and thread. */
export interface SampleGroup {
  /** Event. */
  readonly event: number;
  /** Thread. */
  readonly thread: number;
  /** Rows in {@linkcode Profile.samples}, in their order. */
  readonly rows: Int32Array;
}

/**
 * Samples by event and thread, those with most samples of an event first.
 *
 * @example
 * ```ts
 * import { groupSamples, ProfileBuilder } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
 * const thread = builder.thread(7, 8, "demo");
 * builder.sample({ stack: -1, event: 0, thread, period: 10 });
 * assertEquals([...groupSamples(builder.profile())[0]?.rows ?? []], [0]);
 * ```
 */
export function groupSamples({ events, threads, samples }: Profile): SampleGroup[] {
  const threadCount = threads.length;
  const counts = new Int32Array(events.length * threadCount);
  const key = (row: number) =>
    (samples.event[row] as number) * threadCount + (samples.thread[row] as number);
  for (let row = 0; row < samples.length; row++) {
    (counts[key(row)] as number) += 1;
  }
  const rowsOf = new Map<number, Int32Array>();
  const filled = new Int32Array(counts.length);
  for (let row = 0; row < samples.length; row++) {
    const k = key(row);
    let rows = rowsOf.get(k);
    if (rows === undefined) rowsOf.set(k, rows = new Int32Array(counts[k] as number));
    rows[filled[k] as number] = row;
    (filled[k] as number) += 1;
  }
  return [...rowsOf].map(([k, rows]) => ({
    event: Math.floor(k / threadCount),
    thread: k % threadCount,
    rows,
  })).sort((a, b) => a.event - b.event || b.rows.length - a.rows.length || a.thread - b.thread);
}
