import {
  PERF_RECORD_COMM,
  PERF_RECORD_FORK,
  PERF_RECORD_KSYMBOL,
  PERF_RECORD_MISC_COMM_EXEC,
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_FORK_EXEC,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
} from "@perfdata/format/constants";
import { COMM, FORK, KSYMBOL, layoutOf, prefixSize, recordMisc } from "@perfdata/format/records";
import {
  AddressSpaces,
  isGuestMode,
  KernelMaps,
  type KnownBinary,
  MAP,
  MAPPED,
  type MapSource,
  MapSources,
  mmapSize,
  NameTable,
  rangeOfRecord,
} from "@perfdata/session";

// Offsets of the fields of records.
const NAME = layoutOf(COMM);
const TASK = layoutOf(FORK);
// Minimum sizes of records.
const COMM_SIZE = prefixSize(COMM);
const FORK_SIZE = prefixSize(FORK);
const KSYMBOL_SIZE = prefixSize(KSYMBOL);

/** Values with the time from which they hold, in order of time. */
class Versions {
  readonly #times: number[] = [];
  readonly #values: number[] = [];

  /** The newest value; `otherwise` without values. */
  last(otherwise: number): number {
    return this.#values.at(-1) ?? otherwise;
  }

  set(time: number, value: number): void {
    const last = this.#times.length - 1;
    if (last >= 0 && this.#times[last] === time) this.#values[last] = value;
    else if (this.#values[last] !== value) {
      this.#times.push(time);
      this.#values.push(value);
    }
  }

  /** The value at a time; before all times, the first one. */
  at(time: number, otherwise: number): number {
    let from = 0;
    let to = this.#times.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.#times[middle] as number) <= time) from = middle + 1;
      else to = middle;
    }
    return this.#values[Math.max(0, from - 1)] ?? otherwise;
  }
}

/**
 * Processes of threads and their mappings, at any time.
 *
 * The machine of the engine has the present state only. But the trace of a CPU is decoded after all
 * records were read, and needs the state of each moment. Trees of maps share their common parts.
 */
export class PtHistory {
  /** Paths, by number. */
  readonly names: NameTable = new NameTable();
  /** All maps. */
  readonly spaces: AddressSpaces = new AddressSpaces();
  /** Times of changes in ns, sorted. */
  readonly changes: number[] = [];
  /**
   * Times in ns at which processes started another program, sorted: when the first file of it was
   * mapped.
   */
  readonly execs: { readonly time: number; readonly pid: number }[] = [];

  readonly #littleEndian: boolean;
  readonly #isX86: boolean;
  readonly #sources: MapSources;
  readonly #kernel: KernelMaps;
  readonly #comms = new Map<number, number>();
  readonly #threadComms = new Map<number, Versions>();
  readonly #pids = new Map<number, Versions>();
  /** Root of the tree of maps, by process. */
  readonly #roots = new Map<number, Versions>();
  /** Processes that started another program, before its first file is mapped. */
  readonly #executing = new Set<number>();
  #nextOwner = 1;

