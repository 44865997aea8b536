/**
 * Recordings as tables, in Parquet files that DuckDB, Spark, Arrow and Polars read.
 *
 * @module
 */
export * from "./schema/column_types.ts";
export * from "./schema/tables.ts";
export { ParquetFile, type ParquetOptions } from "./parquet/parquet_file.ts";
export { type ArrowOptions, ArrowStream } from "./arrow/arrow_stream.ts";
export { ContentHash } from "./ids/content_ids.ts";
export { profileOfTables, type TablesProfileOptions } from "./reading/tables_profile.ts";
export {
  type Build,
  kernelReleases,
  type NamedFrames,
  nameFrames,
  type UnnamedFrames,
  unnamedFrames,
} from "./naming/name_frames.ts";
export type { Decompress, TableFile } from "./reading/table_columns.ts";
export { PtCallRows } from "./collecting/pt_call_rows.ts";
export {
  type OpenTable,
  type RecordingKey,
  RecordingTables,
  type RecordingTablesOptions,
} from "./collecting/recording_tables.ts";
