import type { OrderColumn } from "./function_keys.ts";

/**
 * The order of rows by columns of numbers, the first column being the most significant; equal rows keep
 * their order. Columns with few values are sorted by counting, the last one first.
 *
 * @param rows The rows to order.
 */
export function stableOrder(
  rows: Uint32Array<ArrayBuffer>,
  columns: readonly OrderColumn[],
): Uint32Array<ArrayBuffer> {
  const count = rows.length;
  // Places in `rows`.
  let order = Uint32Array.from(rows, (_, i) => i);
  let next = new Uint32Array(count);
  const values = new Float64Array(count);
  const rankOf = new Uint32Array(count);
  for (const column of columns.toReversed()) {
    for (let i = 0; i < count; i++) values[i] = column(rows[i] as number);
    const kinds = rank(values, rankOf);
    if (kinds <= 1) continue;
    const starts = new Uint32Array(kinds + 1);
    for (let i = 0; i < count; i++) {
      const after = (rankOf[i] as number) + 1;
      starts[after] = (starts[after] as number) + 1;
    }
    for (let i = 1; i < kinds; i++) {
      starts[i] = (starts[i] as number) + (starts[i - 1] as number);
    }
    for (let k = 0; k < count; k++) {
      const i = order[k] as number;
      const rank = rankOf[i] as number;
      const at = starts[rank] as number;
      starts[rank] = at + 1;
      next[at] = i;
    }
    [order, next] = [next, order];
  }
  for (let k = 0; k < count; k++) next[k] = rows[order[k] as number] as number;
  return next;
}

/**
 * Gives each value a number that is in its order; returns one more than the highest, 1 if all values
 * are equal.
 */
function rank(values: Float64Array, rankOf: Uint32Array): number {
  const count = values.length;
  let least = Infinity;
  let most = -Infinity;
  let whole = true;
  for (let i = 0; i < count; i++) {
    const value = values[i] as number;
    if (value < least) least = value;
    if (value > most) most = value;
    whole &&= Number.isSafeInteger(value);
  }
  if (!(least < most)) return 1;
  if (whole && most - least < count) {
    for (let i = 0; i < count; i++) rankOf[i] = (values[i] as number) - least;
    return most - least + 1;
  }
  const distinct = values.slice().sort();
  let kinds = 1;
  for (let i = 1; i < count; i++) {
    const value = distinct[i] as number;
    if (value !== distinct[kinds - 1]) distinct[kinds++] = value;
  }
  for (let i = 0; i < count; i++) {
    rankOf[i] = placeIn(distinct, kinds, values[i] as number);
  }
  return kinds;
}

/** Where a number that is among the first `count` sorted ones stands. */
function placeIn(sorted: Float64Array, count: number, value: number): number {
  let low = 0;
  let high = count - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
