import { selectedRows, type Selection } from "./selection.ts";
import type { ViewProfile } from "@perfdata/export/tree";
import { floatAt } from "@perfdata/format/bytes";

/** Options of a heat map. */
export interface HeatQuery extends Selection {
  readonly weight: "period" | "samples";
  /** Number of cells in a column. */
  readonly rows: number;
}

/** Samples by column (a range of time) and cell (a fraction of it). */
export interface Heat {
  /** Nanoseconds in a column. */
  readonly column: number;
  readonly columns: number;
  readonly rows: number;
  /** Weight by cell, column by column, in order of time. */
  readonly cells: Float64Array;
  readonly most: number;
}

/** Minimum number of columns of a useful map. */
const FEW_COLUMNS = 24;

/** Returns the nanoseconds in a column: a second; a tenth, a hundredth, … of it for short recordings. */
function heatColumn(duration: number): number {
  let column = 1e9;
  while (column > 1e4 && duration / column < FEW_COLUMNS) column /= 10;
  return column;
}

/** Sums up samples by column and cell. The time range of the selection is ignored. */
export function heat(profile: ViewProfile, query: HeatQuery): Heat {
  const { time, count, period } = profile.samples;
  const { rows } = query;
  const column = heatColumn(profile.duration);
  const columns = Math.floor(profile.duration / column) + 1;
  const cells = new Float64Array(columns * rows);
  const weight = query.weight === "period" ? period : count;
  let most = 0;
  if (time !== undefined) {
    for (const row of selectedRows(profile, { ...query, from: undefined, to: undefined })) {
      const cell = Math.floor(floatAt(time, row) / column * rows);
      const sum = cells[cell] = floatAt(cells, cell) + floatAt(weight, row);
      most = Math.max(most, sum);
    }
  }
  return { column, columns, rows, cells, most };
}
