import { floatAt } from "@perfdata/format/bytes";

/**
 * Index of the first element of the ascending `sorted[from, to)` that is not below `value`, or
 * `to`.
 */
export function lowerBound(
  sorted: Float64Array,
  value: number,
  from = 0,
  to: number = sorted.length,
): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (floatAt(sorted, middle) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Index of the first element of the ascending `sorted[from, to)` that is above `value`, or `to`.
 */
export function upperBound(sorted: Float64Array, value: number, from: number, to: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (floatAt(sorted, middle) <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
