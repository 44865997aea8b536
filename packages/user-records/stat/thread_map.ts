import {
  array,
  chars,
  type Codec,
  countedBy,
  counter,
  type FixedCodec,
  type HiddenCodec,
  i64,
  record,
  type RecordDeclaration,
  struct,
  type StructValue,
  u64,
} from "@perfdata/format/records";
import { PERF_RECORD_THREAD_MAP } from "@perfdata/format/constants";

const ENTRY_FIELDS = {
  pid: [i64, "Thread id, or -1 if whole CPUs are recorded."],
  comm: [
    chars(16) as FixedCodec<string>,
    "Name of the thread when the recording began; empty if there is no thread.",
  ],
} as const;

const THREAD_MAP_FIELDS = {
  nr: [counter(u64, "entries") as HiddenCodec, "Number of threads."],
  entries: [
    array(struct("perf_record_thread_map_entry", ENTRY_FIELDS), countedBy("nr")) as Codec<
      StructValue<typeof ENTRY_FIELDS>[]
    >,
    "The threads, in the order in which STAT records number them.",
  ],
} as const;

/** The body of THREAD_MAP. */
export type ThreadMap = StructValue<typeof THREAD_MAP_FIELDS>;

/** THREAD_MAP: the threads that perf recorded. */
export const THREAD_MAP: RecordDeclaration<"THREAD_MAP", ThreadMap> = record(
  PERF_RECORD_THREAD_MAP,
  "THREAD_MAP",
  struct("perf_record_thread_map", THREAD_MAP_FIELDS),
);
