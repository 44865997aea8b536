import { floatAt, uintAt } from "@perfdata/format/bytes";
import type { OrderColumn } from "./function_columns.ts";

/**
 * Sorts rows by columns of numbers, the most significant first; the sort is stable. Columns with
 * few values are sorted by counting, the last column first.
 *
 * @param rows The rows to sort.
 */
export function stableOrder(
  rows: Uint32Array<ArrayBuffer>,
  columns: readonly OrderColumn[],
): Uint32Array<ArrayBuffer> {
  const count = rows.length;
  // Indices in `rows`.
  let order = Uint32Array.from(rows, (_, i) => i);
  let next = new Uint32Array(count);
  const values = new Float64Array(count);
  const rankOf = new Uint32Array(count);
  for (const column of columns.toReversed()) {
    for (let i = 0; i < count; i++) values[i] = column(uintAt(rows, i));
    const kinds = rank(values, rankOf);
    if (kinds <= 1) continue;
    const starts = new Uint32Array(kinds + 1);
    for (let i = 0; i < count; i++) {
      const after = uintAt(rankOf, i) + 1;
      starts[after] = uintAt(starts, after) + 1;
    }
    for (let i = 1; i < kinds; i++) {
      starts[i] = uintAt(starts, i) + uintAt(starts, i - 1);
    }
    for (let k = 0; k < count; k++) {
      const i = uintAt(order, k);
      const rank = uintAt(rankOf, i);
      const at = uintAt(starts, rank);
      starts[rank] = at + 1;
      next[at] = i;
    }
    [order, next] = [next, order];
  }
  for (let k = 0; k < count; k++) next[k] = uintAt(rows, uintAt(order, k));
  return next;
}

/** Replaces values by ranks. Returns the number of ranks, 1 if all values are equal. */
function rank(values: Float64Array, rankOf: Uint32Array): number {
  const count = values.length;
  let least = Infinity;
  let most = -Infinity;
  let whole = true;
  for (let i = 0; i < count; i++) {
    const value = floatAt(values, i);
    if (value < least) least = value;
    if (value > most) most = value;
    whole &&= Number.isSafeInteger(value);
  }
  if (!(least < most)) return 1;
  if (whole && most - least < count) {
    for (let i = 0; i < count; i++) rankOf[i] = floatAt(values, i) - least;
    return most - least + 1;
  }
  const distinct = values.slice().sort();
  let kinds = 1;
  for (let i = 1; i < count; i++) {
    const value = floatAt(distinct, i);
    if (value !== distinct[kinds - 1]) distinct[kinds++] = value;
  }
  for (let i = 0; i < count; i++) {
    rankOf[i] = placeIn(distinct, kinds, floatAt(values, i));
  }
  return kinds;
}

/** Index of a number among the first `count` sorted ones. */
function placeIn(sorted: Float64Array, count: number, value: number): number {
  let low = 0;
  let high = count - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (floatAt(sorted, middle) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
