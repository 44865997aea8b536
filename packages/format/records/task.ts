import {
  array,
  countedBy,
  counter,
  doc,
  paddedText,
  struct,
  type StructValue,
  u32,
  u64,
} from "../struct.ts";
import { record, type RecordDeclaration } from "../record.ts";
import {
  PERF_RECORD_CGROUP,
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FORK,
  PERF_RECORD_NAMESPACES,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
} from "../record_types.ts";

const PID = doc("Process id.", u32);
const TID = doc("Thread id.", u32);

const COMM_FIELDS = {
  pid: PID,
  tid: TID,
  comm: doc("The thread's new name.", paddedText),
} as const;

/** The body of COMM. */
export type Comm = StructValue<typeof COMM_FIELDS>;

/** COMM: a thread got a name; `misc & PERF_RECORD_MISC_COMM_EXEC` where by exec(2). */
export const COMM: RecordDeclaration<"COMM", Comm> = record(
  PERF_RECORD_COMM,
  "COMM",
  struct("perf_record_comm", COMM_FIELDS),
);

const TASK_FIELDS = {
  pid: PID,
  ppid: doc("Process id of the parent.", u32),
  tid: TID,
  ptid: doc("Thread id of the parent.", u32),
  time: doc("Time in ns.", u64),
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

/** The body of SWITCH: `misc` says it all. */
export type Switch = Record<never, never>;

/** SWITCH: the thread got or lost a CPU; `misc & PERF_RECORD_MISC_SWITCH_OUT`. */
export const SWITCH: RecordDeclaration<"SWITCH", Switch> = record(
  PERF_RECORD_SWITCH,
  "SWITCH",
  struct("perf_record_switch", {}),
);

const SWITCH_CPU_WIDE_FIELDS = {
  next_prev_pid: doc("Process id of the thread that comes next, or came before.", u32),
  next_prev_tid: doc("Its thread id.", u32),
} as const;

/** The body of SWITCH_CPU_WIDE. */
export type SwitchCpuWide = StructValue<typeof SWITCH_CPU_WIDE_FIELDS>;

/** SWITCH_CPU_WIDE: like SWITCH, and says who the other thread is. */
export const SWITCH_CPU_WIDE: RecordDeclaration<"SWITCH_CPU_WIDE", SwitchCpuWide> = record(
  PERF_RECORD_SWITCH_CPU_WIDE,
  "SWITCH_CPU_WIDE",
  struct("perf_record_switch", SWITCH_CPU_WIDE_FIELDS),
);

const NAMESPACES_FIELDS = {
  pid: PID,
  tid: TID,
  nr_namespaces: counter(u64, "link_info"),
  link_info: doc(
    "The namespaces in the order net, uts, ipc, pid, user, mnt, cgroup.",
    array(
      struct("perf_ns_link_info", {
        dev: doc("Device of the namespace file.", u64),
        ino: doc("Inode of the namespace file.", u64),
      }),
      countedBy("nr_namespaces"),
    ),
  ),
} as const;

/** The body of NAMESPACES. */
export type Namespaces = StructValue<typeof NAMESPACES_FIELDS>;

/** NAMESPACES: which namespaces a thread is in. */
export const NAMESPACES: RecordDeclaration<"NAMESPACES", Namespaces> = record(
  PERF_RECORD_NAMESPACES,
  "NAMESPACES",
  struct("perf_record_namespaces", NAMESPACES_FIELDS),
);

const CGROUP_FIELDS = {
  id: doc("Cgroup id, as in samples.", u64),
  path: doc("Path from the root of the hierarchy.", paddedText),
} as const;

/** The body of CGROUP. */
export type Cgroup = StructValue<typeof CGROUP_FIELDS>;

/** CGROUP: the path of a cgroup id. */
export const CGROUP: RecordDeclaration<"CGROUP", Cgroup> = record(
  PERF_RECORD_CGROUP,
  "CGROUP",
  struct("perf_record_cgroup", CGROUP_FIELDS),
);
