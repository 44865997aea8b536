import { intAt } from "@perfdata/format/bytes";
import type { Profile } from "../columns/profile.ts";

/** The rows of samples of one event and thread. */
export interface SampleGroup {
  /** Event. */
  readonly event: number;
  /** Thread. */
  readonly thread: number;
  /** Rows in {@linkcode Profile.samples}, in ascending order. */
  readonly rows: Int32Array;
}

/**
 * Yields the samples by event and thread. For each event, threads with most samples come first.
 *
 * @example
 * ```ts
 * import { groupSamples, ProfileBuilder } from "@perfdata/profile";
 * import { assertEquals } from "@std/assert";
 *
 * const builder = new ProfileBuilder({ events: [{ name: "cycles", unit: "count" }] });
 * const thread = builder.thread(7, 8, "demo");
 * builder.sample({ stack: -1, event: 0, thread, period: 10 });
 * assertEquals(Array.from(groupSamples(builder.profile()), ({ rows }) => [...rows]), [[0]]);
 * ```
 */
export function* groupSamples(
  { events, threads, samples }: Profile,
): Generator<SampleGroup, void, void> {
  const threadCount = threads.length;
  const groups = events.length * threadCount;
  const key = (row: number) =>
    (samples.event[row] as number) * threadCount + intAt(samples.thread, row);
  // By group + 1: the number of rows, and then the index of the first one.
  const starts = new Int32Array(groups + 1);
  for (let row = 0; row < samples.length; row++) {
    const after = key(row) + 1;
    starts[after] = intAt(starts, after) + 1;
  }
  const order = Int32Array.from(starts.subarray(1), (_, group) => group)
    .filter((group) => intAt(starts, group + 1) > 0);
  const count = (group: number) => intAt(starts, group + 1);
  const event = (group: number) => Math.floor(group / threadCount);
  order.sort((a, b) => event(a) - event(b) || count(b) - count(a) || a - b);
  for (let group = 0; group < groups; group++) {
    starts[group + 1] = intAt(starts, group + 1) + intAt(starts, group);
  }
  const rows = new Int32Array(samples.length);
  const next = starts.slice();
  for (let row = 0; row < samples.length; row++) {
    const group = key(row);
    const at = intAt(next, group);
    next[group] = at + 1;
    rows[at] = row;
  }
  for (const group of order) {
    yield {
      event: event(group),
      thread: group % threadCount,
      rows: rows.subarray(starts[group], starts[group + 1]),
    };
  }
}
