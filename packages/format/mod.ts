/**
 * The core codec of Linux `perf.data` files: headers, attrs, features, kernel records and samples.
 *
 * @module
 */
export { emptyAttr, type PerfEventAttr } from "./attr.ts";
export { RecordBatch } from "./batch.ts";
export {
  type Diagnostics,
  type ErrorPlace,
  PerfDataError,
  type PerfDataErrorCode,
} from "./error.ts";
export { eventName } from "./event_name.ts";
export { EventTable, PerfEvent } from "./events.ts";
export { decodeFeature, encodeFeature, type Feature, FEATURES } from "./features/feature.ts";
export { PerfDataReader, type ReaderOptions, type ReaderStats } from "./reader.ts";
export type { DecodedRecord, RawRecord } from "./record.ts";
export { type AnyRecord, RecordCodec, type RecordContext } from "./record_codec.ts";
export { KERNEL_RECORDS, type KernelRecord } from "./records.ts";
export type { Sample, SampleId } from "./sample.ts";
export { type ByteSink, memorySink, type RandomAccessSink } from "./sink.ts";
export {
  blobSource,
  type ByteSource,
  bytesSource,
  isRandomAccess,
  type RandomAccessSource,
  type StreamSource,
  streamSource,
  type SyncSource,
} from "./source.ts";
export { visible } from "./visible.ts";
export {
  type FileWriterOptions,
  PerfDataWriter,
  type WriterEvent,
  type WriterFeature,
} from "./writer.ts";
