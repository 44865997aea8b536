import {
  PERF_RECORD_MISC_MMAP_BUILD_ID,
  PERF_RECORD_MISC_MMAP_DATA,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
} from "@perfdata/format/constants";
import {
  type Layout,
  layoutOf,
  MMAP,
  type Mmap,
  MMAP2,
  recordMisc,
} from "@perfdata/format/records";
import type { MapRange } from "./machine_maps.ts";
import { NameTable } from "./machine_names.ts";

const PROT_EXEC = 4;
const MAP_HUGETLB = 0x40000;

/** Origin of a map: the fields of its MMAP or MMAP2 record. */
export interface MapSource {
  /** Path or bracketed name: a number of the names. */
  readonly name: number;
  /** Bytes of the build id: a number of the names; -1 if the record has no build id. */
  readonly buildId: number;
  /** `PROT_*` bits. */
  readonly prot: number;
  /** `MAP_*` bits. */
  readonly flags: number;
  /** Major number of the device. */
  readonly maj: number;
  /** Minor number of the device. */
  readonly min: number;
  /** Inode number. */
  readonly ino: bigint;
  /** Process id of the guest that maps it, 0 for the default guest; -1 for the host. */
  readonly guest: number;
  /** Process that mapped it first; `undefined` for the kernel. */
  readonly pid: number | undefined;
}

// Offsets of the fields of MMAP, with which MMAP2 begins.
/** Offsets of the fields of MMAP, with which MMAP2 begins. */
export const MAP: Layout<Mmap> = layoutOf(MMAP);
const MAP2 = layoutOf(MMAP2);

/** Bytes before the file name of an MMAP or MMAP2 record. */
export function mmapSize(type: number): number {
  return (type === PERF_RECORD_MMAP ? MAP : MAP2).filename;
}

/** The range in an MMAP or MMAP2 record, which have it at the same offsets. */
export function rangeOfRecord(view: DataView, start: number, le: boolean): MapRange {
  const lowAt = le ? 0 : 4;
  const highAt = 4 - lowAt;
  const addr = start + MAP.addr;
  const len = start + MAP.len;
  const pgoff = start + MAP.pgoff;
  const startLo = view.getUint32(addr + lowAt, le);
  const startHi = view.getUint32(addr + highAt, le);
  const sum = startLo + view.getUint32(len + lowAt, le);
  return {
    startHi,
    startLo,
    endHi: (startHi + view.getUint32(len + highAt, le) + (sum >= 2 ** 32 ? 1 : 0)) >>> 0,
    endLo: sum >>> 0,
    pgoffHi: view.getUint32(pgoff + highAt, le),
    pgoffLo: view.getUint32(pgoff + lowAt, le),
  };
}

/** Bytes of a source: name, build id, prot, flags, device, inode, guest + 1 (u32 each). */
const SOURCE_SIZE = 36;

/** Kinds of mapped memory, by the file name of the mapping. */
export const MAPPED = {
  /** A file. */
  FILE: 0,
  /** Memory without a file. */
  NO_FILE: 1,
  /** The virtual dynamic shared object. */
  VDSO: 2,
  /**
   * The kernel of a guest. The CPU mode of the record does not tell: perf 4.4 writes that of the
   * host's kernel.
   */
  GUEST_KERNEL: 3,
} as const;

/** Origins of maps by index. Records that map the same file have the same number. */
export class MapSources {
  /** Path or bracketed name of the vdso, if the recording has it. */
  vdso: string | undefined;
  readonly #names: NameTable;
  readonly #littleEndian: boolean;
  readonly #sources = new NameTable();
  readonly #key = new Uint8Array(SOURCE_SIZE);
  readonly #view = new DataView(this.#key.buffer);
  /** Kind of each source of a record: {@link MAPPED}. */
  readonly #kinds: (number | undefined)[] = [];
  /** Source under its own name; -1 if the name depends on the process. */
  readonly #calledHere: number[] = [];
  /** Process that mapped each source first. */
  readonly #pids: (number | undefined)[] = [];

  /**
   * Starts without sources.
   *
   * @param names Indices of names.
   * @param littleEndian Byte order of the records.
   */
  constructor(names: NameTable, littleEndian: boolean) {
    this.#names = names;
    this.#littleEndian = littleEndian;
  }

  /** Name of a source: a number of the names. */
  name(source: number): number {
    const at = source * SOURCE_SIZE;
    const b = this.#sources.bytes;
    return (b[at] as number) | (b[at + 1] as number) << 8 | (b[at + 2] as number) << 16 |
      (b[at + 3] as number) << 24;
  }

