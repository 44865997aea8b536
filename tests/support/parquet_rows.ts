/** Reads Parquet files with `hyparquet`, a reader independent of the writer. */
import { parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { zstdDecompressSync } from "node:zlib";

/** A row: values by column name; 64-bit numbers are `bigint`. */
export type ParquetRow = Readonly<Record<string, unknown>>;

/** All rows of a file. */
export async function parquetRows(bytes: Uint8Array): Promise<ParquetRow[]> {
  const file = bytes.slice().buffer;
  const metadata = await parquetMetadataAsync(file);
  if (metadata.num_rows === 0n) return [];
  const ZSTD = (input: Uint8Array) => new Uint8Array(zstdDecompressSync(input));
  return await parquetReadObjects({ file, metadata, compressors: { ZSTD } });
}

/** All rows of a table in a directory, including its subfolders. */
export async function tableRows(folder: string, table: string): Promise<ParquetRow[]> {
  const rows: ParquetRow[] = [];
  for (const path of [...parquetFiles(`${folder}/${table}`)].sort()) {
    for (const row of await parquetRows(Deno.readFileSync(path))) rows.push(row);
  }
  return rows;
}

/** All Parquet files below a directory. */
export function* parquetFiles(folder: string): Generator<string, void, void> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    if (isDirectory) yield* parquetFiles(`${folder}/${name}`);
    else if (name.endsWith(".parquet")) yield `${folder}/${name}`;
  }
}
