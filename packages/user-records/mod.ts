/**
 * The records that `perf` itself writes into `perf.data`: types 64 to 86.
 *
 * @module
 */
export { ALL_RECORDS, type LocatedRecord, records } from "./all_records.ts";
export { AUXTRACE, type Auxtrace } from "./auxtrace/auxtrace.ts";
export { AUXTRACE_INFO, type AuxtraceInfo, intelPtInfo } from "./auxtrace/auxtrace_info.ts";
export type { IntelPtInfo } from "./auxtrace_info/intel_pt.ts";
export { CPU_MAP } from "./stat/cpu_map.ts";
export { EVENT_UPDATE } from "./stat/event_update.ts";
export { HEADER_BUILD_ID, type HeaderBuildId } from "./header/header_build_id.ts";
export { ID_INDEX, type IdIndex } from "./auxtrace/id_index.ts";
export { THREAD_MAP } from "./stat/thread_map.ts";
export { USER_RECORDS, type UserRecord } from "./user_records.ts";
