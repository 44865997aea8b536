import { enlarge, intAt } from "@perfdata/format/bytes";
import {
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FORK,
  PERF_RECORD_MISC_GUEST_KERNEL,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_NAMESPACES,
  PERF_RECORD_USER_TYPE_START,
} from "@perfdata/format/constants";
import { COMM, FORK, layoutOf } from "@perfdata/format/records";
import { DEFAULT_GUEST, isGuestMode } from "../machine/guest_machines.ts";
import { Machine } from "../machine/machine.ts";
import type { AddressSpaces } from "../machine/machine_maps.ts";
import type { NameTable } from "../machine/machine_names.ts";
import { TidTable } from "../machine/machine_tids.ts";
import type { KnownBinary } from "../machine/kernel_maps.ts";
import type { MapSource } from "../machine/map_sources.ts";
import type { KeptRecords } from "../index/kept_records.ts";
import { Moments, stepOf } from "../index/moments.ts";
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
 * @param position Number of the record in the file.
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

/** A moment after all records. */
const END = 0x7fff_ffff;

/**
 * With fewer records, the history of all threads is kept. With more, as in a build that starts a
 * million processes, only that of threads and processes with samples.
 */
const FEW = 100_000;

/**
 * The history of a machine: its threads and their mappings at any moment.
 *
 * It is made from the records that change the machine, before samples are read. A moment is the
 * number of these records that perf delivers before: at moment 3, three of them have happened. A
 * state is a number for a thread at a moment: its process, its name, and the mappings of its
 * address space and the kernel. States never change, so that samples can be read in any order.
 *
 * ```text
 * records      MMAP kernel │ COMM 7 sh │ MMAP 7 /bin/sh │ FORK 7 → 8 │ COMM 8 ls │
 * moments     0            1           2                3            4           5
 * states of 7              ·  :7  ─────┤  sh, nothing ──┤  sh, /bin/sh ────────────
 * states of 8                                           ·  sh, /bin/sh┤  ls, /bin/sh
 * ```
 *
 * @example
 * ```ts
 * import { openSource } from "@perfdata/format/files";
 * import { PerfDataReader } from "@perfdata/format";
 * import { History, RecordingIndex } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const reader = await PerfDataReader.open(openSource("fixtures/recorded/callchain.perf.data"));
 * const index = await RecordingIndex.read(reader);
 * const history = new History(index, reader);
 * const tid = index.seen.tid[0] as number;
 * const state = history.state(index.seen.pid[0] as number, tid, history.count);
 * assertEquals(history.tids[state], tid);
 * ```
 */
export class History {
  /** Number of records and first samples in the history. Moments are 0 to this number. */
  readonly count: number;
  /** Paths, comms and symbols of the kernel, by number. */
  readonly names: NameTable;
  /** The maps of all address spaces. */
  readonly spaces: AddressSpaces;
  /** Process id by state; -1 if unknown. */
  pids: Int32Array<ArrayBuffer> = new Int32Array(256);
  /** Thread id by state. */
  tids: Int32Array<ArrayBuffer> = new Int32Array(256);
  /** Name by state: a number of the names; -1 if no name was recorded. */
  comms: Int32Array<ArrayBuffer> = new Int32Array(256);
  /**
   * Name by state, or the thread's first later name, because perf counts samples before the first
   * name for that name; -1 if the thread never got a name.
   */
  namedComms: Int32Array<ArrayBuffer> = new Int32Array(256);
  /** Number of states so far. */
  stateCount: number = 0;

  readonly #machine: Machine;
  readonly #rounds: Rounds;
  readonly #isTimed: boolean;
  readonly #moments: Moments;
  /** Thread ids by number. */
  readonly #tids: TidTable;
  /** Process, comm and space, by number of a thread id. */
  readonly #threads: Versions;
  /** Root of the tree, by space. */
  readonly #roots: Versions;
  /**
   * Root of the tree, by system: 0 is the kernel of the host, the others belong to guests
   * (`MachineLog.system`).
   */
  readonly #systems: Versions;
  // By state: roots, and the range of moments.
  #userRoot = new Int32Array(256);
  #kernelRoot = new Int32Array(256);
  /** By state: roots of the trees of the guest that its process runs; 0 without a guest. */
  #guestKernel = new Int32Array(256);
  #guestUser = new Int32Array(256);
  #from = new Int32Array(256);
  #until = new Int32Array(256);
  /** The map of the last look-up, by state, or -1. */
  #lastUser = new Int32Array(256);
  #lastKernel = new Int32Array(256);
  /** The last state by number of a thread id, or -1. */
  #lastState: Int32Array<ArrayBuffer>;
  /** States by their rows in the tables; the key is a text if there are guests. */
  readonly #known = new Map<number | string, number>();
  /** The last state of an unrecorded thread, by tid. */
  readonly #strangers = new Map<number, number>();
  /** The previous such state with the same tid, by state, or -1. */
  #stranger = new Int32Array(256);
  #last = -1;
  /** The result of the last search. */
  #moment = 0;

