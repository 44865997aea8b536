import { AddressSpaces } from "./machine_maps.ts";
import { decodeMapSource, MachineHistory, type MapSource } from "./machine_history.ts";
import { enlarge, NameTable } from "./machine_names.ts";

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

/** The address space of the kernel and its modules. */
export const KERNEL_SPACE = 0;

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
  readonly spaces: AddressSpaces = new AddressSpaces();
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
  readonly #byTid = new Map<number, number>();
  #lastTid = -1;
  #lastThread = -1;
  /** The map that was found last in each space, or -1. */
  #lastMaps = new Int32Array(256).fill(-1);
  #roots = new Int32Array(256);
  #owners = new Int32Array(256);
  #users = new Int32Array(256);
  #spaceCount = 1;
  #freeSpaces: number[] = [];
  #nextOwner = 1;
  #compactAt = 1 << 16;
  #kernelMap = -1;
  /** What each name means as that of a mapping. */
  readonly #kinds: number[] = [];
  readonly #kernelBinaries: KernelBinary[] = [];
  #vdso: string | undefined;
  #arch: string | undefined;
  /** Symbols that KSYMBOL records gave, by the map they made: name and size. */
  readonly #ksymbols = new Map<number, { name: number; size: number }>();
  readonly #history = new HistoryLog();

  /**
   * Makes a machine that has nothing but the idle task.
   *
   * @param littleEndian Byte order of the records.
   */
  constructor(littleEndian: boolean = true, options: MachineOptions = {}) {
    this.#littleEndian = littleEndian;
    this.#keepHistory = options.history === true;
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
    const known = this.#byTid.get(tid);
    const thread = known ?? this.#addThread(pid, tid);
    if (known !== undefined && this.pids[known] === -1 && pid !== -1) this.#learnPid(known, pid);
    this.#lastTid = tid;
    this.#lastThread = thread;
    return thread;
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
    const map = spaces.find(this.#roots[space] as number, hi, lo);
    this.#lastMaps[space] = map;
    return map;
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
    const source = this.spaces.source[map] as number;
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
        // perf_record_mmap: pid, tid, start, len, pgoff, filename.
        if (end - start >= 40) this.#mmap(bytes, view, start, end, misc, 40);
        break;
      case MMAP2:
        // perf_record_mmap2: as MMAP, then 24 bytes of device and inode or build id, prot, flags.
        if (end - start >= 72) this.#mmap(bytes, view, start, end, misc, 72);
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
          if (this.#byTid.has(tid)) {
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
    return new MachineHistory(this.#history.freeze(this.spaces, this.names, this.#sources));
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
    this.#byTid.set(tid, thread);
    let space: number;
    if (pid === tid || pid === -1) {
      space = this.#addSpace();
    } else {
      space = this.#threadSpaces[this.thread(pid, pid)] as number;
    }
    this.#threadSpaces[thread] = space;
    this.#users[space] = (this.#users[space] as number) + 1;
    if (this.#keepHistory) {
      this.#history.tid(tid, thread);
      this.#logThread(thread);
    }
    return thread;
  }

  #addSpace(): number {
    const space = this.#freeSpaces.pop() ?? this.#spaceCount++;
    if (space >= this.#roots.length) {
      this.#roots = enlarge(this.#roots, space + 1);
      this.#owners = enlarge(this.#owners, space + 1);
      this.#users = enlarge(this.#users, space + 1);
      this.#lastMaps = enlarge(this.#lastMaps, space + 1);
    }
    this.#users[space] = 0;
    this.#setRoot(space, 0);
    this.#owners[space] = this.#nextOwner++;
    return space;
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
    this.#byTid.delete(this.tids[thread] as number);
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
    const old = this.#byTid.has(tid) ? this.thread(pid, tid) : -1;
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
      this.#owners[space] = this.#nextOwner++;
      this.#owners[parentSpace] = this.#nextOwner++;
    } else {
      const { spaces } = this;
      spaces.forEach(this.#roots[parentSpace] as number, (map) => {
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
      });
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
    const owner = this.#keepHistory ? this.#history.epochs : this.#owners[space] as number;
    const root = this.spaces.insert(
      this.#roots[space] as number,
      owner,
      startHi,
      startLo,
      endHi,
      endLo,
      pgoffHi,
      pgoffLo,
      source,
    );
    this.#setRoot(space, root);
    if (!this.#keepHistory && this.spaces.nodeCount > this.#compactAt) this.#compact();
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

  #mmap(
    bytes: Uint8Array,
    view: DataView,
    start: number,
    end: number,
    misc: number,
    filename: number,
  ): void {
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
    const key = this.#sourceView;
    this.#sourceKey.fill(0);
    let prot = misc & MISC_MMAP_DATA ? 0 : PROT_EXEC;
    let flags = 0;
    if (filename === 72) {
      prot = view.getUint32(start + 64, le);
      flags = view.getUint32(start + 68, le);
      if (misc & MISC_MMAP_BUILD_ID) {
        const size = Math.min(view.getUint8(start + 40), 20);
        const id = this.names.intern(bytes, start + 44, start + 44 + size);
        key.setUint32(4, id + 1, true);
      } else {
        key.setUint32(16, view.getUint32(start + 40, le), true);
        key.setUint32(20, view.getUint32(start + 44, le), true);
        key.setUint32(24, view.getUint32(start + 48 + lowAt, le), true);
        key.setUint32(28, view.getUint32(start + 48 + highAt, le), true);
      }
    }
    key.setUint32(8, prot, true);
    key.setUint32(12, flags, true);
    this.#change();
    const mode = misc & MISC_CPUMODE_MASK;
    let name = this.names.internUntilNul(bytes, start + filename, end);
    if (mode === MISC_KERNEL || mode === MISC_GUEST_KERNEL) {
      this.#kernelMmap(name, startHi, startLo, endHi, endLo, pgoffHi, pgoffLo);
      return;
    }
    const thread = this.thread(view.getInt32(start + 8, le), view.getInt32(start + 12, le));
    const kind = this.#kinds[name] ??= mappingKind(this.names.get(name));
    if (kind === VDSO) {
      name = this.names.internText(this.#vdso ?? "[vdso]");
      pgoffLo = pgoffHi = 0;
    } else if (
      (kind === NO_FILE || flags & MAP_HUGETLB) && prot & PROT_EXEC && this.pids[thread] !== 0
    ) {
      // Code that a runtime made: its symbols are in a file that goes by the process.
      name = this.names.internText(`/tmp/perf-${this.pids[thread]}.map`);
    }
    key.setUint32(0, name, true);
    const source = this.#sources.intern(this.#sourceKey, 0, SOURCE_SIZE);
    const space = this.#threadSpaces[thread] as number;
    this.#insert(space, startHi, startLo, endHi, endLo, pgoffHi, pgoffLo, source);
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
function kernelModuleName(path: string): { name: string; module: boolean } {
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
  count = 0;
  readonly #width: number;
  #cells: Int32Array<ArrayBuffer>;

  constructor(width: number) {
    this.#width = width;
    this.#cells = new Int32Array(256 * width);
  }

  push(a: number, b: number, c: number, d: number = 0, e: number = 0): void {
    const width = this.#width;
    const at = this.count++ * width;
    if (at + width > this.#cells.length) this.#cells = enlarge(this.#cells, at + width);
    const cells = this.#cells;
    cells[at] = a;
    cells[at + 1] = b;
    cells[at + 2] = c;
    if (width === 3) return;
    cells[at + 3] = d;
    cells[at + 4] = e;
  }

  /** The columns of the rows ordered by the first, those with the same value in the order they came. */
  sorted(): Int32Array<ArrayBuffer>[] {
    const { count } = this;
    const width = this.#width;
    const cells = this.#cells;
    const columns = Array.from({ length: width }, () => new Int32Array(count));
    const order = this.#order();
    for (let c = 0; c < width; c++) {
      const column = columns[c] as Int32Array;
      for (let i = 0; i < count; i++) {
        column[i] = cells[(order[i] as number) * width + c] as number;
      }
    }
    return columns;
  }

  #order(): Float64Array | Uint32Array {
    const { count } = this;
    const width = this.#width;
    const cells = this.#cells;
    if (count > 2 ** 21) {
      return new Uint32Array(count).map((_, i) => i).sort((a, b) =>
        (cells[a * width] as number) - (cells[b * width] as number) || a - b
      );
    }
    // Value and row in one number: sorting without a function that compares is far faster.
    const keys = new Float64Array(count);
    for (let i = 0; i < count; i++) {
      keys[i] = ((cells[i * width] as number) + 2 ** 31) * 2 ** 21 + i;
    }
    keys.sort();
    for (let i = 0; i < count; i++) keys[i] = (keys[i] as number) % 2 ** 21;
    return keys;
  }
}

/** Writes down each change of a machine. */
class HistoryLog {
  epochs = 0;
  #hi = 0;
  #lo = 0;
  #offset = 0;
  #timeHi = new Uint32Array(256);
  #timeLo = new Uint32Array(256);
  #offsets = new Float64Array(256);
  readonly #tids = new Rows(3);
  readonly #threads = new Rows(5);
  readonly #spaces = new Rows(3);

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

  tid(tid: number, thread: number): void {
    this.#tids.push(tid, this.epochs, thread);
  }

  thread(thread: number, pid: number, space: number, comm: number): void {
    this.#threads.push(thread, this.epochs, pid, space, comm);
  }

  space(space: number, root: number): void {
    this.#spaces.push(space, this.epochs, root);
  }

  freeze(spaces: AddressSpaces, names: NameTable, sources: NameTable) {
    const n = this.epochs;
    const [tids, tidEpochs, tidThreads] = this.#tids.sorted() as [Column, Column, Column];
    const [threads, threadEpochs, pids, threadSpaces, comms] = this.#threads.sorted() as [
      Column,
      Column,
      Column,
      Column,
      Column,
    ];
    const [spaceIds, spaceEpochs, roots] = this.#spaces.sorted() as [Column, Column, Column];
    const maps = spaces.mapCount;
    const nodes = spaces.nodeCount;
    const starts = sources.starts.subarray(0, sources.count + 1);
    return {
      timeHi: this.#timeHi.slice(0, n),
      timeLo: this.#timeLo.slice(0, n),
      offsets: this.#offsets.slice(0, n),
      tids,
      tidEpochs,
      tidThreads,
      threads,
      threadEpochs,
      pids,
      threadSpaces,
      comms,
      spaceIds,
      spaceEpochs,
      roots,
      left: spaces.left.slice(0, nodes),
      right: spaces.right.slice(0, nodes),
      nodeMaps: spaces.map.slice(0, nodes),
      startHi: spaces.startHi.slice(0, maps),
      startLo: spaces.startLo.slice(0, maps),
      endHi: spaces.endHi.slice(0, maps),
      endLo: spaces.endLo.slice(0, maps),
      pgoffHi: spaces.pgoffHi.slice(0, maps),
      pgoffLo: spaces.pgoffLo.slice(0, maps),
      mapSources: spaces.source.slice(0, maps),
      sources: sources.bytes.slice(0, starts[sources.count]),
      nameStarts: names.starts.slice(0, names.count + 1),
      nameBytes: names.bytes.slice(0, names.starts[names.count]),
    };
  }
}

type Column = Int32Array<ArrayBuffer>;
