import type { DecodedRecord } from "@perfdata/format/records";
import { AUXTRACE } from "./auxtrace/auxtrace.ts";
import { AUXTRACE_ERROR } from "./auxtrace/auxtrace_error.ts";
import { AUXTRACE_INFO } from "./auxtrace/auxtrace_info.ts";
import { BPF_METADATA } from "./header/bpf_metadata.ts";
import { COMPRESSED, COMPRESSED2 } from "./stream/compressed.ts";
import { CPU_MAP } from "./stat/cpu_map.ts";
import { EVENT_UPDATE } from "./stat/event_update.ts";
import { FINISHED_INIT, FINISHED_ROUND } from "./stream/finished.ts";
import { HEADER_ATTR } from "./header/header_attr.ts";
import { HEADER_BUILD_ID } from "./header/header_build_id.ts";
import { HEADER_EVENT_TYPE } from "./header/header_event_type.ts";
import { HEADER_FEATURE } from "./header/header_feature.ts";
import { HEADER_TRACING_DATA } from "./header/header_tracing_data.ts";
import { ID_INDEX } from "./auxtrace/id_index.ts";
import { SCHEDSTAT_CPU, SCHEDSTAT_DOMAIN } from "./stat/schedstat.ts";
import { STAT, STAT_CONFIG, STAT_ROUND } from "./stat/stat_records.ts";
import { THREAD_MAP } from "./stat/thread_map.ts";
import { TIME_CONV } from "./stat/time_conv.ts";

/**
 * perf's own records, types 64 to 86 of `tools/lib/perf/include/perf/event.h`.
 *
 * @example
 * ```ts
 * import { KERNEL_RECORDS, RecordCodec } from "@perfdata/format";
 * import { USER_RECORDS } from "@perfdata/user-records";
 * import { assert, assertEquals } from "@std/assert";
 *
 * const codec = new RecordCodec([...KERNEL_RECORDS, ...USER_RECORDS]);
 * const bytes = new Uint8Array(32);
 * bytes.set([79, 0, 0, 0, 0, 0, 32, 0, 31]); // TIME_CONV of 32 bytes, time_shift 31
 * const record = codec.decode(bytes);
 * assert(record.name === "TIME_CONV");
 * assertEquals(record.body, { time_shift: 31n, time_mult: 0n, time_zero: 0n });
 * assertEquals(codec.encode(record), bytes);
 * ```
 */
export const USER_RECORDS = [
  HEADER_ATTR,
  HEADER_EVENT_TYPE,
  HEADER_TRACING_DATA,
  HEADER_BUILD_ID,
  FINISHED_ROUND,
  ID_INDEX,
  AUXTRACE_INFO,
  AUXTRACE,
  AUXTRACE_ERROR,
  THREAD_MAP,
  CPU_MAP,
  STAT_CONFIG,
  STAT,
  STAT_ROUND,
  EVENT_UPDATE,
  TIME_CONV,
  HEADER_FEATURE,
  COMPRESSED,
  FINISHED_INIT,
  COMPRESSED2,
  BPF_METADATA,
  SCHEDSTAT_CPU,
  SCHEDSTAT_DOMAIN,
] as const;

/** A decoded record that perf itself wrote. */
export type UserRecord = DecodedRecord<typeof USER_RECORDS[number]>;
