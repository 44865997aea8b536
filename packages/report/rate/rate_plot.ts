import { numberAt } from "@perfdata/format/bytes";
import type { RateEvent, RateIncident } from "./rate.ts";
import type { RatePoint } from "./rate_stream.ts";
import { type PlotSeries, timePlot } from "../time_plot.ts";

/** Limit of the points of a counter. More would not be visible. */
const MOST_POINTS = 2000;

interface Kept {
  readonly event: number;
  readonly cpu: number;
  readonly tid: number;
  readonly times: number[];
  readonly periods: number[];
  readonly frequencies: number[];
  /** Distance of the points that are kept. */
  stride: number;
  seen: number;
}

/**
 * Draws period and effective sampling frequency over time, as SVG.
 *
 * Memory is bounded: for a counter with many points every second, fourth, … is kept, which the
 * legend states.
 *
 * @example
 * ```ts
 * import { RatePlot } from "@perfdata/report/figures";
 * import { assertMatch } from "@std/assert";
 *
 * const plot = new RatePlot();
 * plot.point({ event: 0, cpu: 0, tid: -1, time: 1000, interval: 1000, count: undefined,
 *   delta: 5, period: 5, rate: 5e6, frequency: 1e6 });
 * const svg = plot.svg([{ name: "cycles", requestedFrequency: 1e6, requestedPeriod: undefined }]);
 * assertMatch(svg, /^<svg /);
 * ```
 */
export class RatePlot {
  readonly #counters = new Map<string, Kept>();
  readonly #throttles: number[] = [];
  #throttlesLeftOut = 0;

  /** Adds a point. Counters without samples have neither period nor frequency, and are ignored. */
  point(point: RatePoint): void {
    const { event, cpu, tid, period, frequency } = point;
    if (period === undefined || frequency === undefined) return;
    const key = `${event} ${cpu} ${tid}`;
    let kept = this.#counters.get(key);
    if (kept === undefined) {
      kept = { event, cpu, tid, times: [], periods: [], frequencies: [], stride: 1, seen: 0 };
      this.#counters.set(key, kept);
    }
    if (kept.seen++ % kept.stride !== 0) return;
    kept.times.push(point.time);
    kept.periods.push(period);
    kept.frequencies.push(frequency);
    if (kept.times.length < MOST_POINTS) return;
    kept.stride *= 2;
    for (const column of [kept.times, kept.periods, kept.frequencies]) {
      for (let i = 0; 2 * i < column.length; i++) column[i] = numberAt(column, 2 * i);
      column.length = Math.ceil(column.length / 2);
    }
  }

  /** Adds a throttling, which the plot marks. Other incidents are ignored. */
  incident({ what, time }: RateIncident): void {
    if (what !== "throttle" || time === undefined) return;
    if (this.#throttles.length < MOST_POINTS) this.#throttles.push(time);
    else this.#throttlesLeftOut++;
  }

  /** The plot: two panels with the same time axis, both with a logarithmic scale. */
  svg(events: readonly RateEvent[]): string {
    const counters = [...this.#counters.values()]
      .sort((a, b) => a.event - b.event || a.cpu - b.cpu || a.tid - b.tid);
    const requested = [...new Set(events.map((event) => event.requestedFrequency))]
      .filter((value) => value !== undefined);
    const series = (column: "periods" | "frequencies"): PlotSeries[] =>
      counters.map((counter) => ({ times: counter.times, values: counter[column] }));
    return timePlot({
      panels: [
        { title: "period (events per sample)", scale: "log", series: series("periods") },
        {
          title: "effective sampling frequency λ/P (Hz)",
          scale: "log",
          series: series("frequencies"),
          lines: requested.map((value) => ({ value, text: `${value} Hz requested` })),
        },
      ],
      legend: counters.map(({ event, cpu, tid, stride }) =>
        `${events[event]?.name ?? event}${cpu < 0 ? "" : ` CPU ${cpu}`}` +
        `${tid < 0 ? "" : ` tid ${tid}`}${stride > 1 ? ` (1 of ${stride})` : ""}`
      ),
      marks: this.#throttles,
      notes: [
        this.#throttles.length > 0 ? "light red: throttled" : "",
        this.#throttlesLeftOut > 0 ? `${this.#throttlesLeftOut} more throttlings not drawn` : "",
      ],
    });
  }
}
