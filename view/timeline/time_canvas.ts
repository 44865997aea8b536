import { floatAt, intAt } from "@perfdata/format/bytes";
import type { Marks } from "../data/marks.ts";
import type { PtGrowth } from "@perfdata/pt/decode";
import { LEVELS } from "../data/tracks.ts";
import { bytesUpTo } from "../pt/growth.ts";
import type { PageColors } from "../ui/page_colors.ts";

/** Colors of user, kernel, JIT and other code, the same as in `flame`; distinguishable by color-blind people. */
export const LEVEL_COLORS = ["#5aa9dd", "#e0a03a", "#3aa583", "#a6a6a6"] as const;
export const LEVEL_NAMES = ["user", "kernel", "JIT", "other"] as const;

/** Colors of the threads with the greatest weights in the tracks of CPUs, and of all others. */
export const THREAD_COLORS: readonly string[] = [
  "#5aa9dd",
  "#e0a03a",
  "#3aa583",
  "#cf7fb0",
  "#d8cb3c",
  "#d4693f",
  "#8a7fd6",
  "#a6a6a6",
];

/** Draws samples over time, with stacked levels. */
export function drawBins(
  context: CanvasRenderingContext2D,
  bins: Float64Array,
  most: number,
  width: number,
  height: number,
  colors: readonly string[] = LEVEL_COLORS,
): void {
  const levels = colors.length;
  const count = bins.length / levels;
  const step = width / count;
  for (let bin = 0; bin < count; bin++) {
    let top = height;
    for (let level = 0; level < levels; level++) {
      const value = floatAt(bins, bin * levels + level);
      if (value === 0) continue;
      const tall = Math.max(0.6, value / most * (height - 2));
      context.fillStyle = colors[level] as string;
      // Adjacent bars touch, so that full load has no gaps.
      context.fillRect(bin * step, top - tall, Math.max(0.7, step + 0.3), tall);
      top -= tall;
    }
  }
}

export function mostOf(bins: Float64Array, levels: number = LEVELS): number {
  let most = 0;
  for (let bin = 0; bin < bins.length; bin += levels) {
    let sum = 0;
    for (let level = 0; level < levels; level++) sum += floatAt(bins, bin + level);
    most = Math.max(most, sum);
  }
  return most;
}

/** Returns a step of 1, 2 or 5 times a power of ten, so that marks are at least 90 pixels apart. */
export function stepOf(span: number, width: number): number {
  const least = span * 90 / Math.max(1, width);
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].map((by) => by * power).find((step) => step >= least) ?? 10 * power;
}

export interface TimeAxis {
  /** First and last time. */
  readonly span: readonly [number, number];
  readonly width: number;
  readonly height: number;
  /** Formats the text of a mark. */
  readonly text: (ns: number, step: number) => string;
}

export function drawAxis(
  context: CanvasRenderingContext2D,
  { span: [from, to], width, height, text }: TimeAxis,
  colors: PageColors,
): void {
  const step = stepOf(to - from, width);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    const x = (at - from) / (to - from) * width;
    context.fillStyle = colors.line;
    context.fillRect(x, 0, 1, height);
    context.fillStyle = colors.soft;
    const label = text(at, step);
    if (x + 4 + context.measureText(label).width < width) {
      context.fillText(label, x + 4, height / 2);
    }
  }
}

/** Height of the line that shows ranges with a CPU. */
export const RAN = 5;

/** Draws the ranges with a CPU: `from, to, …` in order of time. */
export function drawRan(
  context: CanvasRenderingContext2D,
  ran: Float64Array,
  [first, last]: readonly [number, number],
  width: number,
  height: number,
  colors: PageColors,
): void {
  context.fillStyle = colors.accent;
  let drawn = -1;
  for (let i = 0; i < ran.length; i += 2) {
    const [from, to] = [floatAt(ran, i), floatAt(ran, i + 1)];
    if (to < first || from > last) continue;
    const left = Math.max(0, (from - first) / (last - first) * width);
    const right = Math.min(width, (to - first) / (last - first) * width);
    // Skip ranges within a pixel that is already drawn.
    if (right <= drawn) continue;
    drawn = Math.max(right, left + 0.7);
    context.fillRect(left, height - RAN + 1, drawn - left, RAN - 2);
  }
}

/** Height of the ticks of marks, and the least distance of two, in pixels. */
const [TICK, APART] = [9, 2];

/** Draws marks as ticks at the top. Of marks at the same place, the first one is seen. */
export function drawMarks(
  context: CanvasRenderingContext2D,
  { time, name }: Pick<Marks, "time" | "name">,
  { rows, color }: {
    /** The marks, in order of time. */
    readonly rows: readonly number[];
    /** Color by name. */
    readonly color: (name: number) => string;
  },
  [first, last]: readonly [number, number],
  width: number,
): void {
  let drawn = -APART;
  for (const row of rows) {
    const at = floatAt(time, row);
    if (at < first || at > last) continue;
    const x = Math.floor((at - first) / (last - first) * width);
    if (x < drawn + APART) continue;
    drawn = x;
    context.fillStyle = color(intAt(name, row));
    context.fillRect(x, 0, APART, TICK);
  }
}

/** Height of the bars for Intel PT. */
export const TRACED = 8;

/** Draws the growth of buffers over time, scaled to the fastest growth. */
export function drawTraced(
  context: CanvasRenderingContext2D,
  buffers: readonly PtGrowth[],
  [first, last]: readonly [number, number],
  width: number,
  bottom: number,
  colors: PageColors,
): void {
  const count = Math.max(1, Math.floor(width / 2));
  const bytes = new Float64Array(count);
  for (const buffer of buffers) {
    let before = bytesUpTo(buffer, first);
    for (let bin = 0; bin < count; bin++) {
      const after = bytesUpTo(buffer, first + (bin + 1) / count * (last - first));
      bytes[bin] = floatAt(bytes, bin) + after - before;
      before = after;
    }
  }
  const most = bytes.reduce((a, b) => Math.max(a, b), 0);
  context.fillStyle = colors.mark;
  for (const [bin, of] of bytes.entries()) {
    if (of <= 0) continue;
    const tall = Math.max(1, of / most * (TRACED - 1));
    context.fillRect(bin * width / count, bottom - tall, width / count, tall);
  }
}

/** Dims the time outside of the selection, and draws its edges. */
export function drawRange(
  context: CanvasRenderingContext2D,
  [from, to]: readonly [number, number],
  [first, last]: readonly [number, number],
  width: number,
  height: number,
  colors: PageColors,
): void {
  const place = (ns: number) => (ns - first) / (last - first) * width;
  const [left, right] = [place(from), place(to)];
  context.globalAlpha = 0.72;
  context.fillStyle = colors.back;
  if (left > 0) context.fillRect(0, 0, left, height);
  if (right < width) context.fillRect(right, 0, width - right, height);
  context.globalAlpha = 1;
  context.fillStyle = colors.accent;
  context.fillRect(left - 1, 0, 2, height);
  context.fillRect(right - 1, 0, 2, height);
}
