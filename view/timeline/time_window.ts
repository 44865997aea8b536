import type { Range } from "./brush.ts";

/**
 * A part of a time, made longer or shorter.
 *
 * @param last The end of the time, which begins at 0.
 * @param least The shortest part.
 * @param middle What stays where it is.
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

/** A part of a time, moved by a share of its length. */
export function panned([from, to]: Range, by: number, last: number): Range {
  const span = to - from;
  const start = Math.max(0, Math.min(last - span, from + by * span));
  return [start, start + span];
}
