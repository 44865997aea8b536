/**
 * The records that `perf` itself writes into `perf.data`: types 64 to 86.
 *
 * @module
 */
export * from "./all_records.ts";
export * from "./auxtrace.ts";
export * from "./auxtrace_error.ts";
export * from "./auxtrace_info.ts";
export * from "./auxtrace_info/arm_spe.ts";
export * from "./auxtrace_info/cs_etm.ts";
export * from "./auxtrace_info/intel_bts.ts";
export * from "./auxtrace_info/intel_pt.ts";
export type { PrivCodec } from "./auxtrace_info/words.ts";
export * from "./bpf_metadata.ts";
export * from "./compressed.ts";
export * from "./cpu_map.ts";
export * from "./event_update.ts";
export * from "./finished.ts";
export * from "./google_dialect.ts";
export * from "./header_attr.ts";
export * from "./header_build_id.ts";
export * from "./header_event_type.ts";
export * from "./header_feature.ts";
export * from "./header_tracing_data.ts";
export * from "./id_index.ts";
export * from "./schedstat.ts";
export * from "./stat.ts";
export * from "./thread_map.ts";
export * from "./time_conv.ts";
export * from "./user_records.ts";
