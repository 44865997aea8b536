/**
 * Recordings as tables, in Parquet files that DuckDB, Spark, Arrow and Polars read.
 *
 * @module
 */
export { ArrowStream } from "./arrow/arrow_stream.ts";
export { RecordingTables, type RecordingTablesOptions } from "./collecting/recording_tables.ts";
export { ParquetFile } from "./parquet/parquet_file.ts";
export type { TableFile } from "./reading/table_columns.ts";
export { profileOfTables } from "./reading/tables_profile.ts";
export type { Table } from "./schema/column_types.ts";
export { TABLES } from "./schema/tables.ts";
