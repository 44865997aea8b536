import type { RateEvent, RateIncident } from "./rate.ts";
import type { RatePoint } from "./rate_stream.ts";

/** Most points that are kept of a counter: more would not be seen. */
const MOST_POINTS = 2000;
const WIDTH = 1000;
const PANEL = 260;
const LEFT = 90;
const RIGHT = 180;
const TOP = 40;
const GAP = 50;
const COLORS = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b"];

interface Kept {
  readonly event: number;
  readonly cpu: number;
  readonly tid: number;
  readonly times: number[];
  readonly periods: number[];
  readonly frequencies: number[];
  /** Every how manieth point is kept. */
  stride: number;
  seen: number;
}

/**
 * Draws period and effective sampling frequency over time, as SVG.
 *
 * Memory is bounded: of a counter with many points every second, fourth, … is kept, which the
 * legend says.
 *
 * @example
 * ```ts
 * import { RatePlot } from "@perfdata/report/rate-plot";
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

  /** Takes a point of a counter that samples; others have neither period nor frequency. */
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
      for (let i = 0; 2 * i < column.length; i++) column[i] = column[2 * i] as number;
      column.length = Math.ceil(column.length / 2);
    }
  }

  /** Takes what stopped a counter; throttling is marked in the plot. */
  incident({ what, time }: RateIncident): void {
    if (what !== "throttle" || time === undefined) return;
    if (this.#throttles.length < MOST_POINTS) this.#throttles.push(time);
    else this.#throttlesLeftOut++;
  }

  /** The plot: two panels over the same seconds, both with a logarithmic scale. */
  svg(events: readonly RateEvent[]): string {
    const counters = [...this.#counters.values()]
      .sort((a, b) => a.event - b.event || a.cpu - b.cpu || a.tid - b.tid);
    let from = Infinity;
    let to = -Infinity;
    for (const { times } of counters) {
      for (const time of times) {
        from = Math.min(from, time);
        to = Math.max(to, time);
      }
    }
    if (from > to) [from, to] = [0, 1];
    // Adding 1 to a time may leave it as it is.
    const span = from === to ? 1 : to - from;
    const x = (time: number) => LEFT + (time - from) / span * (WIDTH - LEFT - RIGHT);
    const height = TOP + 2 * PANEL + GAP + 50;
    const out = [
      `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" ` +
      `width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="12">`,
      `<rect width="100%" height="100%" fill="white"/>`,
    ];
    const requested = [...new Set(events.map((event) => event.requestedFrequency))]
      .filter((value) => value !== undefined);
    const panels = [
      { title: "period (events per sample)", column: "periods", top: TOP, lines: [] },
      {
        title: "effective sampling frequency λ/P (Hz)",
        column: "frequencies",
        top: TOP + PANEL + GAP,
        lines: requested,
      },
    ] as const;
    for (const { title, column, top, lines } of panels) {
      let low = Infinity;
      let high = 0;
      const see = (value: number) => {
        if (!(value > 0)) return;
        low = Math.min(low, value);
        high = Math.max(high, value);
      };
      for (const counter of counters) counter[column].forEach(see);
      lines.forEach(see);
      if (low > high) [low, high] = [1, 10];
      const bottom = Math.floor(Math.log10(low));
      const ceiling = Math.max(Math.ceil(Math.log10(high)), bottom + 1);
      const y = (value: number) =>
        top + PANEL - (Math.log10(value) - bottom) / (ceiling - bottom) * PANEL;
      out.push(`<text x="${LEFT}" y="${top - 10}" font-weight="bold">${escape(title)}</text>`);
      for (let power = bottom; power <= ceiling; power++) {
        const at = y(10 ** power).toFixed(1);
        out.push(
          `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}" stroke="#ddd"/>`,
          `<text x="${LEFT - 8}" y="${Number(at) + 4}" text-anchor="end">${
            powerText(power)
          }</text>`,
        );
      }
      for (const time of this.#throttles) {
        if (time < from || time > to) continue;
        const at = x(time).toFixed(1);
        out.push(
          `<line x1="${at}" x2="${at}" y1="${top}" y2="${top + PANEL}" stroke="#f4b6b6"/>`,
        );
      }
      for (const value of lines) {
        const at = y(value).toFixed(1);
        out.push(
          `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}" stroke="#333" ` +
            `stroke-dasharray="6 4"/>`,
          `<text x="${WIDTH - RIGHT + 6}" y="${Number(at) + 4}">${value} Hz requested</text>`,
        );
      }
      counters.forEach((counter, i) => {
        const points = counter.times
          .map((time, k) => [time, counter[column][k] as number] as const)
          .filter(([, value]) => value > 0)
          .map(([time, value]) => `${x(time).toFixed(1)},${y(value).toFixed(1)}`);
        out.push(
          `<polyline fill="none" stroke="${COLORS[i % COLORS.length]}" stroke-width="1" ` +
            `points="${points.join(" ")}"/>`,
        );
      });
    }
    const base = TOP + 2 * PANEL + GAP;
    const step = roundStep(span / 1e9 / 8);
    const digits = Math.max(0, -Math.floor(Math.log10(step)));
    for (let i = 0; i * step * 1e9 <= span; i++) {
      out.push(
        `<text x="${x(from + i * step * 1e9).toFixed(1)}" y="${base + 18}" text-anchor="middle">` +
          `${(i * step).toFixed(digits)} s</text>`,
      );
    }
    counters.slice(0, 24).forEach((counter, i) => {
      const { event, cpu, tid, stride } = counter;
      const text = `${events[event]?.name ?? event}${cpu < 0 ? "" : ` CPU ${cpu}`}` +
        `${tid < 0 ? "" : ` tid ${tid}`}${stride > 1 ? ` (1 of ${stride})` : ""}`;
      const at = TOP + 12 + 18 * i;
      out.push(
        `<rect x="${WIDTH - RIGHT + 8}" y="${at - 9}" width="10" height="10" ` +
          `fill="${COLORS[i % COLORS.length]}"/>`,
        `<text x="${WIDTH - RIGHT + 24}" y="${at}">${escape(text)}</text>`,
      );
    });
    const notes = [
      counters.length > 24 ? `${counters.length - 24} more counters without a legend` : "",
      this.#throttles.length > 0 ? "light red: throttled" : "",
      this.#throttlesLeftOut > 0 ? `${this.#throttlesLeftOut} more throttlings not drawn` : "",
    ].filter((text) => text !== "");
    if (notes.length > 0) {
      out.push(`<text x="${LEFT}" y="${base + 40}">${escape(notes.join("; "))}</text>`);
    }
    out.push("</svg>\n");
    return out.join("\n");
  }
}

/** 1, 10, 100, 1k, 10k, … */
function powerText(power: number): string {
  const unit = ["", "k", "M", "G", "T"][Math.floor(power / 3)];
  return unit === undefined ? `1e${power}` : `${10 ** (power % 3)}${unit}`;
}

/** The least of …, 0.1, 0.2, 0.5, 1, 2, … that is not less. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10);
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
