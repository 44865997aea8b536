/**
 * Numbers of all record types: the kernel's (`include/uapi/linux/perf_event.h`) and perf's own
 * (`tools/lib/perf/include/perf/event.h`). This module has no imports, so that a program that needs
 * only the numbers loads nothing else.
 *
 * @module
 */

/** Bytes of a record's header, `perf_event_header`: u32 `type`, u16 `misc`, u16 `size`. */
export const PERF_EVENT_HEADER_SIZE = 8;

/** A mapping. */
export const PERF_RECORD_MMAP = 1;
/** Records were lost: the ring buffer was full. */
export const PERF_RECORD_LOST = 2;
/** A thread's name. */
export const PERF_RECORD_COMM = 3;
/** A thread ended. */
export const PERF_RECORD_EXIT = 4;
/** The kernel paused an event that interrupted too often. */
export const PERF_RECORD_THROTTLE = 5;
/** The kernel resumed an event. */
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
/** Samples were lost: the hardware's buffer was full. */
export const PERF_RECORD_LOST_SAMPLES = 13;
/** A thread got or lost a CPU. */
export const PERF_RECORD_SWITCH = 14;
/** A thread got or lost a CPU, with the ids of the other thread. */
export const PERF_RECORD_SWITCH_CPU_WIDE = 15;
/** Namespaces of a thread. */
export const PERF_RECORD_NAMESPACES = 16;
/** Code in the kernel appeared or disappeared. */
export const PERF_RECORD_KSYMBOL = 17;
/** A BPF program was loaded or unloaded. */
export const PERF_RECORD_BPF_EVENT = 18;
/** Path of a cgroup. */
export const PERF_RECORD_CGROUP = 19;
/** The kernel changed its code. */
export const PERF_RECORD_TEXT_POKE = 20;
/** Maps an id in AUX data to an event. */
export const PERF_RECORD_AUX_OUTPUT_HW_ID = 21;
/** The user call chain of earlier samples. */
export const PERF_RECORD_CALLCHAIN_DEFERRED = 22;
/** First record type of perf's own: the kernel writes only lower ones. */
export const PERF_RECORD_USER_TYPE_START = 64;
/** An event of a pipe stream. */
export const PERF_RECORD_HEADER_ATTR = 64;
/** Name of an event; no longer written. */
export const PERF_RECORD_HEADER_EVENT_TYPE = 65;
/** Formats of tracepoints in a pipe stream. */
export const PERF_RECORD_HEADER_TRACING_DATA = 66;
/** Build id of a binary. */
export const PERF_RECORD_HEADER_BUILD_ID = 67;
/** Marks a round: later records are not older than the round before. */
export const PERF_RECORD_FINISHED_ROUND = 68;
/** CPU and thread of each event id. */
export const PERF_RECORD_ID_INDEX = 69;
/** Settings of an AUX area trace. */
export const PERF_RECORD_AUXTRACE_INFO = 70;
/** A piece of an AUX area trace; its data follows the record. */
export const PERF_RECORD_AUXTRACE = 71;
/** A decoding error in an AUX area trace. */
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
/** Conversion from the TSC to perf's clock. */
export const PERF_RECORD_TIME_CONV = 79;
/** A feature section in a pipe stream. */
export const PERF_RECORD_HEADER_FEATURE = 80;
/** A piece of a zstd stream of records. */
export const PERF_RECORD_COMPRESSED = 81;
/** End of the records about the state before the recording. */
export const PERF_RECORD_FINISHED_INIT = 82;
/** A piece of a zstd stream of records, padded. */
export const PERF_RECORD_COMPRESSED2 = 83;
/** Metadata variables of a BPF program. */
export const PERF_RECORD_BPF_METADATA = 84;
/** Scheduler statistics of a CPU. */
export const PERF_RECORD_SCHEDSTAT_CPU = 85;
/** Scheduler statistics of a scheduling domain. */
export const PERF_RECORD_SCHEDSTAT_DOMAIN = 86;

/** In pipe streams of Google's old perf: the feature HOSTNAME. The next eleven types are the next features. */
export const GOOGLE_RECORD_HEADER_HOSTNAME = 69;
/** In such a stream: the feature NUMA_TOPOLOGY. */
export const GOOGLE_RECORD_HEADER_NUMA_TOPOLOGY = 80;
/** In such a stream: the feature PMU_MAPPINGS. The feature before it, BRANCH_STACK, has no record. */
export const GOOGLE_RECORD_HEADER_PMU_MAPPINGS = 81;
