import type { FunctionTable } from "./functions.ts";
import { textRanks } from "./texts.ts";

/** What rows can be grouped by: an entry here is all that a new one takes. */
export interface FunctionKey {
  /** Its name in `--sort`, and in CSV and JSON. */
  readonly name: SortKey;
  /** Whether it is a number, and stands on the right. */
  readonly numeric: boolean;
  /** What of the names of places it needs. */
  readonly needs?: "dso" | "symbol" | "line" | "file";
  /** What rows of another place are grouped by it; those of a sample's context otherwise. */
  readonly context?: "comm" | "pid" | "tid" | "cpu";
  /** Its value in a row. */
  value(table: FunctionTable, row: number): string | number;
  /** What a table for people shows, where that is more. */
  shown?(table: FunctionTable, row: number): string;
  /** Its value in a line of JSON, where that is more. */
  full?(table: FunctionTable, row: number): string | undefined;
  /** More members of a line of JSON. */
  more?(table: FunctionTable, row: number): Readonly<Record<string, unknown>>;
  /** Columns by which rows that are equal otherwise are in order. */
  order(table: FunctionTable, rows: Uint32Array): Float64Array[];
}

/** The name of a function, and whether it is inlined. */
function symText(table: FunctionTable, row: number): string {
  const { functions } = table.names;
  const number = table.symbol(row);
  return functions.isInlined(number)
    ? `${functions.text(number)} (inlined)`
    : functions.text(number);
}

/** Makes a column of a number in each row. */
function column(
  table: FunctionTable,
  rows: Uint32Array,
  number: (row: number) => number,
): Float64Array {
  const values = new Float64Array(table.size);
  for (const row of rows) values[row] = number(row);
  return values;
}

/** Makes a column of the places of texts among each other. */
function rankColumn(
  table: FunctionTable,
  rows: Uint32Array,
  number: (row: number) => number,
  count: number,
  text: (number: number) => string,
): Float64Array[] {
  const ranks = textRanks(Int32Array.from(rows, number), count, text);
  return [column(table, rows, (row) => ranks[number(row)] as number)];
}

/** All of them, in the order in which they decide. */
export const FUNCTION_KEYS: readonly FunctionKey[] = [
  {
    name: "comm",
    numeric: false,
    context: "comm",
    value: (table, row) => table.comms.text(table.context(row, "comm")),
    order: (table, rows) =>
      rankColumn(
        table,
        rows,
        (row) => table.context(row, "comm"),
        table.comms.count,
        (number) => table.comms.text(number),
      ),
  },
  {
    name: "dso",
    numeric: false,
    needs: "dso",
    value: (table, row) => table.names.dsos.text(table.names.dso[table.entry(row)] as number),
    order: (table, rows) =>
      rankColumn(
        table,
        rows,
        (row) => table.names.dso[table.entry(row)] as number,
        table.names.dsos.count,
        (number) => table.names.dsos.text(number),
      ),
  },
  {
    name: "sym",
    numeric: false,
    needs: "symbol",
    value: symText,
    shown: (table, row) =>
      `[${table.names.functions.level(table.symbol(row))}] ${symText(table, row)}`,
    more: (table, row) => ({
      sym: table.names.functions.text(table.symbol(row)),
      level: table.names.functions.level(table.symbol(row)),
      ...(table.inline ? { inlined: table.names.functions.isInlined(table.symbol(row)) } : {}),
    }),
    order: (table, rows) => {
      const { functions } = table.names;
      const { kinds, values } = functions.ranks(Int32Array.from(rows, (row) => table.symbol(row)));
      return [
        column(table, rows, (row) => kinds[table.symbol(row)] as number),
        column(table, rows, (row) => values[table.symbol(row)] as number),
        column(table, rows, (row) => functions.level(table.symbol(row)).charCodeAt(0)),
      ];
    },
  },
  {
    name: "srcline",
    numeric: false,
    needs: "line",
    value: (table, row) => table.names.texts.text(table.names.line[table.entry(row)] as number),
    full: (table, row) => table.names.linePaths[table.names.line[table.entry(row)] as number],
    order: (table, rows) =>
      rankColumn(
        table,
        rows,
        (row) => table.names.line[table.entry(row)] as number,
        table.names.texts.count,
        (number) => table.names.texts.text(number),
      ),
  },
  {
    name: "srcfile",
    numeric: false,
    needs: "file",
    value: (table, row) => table.names.texts.text(table.names.file[table.entry(row)] as number),
    order: (table, rows) =>
      rankColumn(
        table,
        rows,
        (row) => table.names.file[table.entry(row)] as number,
        table.names.texts.count,
        (number) => table.names.texts.text(number),
      ),
  },
  ...(["pid", "tid", "cpu"] as const).map((name): FunctionKey => ({
    name,
    numeric: true,
    context: name,
    value: (table, row) => table.context(row, name),
    order: (table, rows) => [column(table, rows, (row) => table.context(row, name))],
  })),
];

/** Names of {@link FUNCTION_KEYS}. */
export const SORT_KEYS: readonly SortKey[] = FUNCTION_KEYS.map(({ name }) => name);

/** One of {@link SORT_KEYS}. */
export type SortKey = "comm" | "dso" | "sym" | "srcline" | "srcfile" | "pid" | "tid" | "cpu";
