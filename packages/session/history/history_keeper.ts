import { enlarge } from "@perfdata/format/bytes";
import {
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FORK,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_NAMESPACES,
  PERF_RECORD_USER_TYPE_START,
} from "@perfdata/format/constants";
import { COMM, FORK, layoutOf } from "@perfdata/format/records";
import { Machine } from "../machine/machine.ts";
import { TidTable } from "../machine/machine_tids.ts";
import type { KnownBinary } from "../machine/kernel_maps.ts";
import type { KeptRecords } from "../index/kept_records.ts";
import { Moments } from "../index/moments.ts";
import type { Rounds } from "../index/rounds.ts";
import type { SeenThreads } from "../index/seen_threads.ts";
import type { MachineLog } from "./machine_log.ts";
import { Versions } from "./versions.ts";

/** The part of a recording's index from which the history of its machine is made. */
export interface HistoryIndex {
  /** Whether records can be sorted by time. */
  readonly isTimed: boolean;
  /** FINISHED_ROUND records. */
  readonly rounds: Rounds;
  /** The records that change the machine. */
  readonly records: KeptRecords;
  /** The threads of samples. */
  readonly seen: SeenThreads;
}

/**
 * Called after a record was applied to a machine.
 *
 * @param position Index of the record in the file.
 */
export type Applied = (
  machine: Machine,
  bytes: Uint8Array,
  view: DataView,
  start: number,
  end: number,
  position: number,
) => void;

/** Options that affect the meaning of records. */
export interface HistoryOptions {
  /** Byte order of the records. */
  readonly littleEndian: boolean;
  /** The architecture as `uname -m` prints it. */
  readonly arch?: string | undefined;
  /** The binaries in the file's build id table. */
  readonly known?: readonly KnownBinary[] | undefined;
  /** Called with each record before it is applied. */
  readonly record?:
    | ((bytes: Uint8Array, view: DataView, start: number, end: number) => void)
    | undefined;
  /**
   * Called after each record of the kernel was applied, with the machine in the state of that
   * moment.
   */
  readonly applied?: Applied | undefined;
  /** Whether states of threads without samples are needed, too; false by default. */
  readonly allThreads?: boolean | undefined;
  /**
   * Whether an address that is not mapped at a moment has the map at the end of its thread; false
   * by default. For traces, whose times may be inexact.
   */
  readonly laterMaps?: boolean | undefined;
}

/** Records that begin with a process and a thread. */
const OF_THREADS: ReadonlySet<number> = new Set([
  PERF_RECORD_COMM,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_NAMESPACES,
]);
// Offsets of ids in records.
const NAME = layoutOf(COMM);
const TASK = layoutOf(FORK);
const THREAD_IDS: readonly number[] = [NAME.pid, NAME.tid];
const TASK_IDS: readonly number[] = [TASK.pid, TASK.ppid, TASK.tid, TASK.ptid];

/**
 * With fewer records, the history of all threads is kept. With more, as in a build that starts a
 * million processes, only that of threads and processes with samples.
 */
const FEW = 100_000;

/** Applies the records to a machine and keeps its changes. */
export class HistoryKeeper implements MachineLog {
  readonly machine: Machine;
  readonly tids = new TidTable();
  readonly threads = new Versions(4);
  /** Number of threads that had a thread id, by index of the id. */
  #lives = new Int32Array(256);
  readonly roots = new Versions(1);
  readonly systems = new Versions(1);
  readonly moments = new Moments();
  readonly #index: HistoryIndex;
  readonly #all: boolean;
  readonly #record: HistoryOptions["record"];
  readonly #applied: HistoryOptions["applied"];
  readonly #pids = new TidTable();
  #now = 0;

  constructor(index: HistoryIndex, options: HistoryOptions) {
    const { littleEndian, arch, known, record, applied, allThreads = false } = options;
    this.#index = index;
    this.#record = record;
    this.#applied = applied;
    this.#all = allThreads || index.records.count < FEW;
    this.machine = new Machine(littleEndian);
    this.machine.arch = arch;
    if (known !== undefined) this.machine.setKnownBinaries(known);
    const { seen } = index;
    for (let i = 0; i < seen.count; i++) {
      this.tids.add(seen.tid[i] as number);
      this.#pids.add(seen.pid[i] as number);
    }
  }

