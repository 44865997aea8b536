import type { Range } from "./brush.ts";

/**
 * Zooms a range of time in or out.
 *
 * @param last End of the whole time, which begins at 0.
 * @param least Minimum length of the range.
 * @param middle Time that keeps its position.
 */
export function zoomed(
  [from, to]: Range,
  by: number,
  last: number,
  least: number,
  middle: number = (from + to) / 2,
): Range {
  const span = Math.max(least, Math.min(last, (to - from) * by));
  const share = (middle - from) / (to - from);
  const start = Math.max(0, Math.min(last - span, middle - share * span));
  return [start, start + span];
}

/** Returns a tenth of a range of time around a time; all of it, moved, if the time is not within. */
export function around(window: Range, at: number, last: number): Range {
  const [from, to] = window;
  const span = at >= from && at <= to ? Math.max(1000, (to - from) / 10) : to - from;
  const start = Math.max(0, Math.min(last - span, at - span / 2));
  return [start, start + span];
}

/** Moves a range of time by a share of its length. */
export function panned([from, to]: Range, by: number, last: number): Range {
  const span = to - from;
  const start = Math.max(0, Math.min(last - span, from + by * span));
  return [start, start + span];
}
