import { PERF_RECORD_SAMPLE, type PerfEvent, trailerEnd } from "@perfdata/format";
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

/** Which records are chosen; all are where nothing is said. */
export interface RecordFilter {
  /** Record types; all by default. */
  readonly types?: ReadonlySet<number>;
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

/** Record types that begin with the thread they are about. */
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

/** The fields that samples and the trailers of other records share, of one record at a time. */
export class RecordId {
  /** Process, or -1. */
  pid = -1;
  /** Thread, or -1. */
  tid = -1;
  /** CPU, or -1. */
  cpu = -1;
  /** Where the time is in the view, or -1. */
  timeAt = -1;
  /** Where the event's id is in the view, or -1. */
  idAt = -1;
  readonly #le: boolean;

  /** @param littleEndian Byte order of the records. */
  constructor(littleEndian: boolean) {
    this.#le = littleEndian;
  }

  /** Finds the fields of a kernel record; those of an unknown event are not known. */
  read(event: PerfEvent | undefined, view: DataView, start: number, end: number): void {
    this.pid =
      this.tid =
      this.cpu =
      this.timeAt =
      this.idAt =
        -1;
    if (event === undefined) return;
    const { layout } = event;
    if (view.getInt32(start, this.#le) === PERF_RECORD_SAMPLE) {
      const { pid, time, cpu } = layout;
      if (start + layout.fixedSize > end) return;
      this.#set(
        view,
        pid < 0 ? -1 : start + pid,
        time < 0 ? -1 : start + time,
        cpu < 0 ? -1 : start + cpu,
      );
      return;
    }
    const { size, pid, time, cpu, id, identifier } = layout.trailer;
    const base = trailerEnd(start, end);
    if (base - size < start + 8) return;
    this.#set(
      view,
      pid === 0 ? -1 : base + pid,
      time === 0 ? -1 : base + time,
      cpu === 0 ? -1 : base + cpu,
    );
    const idAt = id !== 0 ? id : identifier;
    if (idAt !== 0) this.idAt = base + idAt;
  }

  #set(view: DataView, pid: number, time: number, cpu: number): void {
    const le = this.#le;
    if (pid >= 0) {
      this.pid = view.getInt32(pid, le);
      this.tid = view.getInt32(pid + 4, le);
    }
    this.timeAt = time;
    if (cpu >= 0) this.cpu = view.getInt32(cpu, le);
  }

  /** Whether a filter lets the kernel record through whose fields were found last. */
  isWanted(
    { types, cpus, pids, tids, time }: RecordFilter,
    view: DataView,
    start: number,
    end: number,
  ): boolean {
    const le = this.#le;
    const type = view.getInt32(start, le);
    if (types !== undefined && !types.has(type)) return false;
    if (cpus !== undefined && !cpus.has(this.cpu)) return false;
    if (time !== undefined) {
      if (this.timeAt < 0) return false;
      const now = view.getBigUint64(this.timeAt, le);
      // What perf wrote of its own accord has the time 0.
      if (now === 0n || now < time[0] || now > time[1]) return false;
    }
    if (pids === undefined && tids === undefined) return true;
    let { pid, tid } = this;
    if (end - start >= 24 && OWN_THREAD.has(type)) {
      pid = view.getInt32(start + 8, le);
      tid = view.getInt32(
        start + (type === PERF_RECORD_EXIT || type === PERF_RECORD_FORK ? 16 : 12),
        le,
      );
    }
    return (pids === undefined || pids.has(pid)) && (tids === undefined || tids.has(tid));
  }
}
