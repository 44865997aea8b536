import type { PerfEvent } from "@perfdata/format/records";
import { PERF_TYPE_TRACEPOINT } from "@perfdata/format/constants";

/** With fewer samples, it is unknown which periods are usual. */
const FEWEST = 100;
/** Minimum ratio of a dominating sample's period to the mean period of the others. */
const TIMES = 1000;

/** The largest period of each event's samples. */
export class LargestPeriods {
  /** Largest period by index of the event; 0 or missing without samples. */
  readonly periods: number[] = [];

  /** Adds a sample. */
  see(event: number, period: number): void {
    if (period > (this.periods[event] ?? 0)) this.periods[event] = period;
  }

  /** Adds the periods of another thread. */
  join(periods: readonly number[]): void {
    for (const [event, period] of periods.entries()) this.see(event, period ?? 0);
  }
}

/** The sums of an event's samples. */
export interface EventPeriods {
  /** The event's name. */
  readonly name: string;
  /** Number of samples. */
  readonly samples: number;
  /** Sum of their periods. */
  readonly period: number;
  /** Largest of their periods. */
  readonly largest: number;
  /** The summed quantity: the period, or the weight of memory accesses. */
  readonly what?: "period" | "weight";
}

/**
 * Warns if a single sample has most of an event's sum of periods, as if the counter was broken, so
 * that shares by period describe this sample only. Periods of tracepoints and off-CPU times may be
 * of any size.
 *
 * @param event The event, if it is known.
 * @returns `undefined` if no sample dominates.
 *
 * @example
 * ```ts
 * import { rulingPeriodText } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const usual = { name: "cycles", samples: 1000, period: 1_000_000, largest: 5000 };
 * assertEquals(rulingPeriodText(usual), undefined);
 * const broken = { ...usual, period: 2 ** 48 + 999_000, largest: 2 ** 48 };
 * assertEquals(
 *   rulingPeriodText(broken),
 *   "one of 1000 samples of cycles has a period of 281474976710656, 100.0% of all: shares by period are of it alone",
 * );
 * ```
 */
export function rulingPeriodText(
  { name, samples, period, largest, what = "period" }: EventPeriods,
  event?: PerfEvent,
): string | undefined {
  if (event?.attr.type === PERF_TYPE_TRACEPOINT || event?.meansOffCpu === true) return undefined;
  const others = (period - largest) / (samples - 1);
  if (samples < FEWEST || largest <= period / 2 || largest <= TIMES * others) return undefined;
  return `one of ${samples} samples of ${name} has a ${what} of ${largest}, ` +
    `${(100 * largest / period).toFixed(1)}% of all: shares by ${what} are of it alone`;
}
