import { intAt } from "@perfdata/format/bytes";
import { PERF_RECORD_MISC_KERNEL, PERF_RECORD_MISC_USER } from "@perfdata/format/constants";
import { History, type HistoryIndex, type HistoryOptions, type NameTable } from "@perfdata/session";
import type { TimeOrigin } from "../decode/pt_time.ts";

/**
 * The threads of a trace with their processes, names and mappings, by time.
 *
 * Times are those of the trace, in ns since its origin. They may be inexact: before its first
 * record, a thread has the state after that record, and an address that is not mapped yet has the
 * thread's last map of it.
 */
export class PtThreads {
  /** The machine over time. */
  readonly history: History;
  readonly #origin: TimeOrigin;

  /** Makes the history of the machine. */
  constructor(index: HistoryIndex, options: HistoryOptions, origin: TimeOrigin) {
    this.history = new History(index, { ...options, allThreads: true, laterMaps: true });
    this.#origin = origin;
  }

  /** Names, by index. */
  get names(): NameTable {
    return this.history.names;
  }

  /** The state of a thread at a time: an index in the history. */
  stateAt(tid: number, time: number): number {
    const { history } = this;
    if (time === Infinity) return history.state(tid, tid, history.count);
    const since = Math.max(0, time);
    return history.stateAt(tid, this.#origin.highOf(since), this.#origin.lowOf(since));
  }

  /** The map at an address in a state, or -1. Kernel addresses have a negative upper half. */
  map(state: number, high: number, low: number): number {
    const mode = high < 0 ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
    return this.history.map(state, mode, high, low);
  }

  /** Process of a thread at a time; the thread itself if unknown. */
  pid(tid: number, time: number): number {
    const pid = intAt(this.history.pids, this.stateAt(tid, time));
    return pid < 0 ? tid : pid;
  }

  /**
   * The thread ids that pass a filter by process and thread; `undefined` if all do. A thread id that
   * was used again passes if one of its processes does.
   */
  chosen(
    { pids, tids }: {
      readonly pids?: ReadonlySet<number> | undefined;
      readonly tids?: ReadonlySet<number> | undefined;
    },
  ): ReadonlySet<number> | undefined {
    if (pids === undefined) return tids;
    const own = this.history.threadsOf(pids);
    return tids === undefined ? own : new Set([...own].filter((tid) => tids.has(tid)));
  }

  /**
   * Name of a thread at a time, as an index of the names; -1 without a name. Before its first name, a
   * thread has that name.
   */
  comm(tid: number, time: number): number {
    return intAt(this.history.namedComms, this.stateAt(tid, time));
  }

  /** Name of a thread at a time. */
  name(tid: number, time: number): string | undefined {
    const comm = this.comm(tid, time);
    return comm < 0 ? undefined : this.names.text(comm);
  }
}
