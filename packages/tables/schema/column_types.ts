/** The type of a column. Whole numbers are signed: engines such as Spark have no others. */
export type ColumnType =
  /** A 64-bit number. */
  | "int64"
  /** A 32-bit number. */
  | "int32"
  /** Text. */
  | "string"
  /** True or false. */
  | "boolean"
  /** Microseconds since 1970, UTC. */
  | "timestamp"
  /** 64-bit numbers. */
  | "int64[]";

/** A column of a table, as it is declared. */
export interface Column {
  /** Its name. */
  readonly name: string;
  /** What its values are. */
  readonly type: ColumnType;
  /** Whether each row has a value. */
  readonly required: boolean;
  /** What it says, in a sentence. */
  readonly about: string;
}

/** A table, as it is declared. */
export interface Table {
  /** Its name, which its folder has. */
  readonly name: string;
  /** What a row is. */
  readonly about: string;
  /** Its columns, in their order. */
  readonly columns: readonly Column[];
}

/**
 * The values of a column. 64-bit numbers are two 32-bit words each, the lower one first: no number passes
 * through a double.
 */
export type ColumnValues =
  /** Of `int64` and `timestamp`; where `valid` is 0 there is no value. */
  | { readonly kind: "words"; readonly words: Int32Array; readonly valid?: Uint8Array }
  /** Of `int32` and `boolean`. */
  | { readonly kind: "ints"; readonly ints: Int32Array; readonly valid?: Uint8Array }
  /** A code of each value; -1 for none. Of `int64` the dictionary is words. */
  | {
    readonly kind: "codes";
    readonly codes: Int32Array;
    readonly dictionary: Int32Array | readonly string[];
  }
  /** Of `string`, of which few are equal. */
  | { readonly kind: "texts"; readonly texts: readonly (string | undefined)[] }
  /** Of `int64[]`: row `i` has those from `starts[i]` up to `starts[i + 1]`. */
  | { readonly kind: "lists"; readonly starts: Int32Array; readonly words: Int32Array }
  /** No row has one. */
  | { readonly kind: "none" };

/** Takes rows of a table, some at a time. */
export interface RowSink {
  /**
   * Takes rows; columns that are left out have no values.
   *
   * @param columns Values by name of the column, or what makes them: so that not all are there at once.
   */
  rows(count: number, columns: RowColumns): void;
}

/** Values of some rows, by name of the column. */
export type RowColumns = Readonly<Record<string, ColumnValues | (() => ColumnValues)>>;

/** The words of one number, in as many rows as there are, as a column. */
export function constant(words: Int32Array, count: number): ColumnValues {
  return { kind: "codes", codes: new Int32Array(count), dictionary: words };
}
