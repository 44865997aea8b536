/** Plots of values over time as SVG: panels above each other with the same time axis. */
import { numberAt, visible } from "@perfdata/format/bytes";

const WIDTH = 1000;
const LEFT = 90;
const RIGHT = 180;
const TOP = 40;
const GAP = 50;
const COLORS = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b"];
/** Limit of the lines in the legend. */
const MOST_NAMES = 24;
/** Steps of a linear scale. */
const STEPS = 4;

/** A line, interrupted at values that are not numbers. */
export interface PlotSeries {
  /** Times in ns. */
  readonly times: readonly number[];
  /** Value at each time. */
  readonly values: readonly number[];
}

/** A panel of lines. */
export interface PlotPanel {
  /** Title above the panel. */
  readonly title: string;
  /** Logarithmic, without values up to 0; or linear from 0. */
  readonly scale: "log" | "linear";
  /** Lines of the panel. */
  readonly series: readonly PlotSeries[];
  /** Dashed horizontal lines. */
  readonly lines?: readonly { readonly value: number; readonly text: string }[];
}

/** Contents of a plot. */
export interface TimePlot {
  /** Panels from the top. */
  readonly panels: readonly PlotPanel[];
  /** Names of lines by index, common to all panels. */
  readonly legend: readonly string[];
  /** Times marked with a vertical line. */
  readonly marks?: readonly number[];
  /** Notes below the panels. */
  readonly notes?: readonly string[];
  /** Height of a panel. */
  readonly height?: number;
}

/**
 * Draws lines over time.
 *
 * @example
 * ```ts
 * import { timePlot } from "@perfdata/report/figures";
 * import { assertStringIncludes } from "@std/assert";
 *
 * const series = [{ times: [0, 1e9], values: [1, 2] }];
 * const svg = timePlot({ panels: [{ title: "cycles", scale: "linear", series }], legend: ["CPU0"] });
 * assertStringIncludes(svg, "<polyline");
 * ```
 */
export function timePlot(
  { panels, legend, marks = [], notes = [], height: PANEL = 260 }: TimePlot,
): string {
  let from = Infinity;
  let to = -Infinity;
  for (const { series } of panels) {
    for (const { times } of series) {
      for (const time of times) {
        from = Math.min(from, time);
        to = Math.max(to, time);
      }
    }
  }
  if (from > to) [from, to] = [0, 1];
  // Adding 1 to a large time may not change it.
  const span = from === to ? 1 : to - from;
  const x = (time: number) => LEFT + (time - from) / span * (WIDTH - LEFT - RIGHT);
  const base = TOP + panels.length * (PANEL + GAP) - GAP;
  const height = base + 50;
  const out = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" ` +
    `width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="white"/>`,
  ];
  panels.forEach(({ title, scale, series, lines = [] }, p) => {
    const top = TOP + p * (PANEL + GAP);
    const { y, ticks } = scaleOf(panels[p] as PlotPanel, top, PANEL);
    const isShown = (value: number) => scale === "log" ? value > 0 : Number.isFinite(value);
    out.push(`<text x="${LEFT}" y="${top - 10}" font-weight="bold">${escape(title)}</text>`);
    for (const { value, text } of ticks) {
      const at = y(value).toFixed(1);
      out.push(
        `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}" stroke="#ddd"/>`,
        `<text x="${LEFT - 8}" y="${Number(at) + 4}" text-anchor="end">${text}</text>`,
      );
    }
    for (const time of marks) {
      if (time < from || time > to) continue;
      const at = x(time).toFixed(1);
      out.push(`<line x1="${at}" x2="${at}" y1="${top}" y2="${top + PANEL}" stroke="#f4b6b6"/>`);
    }
    for (const { value, text } of lines) {
      const at = y(value).toFixed(1);
      out.push(
        `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}" stroke="#333" ` +
          `stroke-dasharray="6 4"/>`,
        `<text x="${WIDTH - RIGHT + 6}" y="${Number(at) + 4}">${escape(text)}</text>`,
      );
    }
    series.forEach(({ times, values }, i) => {
      const point = (k: number) =>
        `${x(numberAt(times, k)).toFixed(1)},${y(numberAt(values, k)).toFixed(1)}`;
      for (const part of unbroken(values, isShown, scale === "linear")) {
        out.push(
          `<polyline fill="none" stroke="${COLORS[i % COLORS.length]}" stroke-width="1" ` +
            `points="${part.map(point).join(" ")}"/>`,
        );
      }
    });
  });
  const step = roundStep(span / 1e9 / 8);
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  for (let i = 0; i * step * 1e9 <= span; i++) {
    out.push(
      `<text x="${x(from + i * step * 1e9).toFixed(1)}" y="${base + 18}" text-anchor="middle">` +
        `${(i * step).toFixed(digits)} s</text>`,
    );
  }
  legend.slice(0, MOST_NAMES).forEach((text, i) => {
    const at = TOP + 12 + 18 * i;
    out.push(
      `<rect x="${WIDTH - RIGHT + 8}" y="${at - 9}" width="10" height="10" ` +
        `fill="${COLORS[i % COLORS.length]}"/>`,
      `<text x="${WIDTH - RIGHT + 24}" y="${at}">${escape(text)}</text>`,
    );
  });
  const more = legend.length - MOST_NAMES;
  const below = [more > 0 ? `${more} more counters without a legend` : "", ...notes]
    .filter((text) => text !== "");
  if (below.length > 0) {
    out.push(`<text x="${LEFT}" y="${base + 40}">${escape(below.join("; "))}</text>`);
  }
  out.push("</svg>\n");
  return out.join("\n");
}

