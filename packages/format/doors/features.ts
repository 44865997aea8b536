/**
 * The feature sections of the file header, which describe the recording and its machine.
 *
 * @module
 */
export {
  BPF_BTF_FIELDS,
  BPF_INFO_FIELDS,
  BPF_PROG_FIELDS,
  BPF_PROG_INFO_FIELDS,
  type BpfBtfs,
  type BpfProg,
  type BpfProgArrays,
  bpfProgArrays,
  type BpfProgInfo,
  type BpfProgInfos,
} from "../features/bpf.ts";
export {
  BUILD_ID_FIELDS,
  BUILD_ID_HEADER_FIELDS,
  BUILD_ID_PID_FIELD,
  BUILD_ID_SIZE,
  type BuildIdEvent,
  buildIdText,
} from "../features/build_id.ts";
export { CMDLINE_ARGV_FIELDS, CMDLINE_LINE_FIELDS, type CommandLine } from "../features/cmdline.ts";
export type {
  DecodedFeature,
  FeatureDeclaration,
  FeatureOptions,
  RawFeature,
} from "../features/declaration.ts";
export { EVENT_DESC_FIELDS, type EventDesc, type EventDescs } from "../features/event_desc.ts";
export {
  decodeFeature,
  encodeFeature,
  type Feature,
  type FeatureOf,
  FEATURES,
} from "../features/feature.ts";
export { HIPERF_FILES_FIELDS, type HiperfFiles } from "../features/hiperf.ts";
export {
  type Cache,
  CACHE_FIELDS,
  MEM_TOPOLOGY_FIELDS,
  type MemTopology,
} from "../features/memory_features.ts";
export { decodeObjectFeature, type ObjectFeature } from "../features/object_feature.ts";
export {
  CPU_PMU_CAPS_FIELDS,
  type CpuPmuCaps,
  GROUP_DESC_FIELDS,
  type GroupDescs,
  PMU_CAPS_FIELDS,
  PMU_MAPPINGS_FIELDS,
  type PmuCaps,
  type PmuMappings,
} from "../features/pmu.ts";
export {
  AUXTRACE_INDEX_ENTRY_FIELDS,
  type AuxtraceIndex,
  type AuxtraceIndexEntry,
  type Compressed,
  COMPRESSED_FIELDS,
  E_MACHINE_FIELDS,
  type EMachine,
  type EmptyFeature,
} from "../features/recorded_how.ts";
export {
  SIMPLEPERF_FILE_FIELDS,
  SIMPLEPERF_META_FIELDS,
  type SimpleperfFile,
  type SimpleperfMeta,
} from "../features/simpleperf.ts";
export {
  CLOCK_DATA_FIELDS,
  type ClockData,
  SAMPLE_TIME_FIELDS,
  type SampleTime,
} from "../features/time.ts";
export {
  CPU_DOMAIN_INFO_FIELDS,
  CPU_TOPOLOGY_FIELDS,
  type CpuDomainInfo,
  type CpuDomainMap,
  type CpuTopology,
  type DieTopology,
  HYBRID_TOPOLOGY_FIELDS,
  type HybridTopology,
  type NrCpus,
  NRCPUS_FIELDS,
  NUMA_TOPOLOGY_FIELDS,
  type NumaTopology,
  type SchedDomain,
} from "../features/topology.ts";
export { TRACING_DATA_FIELDS, type TracingData } from "../features/tracing_data.ts";
