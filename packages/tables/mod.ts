/**
 * Recordings as tables, in Parquet files that DuckDB, Spark, Arrow and Polars read.
 *
 * @module
 */
export { type ArrowOptions, ArrowStream } from "./arrow/arrow_stream.ts";
export { PtCallRows } from "./collecting/pt_call_rows.ts";
export {
  type OpenTable,
  type RecordingKey,
  RecordingTables,
  type RecordingTablesOptions,
} from "./collecting/recording_tables.ts";
export { ContentHash } from "./ids/content_ids.ts";
export {
  type Build,
  kernelReleases,
  type NamedFrames,
  nameFrames,
  type UnnamedFrames,
  unnamedFrames,
} from "./naming/name_frames.ts";
export { ParquetFile, type ParquetOptions } from "./parquet/parquet_file.ts";
export { type TableFile } from "./reading/table_columns.ts";
export { profileOfTables, type TablesProfileOptions } from "./reading/tables_profile.ts";
export {
  type Column,
  type ColumnType,
  type ColumnValues,
  type RowColumns,
  type RowSink,
  type Table,
} from "./schema/column_types.ts";
export {
  ASKED_TABLES,
  FRAMES,
  MAPPINGS,
  PT_CALLS,
  RECORDINGS,
  SAMPLES,
  STACKS,
  SWITCHES,
  TABLES,
  TABLES_VERSION,
  THREADS,
  TRACEPOINTS,
} from "./schema/tables.ts";
