/** The type of a column. Integers are signed, since engines such as Spark have no other ones. */
export type ColumnType =
  /** A signed 64-bit integer. */
  | "int64"
  /** A signed 32-bit integer. */
  | "int32"
  /** Text. */
  | "string"
  /** A boolean. */
  | "boolean"
  /** Microseconds since 1970, UTC. */
  | "timestamp"
  /** A list of signed 64-bit integers. */
  | "int64[]";

/** Declaration of a column. */
export interface Column {
  /** Name of the column. */
  readonly name: string;
  /** Type of the values. */
  readonly type: ColumnType;
  /** Whether each row has a value. */
  readonly required: boolean;
  /** Description in a sentence. */
  readonly about: string;
}

/** Declaration of a table. */
export interface Table {
  /** Name of the table and of its folder. */
  readonly name: string;
  /** Description of a row. */
  readonly about: string;
  /** The columns, in order. */
  readonly columns: readonly Column[];
}

/** The values of a column. A 64-bit number is two 32-bit words, the lower one first; no double is used. */
export type ColumnValues =
  /** For `int64` and `timestamp`. Rows with `valid` 0 have no value. */
  | { readonly kind: "words"; readonly words: Int32Array; readonly valid?: Uint8Array }
  /** For `int32` and `boolean`. */
  | { readonly kind: "ints"; readonly ints: Int32Array; readonly valid?: Uint8Array }
  /** A code for each value; -1 for rows without one. For `int64`, the dictionary consists of words. */
  | {
    readonly kind: "codes";
    readonly codes: Int32Array;
    readonly dictionary: Int32Array | readonly string[];
  }
  /** For `string`, if few values are equal. */
  | { readonly kind: "texts"; readonly texts: readonly (string | undefined)[] }
  /** For `int64[]`: row `i` has the numbers from `starts[i]` up to `starts[i + 1]`. */
  | { readonly kind: "lists"; readonly starts: Int32Array; readonly words: Int32Array }
  /** No row has a value. */
  | { readonly kind: "none" };

/** Output for the rows of a table. */
export interface RowSink {
  /**
   * Writes rows; missing columns have no values.
   *
   * @param columns Values by name of the column, or functions that create them one at a time.
   */
  rows(count: number, columns: RowColumns): void;
}

/** Values of some rows, by name of the column. */
export type RowColumns = Readonly<Record<string, ColumnValues | (() => ColumnValues)>>;

/** Returns a column with the same number in all rows. */
export function constant(words: Int32Array, count: number): ColumnValues {
  return { kind: "codes", codes: new Int32Array(count), dictionary: words };
}
