import {
  PERF_RECORD_COMM,
  PERF_RECORD_EXIT,
  PERF_RECORD_FORK,
  PERF_RECORD_KSYMBOL,
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_FORK_EXEC,
  PERF_RECORD_MISC_GUEST_KERNEL,
  PERF_RECORD_MISC_GUEST_USER,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_USER,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_NAMESPACES,
} from "@perfdata/format/constants";
import {
  COMM,
  EXIT,
  FORK,
  KSYMBOL,
  layoutOf,
  NAMESPACES,
  prefixSize,
  recordMisc,
} from "@perfdata/format/records";
import { GuestMachines, guestOfPid, isGuestMode } from "./guest_machines.ts";
import { KernelMaps, type KnownBinary } from "./kernel_maps.ts";
import type { MachineLog } from "../history/machine_log.ts";
import { AddressSpaces } from "./machine_maps.ts";
import { ProcessSpaces } from "./process_spaces.ts";
import { enlarge, intAt } from "@perfdata/format/bytes";
import { NameTable } from "./machine_names.ts";
import { TidTable } from "./machine_tids.ts";
import { MAP, MAPPED, type MapSource, MapSources, mmapSize, rangeOfRecord } from "./map_sources.ts";

export { kernelModuleName, type KnownBinary } from "./kernel_maps.ts";
export type { MapRange } from "./machine_maps.ts";
export type { MachineLog } from "../history/machine_log.ts";
export type { MapSource } from "./map_sources.ts";

// Offsets of the fields of records. EXIT has the fields of FORK.
const NAME = layoutOf(COMM);
const TASK = layoutOf(FORK);
const SPACES = layoutOf(NAMESPACES);
// Minimum sizes of these records.
const COMM_SIZE = prefixSize(COMM);
const FORK_SIZE = prefixSize(FORK);
const EXIT_SIZE = prefixSize(EXIT);
const NAMESPACES_SIZE = prefixSize(NAMESPACES);
const KSYMBOL_SIZE = prefixSize(KSYMBOL);

/**
 * The recorded machine: threads with their comms, and mappings of their address spaces.
 *
 * Records are applied in the order in which `perf` delivers them (see `deliverRuns`). The state
 * follows `machine.c` and `thread.c` of perf: a tid identifies a thread, a thread of another
 * process shares its address space, a FORK copies the parent's comm and maps, `exec` is a COMM
 * followed by new maps over the old ones, and a thread stays known after its EXIT until its tid is
 * used again.
 *
 * @example
 * ```ts
 * import { Machine } from "@perfdata/session";
 * import { KERNEL_RECORDS, RecordCodec } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const machine = new Machine();
 * const comm = new RecordCodec(KERNEL_RECORDS).encode({
 *   type: 3,
 *   name: "COMM",
 *   misc: 0,
 *   body: { pid: 7, tid: 7, comm: "true" },
 * });
 * machine.apply(comm, new DataView(comm.buffer), 0, comm.length);
 * assertEquals(machine.commText(machine.thread(7, 7)), "true");
 * assertEquals(machine.commText(machine.thread(7, 8)), ":8");
 * ```
 */
export class Machine {
  /** Log of every change, if the history of the machine is needed. */
  #log: MachineLog | undefined;
  /** Paths, comms and symbols of the kernel, by index. */
  readonly names: NameTable = new NameTable();
  /** The maps of all address spaces. */
  readonly spaces: AddressSpaces = new AddressSpaces();
  /** Process id of each thread; -1 if unknown. */
  pids: Int32Array<ArrayBuffer> = new Int32Array(256);
  /** Thread id of each thread. */
  tids: Int32Array<ArrayBuffer> = new Int32Array(256);
  /** Comm of each thread: a number of {@link Machine.names}, or -1 if none was recorded. */
  comms: Int32Array<ArrayBuffer> = new Int32Array(256);
  /**
   * Process and thread id of the last thread that a FORK record named as parent with a wrong
   * process.
   */
  wrongParent: { readonly pid: number; readonly tid: number } | undefined = undefined;
  /** The architecture as `uname -m` prints it, which kernel maps depend on. */
  arch: string | undefined = undefined;

