import {
  array,
  type Codec,
  countedBy,
  counter,
  type HiddenCodec,
  i32,
  paddedText,
  struct,
  type StructValue,
  u64,
} from "../struct/mod.ts";
import { record, type RecordDeclaration } from "./record.ts";
import {
  PERF_RECORD_CGROUP,
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FORK,
  PERF_RECORD_NAMESPACES,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
} from "./record_types.ts";

const PID = [i32, "Process id."] as const;
const TID = [i32, "Thread id."] as const;

const COMM_FIELDS = {
  pid: PID,
  tid: TID,
  comm: [paddedText, "The thread's new name."],
} as const;

/** The body of COMM. */
export type Comm = StructValue<typeof COMM_FIELDS>;

/** COMM: a thread got a name; `misc & PERF_RECORD_MISC_COMM_EXEC` if by exec(2). */
export const COMM: RecordDeclaration<"COMM", Comm> = record(
  PERF_RECORD_COMM,
  "COMM",
  struct("perf_record_comm", COMM_FIELDS),
);

const TASK_FIELDS = {
  pid: PID,
  ppid: [i32, "Process id of the parent."],
  tid: TID,
  ptid: [i32, "Thread id of the parent."],
  time: [u64, "Time in ns."],
} as const;

/** The body of FORK and EXIT. */
export type Task = StructValue<typeof TASK_FIELDS>;

/** EXIT: a thread ended. */
export const EXIT: RecordDeclaration<"EXIT", Task> = record(
  PERF_RECORD_EXIT,
  "EXIT",
  struct("perf_record_fork", TASK_FIELDS),
);

/** FORK: a thread or a process began. */
export const FORK: RecordDeclaration<"FORK", Task> = record(
  PERF_RECORD_FORK,
  "FORK",
  struct("perf_record_fork", TASK_FIELDS),
);

/** The body of SWITCH is empty; `misc` has the information. */
export type Switch = Record<never, never>;

/** SWITCH: the thread got or lost a CPU; `misc & PERF_RECORD_MISC_SWITCH_OUT`. */
export const SWITCH: RecordDeclaration<"SWITCH", Switch> = record(
  PERF_RECORD_SWITCH,
  "SWITCH",
  struct("perf_record_switch", {}),
);

const SWITCH_CPU_WIDE_FIELDS = {
  next_prev_pid: [i32, "Process id of the next or previous thread."],
  next_prev_tid: [i32, "Its thread id."],
} as const;

/** The body of SWITCH_CPU_WIDE. */
export type SwitchCpuWide = StructValue<typeof SWITCH_CPU_WIDE_FIELDS>;

/** SWITCH_CPU_WIDE: like SWITCH, with the ids of the other thread. */
export const SWITCH_CPU_WIDE: RecordDeclaration<"SWITCH_CPU_WIDE", SwitchCpuWide> = record(
  PERF_RECORD_SWITCH_CPU_WIDE,
  "SWITCH_CPU_WIDE",
  struct("perf_record_switch", SWITCH_CPU_WIDE_FIELDS),
);

const LINK_INFO_FIELDS = {
  dev: [u64, "Device of the namespace file."],
  ino: [u64, "Inode of the namespace file."],
} as const;

const NAMESPACES_FIELDS = {
  pid: PID,
  tid: TID,
  nr_namespaces: counter(u64, "link_info") as HiddenCodec,
  link_info: [
    array(
      struct("perf_ns_link_info", LINK_INFO_FIELDS),
      countedBy("nr_namespaces"),
    ) as Codec<StructValue<typeof LINK_INFO_FIELDS>[]>,
    "The namespaces in the order net, uts, ipc, pid, user, mnt, cgroup.",
  ],
} as const;

/** The body of NAMESPACES. */
export type Namespaces = StructValue<typeof NAMESPACES_FIELDS>;

/** NAMESPACES: the namespaces of a thread. */
export const NAMESPACES: RecordDeclaration<"NAMESPACES", Namespaces> = record(
  PERF_RECORD_NAMESPACES,
  "NAMESPACES",
  struct("perf_record_namespaces", NAMESPACES_FIELDS),
);

const CGROUP_FIELDS = {
  id: [u64, "Cgroup id, as in samples."],
  path: [paddedText, "Path from the root of the hierarchy."],
} as const;

/** The body of CGROUP. */
export type Cgroup = StructValue<typeof CGROUP_FIELDS>;

/** CGROUP: the path of a cgroup id. */
export const CGROUP: RecordDeclaration<"CGROUP", Cgroup> = record(
  PERF_RECORD_CGROUP,
  "CGROUP",
  struct("perf_record_cgroup", CGROUP_FIELDS),
);