  /** Creates the history from an index. */
  constructor(index: HistoryIndex, options: HistoryOptions) {
    const { rounds, isTimed } = index;
    this.#rounds = rounds;
    this.#isTimed = isTimed;
    const keeper = new Keeper(index, options);
    keeper.run();
    this.#machine = keeper.machine;
    this.#moments = keeper.moments;
    this.#tids = keeper.tids;
    this.#threads = keeper.threads;
    this.#roots = keeper.roots;
    this.#systems = keeper.systems;
    this.count = keeper.moments.count;
    this.names = this.#machine.names;
    this.spaces = this.#machine.spaces;
    this.#lastState = new Int32Array(this.#tids.count).fill(-1);
  }

  /** The machine after the last record. */
  get end(): Machine {
    return this.#machine;
  }

  /**
   * The moment of a record: the number of records that change the machine before it. If the record
   * is the first sample of a thread, it counts as well.
   *
   * @param round Number of FINISHED_ROUND records before it.
   * @param hi Upper half of its time; both are 0 if it has none.
   * @param lo Lower half.
   * @param position Its number among the records of the file.
   */
  moment(round: number, hi: number, lo: number, position: number): number {
    const moments = this.#moments;
    let step = 0;
    if (this.#isTimed) step = stepOf(this.#rounds, round, hi, lo);
    else hi = lo = 0;
    const { count } = this;
    const guess = this.#moment;
    if (
      (guess === 0 || moments.isUpTo(guess - 1, step, hi, lo, position)) &&
      (guess === count || !moments.isUpTo(guess, step, hi, lo, position))
    ) return guess;
    let low = 0;
    let high = count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (moments.isUpTo(middle, step, hi, lo, position)) low = middle + 1;
      else high = middle;
    }
    return this.#moment = low;
  }