  /** Byte order of the records. */
  readonly littleEndian: boolean;
  readonly #sources: MapSources;
  readonly #kernel: KernelMaps;
  /**
   * The guests, which have maps of their own. A guest's thread is the host's thread that runs it.
   */
  readonly guests: GuestMachines;
  #threadCount = 0;
  #threadSpaces = new Int32Array(256);
  #freeThreads: number[] = [];
  readonly #tidTable = new TidTable();
  /** The thread by index of a thread id, or -1. */
  #byTid = new Int32Array(256);
  #lastTid = -1;
  #lastThread = -1;
  readonly #processes: ProcessSpaces;
  #compactAt = 1 << 16;

  /**
   * Creates a machine with the idle task only.
   *
   * @param littleEndian Byte order of the records.
   */
  constructor(littleEndian: boolean = true) {
    this.littleEndian = littleEndian;
    this.#sources = new MapSources(this.names, littleEndian);
    this.#kernel = new KernelMaps(this.names, this.#sources, this.spaces);
    this.guests = new GuestMachines(this.names, this.#sources, this.spaces);
    this.#processes = new ProcessSpaces(this.spaces);
    // The idle task always exists.
    const swapper = this.thread(0, 0);
    this.comms[swapper] = this.names.internText("swapper");
  }

  /**
   * Writes the present state, and every change from now on, to a log. Trees of maps that are in the
   * log are no longer changed.
   */
  record(log: MachineLog): void {
    this.#log = log;
    this.#kernel.log = log;
    this.guests.log = log;
    this.#processes.log = log;
    for (let i = 0; i < this.#tidTable.count; i++) this.#changed(this.#byTid[i] as number);
  }

  #changed(thread: number): void {
    this.#log?.thread(
      this.tids[thread] as number,
      this.pids[thread] as number,
      this.comms[thread] as number,
      this.#threadSpaces[thread] as number,
    );
  }

