import { uintAt } from "@perfdata/format/bytes";
import type { OrderColumn } from "./function_columns.ts";
import { FUNCTION_KEYS, keyOrder } from "./function_keys.ts";
import type { FunctionTable } from "./functions.ts";
import { stableOrder } from "./row_order.ts";

/**
 * The rows of a table, sorted by event, then by latency (if there is one), period, samples and
 * names. Rows beyond the limits are dropped before names are looked up.
 *
 * @param limit Limit of the rows of each event.
 * @param least Smallest share of the event.
 */
export function orderedRows(
  table: FunctionTable,
  limit: number,
  least: number,
): Uint32Array<ArrayBuffer> {
  const { size, events, withCallees, withLatency } = table;
  const rows = new Uint32Array(size);
  let count = 0;
  for (let row = 0; row < size; row++) {
    if (events?.has(table.event(row)) === false) continue;
    if (least > 0 && !(table.firstShare(row) >= least)) continue;
    rows[count++] = row;
  }
  const all = rows.subarray(0, count);
  const event = (row: number): number => table.event(row);
  const columns: OrderColumn[] = [
    ...(withLatency && withCallees ? [(row: number) => -table.childLatency(row)] : []),
    ...(withLatency ? [(row: number) => -table.latency(row)] : []),
    ...(withCallees ? [(row: number) => -table.childPeriod(row)] : []),
    (row) => -table.period(row),
    (row) => -table.samples(row),
  ];
  if (limit === Infinity) return named(table, all, [event, ...columns]);
  const inOrder = stableOrder(all, [event, ...columns]);
  const chosen: number[] = [];
  for (let from = 0, to = 0; from < count; from = to) {
    const first = uintAt(inOrder, from);
    while (to < count && event(uintAt(inOrder, to)) === event(first)) to++;
    // Rows equal to the last one may precede it by name.
    let end = Math.min(from + limit, to);
    const isAsLast = (row: number) =>
      columns.every((value) => value(row) === value(uintAt(inOrder, from + limit - 1)));
    while (limit > 0 && end < to && isAsLast(uintAt(inOrder, end))) end++;
    const names = named(table, inOrder.slice(from, end), columns);
    for (const row of names.subarray(0, limit)) chosen.push(row);
  }
  return Uint32Array.from(chosen);
}

function named(
  table: FunctionTable,
  rows: Uint32Array<ArrayBuffer>,
  first: readonly OrderColumn[],
): Uint32Array<ArrayBuffer> {
  const keys = FUNCTION_KEYS.filter(({ name }) => table.keys.some((key) => key.name === name));
  return stableOrder(rows, [...first, ...keys.flatMap((key) => keyOrder(key, table, rows))]);
}