/** Positions of the values of each unbroken part of a line. */
function unbroken(
  values: readonly number[],
  isShown: (value: number) => boolean,
  isBroken: boolean,
): number[][] {
  const parts: number[][] = [[]];
  values.forEach((value, k) => {
    if (isShown(value)) parts.at(-1)?.push(k);
    else if (isBroken && parts.at(-1)?.length !== 0) parts.push([]);
  });
  return parts.filter((part, i) => i === 0 || part.length > 0);
}

/** Positions of a panel's values, and its labels. */
function scaleOf(
  { scale, series, lines = [] }: PlotPanel,
  top: number,
  height: number,
): {
  readonly y: (value: number) => number;
  readonly ticks: { readonly value: number; readonly text: string }[];
} {
  let low = Infinity;
  let high = 0;
  const see = (value: number) => {
    if (!(value > 0 && value < Infinity)) return;
    low = Math.min(low, value);
    high = Math.max(high, value);
  };
  for (const { values } of series) values.forEach(see);
  for (const { value } of lines) see(value);
  if (scale === "linear") {
    const step = roundStep((high > 0 ? high : 1) / STEPS);
    const ceiling = Math.max(1, Math.ceil(high / step)) * step;
    const ticks = Array.from({ length: Math.round(ceiling / step) + 1 }, (_, i) => ({
      value: i * step,
      text: amountText(i * step),
    }));
    return { y: (value) => top + height - value / ceiling * height, ticks };
  }
  if (low > high) [low, high] = [1, 10];
  const bottom = Math.floor(Math.log10(low));
  const ceiling = Math.max(Math.ceil(Math.log10(high)), bottom + 1);
  const ticks = Array.from({ length: ceiling - bottom + 1 }, (_, i) => ({
    value: 10 ** (bottom + i),
    text: powerText(bottom + i),
  }));
  const y = (value: number) =>
    top + height - (Math.log10(value) - bottom) / (ceiling - bottom) * height;
  return { y, ticks };
}

/** Formats an amount with few digits: 0, 0.5, 20k, 1.5M. */
function amountText(value: number): string {
  const power = value >= 1000 ? Math.min(4, Math.floor(Math.log10(value) / 3 + 1e-9)) : 0;
  return `${Number((value / 1000 ** power).toPrecision(6))}${["", "k", "M", "G", "T"][power]}`;
}

/** Formats 1, 10, 100, 1k, 10k, … */
function powerText(power: number): string {
  const unit = ["", "k", "M", "G", "T"][Math.floor(power / 3)];
  return unit === undefined ? `1e${power}` : `${10 ** (power % 3)}${unit}`;
}

/** The smallest of …, 0.1, 0.2, 0.5, 1, 2, … that is not below `least`. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10);
}

function escape(text: string): string {
  return visible(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