  /**
   * Sets the binaries of the file's build id table, before any record is applied. The kernel, its
   * modules and the vdso get their names from it.
   */
  setKnownBinaries(binaries: readonly KnownBinary[]): void {
    const own = binaries.filter(({ pid }) => pid === undefined || pid === -1);
    this.#kernel.setKnown(own);
    this.guests.setKnown(binaries);
    const vdso = own.find(({ filename }) => /(^|\/)\[vdso\]\/*$/.test(filename));
    this.#sources.vdso ??= vdso?.filename;
  }

  /**
   * The thread with the id `tid`; it is added if it is unknown.
   *
   * @param pid Its process, or -1 if unknown.
   */
  thread(pid: number, tid: number): number {
    if (tid === this.#lastTid) {
      const thread = this.#lastThread;
      if (this.pids[thread] === -1 && pid !== -1) this.#learnPid(thread, pid);
      return thread;
    }
    const known = this.#known(tid);
    const thread = known >= 0 ? known : this.#addThread(pid, tid);
    if (known >= 0 && this.pids[known] === -1 && pid !== -1) this.#learnPid(known, pid);
    this.#lastTid = tid;
    this.#lastThread = thread;
    return thread;
  }

  /** The thread with a thread id, or -1. */
  #known(tid: number): number {
    const i = this.#tidTable.find(tid);
    return i < 0 ? -1 : this.#byTid[i] as number;
  }

  /** The comm of a thread as text; `:tid` if no comm was recorded. */
  commText(thread: number): string {
    const comm = this.comms[thread] as number;
    return comm < 0 ? `:${this.tids[thread]}` : this.names.text(comm);
  }

  /**
   * The map at an address in a thread's address space, or -1.
   *
   * @param cpumode `misc & PERF_RECORD_MISC_CPUMODE_MASK` of the sample.
   * @returns The number of a map of {@link Machine.spaces}, valid until the next record.
   */
  map(thread: number, cpumode: number, hi: number, lo: number): number {
    const { spaces } = this;
    if (cpumode === PERF_RECORD_MISC_KERNEL) return spaces.find(this.#kernel.root, hi, lo);
    if (isGuestMode(cpumode)) {
      return this.guests.map(intAt(this.pids, thread), cpumode, hi, lo);
    }
    if (cpumode !== PERF_RECORD_MISC_USER) return -1;
    return this.#processes.map(this.#threadSpaces[thread] as number, hi, lo);
  }

  /** Version of the maps of a thread: see `ProcessSpaces.version`. */
  spaceVersion(thread: number): number {
    return this.#processes.version(this.#threadSpaces[thread] as number);
  }

  /** {@link Machine.map} for the address at `at` of a record. */
  mapAt(thread: number, cpumode: number, view: DataView, at: number): number {
    const le = this.littleEndian;
    // Signed numbers never need an allocation; only the bits of the halves count.
    return this.map(
      thread,
      cpumode,
      view.getInt32(le ? at + 4 : at, le),
      view.getInt32(le ? at : at + 4, le),
    );
  }

  /** Path or bracketed name of a map: a number of {@link Machine.names}. */
  mapName(map: number): number {
    return this.#sources.name(this.spaces.source[map] as number);
  }

  /** The origin of a map. Maps of the kernel have a name, a build id and a guest only. */
  mapSource(map: number): MapSource {
    return this.#sources.get(this.spaces.source[map] as number);
  }

  /**
   * The symbol of KSYMBOL records at an address of the kernel, if any.
   *
   * @returns Its name as a number of {@link Machine.names}, and the offset of the address in it.
   */
  ksymbol(hi: number, lo: number): { readonly name: number; readonly offset: number } | undefined {
    return this.#kernel.symbol(hi, lo);
  }

  /**
   * Applies the record in `[start, end)` of `bytes`. Skips records that change nothing or are too
   * short.
   *
   * @param view The same bytes, for reads.
   */
  apply(bytes: Uint8Array, view: DataView, start: number, end: number): void {
    const le = this.littleEndian;
    const type = view.getUint32(start, le);
    switch (type) {
      case PERF_RECORD_MMAP:
      case PERF_RECORD_MMAP2:
        if (end - start >= mmapSize(type)) this.#mmap(bytes, view, start, end);
        break;
      case PERF_RECORD_COMM:
        if (end - start >= COMM_SIZE) {
          const pid = view.getInt32(start + NAME.pid, le);
          const thread = this.thread(pid, view.getInt32(start + NAME.tid, le));
          this.comms[thread] = this.names.internUntilNul(bytes, start + NAME.comm, end);
          this.#changed(thread);
        }
        break;
      case PERF_RECORD_FORK:
        this.wrongParent = undefined;
        if (end - start >= FORK_SIZE) this.#fork(view, start);
        break;
      case PERF_RECORD_EXIT:
        // The thread stays known, since its last samples may come later. But its pid may be new.
        if (end - start >= EXIT_SIZE) {
          const tid = view.getInt32(start + TASK.tid, le);
          if (this.#known(tid) >= 0) this.thread(view.getInt32(start + TASK.pid, le), tid);
        }
        break;
      case PERF_RECORD_NAMESPACES:
        if (end - start >= NAMESPACES_SIZE) {
          const pid = view.getInt32(start + SPACES.pid, le);
          this.thread(pid, view.getInt32(start + SPACES.tid, le));
        }
        break;
      case PERF_RECORD_KSYMBOL:
        if (end - start >= KSYMBOL_SIZE) this.#kernel.ksymbol(bytes, view, start, end, le);
        break;
    }
  }

  #addThread(pid: number, tid: number): number {
    const thread = this.#freeThreads.pop() ?? this.#threadCount++;
    if (thread >= this.tids.length) {
      this.pids = enlarge(this.pids, thread + 1);
      this.tids = enlarge(this.tids, thread + 1);
      this.comms = enlarge(this.comms, thread + 1);
      this.#threadSpaces = enlarge(this.#threadSpaces, thread + 1);
    }
    this.pids[thread] = pid;
    this.tids[thread] = tid;
    this.comms[thread] = -1;
    this.#log?.begin(tid);
    const i = this.#tidTable.add(tid);
    if (i >= this.#byTid.length) this.#byTid = enlarge(this.#byTid, i + 1);
    this.#byTid[i] = thread;
    const space = pid === tid || pid === -1
      ? this.#processes.add(pid)
      : this.#threadSpaces[this.thread(pid, pid)] as number;
    this.#threadSpaces[thread] = space;
    this.#processes.use(space);
    this.#changed(thread);
    return thread;
  }

  /** Sets the process of a thread that was known by its tid only. */
  #learnPid(thread: number, pid: number): void {
    this.pids[thread] = pid;
    if (pid !== this.tids[thread]) {
      const space = this.#threadSpaces[this.thread(pid, pid)] as number;
      if (space !== this.#threadSpaces[thread]) {
        this.#processes.drop(this.#threadSpaces[thread] as number);
        this.#threadSpaces[thread] = space;
        this.#processes.use(space);
      }
    }
    this.#changed(thread);
  }

  #removeThread(thread: number): void {
    this.#byTid[this.#tidTable.find(this.tids[thread] as number)] = -1;
    this.#processes.drop(this.#threadSpaces[thread] as number);
    this.#lastTid = -1;
    this.#lastThread = -1;
    this.#freeThreads.push(thread);
  }

  #fork(view: DataView, start: number): void {
    const le = this.littleEndian;
    const misc = recordMisc(view, start, le);
    const pid = view.getInt32(start + TASK.pid, le);
    const ppid = view.getInt32(start + TASK.ppid, le);
    const tid = view.getInt32(start + TASK.tid, le);
    const ptid = view.getInt32(start + TASK.ptid, le);
    const old = this.#known(tid) >= 0 ? this.thread(pid, tid) : -1;
    let parent = this.thread(ppid, ptid);
    let oldGone = false;
    if (this.pids[parent] !== ppid) {
      this.wrongParent = {
        pid: this.pids[parent] as number,
        tid: this.tids[parent] as number,
      };
      oldGone = parent === old;
      this.#removeThread(parent);
      parent = this.thread(ppid, ptid);
    }
    const parentComm = this.comms[parent] as number;
    const parentSpace = this.#threadSpaces[parent] as number;
    if (old >= 0 && !oldGone) this.#removeThread(old);
    const thread = this.thread(pid, tid);
    if (parentComm >= 0) {
      this.comms[thread] = parentComm;
      this.#changed(thread);
    }
    const space = this.#threadSpaces[thread] as number;
    // A thread shares the maps of its process, and a process gets a copy. But no copy is made for a
    // FORK that perf wrote for an existing process, whose maps follow.
    if (this.pids[thread] === ppid || space === parentSpace || misc & PERF_RECORD_MISC_FORK_EXEC) {
      return;
    }
    this.#processes.copy(parentSpace, space);
    this.#compactIfMany();
  }

