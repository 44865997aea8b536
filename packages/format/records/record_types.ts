/**
 * The numbers of all record types: the kernel's (`include/uapi/linux/perf_event.h`) and perf's own
 * (`tools/lib/perf/include/perf/event.h`). This module imports nothing, so that a program that needs
 * only the numbers loads only them.
 *
 * @module
 */

/** Bytes of a record's header, `perf_event_header`: u32 `type`, u16 `misc`, u16 `size`. */
export const PERF_EVENT_HEADER_SIZE = 8;

/** A mapping. */
export const PERF_RECORD_MMAP = 1;
/** The ring buffer was full. */
export const PERF_RECORD_LOST = 2;
/** A thread's name. */
export const PERF_RECORD_COMM = 3;
/** A thread ended. */
export const PERF_RECORD_EXIT = 4;
/** An event pauses: it interrupted too often. */
export const PERF_RECORD_THROTTLE = 5;
/** An event goes on. */
export const PERF_RECORD_UNTHROTTLE = 6;
/** A thread or process began. */
export const PERF_RECORD_FORK = 7;
/** Counter values at a thread's end. */
export const PERF_RECORD_READ = 8;
/** A sample. */
export const PERF_RECORD_SAMPLE = 9;
/** A mapping, with the file's identity. */
export const PERF_RECORD_MMAP2 = 10;
/** New data in the AUX area. */
export const PERF_RECORD_AUX = 11;
/** An instruction trace begins. */
export const PERF_RECORD_ITRACE_START = 12;
/** The hardware's buffer was full. */
export const PERF_RECORD_LOST_SAMPLES = 13;
/** A thread got or lost a CPU. */
export const PERF_RECORD_SWITCH = 14;
/** The same, with the other thread. */
export const PERF_RECORD_SWITCH_CPU_WIDE = 15;
/** Namespaces of a thread. */
export const PERF_RECORD_NAMESPACES = 16;
/** Code in the kernel appeared or went away. */
export const PERF_RECORD_KSYMBOL = 17;
/** A BPF program was loaded or unloaded. */
export const PERF_RECORD_BPF_EVENT = 18;
/** Path of a cgroup. */
export const PERF_RECORD_CGROUP = 19;
/** The kernel changed its code. */
export const PERF_RECORD_TEXT_POKE = 20;
/** Which event an id in AUX data means. */
export const PERF_RECORD_AUX_OUTPUT_HW_ID = 21;
/** The user call chain of earlier samples. */
export const PERF_RECORD_CALLCHAIN_DEFERRED = 22;
/** First record type that the kernel does not write: perf's own begin here. */
export const PERF_RECORD_USER_TYPE_START = 64;
/** An event of a pipe stream. */
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

/**
 * In pipe streams by an old perf of Google's: the feature HOSTNAME. Those of the next eleven features
 * follow.
 */
export const GOOGLE_RECORD_HEADER_HOSTNAME = 69;
/** In such a stream: the feature NUMA_TOPOLOGY. */
export const GOOGLE_RECORD_HEADER_NUMA_TOPOLOGY = 80;
/** In such a stream: the feature PMU_MAPPINGS; BRANCH_STACK before it has no record. */
export const GOOGLE_RECORD_HEADER_PMU_MAPPINGS = 81;