  /** Starts without threads and maps. */
  constructor(littleEndian: boolean, arch: string | undefined, known: readonly KnownBinary[]) {
    this.#littleEndian = littleEndian;
    this.#isX86 = arch === "x86_64" || arch === undefined;
    this.#sources = new MapSources(this.names, littleEndian);
    this.#kernel = new KernelMaps(this.names, this.#sources, this.spaces);
    this.#kernel.setKnown(known);
    const vdso = known.find(({ filename }) => /(^|\/)\[vdso\]\/*$/.test(filename));
    this.#sources.vdso ??= vdso?.filename;
  }

  /** Applies a record; skips records that change nothing. */
  apply(bytes: Uint8Array, view: DataView, start: number, end: number, time: number): void {
    const le = this.#littleEndian;
    const type = view.getUint32(start, le);
    switch (type) {
      case PERF_RECORD_MMAP:
      case PERF_RECORD_MMAP2:
        if (end - start >= mmapSize(type)) this.#mmap(bytes, view, start, end, time);
        break;
      case PERF_RECORD_COMM:
        if (end - start >= COMM_SIZE) {
          const pid = view.getInt32(start + NAME.pid, le);
          const tid = view.getInt32(start + NAME.tid, le);
          this.thread(pid, tid, time);
          const name = this.names.internUntilNul(bytes, start + NAME.comm, end);
          versionsOf(this.#threadComms, tid).set(time, name);
          if (pid === tid) this.#comms.set(pid, name);
          if ((recordMisc(view, start, le) & PERF_RECORD_MISC_COMM_EXEC) !== 0) {
            this.#executing.add(pid);
          }
        }
        break;
      case PERF_RECORD_FORK:
        if (end - start >= FORK_SIZE) this.#fork(view, start, time);
        break;
      case PERF_RECORD_KSYMBOL:
        if (end - start >= KSYMBOL_SIZE) this.#kernel.ksymbol(bytes, view, start, end, le);
        break;
    }
  }

  /** Sets the process of a thread from a time on. */
  thread(pid: number, tid: number, time: number): void {
    if (pid >= 0 && tid >= 0) versionsOf(this.#pids, tid).set(time, pid);
  }

  /** The last name of a process. */
  comm(pid: number): string | undefined {
    const name = this.#comms.get(pid);
    return name === undefined ? undefined : this.names.text(name);
  }

  /** The name of a thread at a time: a number of {@linkcode PtHistory.names}, or -1. */
  threadComm(tid: number, time: number): number {
    return this.#threadComms.get(tid)?.at(time, -1) ?? -1;
  }

  /** Process of a thread at a time; the thread itself if unknown. */
  pid(tid: number, time: number): number {
    return this.#pids.get(tid)?.at(time, tid) ?? tid;
  }

  /**
   * The map of a process at an address and a time, or -1. Times of packets may be inexact: if
   * nothing is mapped at the time, the mapping at the end is returned.
   */
  map(pid: number, time: number, hi: number, lo: number): number {
    if (hi < 0) return this.spaces.find(this.#kernel.root, hi >>> 0, lo >>> 0);
    const roots = this.#roots.get(pid);
    if (roots === undefined) return -1;
    const found = this.spaces.find(roots.at(time, 0), hi, lo >>> 0);
    return found >= 0 ? found : this.spaces.find(roots.last(0), hi, lo >>> 0);
  }

  /** Origin of a map. */
  source(map: number): MapSource {
    return this.#sources.get(this.spaces.source[map] as number);
  }

  #mmap(bytes: Uint8Array, view: DataView, start: number, end: number, time: number): void {
    const le = this.#littleEndian;
    const source = this.#sources.ofRecord(bytes, view, start, end);
    const vdso = this.#sources.kind(source) === MAPPED.VDSO;
    const range = {
      ...rangeOfRecord(view, start, le),
      ...(vdso ? { pgoffHi: 0, pgoffLo: 0 } : {}),
    };
    const mode = recordMisc(view, start, le) & PERF_RECORD_MISC_CPUMODE_MASK;
    if (
      isGuestMode(mode) ||
      this.#sources.kind(source) === MAPPED.GUEST_KERNEL
    ) return;
    if (mode === PERF_RECORD_MISC_KERNEL) {
      this.#kernel.map(source, range, this.#isX86);
      this.changes.push(time);
      return;
    }
    const pid = view.getInt32(start + MAP.pid, le);
    this.thread(pid, view.getInt32(start + MAP.tid, le), time);
    if (this.#executing.delete(pid)) this.execs.push({ time, pid });
    const roots = versionsOf(this.#roots, pid);
    roots.set(
      time,
      this.spaces.insert(
        roots.last(0),
        this.#nextOwner++,
        range,
        this.#sources.called(source, pid),
      ),
    );
    this.changes.push(time);
  }

  #fork(view: DataView, start: number, time: number): void {
    const le = this.#littleEndian;
    const misc = recordMisc(view, start, le);
    const pid = view.getInt32(start + TASK.pid, le);
    const ppid = view.getInt32(start + TASK.ppid, le);
    const tid = view.getInt32(start + TASK.tid, le);
    const parent = this.#threadComms.get(view.getInt32(start + TASK.ptid, le))?.last(-1) ?? -1;
    this.thread(pid, tid, time);
    if (parent >= 0) versionsOf(this.#threadComms, tid).set(time, parent);
    const comm = this.#comms.get(ppid);
    if (comm !== undefined && !this.#comms.has(pid)) this.#comms.set(pid, comm);
    // A thread shares the maps of its process. perf also writes the FORK of a process that existed
    // before.
    if (pid === ppid || (misc & PERF_RECORD_MISC_FORK_EXEC) !== 0) return;
    versionsOf(this.#roots, pid).set(time, this.#roots.get(ppid)?.last(0) ?? 0);
    this.changes.push(time);
  }
}

function versionsOf(map: Map<number, Versions>, key: number): Versions {
  let versions = map.get(key);
  if (versions === undefined) map.set(key, versions = new Versions());
  return versions;
}
