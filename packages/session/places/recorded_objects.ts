import {
  BUILD_ID_SIZE,
  type BuildIdEvent,
  buildIdText,
  decodeObjectFeature,
} from "@perfdata/format/features";
import { type Diagnostics, PerfDataError } from "@perfdata/format/bytes";
import {
  FORK,
  layoutOf,
  MMAP,
  MMAP2,
  type PerfDataReader,
  prefixSize,
  recordMisc,
} from "@perfdata/format/records";
import {
  featureName,
  HEADER_ARCH,
  HEADER_BUILD_ID,
  HEADER_CPU_PMU_CAPS,
  HEADER_HI_FILES_SYMBOL,
  HEADER_OSRELEASE,
  HEADER_SP_FILE,
  HEADER_SP_FILE2,
  PERF_RECORD_FORK,
  PERF_RECORD_HEADER_BUILD_ID,
  PERF_RECORD_MISC_BUILD_ID_SIZE,
  PERF_RECORD_MISC_CPUMODE_MASK,
  PERF_RECORD_MISC_GUEST_KERNEL,
  PERF_RECORD_MISC_KERNEL,
  PERF_RECORD_MISC_MMAP_BUILD_ID,
  PERF_RECORD_MMAP,
  PERF_RECORD_MMAP2,
  PERF_RECORD_TIME_CONV,
} from "@perfdata/format/constants";
import {
  type Address,
  addressFromHalves,
  canHaveBuildId,
  type KernelReference,
  kernelReference,
  mapKind,
  perfMapPid,
  type RecordedSymbolsOf,
  type SymbolObject,
} from "@perfdata/symbols/resolver";
import {
  HEADER_BUILD_ID as BUILD_ID_RECORD,
  TIME_CONV,
  type TimeConv,
} from "@perfdata/user-records/metadata";
import type { RecordedFile } from "../names/recorded_symbols.ts";
import { streamFeature } from "../events/stream_feature.ts";
import { guestOfPid, isGuestMode } from "../machine/guest_machines.ts";

// Offsets of the fields of records.
const TASK = layoutOf(FORK);
const TASK_SIZE = prefixSize(FORK);
const MAP = layoutOf(MMAP);
const MAP2 = layoutOf(MMAP2);
const BUILD = layoutOf(BUILD_ID_RECORD);
const TIME = layoutOf(TIME_CONV);
const TIME_CONV_SIZE = prefixSize(TIME_CONV);

/** Name of a guest's kernel at unmapped addresses, as in perf. */
export const GUEST_KERNEL = "[guest.kernel]";
// Bytes of names: `[guest.kernel…`, and the end of `jit-PID.dump`.
const OPEN = 0x5b;
const G = 0x67;
const M = 0x6d;
const P = 0x70;

/** The features about objects. */
const OF_OBJECTS: readonly number[] = [
  HEADER_ARCH,
  HEADER_BUILD_ID,
  HEADER_CPU_PMU_CAPS,
  HEADER_HI_FILES_SYMBOL,
  HEADER_OSRELEASE,
  HEADER_SP_FILE,
  HEADER_SP_FILE2,
];
/** Features with symbols, which are decoded on demand. */
const WITH_SYMBOLS: readonly number[] = [HEADER_HI_FILES_SYMBOL, HEADER_SP_FILE, HEADER_SP_FILE2];

type Stream = Parameters<typeof streamFeature>[0];

/** A mapped object, as a recording describes it. */
export interface MappedObject {
  /** Path or bracketed name; `/tmp/perf-PID.map` for code without a file. */
  readonly name: string;
  /** Whether it belongs to the kernel. */
  readonly kernel: boolean;
  /** Build id of the MMAP2 record, in hex. */
  readonly buildId?: string | undefined;
  /** Process id of the guest that maps it, 0 for the default guest; `undefined` for the host. */
  readonly guest?: number | undefined;
  /** A process that maps it; `undefined` for the kernel and code without a file. */
  readonly pid?: number | undefined;
  /** First address of the mapping. For a module, its load address. */
  readonly start?: Address | undefined;
  /** First address after the mapping. */
  readonly end?: Address | undefined;
}

/**
 * Descriptions of mapped objects beyond their mappings: build ids, address and release of the
 * kernel, jitdump files. They are needed to find symbols.
 *
 * @example
 * ```ts
 * import { RecordedObjects } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const objects = new RecordedObjects({ littleEndian: true, isGoogleDialect: false });
 * assertEquals(objects.describe({ name: "/usr/bin/ls", kernel: false }), {
 *   path: "/usr/bin/ls",
 *   kind: "elf",
 * });
 * ```
 */