  /**
   * The state of a thread at a moment.
   *
   * @param pid Its process in the sample; -1 if it is not recorded.
   */
  state(pid: number, tid: number, moment: number): number {
    const last = this.#last;
    if (
      last >= 0 && this.tids[last] === tid && moment >= (this.#from[last] as number) &&
      moment < (this.#until[last] as number)
    ) return last;
    const number = this.#tids.find(tid);
    if (number >= 0) {
      const state = this.#lastState[number] as number;
      if (
        state >= 0 && moment >= (this.#from[state] as number) &&
        moment < (this.#until[state] as number)
      ) return this.#last = state;
      const row = this.#threads.at(number, moment);
      if (row >= 0) return this.#last = this.#lastState[number] = this.#find(number, row, moment);
      if (!this.#threads.has(number)) {
        return this.#last = this.#lastState[number] = this.#lone(number, moment);
      }
    }
    return this.#stateOfStranger(pid, tid, moment);
  }

  /** The state of a thread at a moment, from the row of the thread at that moment. */
  #find(number: number, row: number, moment: number): number {
    const threads = this.#threads;
    const [pids, comms, spaces, lives] = threads.values as [
      Int32Array,
      Int32Array,
      Int32Array,
      Int32Array,
    ];
    const space = spaces[row] as number;
    const root = this.#roots.at(space, moment);
    const pid = intAt(pids, row);
    const kernel = this.#systems.at(0, moment);
    const guestKernel = this.#guestKernelAt(pid, moment);
    const guestUser = this.#guestUserAt(pid, moment);
    const key = this.#key(
      ((row + 1) * (this.#roots.count + 1) + root + 1) * (this.#systems.count + 1) + kernel + 1,
      guestKernel,
      guestUser,
    );
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const state = this.#add(
      pid,
      this.#tids.tids[number] as number,
      comms[row] as number,
      root < 0 ? 0 : this.#roots.values[0]?.[root] as number,
      this.#systemRoot(kernel),
    );
    this.#from[state] = Math.max(
      threads.from[row] as number,
      root < 0 ? 0 : this.#roots.from[root] as number,
      kernel < 0 ? 0 : this.#systems.from[kernel] as number,
    );
    this.#until[state] = Math.min(
      threads.until(number, row),
      this.#roots.until(space, root),
      this.#systems.until(0, kernel),
    );
    this.#setGuest(state, guestKernel, guestUser, moment);
    const end = threads.starts[number + 1] as number;
    for (let later = row; later < end && lives[later] === lives[row]; later++) {
      this.namedComms[state] = comms[later] as number;
      if ((comms[later] as number) >= 0) break;
    }
    this.#known.set(key, state);
    return state;
  }

  /** The state of a process without records other than its samples: see `Keeper.#firsts`. */
  #lone(number: number, moment: number): number {
    const tid = this.#tids.tids[number] as number;
    const kernel = this.#systems.at(0, moment);
    const guestKernel = this.#guestKernelAt(tid, moment);
    const guestUser = this.#guestUserAt(tid, moment);
    const isFirst = (this.#lastState[number] as number) < 0;
    // Most of them have one state, which needs no table.
    const key = this.#key(
      -1 - (number * (this.#systems.count + 1) + kernel + 1),
      guestKernel,
      guestUser,
    );
    const known = isFirst ? undefined : this.#known.get(key);
    if (known !== undefined) return known;
    const state = this.#add(tid, tid, -1, 0, this.#systemRoot(kernel));
    this.#from[state] = kernel < 0 ? 0 : this.#systems.from[kernel] as number;
    this.#until[state] = this.#systems.until(0, kernel);
    this.#setGuest(state, guestKernel, guestUser, moment);
    if (!isFirst) this.#known.set(key, state);
    return state;
  }

  /** The state of an unrecorded thread, which has the mappings of its process. */
  #stateOfStranger(pid: number, tid: number, moment: number): number {
    const leader = pid >= 0 && pid !== tid ? this.state(pid, pid, moment) : -1;
    const kernelRoot = this.#systemRoot(this.#systems.at(0, moment));
    const guestKernel = this.#systemRoot(this.#guestKernelAt(pid, moment));
    const guestUser = this.#systemRoot(this.#guestUserAt(pid, moment));
    const userRoot = leader < 0 ? 0 : this.#userRoot[leader] as number;
    const last = this.#strangers.get(tid) ?? -1;
    for (let state = last; state >= 0; state = this.#stranger[state] as number) {
      if (
        this.pids[state] === pid && this.#userRoot[state] === userRoot &&
        this.#kernelRoot[state] === kernelRoot && this.#guestKernel[state] === guestKernel &&
        this.#guestUser[state] === guestUser
      ) return state;
    }
    const state = this.#add(pid, tid, -1, userRoot, kernelRoot);
    this.#guestKernel[state] = guestKernel;
    this.#guestUser[state] = guestUser;
    // Valid for this look-up only: a later thread may have the same tid.
    this.#from[state] = END;
    if (state >= this.#stranger.length) this.#stranger = enlarge(this.#stranger, state + 1);
    this.#stranger[state] = last;
    this.#strangers.set(tid, state);
    return state;
  }

  /** The key of a state: a number if there are no guests, else a text. */
  #key(rows: number, guestKernel: number, guestUser: number): number | string {
    return this.#machine.guests.isEmpty ? rows : `${rows} ${guestKernel} ${guestUser}`;
  }

  #systemRoot(row: number): number {
    return row < 0 ? 0 : this.#systems.values[0]?.[row] as number;
  }