  run(): void {
    const { records, seen } = this.#index;
    const { machine } = this;
    const record = this.#record;
    const applied = this.#applied;
    const all = new Moments();
    const firsts = this.#firsts();
    all.append(records.moments);
    all.append(seen.moments, firsts);
    const order = all.order();
    this.moments.append(all, order);
    machine.record(this);
    for (const [at, number] of order.entries()) {
      this.#now = at + 1;
      if (number >= records.count) {
        const first = firsts[number - records.count] as number;
        machine.thread(seen.pid[first] as number, seen.tid[first] as number);
        continue;
      }
      const start = records.start[number] as number;
      const end = records.end[number] as number;
      record?.(records.bytes, records.view, start, end);
      if (records.view.getUint32(start, machine.littleEndian) >= PERF_RECORD_USER_TYPE_START) {
        continue;
      }
      machine.apply(records.bytes, records.view, start, end);
      const position = records.moments.position[number] as number;
      applied?.(machine, records.bytes, records.view, start, end, position);
    }
    this.threads.seal();
    this.roots.seal();
    this.systems.seal();
  }

  /**
   * The pairs of process and thread whose first sample changes the machine. A process that no
   * record names and that has one pair only is not among them: at any moment it has the kernel's
   * maps only. So a million processes with a sample each need no memory.
   */
  #firsts(): Int32Array {
    const { records, seen } = this.#index;
    const named = namedIds(records, this.machine.littleEndian);
    // Number of pairs by thread id: one in most recordings.
    const pairs = new Int32Array(this.tids.count);
    const numbers = new Int32Array(seen.count);
    for (let i = 0; i < seen.count; i++) {
      const number = numbers[i] = this.tids.find(seen.tid[i] as number);
      (pairs[number] as number)++;
      // Its threads have its mappings.
      if (seen.pid[i] !== seen.tid[i]) named.add(seen.pid[i] as number);
    }
    const isLone = (i: number): boolean => {
      const tid = seen.tid[i] as number;
      return seen.pid[i] === tid && pairs[numbers[i] as number] === 1 && named.find(tid) < 0;
    };
    let count = 0;
    for (let i = 0; i < seen.count; i++) if (!isLone(i)) numbers[count++] = i;
    return numbers.slice(0, count);
  }

  thread(tid: number, pid: number, comm: number, space: number): void {
    const number = this.#all ? this.tids.add(tid) : this.tids.find(tid);
    if (number < 0) return;
    this.threads.add(number, this.#now, pid, comm, space, this.#lives[number] ?? 0);
  }

  begin(tid: number): void {
    const number = this.#all ? this.tids.add(tid) : this.tids.find(tid);
    if (number < 0) return;
    if (number >= this.#lives.length) this.#lives = enlarge(this.#lives, number + 1);
    (this.#lives[number] as number)++;
  }

  space(space: number, root: number): void {
    this.roots.add(space, this.#now, root);
  }

  system(number: number, root: number): void {
    this.systems.add(number, this.#now, root);
  }

  keepsSpaceOf(pid: number): boolean {
    return this.#all || pid < 0 || pid === 0 || this.#pids.find(pid) >= 0;
  }

  isNoted(space: number): boolean {
    return this.roots.lastFrom(space) < this.#now;
  }

  isSystemNoted(number: number): boolean {
    return this.systems.lastFrom(number) < this.#now;
  }
}

/** The ids of threads and processes in records, and the ids 0 and -1. */
function namedIds({ count, start, end, view }: KeptRecords, le: boolean): TidTable {
  const named = new TidTable();
  named.add(0);
  named.add(-1);
  // Records of a thread often follow each other.
  let last = -1;
  for (let i = 0; i < count; i++) {
    const from = start[i] as number;
    const to = end[i] as number;
    const type = view.getUint32(from, le);
    const isTask = type === PERF_RECORD_FORK || type === PERF_RECORD_EXIT;
    if (!isTask && !OF_THREADS.has(type)) continue;
    for (const at of isTask ? TASK_IDS : THREAD_IDS) {
      if (from + at + 4 > to) continue;
      const id = view.getInt32(from + at, le);
      if (id !== last) named.add(last = id);
    }
  }
  return named;
}
