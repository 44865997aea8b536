import { decodeName } from "../elf/strings.ts";

/** The columns of a symbol table, one row per symbol. */
export interface Columns {
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly nameOffset: Uint32Array;
  readonly nameLength: Uint32Array;
  readonly blob: Uint8Array;
  readonly binding: Uint8Array;
  readonly type: Uint8Array;
  readonly group: Uint16Array;
  readonly ordinal: Uint32Array;
}

export function makeColumns(capacity: number): Columns {
  return {
    start: new Float64Array(capacity),
    end: new Float64Array(capacity),
    nameOffset: new Uint32Array(capacity),
    nameLength: new Uint32Array(capacity),
    blob: new Uint8Array(capacity),
    binding: new Uint8Array(capacity),
    type: new Uint8Array(capacity),
    group: new Uint16Array(capacity),
    ordinal: new Uint32Array(capacity),
  };
}

/** Copies the first `count` rows, or those in `order`. */
export function copyColumns(
  from: Columns,
  to: Columns,
  order: Uint32Array | undefined,
  count: number,
): void {
  for (const name of Object.keys(from) as (keyof Columns)[]) {
    const source = from[name];
    const target = to[name];
    if (order === undefined) target.set(source.subarray(0, count));
    else for (let i = 0; i < count; i++) target[i] = source[order[i] ?? 0] ?? 0;
  }
}

/** Drops all rows that are not in the sorted `keep`. */
export function keepRows(columns: Columns, keep: Uint32Array, count: number): void {
  // Few rows are dropped, so copy long runs.
  for (let from = 0; from < count;) {
    const first = keep[from] ?? 0;
    let to = from + 1;
    while (to < count && keep[to] === first + to - from) to++;
    if (first !== from) {
      for (const column of Object.values(columns) as Columns[keyof Columns][]) {
        column.copyWithin(from, first, first + to - from);
      }
    }
    from = to;
  }
}

export function nameOf(
  columns: Columns,
  blobs: readonly Uint8Array[],
  suffixes: readonly string[],
  index: number,
): string {
  const blob = columns.blob[index] ?? 0;
  const bytes = blobs[blob];
  if (bytes === undefined) return "";
  const offset = columns.nameOffset[index] ?? 0;
  return decodeName(bytes, offset, offset + (columns.nameLength[index] ?? 0)) +
    (suffixes[blob] ?? "");
}