export class RecordedObjects {
  /** Release of the recorded kernel, if the recording has it. */
  release: string | undefined;
  /** Architecture of the recorded machine, if the recording has it. */
  arch: string | undefined;
  /** Number of branches that a processor of the recorded machine keeps (LBR); 0 if unknown. */
  branchRegisters: number = 0;
  /** Whether the recording has a map of the kernel. */
  kernelMapped: boolean = false;
  /** The reference symbol of the kernel's mapping. */
  kernel: KernelReference | undefined;
  /** The binaries in the table of build ids. */
  readonly known: BuildIdEvent[] = [];
  /** Conversion of the CPU's counter, if the recording has it. */
  timeConv: Pick<TimeConv, "time_shift" | "time_mult" | "time_zero"> | undefined;
  readonly #stream: Stream;
  readonly #buildIds = new Map<string, string>();
  readonly #jitdumps = new Map<number, string>();
  /** Parent of each process, and the time of its fork in ns, which may be rounded. */
  readonly #forks = new Map<number, { readonly parent: number; readonly time: number }>();
  readonly #diagnostics: Diagnostics | undefined;
  readonly #withSymbols: { readonly id: number; readonly bytes: Uint8Array }[] = [];
  #files: RecordedFile[] | undefined;
  #kernelBuildId: string | undefined;
  /** Kernels of guests, by process id. */
  readonly #guests = new Map<
    number,
    { reference: KernelReference | undefined; buildId?: string }
  >();

  /**
   * Starts without descriptions.
   *
   * @param stream byte order and dialect, as of `PerfDataReader`
   * @param diagnostics receives errors in features
   */
  constructor(stream: Stream, diagnostics?: Diagnostics) {
    this.#stream = stream;
    this.#diagnostics = diagnostics;
  }

