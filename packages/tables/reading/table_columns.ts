import { parquetMetadataAsync, parquetRead } from "hyparquet";
import { PerfDataError } from "@perfdata/format/bytes";
import { zstdDecompress } from "@perfdata/format/records";

/** A Parquet file from any source. */
export interface TableFile {
  /** Name of the file, for messages. */
  readonly name: string;
  /** Size of the file in bytes. */
  readonly byteLength: number;
  /** Reads a range of bytes. */
  slice(start: number, end?: number): ArrayBuffer | Promise<ArrayBuffer>;
}

/** Values of a column: `bigint` for `int64`; missing values are `null` or `undefined`. */
export type ReadValues = ArrayLike<unknown>;

/** Some rows of a table. */
export interface ReadRows {
  /** Number of rows. */
  readonly count: number;
  /** Returns the values of a column. */
  column(name: string): ReadValues;
}

/**
 * Reads some columns of a file, group by group. A missing optional column has no values.
 *
 * @param optional Columns that the file may lack.
 * @throws {PerfDataError} If the file is damaged or another table.
 */
export async function* readRows(
  file: TableFile,
  columns: readonly string[],
  optional: readonly string[] = [],
): AsyncGenerator<ReadRows, void, void> {
  const metadata = await readable(file, () => parquetMetadataAsync(file));
  const there = new Set(metadata.schema.map(({ name }) => name));
  const missing = columns.find((name) => !there.has(name));
  if (missing !== undefined) throw new PerfDataError(`${file.name}: no column ${missing}`);
  const wanted = [...columns, ...optional.filter((name) => there.has(name))];
  let rowStart = 0;
  for (const { num_rows } of metadata.row_groups) {
    const count = Number(num_rows);
    const rowEnd = rowStart + count;
    const parts = new Map<string, ReadValues[]>(wanted.map((name) => [name, []]));
    await readable(file, () =>
      parquetRead({
        ...{ file, metadata, columns: wanted, rowStart, rowEnd },
        compressors: { ZSTD: zstdDecompress },
        onChunk: ({ columnName, columnData }) => parts.get(columnName)?.push(columnData),
      }));
    const read = new Map([...parts].map(([name, values]) => [name, joined(values)]));
    for (const [name, { length }] of read) {
      if (length === count) continue;
      throw new PerfDataError(
        `${file.name}: no whole Parquet file: ${length} values of ${name}, expected ${count}`,
      );
    }
    const none: ReadValues = { length: count };
    yield { count, column: (name) => read.get(name) ?? none };
    rowStart = rowEnd;
  }
}

function joined(parts: readonly ReadValues[]): ReadValues {
  const [first, ...rest] = parts;
  if (first === undefined) return [];
  return rest.length === 0 ? first : parts.flatMap((part) => Array.from(part));
}

async function readable<T>(file: TableFile, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof PerfDataError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new PerfDataError(`${file.name}: no whole Parquet file: ${reason}`);
  }
}