  /** The fields of a source. */
  get(source: number): MapSource {
    const view = new DataView(this.#sources.bytes.buffer);
    const at = source * SOURCE_SIZE;
    return {
      name: view.getUint32(at, true),
      buildId: view.getUint32(at + 4, true) - 1,
      prot: view.getUint32(at + 8, true),
      flags: view.getUint32(at + 12, true),
      maj: view.getUint32(at + 16, true),
      min: view.getUint32(at + 20, true),
      ino: view.getBigUint64(at + 24, true),
      guest: view.getInt32(at + 32, true) - 1,
      pid: this.#pids[source],
    };
  }

  /** Kind of a source of {@link MapSources.ofRecord}: {@link MAPPED}. */
  kind(source: number): number {
    return this.#kinds[source] ?? MAPPED.FILE;
  }

  /**
   * The source under the name that it has in a process: memory without a file is named after the
   * process's perf map, where symbols of generated code are.
   */
  called(source: number, pid: number): number {
    const called = this.#calledHere[source] as number;
    if (called >= 0) {
      this.#pids[called] ??= pid;
      return called;
    }
    return pid === 0 ? source : this.#renamed(source, `/tmp/perf-${pid}.map`);
  }

  /**
   * The source of a kernel map: name, build id and machine.
   *
   * @param buildId Bytes of the build id, as a name; -1 if unknown.
   * @param guest Process id of the guest, or -1 for the host.
   */
  ofKernel(name: number, buildId: number = -1, guest: number = -1): number {
    this.#key.fill(0);
    this.#view.setUint32(0, name, true);
    this.#view.setUint32(4, buildId + 1, true);
    this.#view.setInt32(32, guest + 1, true);
    return this.#sources.intern(this.#key, 0, SOURCE_SIZE);
  }

  /** A copy of the source for a guest. */
  inGuest(source: number, guest: number): number {
    const key = this.#key;
    key.set(this.#sources.get(source));
    this.#view.setInt32(32, guest + 1, true);
    return this.#sources.intern(key, 0, SOURCE_SIZE);
  }

  /** The source of an MMAP or MMAP2 record in `[start, end)`: all fields except the range. */
  ofRecord(bytes: Uint8Array, view: DataView, start: number, end: number): number {
    const le = this.#littleEndian;
    const type = view.getUint32(start, le);
    const misc = recordMisc(view, start, le);
    const key = this.#view;
    this.#key.fill(0);
    let prot = misc & PERF_RECORD_MISC_MMAP_DATA ? 0 : PROT_EXEC;
    let flags = 0;
    if (type === PERF_RECORD_MMAP2) {
      prot = view.getUint32(start + MAP2.prot, le);
      flags = view.getUint32(start + MAP2.flags, le);
      if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
        const size = Math.min(view.getUint8(start + MAP2.build_id_size), 20);
        const id = this.#names.intern(bytes, start + MAP2.build_id, start + MAP2.build_id + size);
        key.setUint32(4, id + 1, true);
      } else {
        const ino = start + MAP2.ino;
        key.setUint32(16, view.getUint32(start + MAP2.maj, le), true);
        key.setUint32(20, view.getUint32(start + MAP2.min, le), true);
        key.setUint32(24, view.getUint32(ino + (le ? 0 : 4), le), true);
        key.setUint32(28, view.getUint32(ino + (le ? 4 : 0), le), true);
      }
    }
    const name = this.#names.internUntilNul(bytes, start + mmapSize(type), end);
    key.setUint32(0, name, true);
    key.setUint32(8, prot, true);
    key.setUint32(12, flags, true);
    const source = this.#sources.intern(this.#key, 0, SOURCE_SIZE);
    if (this.#kinds[source] === undefined) {
      const kind = mappingKind(this.#names.get(name));
      this.#kinds[source] = kind;
      if (kind === MAPPED.VDSO) {
        this.#calledHere[source] = this.#renamed(source, this.vdso ?? "[vdso]");
      } else {
        const made = (kind === MAPPED.NO_FILE || flags & MAP_HUGETLB) && prot & PROT_EXEC;
        this.#calledHere[source] = made ? -1 : source;
      }
    }
    return source;
  }

  #renamed(source: number, name: string): number {
    const key = this.#key;
    key.set(this.#sources.get(source));
    this.#view.setUint32(0, this.#names.internText(name), true);
    return this.#sources.intern(key, 0, SOURCE_SIZE);
  }
}

/**
 * Prefix of `/memfd:doublemapper`, which .NET maps twice: writable and executable. Its code has
 * symbols in a perf map; the file exists in memory only.
 */
const DOUBLE_MAPPED = "/memfd:doublemap";

function mappingKind(name: Uint8Array): number {
  const first = name[0];
  if (first !== 0x2f && first !== 0x5b) return MAPPED.FILE;
  const text = String.fromCharCode(...name.subarray(0, 16));
  if (text === "[vdso]") return MAPPED.VDSO;
  if (text.startsWith("[guest.kernel")) return MAPPED.GUEST_KERNEL;
  return text === "//anon" || text.startsWith("/dev/zero") || text.startsWith("/anon_hugepage") ||
      text.startsWith("[stack") || text.startsWith("/SYSV") || text === "[heap]" ||
      text === DOUBLE_MAPPED
    ? MAPPED.NO_FILE
    : MAPPED.FILE;
}
