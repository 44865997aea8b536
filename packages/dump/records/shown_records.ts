/** Records that `perf script` prints among the samples. */
import { RecordLines, recordThread } from "./record_line.ts";
import { intAt } from "@perfdata/format/bytes";
import {
  PERF_RECORD_BPF_EVENT,
  PERF_RECORD_CGROUP,
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FORK,
  PERF_RECORD_KSYMBOL,
  PERF_RECORD_LOST,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_NAMESPACES,
  PERF_RECORD_SWITCH,
  PERF_RECORD_SWITCH_CPU_WIDE,
} from "@perfdata/format/constants";
import type { Run } from "@perfdata/session";

/** Record types that flags print among the samples; perf has flags of the same names. */
const SHOWN = {
  "show-mmap-events": [PERF_RECORD_MMAP, PERF_RECORD_MMAP2],
  "show-task-events": [PERF_RECORD_COMM, PERF_RECORD_FORK, PERF_RECORD_EXIT],
  "show-switch-events": [PERF_RECORD_SWITCH, PERF_RECORD_SWITCH_CPU_WIDE],
  "show-namespace-events": [PERF_RECORD_NAMESPACES],
  "show-cgroup-events": [PERF_RECORD_CGROUP],
  "show-lost-events": [PERF_RECORD_LOST],
  "show-bpf-events": [PERF_RECORD_KSYMBOL, PERF_RECORD_BPF_EVENT],
} as const;

/** A flag that prints records. */
export type ShowFlag = keyof typeof SHOWN;

/** All of them. */
export const SHOW_FLAGS = Object.keys(SHOWN) as ShowFlag[];

/** Records that are printed. */
export interface RecordsToShow {
  /** Their types. */
  readonly types: ReadonlySet<number>;
  /** Show only records of these CPUs. */
  readonly cpus: ReadonlySet<number> | undefined;
  /** The text of a record after its time, with the end of the line; valid until the next call. */
  text(run: Run, row: number, littleEndian: boolean): Uint8Array;
  /** The thread in the fields of a record, if it has such fields, and the offset of its time, or -1. */
  thread(run: Run, row: number, littleEndian: boolean): ReturnType<typeof recordThread>;
}

/** Records that flags select; `undefined` if no flag selects records. */
export function shownRecords(
  on: Readonly<Record<ShowFlag, boolean>>,
  cpus?: ReadonlySet<number>,
): RecordsToShow | undefined {
  const types = new Set<number>(SHOW_FLAGS.flatMap((flag) => on[flag] ? SHOWN[flag] : []));
  if (types.size === 0) return undefined;
  const lines = new RecordLines();
  const place = ({ start, end }: Run, row: number) => [intAt(start, row), intAt(end, row)] as const;
  return {
    types,
    cpus,
    text: (run, row, le) => lines.text(run.at(row), ...place(run, row), le),
    thread: (run, row, le) => recordThread(run.at(row), ...place(run, row), le),
  };
}
