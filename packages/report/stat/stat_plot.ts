import { type PlotPanel, timePlot } from "../time_plot.ts";
import type { StatCounts } from "./stat.ts";

/** Limit of the intervals. More would not be visible. */
const MOST_POINTS = 4000;
/** Height of an event's panel. */
const PANEL = 130;

/** Count of an interval per second. */
interface Point {
  readonly from: number;
  readonly to: number;
  readonly value: number;
}

/**
 * Draws counts over time as SVG: a panel for each event, a line for each group of CPUs. Of many
 * intervals every second, fourth, … is drawn, which a note states.
 *
 * @example
 * ```ts
 * import { StatPlot } from "@perfdata/report/figures";
 * import { assertMatch } from "@std/assert";
 *
 * const plot = new StatPlot();
 * plot.round({ time: 1000n, duration: 1000, rows: [] });
 * assertMatch(plot.svg(), /^<svg /);
 * ```
 */
export class StatPlot {
  /** Points by event and group. */
  readonly #panels = new Map<number, Map<string, Point[]>>();
  readonly #titles = new Map<number, string>();
  #stride = 1;
  #seen = 0;

  /** Adds an interval. */
  round({ time, duration, rows }: StatCounts): void {
    if (duration === undefined || this.#seen++ % this.#stride !== 0) return;
    const to = Number(time);
    let most = 0;
    for (const { event, name, unit, group, state, value, metrics } of rows) {
      if (state === "not supported") continue;
      const panel = this.#panels.get(event) ?? new Map<string, Point[]>();
      this.#panels.set(event, panel);
      const points = panel.get(group.name) ?? [];
      panel.set(group.name, points);
      const used = metrics.find(({ unit }) => unit === "CPUs utilized");
      const isClock = unit === "msec";
      this.#titles.set(
        event,
        isClock ? `${name}: CPUs utilized` : `${name}${inUnit(unit)} per second`,
      );
      const perSecond = used?.value ?? Number(value) / (isClock ? duration / 1e6 : duration / 1e9);
      points.push({ from: to - duration, to, value: state === "counted" ? perSecond : NaN });
      most = Math.max(most, points.length);
    }
    if (most < MOST_POINTS) return;
    this.#stride *= 2;
    for (const panel of this.#panels.values()) {
      for (const [name, points] of panel) panel.set(name, points.filter((_, i) => i % 2 === 0));
    }
  }

  /** The plot. */
  svg(): string {
    const events = [...this.#panels].sort(([a], [b]) => a - b);
    const groups = [...new Set(events.flatMap(([, panel]) => [...panel.keys()]))];
    const panels = events.map(([event, panel]): PlotPanel => ({
      title: this.#titles.get(event) ?? "",
      scale: "linear",
      series: groups.map((group) => {
        const points = panel.get(group) ?? [];
        // A count covers the whole interval, so its line is level.
        return {
          times: points.flatMap(({ from, to }) => [from, to]),
          values: points.flatMap(({ value }) => [value, value]),
        };
      }),
    }));
    return timePlot({
      panels,
      legend: groups.length === 1 && groups[0] === "" ? [] : groups,
      notes: [this.#stride > 1 ? `1 of ${this.#stride} intervals` : ""],
      height: PANEL,
    });
  }
}

function inUnit(unit: string): string {
  return unit === "" ? "" : ` (${unit})`;
}