  /** The row of the kernel maps of a process's guest (see `GuestMachines`); -1 without maps. */
  #guestKernelAt(pid: number, moment: number): number {
    const { guests } = this.#machine;
    if (guests.isEmpty) return -1;
    const own = this.#systems.at(guests.kernelSpace(pid), moment);
    return own >= 0 ? own : this.#systems.at(guests.kernelSpace(DEFAULT_GUEST), moment);
  }

  /** The row of the user maps of a process's guest; -1 without maps. */
  #guestUserAt(pid: number, moment: number): number {
    const { guests } = this.#machine;
    return guests.isEmpty ? -1 : this.#systems.at(guests.userSpace(pid), moment);
  }

  /** Sets the guest's maps of a new state, and limits the state to moments with these maps. */
  #setGuest(state: number, guestKernel: number, guestUser: number, moment: number): void {
    const { guests } = this.#machine;
    if (guests.isEmpty) return;
    this.#guestKernel[state] = this.#systemRoot(guestKernel);
    this.#guestUser[state] = this.#systemRoot(guestUser);
    const pid = intAt(this.pids, state);
    for (const space of [pid, DEFAULT_GUEST].map((guest) => guests.kernelSpace(guest))) {
      this.#narrow(state, space, moment);
    }
    this.#narrow(state, guests.userSpace(pid), moment);
  }

  /** Limits a state to the moments in which a system has the same maps as at one of them. */
  #narrow(state: number, space: number, moment: number): void {
    if (space < 0) return;
    const systems = this.#systems;
    const row = systems.at(space, moment);
    this.#from[state] = Math.max(
      this.#from[state] as number,
      row < 0 ? 0 : systems.from[row] as number,
    );
    this.#until[state] = Math.min(this.#until[state] as number, systems.until(space, row));
  }

  #add(pid: number, tid: number, comm: number, userRoot: number, kernelRoot: number): number {
    const state = this.stateCount++;
    if (state >= this.pids.length) {
      this.pids = enlarge(this.pids, state + 1);
      this.tids = enlarge(this.tids, state + 1);
      this.comms = enlarge(this.comms, state + 1);
      this.namedComms = enlarge(this.namedComms, state + 1);
      this.#userRoot = enlarge(this.#userRoot, state + 1);
      this.#kernelRoot = enlarge(this.#kernelRoot, state + 1);
      this.#guestKernel = enlarge(this.#guestKernel, state + 1);
      this.#guestUser = enlarge(this.#guestUser, state + 1);
      this.#from = enlarge(this.#from, state + 1);
      this.#until = enlarge(this.#until, state + 1);
      this.#lastUser = enlarge(this.#lastUser, state + 1);
      this.#lastKernel = enlarge(this.#lastKernel, state + 1);
    }
    this.pids[state] = pid;
    this.tids[state] = tid;
    this.comms[state] = this.namedComms[state] = comm;
    this.#userRoot[state] = userRoot;
    this.#kernelRoot[state] = kernelRoot;
    this.#lastUser[state] = this.#lastKernel[state] = -1;
    return state;
  }

  /** The name of a state's thread as text; `:tid` if no name was recorded. */
  commText(state: number): string {
    const comm = this.comms[state] as number;
    return comm < 0 ? `:${this.tids[state]}` : this.names.text(comm);
  }

  /**
   * The map at an address in a state, or -1.
   *
   * @param cpumode `misc & PERF_RECORD_MISC_CPUMODE_MASK` of the sample.
   */
  map(state: number, cpumode: number, hi: number, lo: number): number {
    if (isGuestMode(cpumode)) {
      const of = cpumode === PERF_RECORD_MISC_GUEST_KERNEL ? this.#guestKernel : this.#guestUser;
      return this.spaces.find(intAt(of, state), hi, lo);
    }
    const isKernel = cpumode === PERF_RECORD_MISC_KERNEL;
    if (!isKernel && cpumode !== PERF_RECORD_MISC_USER) return -1;
    // Consecutive addresses are often in the same map.
    const lasts = isKernel ? this.#lastKernel : this.#lastUser;
    const last = lasts[state] as number;
    const { spaces } = this;
    if (last >= 0) {
      const h = hi >>> 0;
      const l = lo >>> 0;
      const startHi = spaces.startHi[last] as number;
      const endHi = spaces.endHi[last] as number;
      if (
        // Maps of the kernel may overlap, and the one that starts last counts.
        !isKernel && (h > startHi || (h === startHi && l >= (spaces.startLo[last] as number))) &&
        (h < endHi || (h === endHi && l < (spaces.endLo[last] as number)))
      ) return last;
    }
    const roots = isKernel ? this.#kernelRoot : this.#userRoot;
    return lasts[state] = spaces.find(roots[state] as number, hi, lo);
  }

  /** {@link History.map} for the address at `at` of a record. */
  mapAt(state: number, cpumode: number, view: DataView, at: number, le: boolean): number {
    return this.map(
      state,
      cpumode,
      view.getInt32(le ? at + 4 : at, le),
      view.getInt32(le ? at : at + 4, le),
    );
  }

  /** Version of the maps of a process: equal versions have equal maps. */
  spaceVersion(state: number): number {
    return this.#userRoot[state] as number;
  }

  /** Path or bracketed name of a map: a number of {@link History.names}. */
  mapName(map: number): number {
    return this.#machine.mapName(map);
  }

  /** The origin of a map. */
  mapSource(map: number): MapSource {
    return this.#machine.mapSource(map);
  }
}

/** Applies the records to a machine and keeps its changes. */
class Keeper implements MachineLog {
  readonly machine: Machine;
  readonly tids = new TidTable();
  readonly threads = new Versions(4);
  /** Number of threads that had a thread id, by number of the id. */
  #lives = new Int32Array(256);
  readonly roots = new Versions(1);
  readonly systems = new Versions(1);
  moments = new Moments();
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
    for (let i = 0; i < records.count; i++) all.addFrom(records.moments, i);
    for (const i of firsts) all.addFrom(seen.moments, i);
    const order = all.order();
    this.moments = all.reordered(order);
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
  for (let i = 0; i < count; i++) {
    const from = start[i] as number;
    const to = end[i] as number;
    const type = view.getUint32(from, le);
    const isTask = type === PERF_RECORD_FORK || type === PERF_RECORD_EXIT;
    if (!isTask && !OF_THREADS.has(type)) continue;
    for (const at of isTask ? TASK_IDS : THREAD_IDS) {
      if (from + at + 4 <= to) named.add(view.getInt32(from + at, le));
    }
  }
  return named;
}
