/** Field numbers of the written messages of Perfetto's `trace_packet.proto`. */

/** `Trace`. */
export const PACKET = 1;

/** `TracePacket`. */
export const TRACE_PACKET = {
  PROCESS_TREE: 2,
  CLOCK_SNAPSHOT: 6,
  TIMESTAMP: 8,
  TRUSTED_PACKET_SEQUENCE_ID: 10,
  TRACK_EVENT: 11,
  INTERNED_DATA: 12,
  SEQUENCE_FLAGS: 13,
  TRACE_PACKET_DEFAULTS: 59,
  TRACK_DESCRIPTOR: 60,
  PERF_SAMPLE: 66,
} as const;

/** `TracePacket.SequenceFlags`. */
export const SEQUENCE = { CLEARED: 1, NEEDS_STATE: 2 } as const;

/** `TracePacketDefaults`. */
export const DEFAULTS = { TRACK_EVENT: 11, PERF_SAMPLE: 12, TIMESTAMP_CLOCK_ID: 58 } as const;

/** `ClockSnapshot`, and its `Clock`. */
export const SNAPSHOT_CLOCKS = 1;
export const CLOCK = { ID: 1, TIMESTAMP: 2, IS_INCREMENTAL: 3 } as const;

/** `BUILTIN_CLOCK_BOOTTIME`, the clock for display; and the clock of a sequence. */
export const CLOCK_ID = { BOOTTIME: 6, OF_SEQUENCE: 64 } as const;

/** `TrackDescriptor`, `ProcessDescriptor`, `ThreadDescriptor`. */
export const TRACK = { UUID: 1, NAME: 2, PROCESS: 3, THREAD: 4, PARENT_UUID: 5 } as const;
export const PROCESS = { PID: 1, NAME: 6 } as const;
export const THREAD = { PID: 1, TID: 2, NAME: 5 } as const;

/** `TrackEvent`, and its types. */
export const TRACK_EVENT = {
  DEBUG_ANNOTATIONS: 4,
  TYPE: 9,
  NAME_IID: 10,
  TRACK_UUID: 11,
  NAME: 23,
} as const;
export const SLICE = { BEGIN: 1, END: 2, INSTANT: 3 } as const;

/** `DebugAnnotation`. */
export const ANNOTATION = { NAME_IID: 1, UINT: 3, STRING: 6 } as const;

/** `InternedData`. Entries have an `iid` and a text, or the fields below. */
export const INTERNED = {
  EVENT_NAMES: 2,
  ANNOTATION_NAMES: 3,
  FUNCTION_NAMES: 5,
  FRAMES: 6,
  CALLSTACKS: 7,
  BUILD_IDS: 16,
  MAPPING_PATHS: 17,
  MAPPINGS: 19,
} as const;
export const ENTRY = { IID: 1, TEXT: 2 } as const;
export const FRAME = { IID: 1, FUNCTION_NAME_ID: 2, MAPPING_ID: 3 } as const;
export const CALLSTACK = { IID: 1, FRAME_IDS: 2 } as const;
export const MAPPING = { IID: 1, BUILD_ID: 2, PATH_STRING_IDS: 7 } as const;

/** `ProcessTree`, its `Process` and `Thread`. */
export const TREE = { PROCESSES: 1, THREADS: 2 } as const;
export const TREE_PROCESS = { PID: 1, CMDLINE: 3 } as const;
export const TREE_THREAD = { TID: 1, NAME: 2, TGID: 3 } as const;

/** `PerfSample`, its modes and defaults, and their `Timebase`. */
export const PERF_SAMPLE = { CPU: 1, PID: 2, TID: 3, CALLSTACK_IID: 4, CPU_MODE: 5 } as const;
export const CPU_MODE = { KERNEL: 1, USER: 2 } as const;
export const PERF_SAMPLE_TIMEBASE = 1;
export const TIMEBASE = { PERIOD: 1, NAME: 10 } as const;