  /** Drops unused nodes and maps if there are many. */
  #compactIfMany(): void {
    // The log still refers to old nodes.
    if (this.#log !== undefined || this.spaces.nodeCount <= this.#compactAt) return;
    const kernelMaps = this.#kernel.kept;
    const guestRoots = this.guests.roots;
    const maps = Int32Array.from([...kernelMaps, ...this.guests.kept]);
    const roots = Int32Array.from([this.#kernel.root, ...guestRoots, ...this.#processes.roots]);
    this.spaces.compact(roots, maps);
    this.#kernel.root = roots[0] as number;
    this.#kernel.moved(maps.subarray(0, kernelMaps.length));
    const processes = 1 + guestRoots.length;
    this.guests.moved(roots.subarray(1, processes), maps.subarray(kernelMaps.length));
    this.#processes.moved(roots.subarray(processes));
    this.#compactAt = Math.max(1 << 16, 2 * this.spaces.nodeCount);
  }

  /** Applies an MMAP or MMAP2 record. */
  #mmap(bytes: Uint8Array, view: DataView, start: number, end: number): void {
    const le = this.littleEndian;
    const source = this.#sources.ofRecord(bytes, view, start, end);
    const range = rangeOfRecord(view, start, le);
    const mode = recordMisc(view, start, le) & PERF_RECORD_MISC_CPUMODE_MASK;
    const isX86 = this.arch === "x86_64";
    const pid = view.getInt32(start + MAP.pid, le);
    if (
      mode === PERF_RECORD_MISC_GUEST_KERNEL ||
      this.#sources.kind(source) === MAPPED.GUEST_KERNEL
    ) {
      this.guests.mapKernel(guestOfPid(pid), source, range, isX86);
      return;
    }
    if (mode === PERF_RECORD_MISC_GUEST_USER) {
      this.guests.mapUser(guestOfPid(pid), source, range);
      this.#compactIfMany();
      return;
    }
    if (mode === PERF_RECORD_MISC_KERNEL) {
      this.#kernel.map(source, range, isX86);
      return;
    }
    const thread = this.thread(pid, view.getInt32(start + MAP.tid, le));
    this.#processes.insert(
      this.#threadSpaces[thread] as number,
      this.#sources.kind(source) === MAPPED.VDSO ? { ...range, pgoffHi: 0, pgoffLo: 0 } : range,
      this.#sources.called(source, this.pids[thread] as number),
    );
    this.#compactIfMany();
  }
}
