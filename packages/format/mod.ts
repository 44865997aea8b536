/**
 * The core codec of Linux `perf.data` files: headers, attrs, features, kernel records and samples.
 *
 * @module
 */
export { emptyAttr, type PerfEventAttr } from "./header/attr.ts";
export { RecordBatch } from "./reading/batch.ts";
export {
  type Diagnostics,
  type ErrorPlace,
  PerfDataError,
  type PerfDataErrorCode,
} from "./error.ts";
export { eventName } from "./header/event_name.ts";
export { EventTable, PerfEvent } from "./header/events.ts";
export { decodeFeature, encodeFeature, type Feature, FEATURES } from "./features/feature.ts";
export { PerfDataReader, type ReaderOptions, type ReaderStats } from "./reading/reader.ts";
export type { DecodedRecord, RawRecord } from "./records/record.ts";
export { type AnyRecord, RecordCodec, type RecordContext } from "./records/record_codec.ts";
export { KERNEL_RECORDS, type KernelRecord } from "./records/mod.ts";
export type { Sample, SampleId } from "./sample/sample.ts";
export { type ByteSink, memorySink, type RandomAccessSink } from "./sources/sink.ts";
export {
  blobSource,
  type ByteSource,
  bytesSource,
  isRandomAccess,
  type RandomAccessSource,
  type StreamSource,
  streamSource,
  type SyncSource,
} from "./sources/source.ts";
export { visible } from "./text/visible.ts";
export {
  type FileWriterOptions,
  PerfDataWriter,
  type WriterEvent,
  type WriterFeature,
} from "./writing/writer.ts";
