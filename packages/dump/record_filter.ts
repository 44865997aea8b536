import {
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FORK,
  PERF_RECORD_ITRACE_START,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_NAMESPACES,
  PERF_RECORD_READ,
} from "@perfdata/format/record-types";
import type { Run } from "@perfdata/session/run";
import { kernelField } from "./kernel_text.ts";

/** Which records are chosen; all are where nothing is said. */
export interface RecordFilter {
  /** Record types; all by default. */
  readonly types?: ReadonlySet<number> | undefined;
  /** CPUs; all by default. Records without a CPU are left out where some are chosen. */
  readonly cpus?: ReadonlySet<number>;
  /** Processes; all by default. */
  readonly pids?: ReadonlySet<number>;
  /** Threads; all by default. */
  readonly tids?: ReadonlySet<number>;
  /** Times in ns, both included; all by default. Records without a time are left out. */
  readonly time?: readonly [bigint, bigint];
}

/** Whether anything is chosen. */
export function isFiltered({ types, cpus, pids, tids, time }: RecordFilter): boolean {
  return [types, cpus, pids, tids, time].some((filter) => filter !== undefined);
}

/** Record types that name the thread they are about, which may be another one than wrote them. */
const OWN_THREAD: ReadonlySet<number> = new Set([
  PERF_RECORD_MMAP,
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FORK,
  PERF_RECORD_READ,
  PERF_RECORD_MMAP2,
  PERF_RECORD_ITRACE_START,
  PERF_RECORD_NAMESPACES,
]);

/** Whether a filter lets the kernel record of a row through. */
export function isWanted(
  { types, cpus, pids, tids, time }: RecordFilter,
  run: Run,
  row: number,
  le: boolean,
): boolean {
  const type = run.type[row] as number;
  if (types !== undefined && !types.has(type)) return false;
  if (cpus !== undefined && !cpus.has(run.cpu[row] as number)) return false;
  if (time !== undefined) {
    const now = run.time(row);
    // What perf wrote of its own accord has the time 0.
    if (now === 0n || now < time[0] || now > time[1]) return false;
  }
  if (pids === undefined && tids === undefined) return true;
  let pid = run.pid[row] as number;
  let tid = run.tid[row] as number;
  if (OWN_THREAD.has(type)) {
    const start = run.start[row] as number;
    const end = run.end[row] as number;
    const { view } = run.at(row);
    const own = (name: string, other: number): number => {
      const { offset, size } = kernelField(type, name);
      return start + offset + size <= end ? view.getInt32(start + offset, le) : other;
    };
    pid = own("pid", pid);
    tid = own("tid", tid);
  }
  return (pids === undefined || pids.has(pid)) && (tids === undefined || tids.has(tid));
}
