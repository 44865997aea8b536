/**
 * The records that `perf` itself writes into `perf.data`: types 64 to 86.
 *
 * @module
 */
export { ALL_RECORDS, type KnownDeclaration, type LocatedRecord, records } from "./all_records.ts";
export { AUXTRACE, type Auxtrace } from "./auxtrace/auxtrace.ts";
export {
  armSpeInfo,
  AUXTRACE_INFO,
  type AuxtraceInfo,
  csEtmInfo,
  intelBtsInfo,
  intelPtInfo,
  PERF_AUXTRACE_ARM_SPE,
  PERF_AUXTRACE_CS_ETM,
  PERF_AUXTRACE_HISI_PTT,
  PERF_AUXTRACE_INTEL_BTS,
  PERF_AUXTRACE_INTEL_PT,
  PERF_AUXTRACE_NAMES,
  PERF_AUXTRACE_S390_CPUMSF,
  PERF_AUXTRACE_UNKNOWN,
  PERF_AUXTRACE_VPA_DTL,
  type PrivOptions,
  privWords,
} from "./auxtrace/auxtrace_info.ts";
export { ID_INDEX, type IdIndex, type IdIndexEntry, idIndexEntry } from "./auxtrace/id_index.ts";
export {
  ARM_SPE_CPU_MAGIC,
  type ArmSpeCpu,
  type ArmSpeInfoV1,
  type ArmSpeInfoV2,
  armSpePrivV1,
  armSpePrivV2,
} from "./auxtrace_info/arm_spe.ts";
export {
  CS_ETE_MAGIC,
  CS_ETMV3_MAGIC,
  CS_ETMV4_MAGIC,
  type CsEtmCpu,
  type CsEtmInfo,
  csEtmPriv,
} from "./auxtrace_info/cs_etm.ts";
export { type IntelBtsInfo, intelBtsPriv } from "./auxtrace_info/intel_bts.ts";
export { type IntelPtInfo, intelPtPriv } from "./auxtrace_info/intel_pt.ts";
export type { PrivCodec } from "./auxtrace_info/words.ts";
export {
  GOOGLE_RECORDS,
  googleFeatureId,
  type GoogleFeatureName,
} from "./dialects/google_dialect.ts";
export {
  STAT,
  type Stat,
  STAT_CONFIG,
  STAT_ROUND,
  type StatConfig,
  type StatRound,
} from "./stat/stat_records.ts";
export { THREAD_MAP, type ThreadMap } from "./stat/thread_map.ts";
export { COMPRESSED, type Compressed, COMPRESSED2, type Compressed2 } from "./stream/compressed.ts";
export { USER_RECORDS, type UserRecord } from "./user_records.ts";
