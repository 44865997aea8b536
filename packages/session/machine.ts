import {
  decodeMapSource,
  KERNEL_SPACE,
  MachineHistory,
  type MapSource,
} from "./machine_history.ts";
import { MapLayers } from "./machine_layers.ts";
import { AddressSpaces } from "./machine_maps.ts";
import { enlarge, NameTable, ownRoom, type Room, sharedRoom } from "./machine_names.ts";
import { TidTable } from "./machine_tids.ts";

const MMAP = 1;
const COMM = 3;
const EXIT = 4;
const FORK = 7;
const SAMPLE = 9;
const MMAP2 = 10;
const NAMESPACES = 16;
const KSYMBOL = 17;

const MISC_CPUMODE_MASK = 7;
const MISC_KERNEL = 1;
const MISC_USER = 2;
const MISC_GUEST_KERNEL = 4;
const MISC_MMAP_DATA = 0x2000;
const MISC_FORK_EXEC = 0x2000;
const MISC_MMAP_BUILD_ID = 0x4000;
const KSYMBOL_UNREGISTER = 1;
const PROT_EXEC = 4;
const MAP_HUGETLB = 0x40000;

/** A binary that the file's build id table names. */
export interface KnownBinary {
  /** Its path or bracketed name. */
  readonly filename: string;
  /** `misc` of the build id event: the CPU mode that the binary runs in. */
  readonly misc: number;
}

/** How to keep a {@link Machine}. */
export interface MachineOptions {
  /**
   * Keep the state of every moment for {@link Machine.history}, and not only the present one.
   * Memory then grows with the number of records that change the state.
   */
  readonly history?: boolean;
  /** About how many records will be applied: room for their history is made at once. */
  readonly records?: number;
  /** Whether to keep the history in memory that workers share, most of it. */
  readonly shared?: boolean;
}

interface KernelBinary {
  readonly name: number;
  readonly shortName: string;
  readonly module: boolean;
}

