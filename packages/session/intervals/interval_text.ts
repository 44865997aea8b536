import type { ThreadIntervals } from "./thread_intervals.ts";

/** How to record what intervals are made of. */
export const HOW_TO_RECORD: string =
  "perf record -g -e cpu-clock,sched:sched_switch,sched:sched_waking --switch-events -- PROGRAM";

/** What intervals were made from, as {@linkcode ThreadIntervals} counts it. */
export type IntervalCounts = Pick<
  ThreadIntervals,
  "count" | "withStack" | "unended" | "lostRecords" | "cut" | "hasSums" | "hasSwitches"
>;

/**
 * What is missing of the times that threads had no CPU, a line each: what was not recorded, and how it is.
 *
 * @example
 * ```ts
 * import { intervalLines } from "@perfdata/session/intervals";
 * import { assertEquals } from "@std/assert";
 *
 * const counts = { count: 8, withStack: 6, unended: 0, lostRecords: 3, cut: 2 };
 * assertEquals(intervalLines({ ...counts, hasSums: false, hasSwitches: true }), [
 *   "2 of 8 times without a CPU have no call chain (25.00%)",
 *   "3 records were lost: 2 times without a CPU end there; record with a larger buffer (-m)",
 * ]);
 * ```
 */
export function intervalLines(counts: IntervalCounts): string[] {
  const { count, withStack, unended, lostRecords, cut } = counts;
  const lines: string[] = [];
  const share = (part: number, all: number): string => `(${(100 * part / all).toFixed(2)}%)`;
  if (count > 0 && withStack === 0) {
    lines.push(
      `no stacks of times without a CPU: call chains of context switches were not recorded: ${HOW_TO_RECORD}`,
    );
  } else if (withStack < count) {
    const left = count - withStack;
    lines.push(`${left} of ${count} times without a CPU have no call chain ${share(left, count)}`);
  }
  if (unended > 0) {
    // Where recording began and ended there are always some.
    const hint = unended > count / 20
      ? ": record with --switch-events, or all processors (-a)"
      : "";
    lines.push(
      `${unended} times without a CPU are left out, since their end was not recorded ` +
        `${share(unended, unended + count)}${hint}`,
    );
  }
  if (lostRecords > 0) {
    const what = cut === 1 ? "1 time without a CPU ends" : `${cut} times without a CPU end`;
    lines.push(`${lostRecords} records were lost: ${what} there; record with a larger buffer (-m)`);
  }
  return lines;
}
