/**
 * The core codec of Linux `perf.data` files: headers, attrs, features, kernel records and samples.
 *
 * @module
 */
export * from "./attr.ts";
export * from "./batch.ts";
export * from "./cursor.ts";
export * from "./data_source.ts";
export * from "./directory_source.ts";
export * from "./error.ts";
export * from "./event_name.ts";
export * from "./events.ts";
export * from "./features.ts";
export type { FeatureSection } from "./file_tables.ts";
export * from "./header.ts";
export type { InflaterState } from "./inflater.ts";
export * from "./regions.ts";
export * from "./off_cpu.ts";
export * from "./perf_event.ts";
export * from "./reader.ts";
export * from "./record.ts";
export * from "./record_codec.ts";
export * from "./record_header.ts";
export * from "./record_names.ts";
export * from "./records.ts";
export * from "./registers.ts";
export * from "./sample.ts";
export * from "./sample_layout.ts";
export * from "./sample_walk.ts";
export * from "./sink.ts";
export * from "./source.ts";
export * from "./struct.ts";
export * from "./text.ts";
export * from "./visible.ts";
export * from "./writer.ts";
export * from "./zstd.ts";
