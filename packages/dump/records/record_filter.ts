import { intAt } from "@perfdata/format/bytes";
import {
  PERF_RECORD_AUXTRACE,
  PERF_RECORD_SAMPLE,
  PERF_RECORD_USER_TYPE_START,
} from "@perfdata/format/constants";
import { layoutOf } from "@perfdata/format/records";
import type { Run } from "@perfdata/session";
import { AUXTRACE } from "@perfdata/user-records";
import { recordThread } from "./record_line.ts";

/** Selects records; all by default. */
export interface RecordFilter {
  /** Record types; all by default. */
  readonly types?: ReadonlySet<number> | undefined;
  /** CPUs; all by default. Otherwise records without a CPU are skipped. */
  readonly cpus?: ReadonlySet<number>;
  /** Processes; all by default. */
  readonly pids?: ReadonlySet<number>;
  /** Threads; all by default. */
  readonly tids?: ReadonlySet<number>;
  /** First and last time in ns; all by default. Otherwise records without a time are skipped. */
  readonly time?: readonly [bigint, bigint];
}

/** Whether the filter selects anything. */
export function isFiltered({ types, cpus, pids, tids, time }: RecordFilter): boolean {
  return [types, cpus, pids, tids, time].some((filter) => filter !== undefined);
}

const AUXTRACE_AT = layoutOf(AUXTRACE);

/** Whether the record of a row passes the filter. */
export function isWanted(filter: RecordFilter, run: Run, row: number, le: boolean): boolean {
  const { types, cpus, pids, tids, time } = filter;
  const type = intAt(run.type, row);
  if (types !== undefined && !types.has(type)) return false;
  if (type < 0 || type >= PERF_RECORD_USER_TYPE_START) return isUserWanted(filter, run, row, le);
  if (cpus !== undefined && !cpus.has(intAt(run.cpu, row))) return false;
  if (time !== undefined) {
    const now = run.time(row);
    // Records that perf synthesizes have the time 0.
    if (now === 0n || now < time[0] || now > time[1]) return false;
  }
  if (pids === undefined && tids === undefined) return true;
  let pid = intAt(run.pid, row);
  let tid = intAt(run.tid, row);
  if (type !== PERF_RECORD_SAMPLE) {
    // The record may describe another thread than the one that wrote it.
    const start = intAt(run.start, row), end = intAt(run.end, row);
    ({ pid, tid } = recordThread(run.at(row), start, end, le) ?? { pid, tid });
  }
  return (pids === undefined || pids.has(pid)) && (tids === undefined || tids.has(tid));
}

/** `isWanted` for user records, few of which have the filtered fields. */
function isUserWanted(
  { cpus, pids, tids, time }: RecordFilter,
  run: Run,
  row: number,
  le: boolean,
): boolean {
  if ((cpus ?? pids ?? tids ?? time) === undefined) return true;
  const start = intAt(run.start, row);
  const isTrace = run.type[row] === PERF_RECORD_AUXTRACE &&
    start + AUXTRACE_AT.cpu + 4 <= intAt(run.end, row);
  // Trace data has no time.
  if (!isTrace || time !== undefined) return false;
  const { view } = run.at(row);
  const tid = view.getInt32(start + AUXTRACE_AT.tid, le);
  return (cpus === undefined || cpus.has(view.getInt32(start + AUXTRACE_AT.cpu, le))) &&
    (tids === undefined || tids.has(tid)) && (pids === undefined || pids.has(tid));
}
