/**
 * Figures about a recording: sampling rates, functions, processes.
 *
 * @module
 */
export {
  type Aggregate,
  aggregate,
  type AggregateOptions,
  knownBinaries,
  type MappedBinary,
  type SampleFilter,
} from "./aggregate.ts";
export * from "./call_tree.ts";
export * from "./processes.ts";
export { countRanges, cutRanges, mergeRanges, type RangeCounts } from "./ranges.ts";
export { type FileIndex, indexFile } from "./file_index.ts";
export * from "./functions.ts";
export * from "./histogram.ts";
export * from "./rate.ts";
export * from "./rate_plot.ts";
export * from "./rate_rows.ts";
export * from "./rate_stream.ts";
export * from "./read_shape.ts";
export * from "./sample_counts.ts";
export * from "./sample_histogram.ts";
