import type { Parallelism } from "./parallelism.ts";
import type { ThreadIntervals } from "./thread_intervals.ts";

/** The command that records the events from which intervals are made. */
export const HOW_TO_RECORD: string =
  "perf record -g -e cpu-clock,sched:sched_switch,sched:sched_waking --switch-events -- PROGRAM";

/** The frame that marks a stack of the last sample, shown because the switch has no stack. */
export const STAND_IN_FRAME: string = "[last sample]";

/** The command that records the switches from which the number of running threads is counted. */
export const HOW_TO_RECORD_SWITCHES: string = "perf record --switch-events -- PROGRAM";

/**
 * A line that names tracepoints that cannot be read; `undefined` if all can.
 *
 * @param names Names of {@linkcode ThreadIntervals.undescribed}.
 */
export function undescribedLine(names: readonly string[]): string | undefined {
  if (names.length === 0) return undefined;
  return `${
    names.join(", ")
  }: recorded, and not to be read, since the recording does not have the format ` +
    "(TRACING_DATA)";
}

/** Counts of {@linkcode ThreadIntervals}. */
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
  & Partial<Pick<ThreadIntervals, "undescribed" | "standIns" | "handlers">>;

/**
 * Describes missing data about the times without a CPU: one line for each kind, with the command to
 * record it.
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
  const { handlers } = counts;
  if (handlers !== undefined && handlers.unended + handlers.unbegun > 0) {
    const { unended, unbegun, isSampled } = handlers;
    const all = handlers.count + unbegun;
    lines.push(
      `interrupt handlers: ${unended} of ${all} without a recorded end count up to the last ` +
        `record in them, ${unbegun} without a recorded entry not at all ` +
        share(unended + unbegun, all) +
        (isSampled ? "; record tracepoints without -F and -c, which leave out most of them" : ""),
    );
  }
  return lines;
}

/** Counts of the consumers that read context switches. */
export interface SwitchesSeen {
  /** Times without a CPU, if a command uses them. */
  readonly intervals:
    | IntervalCounts
    | undefined;
  /** Number of running threads, if a command uses it. */
  readonly parallelism:
    | Pick<Parallelism, "hasSwitches" | "lostRecords" | "undescribed">
    | undefined;
}

/** Messages about missing context switches. */
export interface MissingSwitches {
  /** The reason if there is no result at all; `undefined` if there is a result. */
  readonly none: string | undefined;
  /** Warnings about a result that is uncertain or incomplete. */
  readonly lines: readonly string[];
}

/**
 * Describes missing context switches, for times without a CPU or for the number of running threads.
 */
export function missingSwitches({ intervals, parallelism }: SwitchesSeen): MissingSwitches {
  // If switches were recorded but cannot be read, say so instead of "not recorded".
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
