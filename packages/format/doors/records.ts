/**
 * The file and its records: their layouts, readers and writers of whole files, sources that are
 * compressed, archives or folders.
 *
 * @module
 */
export {
  ATTR_FIELDS,
  ATTR_FLAGS,
  emptyAttr,
  fixedPeriod,
  PERF_ATTR_SIZE,
  PERF_ATTR_SIZE_VER0,
  type PerfEventAttr,
  perfEventAttr,
} from "../header/attr.ts";
export { EventTable, PerfEvent } from "../header/events.ts";
export {
  decodeFileHeader,
  featureIds,
  headerSize,
  parseMagic,
  PERF_FILE_HEADER_SIZE,
  PERF_FILE_HEADER_SIZE_OLD,
  PERF_PIPE_HEADER_SIZE,
  type PerfFileHeader,
  perfFileHeader,
  type PerfFileSection,
  perfFileSection,
  perfPipeFileHeader,
  perfTraceEventType,
} from "../header/header.ts";
export {
  NO_MASKS,
  type ReadFormat,
  readFormat,
  readFormatDeclaration,
  type ReadValue,
} from "../header/read_format.ts";
export { type Payload, payloadBlocks, payloadBytes, RecordBatch } from "../reading/batch.ts";
export type { FeatureSection } from "../reading/file_tables.ts";
export { Inflater, type InflaterHost, type InflaterState } from "../reading/inflater.ts";
export {
  type BatchOptions,
  PerfDataReader,
  type ReaderOptions,
  type ReaderStats,
} from "../reading/reader.ts";
export {
  type FileLayout,
  fileLayout,
  type FileSections,
  type Region,
  type RegionConflict,
  type RegionKind,
  sectionRange,
} from "../reading/regions.ts";
export {
  AUX,
  type Aux,
  AUX_OUTPUT_HW_ID,
  type AuxOutputHwId,
  ITRACE_START,
  type ItraceStart,
} from "../records/aux_area.ts";
export { CALLCHAIN_DEFERRED, type CallchainDeferred } from "../records/callchain_deferred.ts";
export {
  LOST,
  type Lost,
  LOST_SAMPLES,
  type LostSamples,
  READ,
  type Read,
  SAMPLE,
  THROTTLE,
  type Throttle,
  UNTHROTTLE,
} from "../records/counting.ts";
export {
  BPF_EVENT,
  type BpfEvent,
  KSYMBOL,
  type Ksymbol,
  TEXT_POKE,
  type TextPoke,
} from "../records/kernel_code.ts";
export { MMAP, type Mmap, MMAP2, type Mmap2 } from "../records/mmap.ts";
export { KERNEL_RECORDS, type KernelRecord } from "../records/mod.ts";
export {
  type DecodedRecord,
  type RawRecord,
  record,
  type RecordDeclaration,
  trailerEnd,
} from "../records/record.ts";
export {
  type AnyDeclaration,
  type AnyRecord,
  RecordCodec,
  type RecordContext,
} from "../records/record_codec.ts";
export {
  perfEventHeader,
  recordMisc,
  recordSize,
  setRecordHeader,
  setRecordSize,
} from "../records/record_header.ts";
export {
  CGROUP,
  type Cgroup,
  COMM,
  type Comm,
  EXIT,
  FORK,
  NAMESPACES,
  type Namespaces,
  SWITCH,
  type Switch,
  SWITCH_CPU_WIDE,
  type SwitchCpuWide,
  type Task,
} from "../records/task.ts";
export { hasOffCpuSamples, mayHaveOffCpuSamples, OffCpuFields } from "../sample/off_cpu.ts";
export {
  type FixedSampleId,
  type Sample,
  sampleBody,
  sampleDeclaration,
  type SampleId,
  sampleIdTrailer,
  sampleRecord,
  type SampleShape,
} from "../sample/sample.ts";
export {
  BRANCH_ENTRY,
  type ReadLayout,
  readLayout,
  SampleFields,
  type SampleLayout,
  sampleLayout,
  type TrailerLayout,
} from "../sample/sample_layout.ts";
export {
  type BranchStack,
  branchStack,
  type PerfBranchEntry,
  perfBranchEntry,
  type SampleRegs,
  sampleRegs,
  type SampleWeight,
  sampleWeight,
  type StackUser,
  stackUser,
} from "../sample/sample_parts.ts";
export { samplePrefixSize, SampleWalk } from "../sample/sample_walk.ts";
export {
  expandedSource,
  expandedStream,
  type FileCompression,
  fileCompression,
} from "../sources/compressed_source.ts";
export {
  type ClosableSyncSource,
  directorySource,
  openDirectorySource,
  recordingParts,
} from "../sources/directory_source.ts";
export { featuresFirst, held, memoryFile, spooled, tempStore } from "../sources/spool.ts";
export {
  isTar,
  recordingInTar,
  type SkippableSource,
  type TarMember,
  TarReader,
} from "../sources/tar_source.ts";
export * from "../struct/mod.ts";
export {
  fileMagic,
  type FileWriterOptions,
  hasTablesFirst,
  longestAttr,
  PerfDataWriter,
  type WriterEvent,
  type WriterFeature,
} from "../writing/writer.ts";
export {
  zstdDecompress,
  zstdParts,
  type ZstdState,
  type ZstdStream,
  zstdStream,
} from "../zstd/zstd.ts";
