import { enlarge, intAt } from "@perfdata/format/bytes";
import {
  PERF_RECORD_MISC_GUEST_KERNEL,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_USER,
} from "@perfdata/format/constants";
import { DEFAULT_GUEST, isGuestMode } from "../machine/guest_machines.ts";
import type { Machine } from "../machine/machine.ts";
import type { AddressSpaces } from "../machine/machine_maps.ts";
import type { NameTable } from "../machine/machine_names.ts";
import type { TidTable } from "../machine/machine_tids.ts";
import type { MapSource } from "../machine/map_sources.ts";
import { type Moments, stepOf } from "../index/moments.ts";
import type { Rounds } from "../index/rounds.ts";
import { type HistoryIndex, HistoryKeeper, type HistoryOptions } from "./history_keeper.ts";
import type { Versions } from "./versions.ts";

/** A moment after all records. */
const END = 0x7fff_ffff;

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
  /** Paths, comms and symbols of the kernel, by index. */
  readonly names: NameTable;
  /** The maps of all address spaces. */
  readonly spaces: AddressSpaces;
  /** Process id by state; -1 if unknown. */
  pids: Int32Array<ArrayBuffer> = new Int32Array(256);
  /** Thread id by state. */
  tids: Int32Array<ArrayBuffer> = new Int32Array(256);
  /** Name by state: an index in the names; -1 if no name was recorded. */
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
  /** Thread ids by index. */
  readonly #tids: TidTable;
  /** Process, comm and space, by index of a thread id. */
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
  /** The last state by index of a thread id, or -1. */
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
  readonly #laterMaps: boolean;

  /** Creates the history from an index. */
  constructor(index: HistoryIndex, options: HistoryOptions) {
    const { rounds, isTimed } = index;
    this.#rounds = rounds;
    this.#isTimed = isTimed;
    this.#laterMaps = options.laterMaps === true;
    const keeper = new HistoryKeeper(index, options);
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
   * @param position Its index among the records of the file.
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

  /**
   * The state of a thread after all records up to a time, for histories without rounds. Before its
   * first record, the thread has the state after that record.
   *
   * @param hi Upper half of the time.
   * @param lo Lower half.
   */
  stateAt(tid: number, hi: number, lo: number): number {
    const moment = this.moment(0, hi, lo, Infinity);
    const number = this.#tids.find(tid);
    const first = number >= 0 && this.#threads.has(number) ? this.#threads.until(number, -1) : 0;
    return this.state(tid, tid, Math.max(moment, first));
  }

  /**
   * The thread ids that some processes have at any moment. A process without records has one thread,
   * with its id.
   */
  threadsOf(pids: ReadonlySet<number>): Set<number> {
    const found = new Set(pids);
    const threads = this.#threads;
    const [owners] = threads.values as [Int32Array];
    for (let number = 0; number < this.#tids.count; number++) {
      if (!threads.has(number)) continue;
      const end = intAt(threads.starts, number + 1);
      for (let row = intAt(threads.starts, number); row < end; row++) {
        if (pids.has(intAt(owners, row))) found.add(intAt(this.#tids.tids, number));
      }
    }
    return found;
  }

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

  /** The state of a process without records other than its samples: see `HistoryKeeper.#firsts`. */
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
    const found = lasts[state] = spaces.find(roots[state] as number, hi, lo);
    return found < 0 && this.#laterMaps ? this.#laterMap(state, isKernel, hi, lo) : found;
  }

  /** The map at an address at the end of the state's thread; for the kernel, of the recording. */
  #laterMap(state: number, isKernel: boolean, hi: number, lo: number): number {
    const moment = isKernel ? this.count : this.#lastMoment(state);
    const last = this.state(intAt(this.pids, state), intAt(this.tids, state), moment);
    const root = isKernel ? intAt(this.#kernelRoot, last) : intAt(this.#userRoot, last);
    return this.spaces.find(root, hi, lo);
  }

  /** The last moment before a state's thread id is used for another thread. */
  #lastMoment(state: number): number {
    const threads = this.#threads;
    const number = this.#tids.find(intAt(this.tids, state));
    let row = threads.at(number, intAt(this.#from, state));
    if (row < 0) return this.count;
    const lives = threads.values[3] as Int32Array;
    const life = lives[row];
    const end = intAt(threads.starts, number + 1);
    while (row + 1 < end && lives[row + 1] === life) row++;
    return Math.min(this.count, threads.until(number, row) - 1);
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
