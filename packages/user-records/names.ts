/** The first of perf's own record types: an event of a pipe stream. */
export const PERF_RECORD_HEADER_ATTR = 64;
/** Name of an event; not written any more. */
export const PERF_RECORD_HEADER_EVENT_TYPE = 65;
/** Formats of tracepoints in a pipe stream. */
export const PERF_RECORD_HEADER_TRACING_DATA = 66;
/** Build id of a binary. */
export const PERF_RECORD_HEADER_BUILD_ID = 67;
/** Bound of what is out of time order. */
export const PERF_RECORD_FINISHED_ROUND = 68;
/** Which CPU and thread an event id counts on. */
export const PERF_RECORD_ID_INDEX = 69;
/** How an AUX area trace was made. */
export const PERF_RECORD_AUXTRACE_INFO = 70;
/** A piece of an AUX area trace; its data follows the record. */
export const PERF_RECORD_AUXTRACE = 71;
/** A decoder's complaint about an AUX area trace. */
export const PERF_RECORD_AUXTRACE_ERROR = 72;
/** The threads that are recorded. */
export const PERF_RECORD_THREAD_MAP = 73;
/** The CPUs that are recorded. */
export const PERF_RECORD_CPU_MAP = 74;
/** Settings of `perf stat record`. */
export const PERF_RECORD_STAT_CONFIG = 75;
/** Counter values of `perf stat record`. */
export const PERF_RECORD_STAT = 76;
/** End of an interval of `perf stat record`. */
export const PERF_RECORD_STAT_ROUND = 77;
/** Unit, scale, name or CPUs of an event. */
export const PERF_RECORD_EVENT_UPDATE = 78;
/** How the TSC converts to perf's clock. */
export const PERF_RECORD_TIME_CONV = 79;
/** A feature section in a pipe stream. */
export const PERF_RECORD_HEADER_FEATURE = 80;
/** A piece of a zstd stream of records. */
export const PERF_RECORD_COMPRESSED = 81;
/** End of the records that describe what was there when the recording began. */
export const PERF_RECORD_FINISHED_INIT = 82;
/** A piece of a zstd stream of records, padded. */
export const PERF_RECORD_COMPRESSED2 = 83;
/** Metadata variables of a BPF program. */
export const PERF_RECORD_BPF_METADATA = 84;
/** Scheduler statistics of a CPU. */
export const PERF_RECORD_SCHEDSTAT_CPU = 85;
/** Scheduler statistics of a scheduling domain. */
export const PERF_RECORD_SCHEDSTAT_DOMAIN = 86;

/** Names of perf's own record types, without `PERF_RECORD_`. */
export const USER_RECORD_NAMES: Readonly<Record<number, string>> = {
  64: "HEADER_ATTR",
  65: "HEADER_EVENT_TYPE",
  66: "HEADER_TRACING_DATA",
  67: "HEADER_BUILD_ID",
  68: "FINISHED_ROUND",
  69: "ID_INDEX",
  70: "AUXTRACE_INFO",
  71: "AUXTRACE",
  72: "AUXTRACE_ERROR",
  73: "THREAD_MAP",
  74: "CPU_MAP",
  75: "STAT_CONFIG",
  76: "STAT",
  77: "STAT_ROUND",
  78: "EVENT_UPDATE",
  79: "TIME_CONV",
  80: "HEADER_FEATURE",
  81: "COMPRESSED",
  82: "FINISHED_INIT",
  83: "COMPRESSED2",
  84: "BPF_METADATA",
  85: "SCHEDSTAT_CPU",
  86: "SCHEDSTAT_DOMAIN",
};
