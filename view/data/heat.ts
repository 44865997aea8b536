import { selectedRows, type Selection } from "./selection.ts";
import type { ViewProfile } from "@perfdata/export/view-profile";
import { floatAt } from "@perfdata/format/elements";

/** Samples within each second, or another stretch of time. */
export interface HeatQuery extends Selection {
  readonly weight: "period" | "samples";
  /** How many cells a column has. */
  readonly rows: number;
}

/** Samples by column, a stretch of time, and by cell in it. */
export interface Heat {
  /** Nanoseconds of a column. */
  readonly column: number;
  readonly columns: number;
  readonly rows: number;
  /** Weight by cell, those of the first column first, in order of time. */
  readonly cells: Float64Array;
  readonly most: number;
}

/** The fewest columns that a map is worth. */
const FEW_COLUMNS = 24;

/** Nanoseconds of a column: a second, or for short recordings a tenth, a hundredth, … of it. */
function heatColumn(duration: number): number {
  let column = 1e9;
  while (column > 1e4 && duration / column < FEW_COLUMNS) column /= 10;
  return column;
}

/** Sums up samples by stretch of time and part of that; a range of time of the selection does not count. */
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