/**
 * The machine that was recorded: its threads with their comms, and what was mapped where.
 *
 * Records are applied in the order in which `perf` delivers them (see `deliverInOrder`), and the
 * state follows `machine.c` and `thread.c` of perf: threads are known by tid, a thread whose
 * process is another one shares its address space, a FORK copies the parent's comm and maps,
 * `exec` is a COMM followed by new maps over the old ones, an EXIT leaves the thread known until
 * its tid is used again.
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
  /** Paths, comms and symbols of the kernel, by number. */
  readonly names: NameTable = new NameTable();
  /** What is mapped where. */
  readonly spaces: AddressSpaces;
  /** Process id of each thread; -1 where it is not known. */
  pids: Int32Array<ArrayBuffer> = new Int32Array(256);
  /** Thread id of each thread. */
  tids: Int32Array<ArrayBuffer> = new Int32Array(256);
  /** Comm of each thread: a number of {@link Machine.names}, or -1 where none was recorded. */
  comms: Int32Array<ArrayBuffer> = new Int32Array(256);
  /** Process and thread id of the parent that the last FORK named wrongly. */
  wrongParent: { readonly pid: number; readonly tid: number } | undefined = undefined;

  readonly #littleEndian: boolean;
  readonly #keepHistory: boolean;
  readonly #sources = new NameTable();
  readonly #sourceKey = new Uint8Array(32);
  readonly #sourceView = new DataView(this.#sourceKey.buffer);
  #threadCount = 0;
  #threadSpaces = new Int32Array(256);
  #freeThreads: number[] = [];
  readonly #tidTable = new TidTable();
  /** By number of a thread id: the thread, or -1. */
  #byTid = new Int32Array(256);
  #lastTid = -1;
  #lastThread = -1;
  /** The map that was found last in each space, or -1. */
  #lastMaps = new Int32Array(256).fill(-1);
  #roots = new Int32Array(256);
  #owners = new Int32Array(256);
  #users = new Int32Array(256);
  /** A number for what each space maps where: see {@link Machine.spaceVersion}. */
  #versions = new Int32Array(256);
  /** Whether another space has the same version. */
  #sharedVersion = new Uint8Array(256);
  #nextVersion = 1;
  #spaceCount = 1;
  #freeSpaces: number[] = [];
  #nextOwner = 1;
  #compactAt = 1 << 16;
  #kernelMap = -1;
  /** By source, as records have it: what is mapped. */
  readonly #kinds: (number | undefined)[] = [];
  /** The same as it is called here; -1 where that depends on the process. */
  readonly #calledHere: number[] = [];
  readonly #kernelBinaries: KernelBinary[] = [];
  #vdso: string | undefined;
  #arch: string | undefined;
  /** Symbols that KSYMBOL records gave, by the map they made: name and size. */
  readonly #ksymbols = new Map<number, { name: number; size: number }>();
  readonly #history: HistoryLog;
  /** What is mapped where, all but the kernel, in a machine that keeps its history. */
  readonly #layers: MapLayers;

  /**
   * Makes a machine that has nothing but the idle task.
   *
   * @param littleEndian Byte order of the records.
   */
  constructor(littleEndian: boolean = true, options: MachineOptions = {}) {
    this.#littleEndian = littleEndian;
    this.#keepHistory = options.history === true;
    const records = this.#keepHistory ? options.records ?? 256 : 256;
    const room = options.shared === true ? sharedRoom : ownRoom;
    this.spaces = new AddressSpaces(records, room);
    this.#layers = new MapLayers(records, room);
    this.#history = new HistoryLog(records, room);
    // The idle task is always there.
    const swapper = this.thread(0, 0);
    this.#setComm(swapper, this.names.internText("swapper"));
  }

  /** Number of changes so far, in a machine that keeps its history. */
  get epoch(): number {
    return this.#history.epochs;
  }

  /** The machine's name as `uname -m` prints it: what kernel maps mean depends on it. */
  set arch(arch: string | undefined) {
    this.#arch = arch;
  }

  /**
   * Says which binaries the file's build id table names, before any record is applied: the kernel,
   * its modules and the vdso go by the names there.
   */
  setKnownBinaries(binaries: readonly KnownBinary[]): void {
    for (const { filename, misc } of binaries) {
      const mode = misc & MISC_CPUMODE_MASK;
      if (mode === MISC_KERNEL) {
        const { name, module } = kernelModuleName(filename);
        this.#kernelBinaries.push({
          name: this.names.internText(filename),
          shortName: module ? name : baseName(filename),
          module,
        });
      }
      if (baseName(filename) === "[vdso]") this.#vdso ??= filename;
    }
  }

  /**
   * Says when what is applied next was delivered. Only a machine that keeps its history needs it.
   *
   * @param offset File offset of the record; it orders what has the same time.
   */
  at(timeHi: number, timeLo: number, offset: number): void {
    this.#history.at(timeHi, timeLo, offset);
  }

  /**
   * The thread with the id `tid`; it is made where it is not known.
   *
   * @param pid Its process, or -1 where that is not known.
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

  /** The thread that has a thread id, or -1. */
  #known(tid: number): number {
    const i = this.#tidTable.find(tid);
    return i < 0 ? -1 : this.#byTid[i] as number;
  }

  /** The comm of a thread as text; `:tid` where none was recorded. */
  commText(thread: number): string {
    const comm = this.comms[thread] as number;
    return comm < 0 ? `:${this.tids[thread]}` : this.names.text(comm);
  }

  /**
   * The map that holds an address as a thread saw it, or -1.
   *
   * @param cpumode `misc & PERF_RECORD_MISC_CPUMODE_MASK` of the sample.
   * @returns The number of a map of {@link Machine.spaces}, valid until the next record.
   */
  map(thread: number, cpumode: number, hi: number, lo: number): number {
    const space = cpumode === MISC_KERNEL
      ? KERNEL_SPACE
      : cpumode === MISC_USER
      ? this.#threadSpaces[thread] as number
      : -1;
    if (space < 0) return -1;
    const { spaces } = this;
    const root = this.#roots[space] as number;
    if (this.#keepHistory && space !== KERNEL_SPACE) {
      return this.#layers.find(root, hi, lo, spaces);
    }
    // Samples come in flocks: the map of a thread's last one is often that of its next.
    const last = this.#lastMaps[space] as number;
    const h = hi >>> 0;
    const l = lo >>> 0;
    if (last >= 0 && space !== KERNEL_SPACE) {
      const startHi = spaces.startHi[last] as number;
      const endHi = spaces.endHi[last] as number;
      if (
        (h > startHi || (h === startHi && l >= (spaces.startLo[last] as number))) &&
        (h < endHi || (h === endHi && l < (spaces.endLo[last] as number)))
      ) return last;
    }
    const map = spaces.find(root, hi, lo);
    this.#lastMaps[space] = map;
    return map;
  }

  /**
   * A number that says what is mapped for a thread: as long as it stays, or where two threads have
   * the same, an address at which something is mapped leads to the same map. What is mapped where
   * there was nothing does not change it.
   */
  spaceVersion(thread: number): number {
    return this.#versions[this.#threadSpaces[thread] as number] as number;
  }

  /** {@link Machine.map} for the address at `at` of a record. */
  mapAt(thread: number, cpumode: number, view: DataView, at: number): number {
    const le = this.#littleEndian;
    // As signed numbers, which never cost an allocation; the halves are taken as bits.
    return this.map(
      thread,
      cpumode,
      view.getInt32(le ? at + 4 : at, le),
      view.getInt32(le ? at : at + 4, le),
    );
  }

  /** Path or bracketed name of a map: a number of {@link Machine.names}. */
  mapName(map: number): number {
    return this.#sourceName(this.spaces.source[map] as number);
  }

  #sourceName(source: number): number {
    const at = source * SOURCE_SIZE;
    const b = this.#sources.bytes;
    return (b[at] as number) | (b[at + 1] as number) << 8 | (b[at + 2] as number) << 16 |
      (b[at + 3] as number) << 24;
  }

  /** What a map was made from. */
  mapSource(map: number): MapSource {
    const view = new DataView(this.#sources.bytes.buffer);
    return decodeMapSource(view, (this.spaces.source[map] as number) * SOURCE_SIZE);
  }

  /**
   * The build id that the MMAP2 record of a map had: bytes, as a number of {@link Machine.names}, or
   * -1. Maps of the kernel have none.
   */
  mapBuildId(map: number): number {
    const at = (this.spaces.source[map] as number) * SOURCE_SIZE + 4;
    const b = this.#sources.bytes;
    return ((b[at] as number) | (b[at + 1] as number) << 8 | (b[at + 2] as number) << 16 |
      (b[at + 3] as number) << 24) - 1;
  }

  /**
   * The symbol of the kernel that KSYMBOL records gave for an address, if any.
   *
   * @returns Its name as a number of {@link Machine.names}, and the distance of the address.
   */
  ksymbol(hi: number, lo: number): { readonly name: number; readonly offset: number } | undefined {
    const map = this.spaces.find(this.#roots[KERNEL_SPACE] as number, hi, lo);
    const symbol = this.#ksymbols.get(map);
    if (symbol === undefined) return undefined;
    const offset = (hi - (this.spaces.startHi[map] as number)) * 2 ** 32 + lo -
      (this.spaces.startLo[map] as number);
    return offset < symbol.size ? { name: symbol.name, offset } : undefined;
  }

  /**
   * Applies the record in `[start, end)` of `bytes`. Records that change nothing are passed over,
   * and so are those too short for what they should hold.
   *
   * @param view The same bytes, for reads.
   */
  apply(bytes: Uint8Array, view: DataView, start: number, end: number): void {
    const le = this.#littleEndian;
    const type = view.getUint32(start, le);
    const misc = view.getUint16(start + 4, le);
    switch (type) {
      case MMAP:
      case MMAP2:
        if (end - start >= leastSize(type)) {
          this.applyMmap(view, start, this.mmapSource(bytes, view, start, end));
        }
        break;
      case COMM:
        // perf_record_comm: pid, tid, comm.
        if (end - start >= 16) {
          this.#change();
          const thread = this.thread(view.getInt32(start + 8, le), view.getInt32(start + 12, le));
          this.#setComm(thread, this.names.internUntilNul(bytes, start + 16, end));
        }
        break;
      case FORK:
        // perf_record_fork: pid, ppid, tid, ptid, time.
        this.wrongParent = undefined;
        if (end - start >= 32) this.#fork(view, start, misc);
        break;
      case EXIT:
        // The thread stays known: its last samples may come after. But its pid may be news.
        if (end - start >= 32) {
          const tid = view.getInt32(start + 16, le);
          if (this.#known(tid) >= 0) {
            this.#change();
            this.thread(view.getInt32(start + 8, le), tid);
          }
        }
        break;
      case NAMESPACES:
      case SAMPLE:
        if (type === NAMESPACES && end - start >= 16) {
          this.#change();
          this.thread(view.getInt32(start + 8, le), view.getInt32(start + 12, le));
        }
        break;
      case KSYMBOL:
        // perf_record_ksymbol: u64 addr, u32 len, u16 ksym_type, u16 flags, name.
        if (end - start >= 24) this.#ksymbolRecord(bytes, view, start, end);
        break;
    }
  }

  /**
   * The state at any time, as it was applied so far: an immutable copy that can be handed to
   * workers.
   *
   * @throws {RangeError} Where the machine does not keep its history.
   */
  history(): MachineHistory {
    if (!this.#keepHistory) throw new RangeError("machine: made without `history: true`");
    return new MachineHistory(
      this.#history.freeze(
        this.#tidTable,
        this.#spaceCount,
        this.spaces,
        this.#layers,
        this.names,
        this.#sources,
      ),
    );
  }

  /** Begins a change: what is logged from here on belongs to one moment. */
  #change(): void {
    if (this.#keepHistory) this.#history.begin();
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
    const i = this.#tidTable.add(tid);
    if (i >= this.#byTid.length) this.#byTid = enlarge(this.#byTid, i + 1);
    this.#byTid[i] = thread;
    let space: number;
    if (pid === tid || pid === -1) {
      space = this.#addSpace();
    } else {
      space = this.#threadSpaces[this.thread(pid, pid)] as number;
    }
    this.#threadSpaces[thread] = space;
    this.#users[space] = (this.#users[space] as number) + 1;
    if (this.#keepHistory) this.#logThread(thread);
    return thread;
  }

  #addSpace(): number {
    const space = this.#freeSpaces.pop() ?? this.#spaceCount++;
    if (space >= this.#roots.length) {
      this.#roots = enlarge(this.#roots, space + 1);
      this.#owners = enlarge(this.#owners, space + 1);
      this.#users = enlarge(this.#users, space + 1);
      this.#versions = enlarge(this.#versions, space + 1);
      this.#sharedVersion = enlarge(this.#sharedVersion, space + 1);
      this.#lastMaps = enlarge(this.#lastMaps, space + 1);
    }
    this.#users[space] = 0;
    this.#setRoot(space, 0);
    this.#newVersion(space);
    this.#owners[space] = this.#nextOwner++;
    return space;
  }

  #newVersion(space: number): void {
    this.#versions[space] = this.#nextVersion++;
    this.#sharedVersion[space] = 0;
  }

  #setRoot(space: number, root: number): void {
    this.#roots[space] = root;
    // A tree that is altered in place may keep its root.
    this.#lastMaps[space] = -1;
    if (this.#keepHistory) {
      this.#history.space(space, root);
    }
  }

  #logThread(thread: number): void {
    this.#history.thread(
      this.#tidTable.find(this.tids[thread] as number),
      thread,
      this.pids[thread] as number,
      this.#threadSpaces[thread] as number,
      this.comms[thread] as number,
    );
  }

  #setComm(thread: number, comm: number): void {
    this.comms[thread] = comm;
    if (this.#keepHistory) this.#logThread(thread);
  }

  /** A thread that was known by its tid only turns out to belong to a process. */
  #learnPid(thread: number, pid: number): void {
    this.pids[thread] = pid;
    if (pid !== this.tids[thread]) {
      const space = this.#threadSpaces[this.thread(pid, pid)] as number;
      if (space !== this.#threadSpaces[thread]) {
        this.#dropSpace(this.#threadSpaces[thread] as number);
        this.#threadSpaces[thread] = space;
        this.#users[space] = (this.#users[space] as number) + 1;
      }
    }
    if (this.#keepHistory) this.#logThread(thread);
  }

  #dropSpace(space: number): void {
    const users = (this.#users[space] as number) - 1;
    this.#users[space] = users;
    if (users === 0 && !this.#keepHistory) {
      this.#roots[space] = 0;
      this.#freeSpaces.push(space);
    }
  }

  #removeThread(thread: number): void {
    this.#byTid[this.#tidTable.find(this.tids[thread] as number)] = -1;
    this.#dropSpace(this.#threadSpaces[thread] as number);
    this.#lastTid = -1;
    this.#lastThread = -1;
    if (!this.#keepHistory) this.#freeThreads.push(thread);
  }

  #fork(view: DataView, start: number, misc: number): void {
    const le = this.#littleEndian;
    const pid = view.getInt32(start + 8, le);
    const ppid = view.getInt32(start + 12, le);
    const tid = view.getInt32(start + 16, le);
    const ptid = view.getInt32(start + 20, le);
    this.#change();
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
    if (parentComm >= 0) this.#setComm(thread, parentComm);
    const space = this.#threadSpaces[thread] as number;
    // A thread shares the maps of its process; a process gets a copy, but not where perf wrote the
    // FORK of a process that was there already and whose maps follow.
    if (this.pids[thread] === ppid || space === parentSpace || misc & MISC_FORK_EXEC) return;
    if (this.#roots[space] === 0) {
      this.#setRoot(space, this.#roots[parentSpace] as number);
      this.#versions[space] = this.#versions[parentSpace] as number;
      this.#sharedVersion[space] = this.#sharedVersion[parentSpace] = 1;
      this.#owners[space] = this.#nextOwner++;
      this.#owners[parentSpace] = this.#nextOwner++;
    } else {
      const { spaces } = this;
      const root = this.#roots[parentSpace] as number;
      const maps = this.#keepHistory ? this.#layers.maps(root) : spaces.maps(root);
      for (const map of maps) {
        this.#insert(
          space,
          spaces.startHi[map] as number,
          spaces.startLo[map] as number,
          spaces.endHi[map] as number,
          spaces.endLo[map] as number,
          spaces.pgoffHi[map] as number,
          spaces.pgoffLo[map] as number,
          spaces.source[map] as number,
        );
      }
    }
  }

  #insert(
    space: number,
    startHi: number,
    startLo: number,
    endHi: number,
    endLo: number,
    pgoffHi: number,
    pgoffLo: number,
    source: number,
  ): void {
    if (this.#keepHistory) {
      if (startHi === endHi && startLo === endLo) return;
      const map = this.spaces.addMap(startHi, startLo, endHi, endLo, pgoffHi, pgoffLo, source);
      this.#setRoot(space, this.#layers.push(this.#roots[space] as number, map));
      return;
    }
    const root = this.spaces.insert(
      this.#roots[space] as number,
      this.#owners[space] as number,
      startHi,
      startLo,
      endHi,
      endLo,
      pgoffHi,
      pgoffLo,
      source,
    );
    this.#setRoot(space, root);
    if (this.spaces.replaced || this.#sharedVersion[space] === 1) this.#newVersion(space);
    if (this.spaces.nodeCount > this.#compactAt) this.#compact();
  }

  #compact(): void {
    const maps = Int32Array.from([this.#kernelMap, ...this.#ksymbols.keys()]);
    const symbols = [...this.#ksymbols.values()];
    this.spaces.compact(this.#roots.subarray(0, this.#spaceCount), maps);
    this.#kernelMap = maps[0] as number;
    this.#lastMaps.fill(-1);
    this.#ksymbols.clear();
    symbols.forEach((symbol, i) => this.#ksymbols.set(maps[i + 1] as number, symbol));
    this.#compactAt = Math.max(1 << 16, 2 * this.spaces.nodeCount);
  }

  /**
   * What an MMAP or MMAP2 record maps, all of it but where: a number that is the same for records
   * that map the same. It is there to hand to {@link Machine.applyMmap}, and changes nothing.
   *
   * @param view The same bytes, for reads.
   */
  mmapSource(bytes: Uint8Array, view: DataView, start: number, end: number): number {
    const le = this.#littleEndian;
    const type = view.getUint32(start, le);
    const misc = view.getUint16(start + 4, le);
    const key = this.#sourceView;
    this.#sourceKey.fill(0);
    let prot = misc & MISC_MMAP_DATA ? 0 : PROT_EXEC;
    let flags = 0;
    if (type === MMAP2) {
      prot = view.getUint32(start + 64, le);
      flags = view.getUint32(start + 68, le);
      if (misc & MISC_MMAP_BUILD_ID) {
        const size = Math.min(view.getUint8(start + 40), 20);
        const id = this.names.intern(bytes, start + 44, start + 44 + size);
        key.setUint32(4, id + 1, true);
      } else {
        key.setUint32(16, view.getUint32(start + 40, le), true);
        key.setUint32(20, view.getUint32(start + 44, le), true);
        key.setUint32(24, view.getUint32(start + (le ? 48 : 52), le), true);
        key.setUint32(28, view.getUint32(start + (le ? 52 : 48), le), true);
      }
    }
    const name = this.names.internUntilNul(bytes, start + leastSize(type), end);
    key.setUint32(0, name, true);
    key.setUint32(8, prot, true);
    key.setUint32(12, flags, true);
    const source = this.#sources.intern(this.#sourceKey, 0, SOURCE_SIZE);
    if (this.#kinds[source] === undefined) {
      const kind = mappingKind(this.names.get(name));
      this.#kinds[source] = kind;
      if (kind === VDSO) {
        this.#calledHere[source] = this.#renamed(source, this.#vdso ?? "[vdso]");
      } else {
        const made = (kind === NO_FILE || flags & MAP_HUGETLB) && prot & PROT_EXEC;
        this.#calledHere[source] = made ? -1 : source;
      }
    }
    return source;
  }

  /** The same source under another name. */
  #renamed(source: number, name: string): number {
    const key = this.#sourceKey;
    key.set(this.#sources.get(source));
    this.#sourceView.setUint32(0, this.names.internText(name), true);
    return this.#sources.intern(key, 0, SOURCE_SIZE);
  }

  /**
   * Applies an MMAP or MMAP2 record, of which only the first 40 bytes are looked at.
   *
   * @param source What {@link Machine.mmapSource} returned for the record.
   */
  applyMmap(view: DataView, start: number, source: number): void {
    const le = this.#littleEndian;
    const lowAt = le ? 0 : 4;
    const highAt = 4 - lowAt;
    const startLo = view.getUint32(start + 16 + lowAt, le);
    const startHi = view.getUint32(start + 16 + highAt, le);
    const sum = startLo + view.getUint32(start + 24 + lowAt, le);
    const endLo = sum >>> 0;
    const endHi = (startHi + view.getUint32(start + 24 + highAt, le) + (sum >= 2 ** 32 ? 1 : 0)) >>>
      0;
    let pgoffLo = view.getUint32(start + 32 + lowAt, le);
    let pgoffHi = view.getUint32(start + 32 + highAt, le);
    this.#change();
    const mode = view.getUint16(start + 4, le) & MISC_CPUMODE_MASK;
    if (mode === MISC_KERNEL || mode === MISC_GUEST_KERNEL) {
      const name = this.#sourceName(source);
      this.#kernelMmap(name, startHi, startLo, endHi, endLo, pgoffHi, pgoffLo);
      return;
    }
    const thread = this.thread(view.getInt32(start + 8, le), view.getInt32(start + 12, le));
    if (this.#kinds[source] === VDSO) pgoffLo = pgoffHi = 0;
    let called = this.#calledHere[source] as number;
    if (called < 0) {
      // Code that a runtime made: its symbols are in a file that goes by the process.
      const pid = this.pids[thread] as number;
      called = pid === 0 ? source : this.#renamed(source, `/tmp/perf-${pid}.map`);
    }
    const space = this.#threadSpaces[thread] as number;
    this.#insert(space, startHi, startLo, endHi, endLo, pgoffHi, pgoffLo, called);
  }

  /** A map of the kernel itself, of a module, or of code beside it. */
  #kernelMmap(
    name: number,
    startHi: number,
    startLo: number,
    endHi: number,
    endLo: number,
    pgoffHi: number,
    pgoffLo: number,
  ): void {
    const text = this.names.text(name);
    const isKernel = text.startsWith("[kernel.kallsyms");
    if (text.startsWith("/") || (!isKernel && text.startsWith("["))) {
      const { name: shortName, module } = kernelModuleName(text);
      let binary = this.#kernelBinaries.find((known) => known.shortName === shortName);
      if (binary === undefined) {
        binary = { name, shortName, module };
        this.#kernelBinaries.push(binary);
      }
      this.#addKernelMap(binary.name, startHi, startLo, endHi, endLo, pgoffHi, pgoffLo);
    } else if (isKernel) {
      let kernel = this.#kernelBinaries.find((known) => !known.module);
      if (kernel === undefined) {
        kernel = {
          name: this.names.internText("[kernel.kallsyms]"),
          shortName: "[kernel.kallsyms]",
          module: false,
        };
        this.#kernelBinaries.push(kernel);
      }
      if (this.#kernelMap >= 0) this.#removeKernelMap(this.#kernelMap);
      // Some files have a kernel map of no size at 0: it means all there is.
      const all = startHi === 0 && startLo === 0 && endHi === 0 && endLo === 0;
      this.#kernelMap = this.#addKernelMap(
        kernel.name,
        startHi,
        startLo,
        all ? 0xffff_ffff : endHi,
        all ? 0xffff_ffff : endLo,
        pgoffHi,
        pgoffLo,
      );
    } else if (this.#arch === "x86_64" && text.startsWith(ENTRY_TRAMPOLINE)) {
      const kernel = this.#kernelBinaries.find((known) => !known.module);
      if (kernel !== undefined) {
        this.#addKernelMap(kernel.name, startHi, startLo, endHi, endLo, pgoffHi, pgoffLo);
      }
    }
  }

  #addKernelMap(
    name: number,
    startHi: number,
    startLo: number,
    endHi: number,
    endLo: number,
    pgoffHi: number,
    pgoffLo: number,
  ): number {
    this.#sourceKey.fill(0);
    this.#sourceView.setUint32(0, name, true);
    const source = this.#sources.intern(this.#sourceKey, 0, SOURCE_SIZE);
    const map = this.spaces.addMap(startHi, startLo, endHi, endLo, pgoffHi, pgoffLo, source);
    const owner = this.#keepHistory ? this.#history.epochs : this.#owners[KERNEL_SPACE] as number;
    this.#setRoot(
      KERNEL_SPACE,
      this.spaces.add(this.#roots[KERNEL_SPACE] as number, owner, map),
    );
    return map;
  }

  #removeKernelMap(map: number): void {
    const owner = this.#keepHistory ? this.#history.epochs : this.#owners[KERNEL_SPACE] as number;
    this.#setRoot(
      KERNEL_SPACE,
      this.spaces.remove(this.#roots[KERNEL_SPACE] as number, owner, map),
    );
    this.#ksymbols.delete(map);
  }

  #ksymbolRecord(bytes: Uint8Array, view: DataView, start: number, end: number): void {
    const le = this.#littleEndian;
    const lo = view.getUint32(start + (le ? 8 : 12), le);
    const hi = view.getUint32(start + (le ? 12 : 8), le);
    const size = view.getUint32(start + 16, le);
    const map = this.spaces.find(this.#roots[KERNEL_SPACE] as number, hi, lo);
    this.#change();
    if (view.getUint16(start + 22, le) & KSYMBOL_UNREGISTER) {
      if (map >= 0 && map !== this.#kernelMap) this.#removeKernelMap(map);
    } else if (map < 0) {
      const name = this.names.internUntilNul(bytes, start + 24, end);
      const shown = isBpfImage(this.names.text(name)) ? this.names.internText("") : name;
      const sum = lo + size;
      const endHi = (hi + (sum >= 2 ** 32 ? 1 : 0)) >>> 0;
      const own = this.#addKernelMap(shown, hi, lo, endHi, sum >>> 0, 0, 0);
      this.#ksymbols.set(own, { name, size });
    }
  }
}

/** Bytes before the file name of an MMAP or MMAP2 record. */
function leastSize(type: number): number {
  // perf_record_mmap: pid, tid, start, len, pgoff. perf_record_mmap2: as MMAP, then 24 bytes of device
  // and inode or build id, prot, flags.
  return type === MMAP ? 40 : 72;
}

/** Bytes of what a map was made from: name, build id, prot, flags, device, inode (u32 each). */
const SOURCE_SIZE = 32;
const ENTRY_TRAMPOLINE = "__entry_SYSCALL_64_trampoline";

const FILE = 0;
const NO_FILE = 1;
const VDSO = 2;

/** What a mapping's file name means: a file, memory without one, or the vdso. */
function mappingKind(name: Uint8Array): number {
  const first = name[0];
  if (first !== 0x2f && first !== 0x5b) return FILE;
  const text = String.fromCharCode(...name.subarray(0, 16));
  if (text === "[vdso]") return VDSO;
  return text === "//anon" || text.startsWith("/dev/zero") || text.startsWith("/anon_hugepage") ||
      text.startsWith("[stack") || text.startsWith("/SYSV") || text === "[heap]"
    ? NO_FILE
    : FILE;
}

function baseName(path: string): string {
  const trimmed = path.replace(/\/+$/, "");
  return trimmed.slice(trimmed.lastIndexOf("/") + 1);
}

function isBpfImage(name: string): boolean {
  return name.startsWith("bpf_trampoline_") || name.startsWith("bpf_dispatcher_");
}

/**
 * The name that a module goes by: `[ext4]` for `/lib/modules/…/ext4.ko.xz`. A name in brackets is a
 * module unless it is one of the kernel's own; any other file goes by its last part.
 */
export function kernelModuleName(path: string): { name: string; module: boolean } {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (name.startsWith("[")) {
    const own = /^\[(kernel\.kallsyms\]|guest\.kernel\.kallsyms|vdso(x?32)?\]|vsyscall\])/;
    return { name, module: !own.test(name) };
  }
  const plain = name.replace(/\.(gz|xz|zst)$/, "");
  const dot = plain.lastIndexOf(".");
  if (dot > 0 && plain.startsWith(".ko", dot)) {
    return { name: `[${plain.slice(0, dot)}]`.replaceAll("-", "_"), module: true };
  }
  return { name: name.includes(".") ? name.replaceAll("-", "_") : name, module: false };
}

/** Appends rows of numbers; what is the history of a machine is made of such tables. */
class Rows {
  readonly #width: number;
  #used = 0;
  #cells: Int32Array<ArrayBuffer>;

  constructor(width: number, rows: number) {
    this.#width = width;
    this.#cells = new Int32Array(rows * width);
  }

  push(a: number, b: number, c: number, d: number = 0, e: number = 0, f: number = 0): void {
    const width = this.#width;
    let at = this.#used;
    let cells = this.#cells;
    // Of what changes twice in one epoch, only the last state is ever seen.
    if (at > 0 && cells[at - width] === a && cells[at - width + 1] === b) at -= width;
    else {
      this.#used = at + width;
      if (at + width > cells.length) cells = this.#cells = enlarge(cells, at + width);
    }
    cells[at] = a;
    cells[at + 1] = b;
    cells[at + 2] = c;
    if (width === 3) return;
    cells[at + 3] = d;
    cells[at + 4] = e;
    cells[at + 5] = f;
  }

  /**
   * All columns but the first, with the rows ordered by the first, those with the same value in the
   * order they came; and before them where the rows of each value start.
   *
   * @param values One more than the highest value.
   * @param room Makes room for the columns.
   */
  sorted(values: number, room: Room): Int32Array<ArrayBuffer>[] {
    const width = this.#width;
    const cells = this.#cells;
    const used = this.#used;
    const starts = new Int32Array(values + 1);
    for (let at = 0; at < used; at += width) {
      const value = cells[at] as number;
      starts[value + 1] = (starts[value + 1] as number) + 1;
    }
    for (let i = 1; i <= values; i++) {
      starts[i] = (starts[i] as number) + (starts[i - 1] as number);
    }
    const next = starts.slice();
    const columns = Array.from({ length: width - 1 }, () => new Int32Array(room(4 * used / width)));
    for (let at = 0; at < used; at += width) {
      const value = cells[at] as number;
      const row = next[value] as number;
      next[value] = row + 1;
      for (let c = 1; c < width; c++) {
        (columns[c - 1] as Int32Array)[row] = cells[at + c] as number;
      }
    }
    return [starts, ...columns];
  }
}

/** Writes down each change of a machine. */
class HistoryLog {
  epochs = 0;
  #hi = 0;
  #lo = 0;
  #offset = 0;
  #timeHi: Uint32Array<ArrayBuffer>;
  #timeLo: Uint32Array<ArrayBuffer>;
  #offsets: Float64Array<ArrayBuffer>;
  readonly #threads: Rows;
  readonly #spaces: Rows;

  readonly #room: Room;

  constructor(records: number, room: Room) {
    this.#room = room;
    this.#timeHi = new Uint32Array(room(4 * records));
    this.#timeLo = new Uint32Array(room(4 * records));
    this.#offsets = new Float64Array(room(8 * records));
    this.#threads = new Rows(6, records);
    this.#spaces = new Rows(3, records);
  }

  at(hi: number, lo: number, offset: number): void {
    // What is delivered late belongs to when it was delivered.
    if (hi > this.#hi || (hi === this.#hi && lo > this.#lo)) {
      this.#hi = hi;
      this.#lo = lo;
    }
    this.#offset = offset;
  }

  begin(): void {
    const epoch = this.epochs++;
    if (epoch >= this.#timeHi.length) {
      this.#timeHi = enlarge(this.#timeHi, epoch + 1);
      this.#timeLo = enlarge(this.#timeLo, epoch + 1);
      this.#offsets = enlarge(this.#offsets, epoch + 1);
    }
    this.#timeHi[epoch] = this.#hi;
    this.#timeLo[epoch] = this.#lo;
    this.#offsets[epoch] = this.#offset;
  }

  thread(tid: number, thread: number, pid: number, space: number, comm: number): void {
    this.#threads.push(tid, this.epochs, thread, pid, space, comm);
  }

  space(space: number, root: number): void {
    this.#spaces.push(space, this.epochs, root);
  }

  freeze(
    tids: TidTable,
    spaceCount: number,
    spaces: AddressSpaces,
    layers: MapLayers,
    names: NameTable,
    sources: NameTable,
  ) {
    const n = this.epochs;
    const [rowStarts, rowEpochs, threads, pids, threadSpaces, comms] = this.#threads.sorted(
      tids.count,
      this.#room,
    ) as [Column, Column, Column, Column, Column, Column];
    const [spaceStarts, spaceEpochs, roots] = this.#spaces.sorted(spaceCount, this.#room) as [
      Column,
      Column,
      Column,
    ];
    const maps = spaces.mapCount;
    const nodes = spaces.nodeCount;
    return {
      timeHi: this.#timeHi.subarray(0, n),
      timeLo: this.#timeLo.subarray(0, n),
      offsets: this.#offsets.subarray(0, n),
      tidSlots: tids.slots,
      tids: tids.tids.subarray(0, tids.count),
      rowStarts,
      rowEpochs,
      threads,
      pids,
      threadSpaces,
      comms,
      spaceStarts,
      spaceEpochs,
      roots,
      left: spaces.left.subarray(0, nodes),
      right: spaces.right.subarray(0, nodes),
      nodeMaps: spaces.map.subarray(0, nodes),
      startHi: spaces.startHi.subarray(0, maps),
      startLo: spaces.startLo.subarray(0, maps),
      endHi: spaces.endHi.subarray(0, maps),
      endLo: spaces.endLo.subarray(0, maps),
      pgoffHi: spaces.pgoffHi.subarray(0, maps),
      pgoffLo: spaces.pgoffLo.subarray(0, maps),
      mapSources: spaces.source.subarray(0, maps),
      below: layers.below.subarray(0, maps),
      depths: layers.depths.subarray(0, maps),
      sources: sources.bytes.subarray(0, sources.starts[sources.count]),
      nameStarts: names.starts.subarray(0, names.count + 1),
      nameBytes: names.bytes.subarray(0, names.starts[names.count]),
    };
  }
}

type Column = Int32Array<ArrayBuffer>;
