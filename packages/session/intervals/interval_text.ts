import type { Parallelism } from "./parallelism.ts";
import type { ThreadIntervals } from "./thread_intervals.ts";

/** How to record the events from which intervals are made. */
export const HOW_TO_RECORD: string =
  "perf record -g -e cpu-clock,sched:sched_switch,sched:sched_waking --switch-events -- PROGRAM";

/** The innermost frame of a stack that stands for that of a switch. */
export const STAND_IN_FRAME: string = "[last sample]";

/** How to record what says how many threads had a CPU. */
export const HOW_TO_RECORD_SWITCHES: string = "perf record --switch-events -- PROGRAM";

/**
 * Says that tracepoints were recorded and cannot be read: nothing if all can.
 *
 * @param names As {@linkcode ThreadIntervals.undescribed} has them.
 */
export function undescribedLine(names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  return `${
    names.join(", ")
  }: recorded, and not to be read, since the recording does not have the format ` +
    "(TRACING_DATA)";
}

/** Sources of intervals, as {@linkcode ThreadIntervals} counts them. */
export type IntervalCounts =
  & Pick<
    ThreadIntervals,
    | "count"
    | "withStack"
    | "missing"
    | "unknown"
    | "lostRecords"
    | "cut"
    | "hasSums"
    | "hasSwitches"
  >
  & Partial<Pick<ThreadIntervals, "undescribed" | "standIns">>;

/**
 * Missing data about the times without a CPU, a line for each: what was not recorded, and how to record
 * it.
 *
 * @example
 * ```ts
 * import { intervalLines } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const counts = { count: 8, withStack: 6, missing: 0, unknown: 0, lostRecords: 3, cut: 2 };
 * assertEquals(intervalLines({ ...counts, hasSums: false, hasSwitches: true }), [
 *   "2 of 8 times without a CPU have no call chain (25.00%)",
 *   "3 records were lost: 2 times without a CPU end there; record with a larger buffer (-m)",
 * ]);
 * ```
 */
export function intervalLines(counts: IntervalCounts): string[] {
  const { count, withStack, standIns = 0, missing, unknown, lostRecords, cut } = counts;
  const undescribed = undescribedLine(counts.undescribed ?? []);
  const lines: string[] = undescribed === undefined ? [] : [undescribed];
  const share = (part: number, all: number): string => `(${(100 * part / all).toFixed(2)}%)`;
  if (count > 0 && withStack === 0 && undescribed !== undefined) {
    lines.push("no stacks of times without a CPU: they may be those of the tracepoints");
  } else if (standIns > 0) {
    lines.push(
      `${standIns} of ${count} times without a CPU have the stack of the thread's last sample before, marked ` +
        `${STAND_IN_FRAME}, since call chains of context switches were not recorded: ${HOW_TO_RECORD}`,
    );
  } else if (count > 0 && withStack === 0) {
    lines.push(
      `no stacks of times without a CPU: call chains of context switches were not recorded: ${HOW_TO_RECORD}`,
    );
  } else if (withStack < count) {
    const left = count - withStack;
    lines.push(`${left} of ${count} times without a CPU have no call chain ${share(left, count)}`);
  }
  if (missing > 0 && unknown > 0) {
    // Some switches are missing in most recordings of all processors.
    const hint = missing > count / 20
      ? ": record with --switch-events, or all processors (-a)"
      : "";
    lines.push(
      `${missing} context switches are missing: of ${
        (unknown / 1e6).toFixed(3)
      } ms of threads it is ` +
        `not known whether they had a CPU${hint}`,
    );
  }
  if (lostRecords > 0) {
    const what = cut === 1 ? "1 time without a CPU ends" : `${cut} times without a CPU end`;
    lines.push(`${lostRecords} records were lost: ${what} there; record with a larger buffer (-m)`);
  }
  return lines;
}

/** What collectors made of context switches. */
export interface SwitchesSeen {
  /** Times without a CPU, if they count. */
  readonly intervals:
    | IntervalCounts
    | undefined;
  /** How many threads had a CPU, if that counts. */
  readonly parallelism:
    | Pick<Parallelism, "hasSwitches" | "lostRecords" | "undescribed">
    | undefined;
}

/** What is missing of context switches. */
export interface MissingSwitches {
  /** Why nothing can be said of them; `undefined` if something can. */
  readonly none: string | undefined;
  /** What is not sure, or left out. */
  readonly lines: readonly string[];
}

/** Says what is missing of times without a CPU, or of how many threads had one. */
export function missingSwitches({ intervals, parallelism }: SwitchesSeen): MissingSwitches {
  // Context switches that cannot be read are not such that were not recorded.
  const undescribed = undescribedLine((intervals ?? parallelism)?.undescribed ?? []);
  const none = (how: string): MissingSwitches => ({
    none: undescribed ?? `no context switches were recorded: ${how}`,
    lines: [],
  });
  if (parallelism?.hasSwitches === false) return none(HOW_TO_RECORD_SWITCHES);
  if (intervals !== undefined && !intervals.hasSwitches && !intervals.hasSums) {
    return none(HOW_TO_RECORD);
  }
  const lines = intervals === undefined ? [] : intervalLines(intervals);
  if (parallelism !== undefined && parallelism.lostRecords > 0) {
    lines.unshift(
      `${parallelism.lostRecords} records were lost: how many threads had a CPU is not ` +
        "sure after that; record with a larger buffer (-m)",
    );
  }
  return { none: undefined, lines };
}