  /**
   * Reads the features of a file.
   *
   * @throws {PerfDataError} if one lies outside of the file and there are no diagnostics
   */
  async readFeatures(reader: PerfDataReader): Promise<void> {
    for (const { id, section } of reader.features) {
      if (!OF_OBJECTS.includes(id)) continue;
      try {
        const size = Number(section.size);
        this.feature(id, await reader.readSection(Number(section.offset), size, featureName(id)));
      } catch (error) {
        if (!(error instanceof PerfDataError) || this.#diagnostics === undefined) throw error;
        this.#diagnostics(error);
      }
    }
  }

  /** Reads the payload of a feature; skips features that are not about objects. */
  feature(id: number, bytes: Uint8Array): void {
    if (!OF_OBJECTS.includes(id)) return;
    if (WITH_SYMBOLS.includes(id)) {
      this.#withSymbols.push({ id, bytes: bytes.slice() });
      return;
    }
    const feature = decodeObjectFeature(id, bytes, { littleEndian: this.#stream.littleEndian });
    if (feature.name === "RAW" && feature.error !== undefined) this.#diagnostics?.(feature.error);
    if (feature.name === "OSRELEASE") this.release = feature.value;
    if (feature.name === "ARCH") this.arch = feature.value;
    if (feature.name === "CPU_PMU_CAPS") {
      const { value } = feature.value.caps.find(({ name }) => name === "branches") ?? {};
      this.branchRegisters = Number(value ?? 0) || 0;
    }
    if (feature.name !== "BUILD_ID") return;
    for (const event of feature.value) {
      this.known.push(event);
      this.#buildId(event.filename, event.misc, event.pid, buildIdText(event));
    }
  }

  /** The symbols of an object in the recording itself, as simpleperf and hiperf write them. */
  readonly symbolsOf = async (object: SymbolObject): Promise<RecordedSymbolsOf | undefined> => {
    if (this.#withSymbols.length === 0) return undefined;
    const { recordedFiles, recordedSymbols } = await import("../names/recorded_symbols.ts");
    const { littleEndian } = this.#stream;
    this.#files ??= recordedFiles(this.#withSymbols, littleEndian, this.#diagnostics);
    return recordedSymbols(this.#files, object);
  };

  /** Reads a record; skips records that are not about objects. */
  record(bytes: Uint8Array, view: DataView, start: number, end: number): void {
    const le = this.#stream.littleEndian;
    const type = view.getUint32(start, le);
    if (type === PERF_RECORD_FORK && end - start >= TASK_SIZE) {
      const pid = view.getInt32(start + TASK.pid, le);
      const parent = view.getInt32(start + TASK.ppid, le);
      const hi = view.getUint32(start + TASK.time + (le ? 4 : 0), le);
      const lo = view.getUint32(start + TASK.time + (le ? 0 : 4), le);
      // deno-lint-ignore perfdata/halves -- compared with times of generated code, to 256 ns by the time of day
      const time = hi * 2 ** 32 + lo;
      // perf writes a FORK without a time for processes that existed before.
      if (pid !== parent && time > 0) this.#forks.set(pid, { parent, time });
    } else if (type === PERF_RECORD_MMAP || type === PERF_RECORD_MMAP2) {
      if (end - start >= (type === PERF_RECORD_MMAP ? MAP : MAP2).filename) {
        this.#mmap(bytes, view, start, end, type);
      }
    } else if (type === PERF_RECORD_HEADER_BUILD_ID && end - start > BUILD.filename) {
      const misc = recordMisc(view, start, le);
      const size = misc & PERF_RECORD_MISC_BUILD_ID_SIZE
        ? Math.min(view.getUint8(start + BUILD.build_id_size), BUILD_ID_SIZE)
        : BUILD_ID_SIZE;
      this.#buildId(
        text(bytes, start + BUILD.filename, end),
        misc,
        view.getInt32(start + BUILD.pid, le),
        hex(bytes, start + BUILD.build_id, size),
      );
    } else if (type === PERF_RECORD_TIME_CONV && end - start >= TIME_CONV_SIZE) {
      this.timeConv = {
        time_shift: view.getBigUint64(start + TIME.time_shift, le),
        time_mult: view.getBigUint64(start + TIME.time_mult, le),
        time_zero: view.getBigUint64(start + TIME.time_zero, le),
      };
    } else if (type > PERF_RECORD_HEADER_BUILD_ID) {
      const feature = streamFeature(this.#stream, bytes, view, start, end);
      if (feature === undefined) return;
      this.feature(feature.id, feature.payload);
    }
  }

  #buildId(filename: string, misc: number, pid: number | undefined, buildId: string): void {
    // perf lists binaries without a build id with an empty one, or with zeros.
    if (/^0*$/.test(buildId)) return;
    const mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
    if (isGuestMode(mode)) {
      this.#buildIds.set(guestKey(guestOfPid(pid), filename), buildId);
      return;
    }
    this.#buildIds.set(filename, buildId);
    const kernel = mode === PERF_RECORD_MISC_KERNEL && mapKind(filename) !== "module";
    if (kernel) this.#kernelBuildId ??= buildId;
  }

  #mmap(bytes: Uint8Array, view: DataView, start: number, end: number, type: number): void {
    const le = this.#stream.littleEndian;
    const misc = recordMisc(view, start, le);
    const filename = start + (type === PERF_RECORD_MMAP ? MAP : MAP2).filename;
    const mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
    // Compare bytes first: decoding each name to a string would take long.
    if (
      mode === PERF_RECORD_MISC_KERNEL || mode === PERF_RECORD_MISC_GUEST_KERNEL ||
      (bytes[filename] === OPEN && bytes[filename + 1] === G)
    ) {
      const name = text(bytes, filename, end);
      const isGuest = mapKind(name) === "guest-kernel";
      if (!isGuest && (mode !== PERF_RECORD_MISC_KERNEL || mapKind(name) !== "kernel")) return;
      const reference = kernelReference(
        name,
        addressFromHalves(
          view.getInt32(start + MAP.pgoff + (le ? 4 : 0), le),
          view.getInt32(start + MAP.pgoff + (le ? 0 : 4), le),
        ),
      );
      let buildId: string | undefined;
      if (type === PERF_RECORD_MMAP2 && misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
        const size = Math.min(view.getUint8(start + MAP2.build_id_size), BUILD_ID_SIZE);
        buildId = hex(bytes, start + MAP2.build_id, size);
      }
      if (isGuest) {
        const guest = guestOfPid(view.getInt32(start + MAP.pid, le));
        this.#guests.set(guest, { reference, ...(buildId === undefined ? {} : { buildId }) });
        return;
      }
      this.kernel = reference;
      this.kernelMapped = true;
      if (buildId !== undefined) this.#kernelBuildId = buildId;
    } else {
      const last = bytes.indexOf(0, filename) - 1;
      if (bytes[last] !== P || bytes[last - 1] !== M) return;
      const name = text(bytes, filename, end);
      if (/\/jit-\d+\.dump$/.test(name)) {
        this.#jitdumps.set(view.getInt32(start + MAP.pid, le), name);
      }
    }
  }

  /**
   * Time in ns at which a process got its copy of another's memory: that of the fork that led from
   * the owner to it. Infinity for the owner itself, and if no such fork was recorded.
   */
  forkedAt(owner: number, pid: number): number {
    let of = pid;
    // Limit the steps to the number of forks: reused process ids may form a loop.
    for (let steps = this.#forks.size; of !== owner && steps > 0; steps--) {
      const fork = this.#forks.get(of);
      if (fork === undefined) break;
      if (fork.parent === owner) return fork.time;
      of = fork.parent;
    }
    return Infinity;
  }

  /** Number of processes with jitdump files so far. */
  get jitdumpCount(): number {
    return this.#jitdumps.size;
  }

  /** Description of an object for the look-up of its symbols. */
  describe(mapped: MappedObject): SymbolObject {
    const { name, kernel, buildId, start, end, guest, pid } = mapped;
    if (guest !== undefined) return this.#describeGuest(mapped, guest);
    const kind = mapKind(name);
    const known = this.#buildIds.get(name);
    if (kernel) {
      const where = this.kernel === undefined
        ? {}
        : { reference: this.kernel.name, referenceAddress: this.kernel.address };
      const build = kind === "module" ? buildId ?? known : this.#kernelBuildId;
      const common = { path: name, ...where, ...(build === undefined ? {} : { buildId: build }) };
      // The table of build ids may name the kernel's file instead.
      const vmlinux = known !== undefined && known === this.#kernelBuildId ||
        name.startsWith("/") && kind === "file";
      if (kind === "kernel" || vmlinux) return { ...common, kind: "kernel" };
      if (kind === "module") {
        return { ...common, kind, ...(start === undefined ? {} : { loadAddress: start }) };
      }
      const size = start === undefined || end === undefined ? {} : { size: end - start };
      return { path: name === "" ? "bpf_image" : name, kind: "bpf", ...size };
    }
    // Anonymous memory, including perf maps.
    if (kind === "anonymous") {
      const jitdump = this.#jitdumps.get(perfMapPid(name) ?? NaN);
      return { path: name, kind: "jit", ...(jitdump === undefined ? {} : { jitdump }) };
    }
    // The table at the end of a file has one build id per path, but a mapping may be of an older
    // build.
    const build = buildId === undefined || buildId === "" ? known : buildId;
    return {
      path: name,
      kind: kind === "vdso" ? "vdso" : "elf",
      ...(build === undefined ? {} : { buildId: build }),
      ...(pid === undefined ? {} : { pid }),
    };
  }

  /** Description of a guest's object for the look-up of its symbols. */
  #describeGuest(
    { name, kernel, buildId, start }: MappedObject,
    guest: number,
  ): SymbolObject {
    const known = buildId ?? this.#buildIds.get(guestKey(guest, name));
    const common = { path: name, guest, ...(known === undefined ? {} : { buildId: known }) };
    if (!kernel) return { ...common, kind: mapKind(name) === "vdso" ? "vdso" : "elf" };
    if (name === GUEST_KERNEL) return { ...common, kind: "kernel" };
    const { reference, buildId: own } = this.#guests.get(guest) ?? {};
    const where = reference === undefined
      ? {}
      : { reference: reference.name, referenceAddress: reference.address };
    if (mapKind(name) === "module") {
      return {
        ...{ ...common, ...where, kind: "module" },
        ...(start === undefined ? {} : { loadAddress: start }),
      };
    }
    return {
      ...{ ...common, ...where, kind: "kernel" },
      ...(own === undefined ? {} : { buildId: own }),
    };
  }

  /** Adds a build id that was read after the object was described, as in a pipe. */
  complete(object: SymbolObject): SymbolObject {
    const { kind, path, buildId, guest } = object;
    if (buildId !== undefined || !canHaveBuildId(object)) return object;
    const late = guest !== undefined
      ? this.#buildIds.get(guestKey(guest, path))
      : kind === "kernel"
      ? this.#kernelBuildId
      : this.#buildIds.get(path);
    return late === undefined ? object : { ...object, buildId: late };
  }
}

/** Key of a guest's file in `#buildIds`. */
function guestKey(guest: number, filename: string): string {
  return `${guest}\0${filename}`;
}

function text(bytes: Uint8Array, start: number, end: number): string {
  const nul = bytes.indexOf(0, start);
  return new TextDecoder().decode(bytes.subarray(start, nul < 0 || nul > end ? end : nul));
}

function hex(bytes: Uint8Array, start: number, size: number): string {
  return buildIdText({ build_id: bytes.subarray(start, start + size), build_id_size: size });
}
