/**
 * Searches sorted elements. Returns the first index of `[from, to)` for which `isBefore` is false,
 * or `to`. Loops over many records compare in place instead, without a call.
 *
 * @param isBefore Whether an element is before the wanted one: true up to some index, then false.
 *
 * @example
 * ```ts
 * import { partitionPoint } from "@perfdata/format/bytes";
 * import { assertEquals } from "@std/assert";
 *
 * const starts = [10, 20, 30];
 * assertEquals(partitionPoint(0, starts.length, (i) => (starts[i] ?? 0) <= 20), 2);
 * ```
 */
export function partitionPoint(
  from: number,
  to: number,
  isBefore: (index: number) => boolean,
): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
