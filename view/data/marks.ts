import { floatAt, intAt } from "@perfdata/format/bytes";
import type { Selection } from "./selection.ts";

/** Events at a moment: tracepoints, breakpoints, and records of processes and lost data, in order of time. */
export interface Marks {
  /** Nanoseconds from the start of the index. */
  readonly time: Float64Array;
  /** Process, thread and CPU; -1 if unknown. */
  readonly pid: Int32Array;
  readonly tid: Int32Array;
  readonly cpu: Int32Array;
  /** Index in {@linkcode Marks.names}. */
  readonly name: Int32Array;
  /** Names of events and of record types. */
  readonly names: readonly string[];
  /** The fields of a tracepoint as `perf script` prints them, or those of a record. */
  readonly text: readonly string[];
  /** The count of further events, left out because there are too many. */
  readonly left: number;
}

/** Columns by which marks are sorted. */
export type MarkColumn = "time" | "thread" | "event" | "text";

/** Returns the marks of a selection in order of time, of any event: the selection's event applies to samples only. */
export function selectedMarks(
  { time, pid, tid, cpu, name, names }: Marks,
  { from = -Infinity, to = Infinity, pids, tids, cpus }: Omit<Selection, "event">,
  { only = "", matched }: {
    /** Name of the event; all if it is empty. */
    readonly only?: string;
    /** By mark: whether a search found it. */
    readonly matched?: Uint8Array | undefined;
  } = {},
): Int32Array {
  const wanted = only === "" ? -1 : names.indexOf(only);
  const rows = new Int32Array(time.length);
  let count = 0;
  for (let row = 0; row < time.length; row++) {
    const at = floatAt(time, row);
    if (at < from || at >= to || (only !== "" && name[row] !== wanted)) continue;
    if (matched !== undefined && matched[row] !== 1) continue;
    if (pids !== undefined || tids !== undefined) {
      if (!(pids?.includes(intAt(pid, row)) || tids?.includes(intAt(tid, row)))) continue;
    }
    if (cpus !== undefined && !cpus.includes(intAt(cpu, row))) continue;
    rows[count++] = row;
  }
  return rows.subarray(0, count);
}

/** Sorts marks by a column; those that are equal stay in order of time. */
export function sortedMarks(
  rows: Int32Array,
  { name, names, text, tid }: Marks,
  { by, up, threadName }: {
    readonly by: MarkColumn;
    readonly up: boolean;
    readonly threadName: (tid: number) => string;
  },
): Int32Array {
  const sign = up ? 1 : -1;
  if (by === "time") return up ? rows : rows.slice().reverse();
  const textOf = (row: number): string =>
    by === "text"
      ? text[row] ?? ""
      : by === "event"
      ? names[intAt(name, row)] ?? ""
      : threadName(intAt(tid, row));
  const key = (a: number, b: number): number => {
    const [ofA, ofB] = [textOf(a), textOf(b)];
    if (ofA !== ofB) return ofA < ofB ? -sign : sign;
    return by === "thread" ? sign * (intAt(tid, a) - intAt(tid, b)) : 0;
  };
  return rows.slice().sort((a, b) => key(a, b) || a - b);
}

/** Returns the marks of each process, thread or CPU. */
export function marksBy(
  { pid, tid, cpu }: Marks,
  by: "process" | "thread" | "cpu",
  rows: Int32Array,
): ReadonlyMap<number, readonly number[]> {
  const keys = by === "process" ? pid : by === "thread" ? tid : cpu;
  const found = new Map<number, number[]>();
  for (const row of rows) {
    const key = intAt(keys, row);
    const own = found.get(key);
    if (own === undefined) found.set(key, [row]);
    else own.push(row);
  }
  return found;
}
