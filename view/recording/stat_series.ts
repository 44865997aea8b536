import type { PerfDataReader } from "@perfdata/format/records";
import { analyzeStat } from "@perfdata/report/figures";

/** The counts of an event of `perf stat record` by interval, over all CPUs and threads. */
export interface StatSeries {
  readonly name: string;
  /** Unit of the counts: `msec`, `Joules`; empty for a number of events. */
  readonly unit: string;
  /** End of each interval, in ns since counting began. */
  readonly to: readonly number[];
  /** Length of each interval in ns; 0 if it is not known. */
  readonly length: readonly number[];
  /** Count of each interval; `undefined` if it was not counted. */
  readonly count: readonly (number | undefined)[];
}

/** Reads the counts of a recording of `perf stat record`. */
export async function statSeries(reader: PerfDataReader): Promise<readonly StatSeries[]> {
  const found = new Map<
    number,
    StatSeries & { to: number[]; length: number[]; count: (number | undefined)[] }
  >();
  await analyzeStat(reader, {
    by: "all",
    round({ time, duration, rows }) {
      for (const { event, name, unit, state, value } of rows) {
        const series = found.get(event) ?? { name, unit, to: [], length: [], count: [] };
        found.set(event, series);
        series.to.push(Number(time));
        series.length.push(duration ?? 0);
        series.count.push(state === "counted" ? Number(value) : undefined);
      }
    },
  });
  return [...found.values()];
}
