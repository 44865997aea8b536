import {
  type BuildIdEvent,
  buildIdText,
  decodeFeature,
  HEADER_BUILD_ID,
  HEADER_OSRELEASE,
  type PerfDataReader,
  SampleFields,
} from "@perfdata/format";
import {
  addressFromHalves,
  type KernelReference,
  kernelReference,
  mapKind,
  type SymbolObject,
} from "@perfdata/symbols";
import { ADDRESS_USE, AddressTable } from "./address_table.ts";
import { Machine } from "./machine.ts";
import { deliverInOrder, type RecordBytes, type RecordSink } from "./order.ts";

const MMAP = 1;
const SAMPLE = 9;
const MMAP2 = 10;
const RECORD_HEADER_BUILD_ID = 67;
const RECORD_HEADER_FEATURE = 80;

const MISC_CPUMODE_MASK = 7;
const MISC_KERNEL = 1;
const MISC_USER = 2;
const MISC_GUEST_KERNEL = 4;
const MISC_GUEST_USER = 5;
const MISC_MMAP_BUILD_ID = 0x4000;
const MISC_BUILD_ID_SIZE = 0x8000;
const PERF_SAMPLE_CALLCHAIN = 1 << 5;
const PERF_SAMPLE_BRANCH_STACK = 1 << 11;

/** CPU modes that the context markers of call chains switch to, by their low 32 bits. */
const CONTEXT_MODES: ReadonlyMap<number, number> = new Map([
  [-128, MISC_KERNEL],
  [-512, MISC_USER],
  [-640, MISC_USER],
  [-2176, MISC_GUEST_KERNEL],
  [-2560, MISC_GUEST_USER],
]);
/** The lowest marker, `PERF_CONTEXT_MAX`. */
const CONTEXT_MAX = -4095;

/** The object of addresses where nothing was mapped. */
export const UNMAPPED: number = -1;
/** The object of kernel addresses in a recording that does not tell where the kernel was. */
export const KERNEL_HIDDEN: number = -2;

/** Which addresses occur in a recording. */
export interface RecordedAddresses {
  /** The objects that addresses lie in, by number. */
  readonly objects: readonly SymbolObject[];
  /**
   * The addresses. Those of `UNMAPPED` and `KERNEL_HIDDEN` are addresses of the process or the
   * kernel.
   */
  readonly table: AddressTable;
  /** Samples that have an `ip`. */
  readonly samples: number;
  /** The sum of their periods. */
  readonly period: number;
  /** Samples whose call chain or branch stack is damaged: these were not looked at. */
  readonly damaged: number;
  /** Release of the recorded kernel, where the file tells it. */
  readonly release: string | undefined;
}

/**
 * Finds out which addresses occur in a recording: the `ip`s of samples, their call chains and
 * branch stacks, each looked up in what was mapped at its own time.
 *
 * Memory grows with the number of distinct addresses, not with that of samples.
 *
 * @throws {PerfDataError} as `PerfDataReader.batches`
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { recordedAddresses } from "@perfdata/session/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(24);
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe.set([16], 8);
 * pipe.set([68, 0, 0, 0, 0, 0, 8, 0], 16);
 * const { table } = await recordedAddresses(await PerfDataReader.open(bytesSource(pipe)));
 * assertEquals(table.count, 0);
 * ```
 */
export async function recordedAddresses(reader: PerfDataReader): Promise<RecordedAddresses> {
  const collector = new Collector(reader);
  await readFeatures(reader, collector);
  collector.begin();
  await deliverInOrder(reader, collector);
  // Those of a file that arrives as a stream come last.
  if (reader.fileSize === undefined) await readFeatures(reader, collector);
  return collector.finish();
}

/**
 * Where the recorded kernel was: the reference symbol of its mapping, which `perf` writes before
 * anything else. A stream, which can be read only once, does not tell.
 *
 * @throws {PerfDataError} as `PerfDataReader.batches`
 *
 * @example
 * ```ts
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { recordedKernel } from "@perfdata/session/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(24);
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe.set([16], 8);
 * pipe.set([68, 0, 0, 0, 0, 0, 8, 0], 16);
 * assertEquals(await recordedKernel(await PerfDataReader.open(bytesSource(pipe))), undefined);
 * ```
 */
export async function recordedKernel(
  reader: PerfDataReader,
): Promise<KernelReference | undefined> {
  if (reader.fileSize === undefined) return undefined;
  const { littleEndian: le } = reader;
  for await (const batch of reader.batches()) {
    const { bytes, view } = batch;
    for (let i = 0; i < batch.count; i++) {
      const type = batch.type(i);
      if (type === SAMPLE) return undefined;
      if (type !== MMAP && type !== MMAP2) continue;
      const start = batch.start(i);
      const end = start + batch.size(i);
      if (end - start < (type === MMAP ? 40 : 72)) continue;
      const filename = text(bytes, start + (type === MMAP ? 40 : 72), end);
      const kernel = kernelReference(filename, mappedOffset(view, start, le));
      if (kernel !== undefined) return kernel;
    }
  }
  return undefined;
}

async function readFeatures(reader: PerfDataReader, collector: Collector): Promise<void> {
  for (const { id, section } of reader.features) {
    if (id !== HEADER_BUILD_ID && id !== HEADER_OSRELEASE) continue;
    const offset = Number(section.offset);
    const bytes = await reader.readSection(offset, Number(section.size), `feature ${id}`);
    collector.feature(id, bytes);
  }
}

class Collector implements RecordSink {
  readonly #reader: PerfDataReader;
  readonly #machine: Machine;
  readonly #table = new AddressTable();
  readonly #objects: Mutable<SymbolObject>[] = [];
  readonly #objectKeys = new Map<string, number>();
  /** Number of the object of each `source` of a map; -1 before it is asked for. */
  #objectOfSource = new Int32Array(1 << 8).fill(-1);
  readonly #fields: (SampleFields | undefined)[] = [];
  readonly #buildIds = new Map<string, string>();
  readonly #known: BuildIdEvent[] = [];
  readonly #jitdumps = new Map<number, string>();
  #kernel: { name: string; address: number } | undefined;
  #kernelMapped = false;
  #kernelBuildId: string | undefined;
  #samples = 0;
  #period = 0;
  #damaged = 0;
  #release: string | undefined;

  constructor(reader: PerfDataReader) {
    this.#reader = reader;
    this.#machine = new Machine(reader.littleEndian);
    this.#machine.arch = reader.arch;
  }

  feature(id: number, bytes: Uint8Array): void {
    const feature = decodeFeature(id, bytes, { littleEndian: this.#reader.littleEndian });
    if (feature.name === "OSRELEASE") this.#release = feature.value;
    if (feature.name !== "BUILD_ID") return;
    for (const event of feature.value) {
      this.#known.push(event);
      this.#buildId(event.filename, event.misc, buildIdText(event));
    }
  }

  /** The file's tables are read: records follow. */
  begin(): void {
    this.#machine.setKnownBinaries(this.#known);
  }

  #buildId(filename: string, misc: number, buildId: string): void {
    // What perf found no build id for, it lists with none, or with zeros.
    if (/^0*$/.test(buildId)) return;
    this.#buildIds.set(filename, buildId);
    const kernel = (misc & MISC_CPUMODE_MASK) === MISC_KERNEL && mapKind(filename) !== "module";
    if (kernel) this.#kernelBuildId ??= buildId;
  }

  record(at: RecordBytes, start: number, end: number, _offset: number, event: number): void {
    const { view } = at;
    const le = this.#reader.littleEndian;
    const type = view.getUint32(start, le);
    if (type === SAMPLE) {
      if (event >= 0) this.#sample(view, start, end, event);
      return;
    }
    if ((type === MMAP || type === MMAP2) && end - start >= (type === MMAP ? 40 : 72)) {
      this.#mmap(at, start, end, type);
    } else if (type === RECORD_HEADER_BUILD_ID && end - start > 36) {
      const misc = view.getUint16(start + 4, le);
      const size = misc & MISC_BUILD_ID_SIZE ? Math.min(view.getUint8(start + 32), 20) : 20;
      this.#buildId(text(at.bytes, start + 36, end), misc, hex(at.bytes, start + 12, size));
    } else if (type === RECORD_HEADER_FEATURE && end - start >= 16) {
      const id = view.getUint32(start + (le ? 8 : 12), le);
      if (id === HEADER_OSRELEASE) this.feature(id, at.bytes.subarray(start + 16, end));
    }
    this.#machine.apply(at.bytes, view, start, end);
  }

  #mmap({ bytes, view }: RecordBytes, start: number, end: number, type: number): void {
    const le = this.#reader.littleEndian;
    const misc = view.getUint16(start + 4, le);
    const filename = text(bytes, start + (type === MMAP ? 40 : 72), end);
    const buildId = type === MMAP2 && misc & MISC_MMAP_BUILD_ID
      ? hex(bytes, start + 44, Math.min(view.getUint8(start + 40), 20))
      : undefined;
    if ((misc & MISC_CPUMODE_MASK) === MISC_KERNEL && filename.startsWith("[kernel.kallsyms")) {
      this.#kernel = kernelReference(filename, mappedOffset(view, start, le));
      this.#kernelMapped = true;
      if (buildId !== undefined) this.#kernelBuildId = buildId;
    }
    if (/\/jit-\d+\.dump$/.test(filename)) {
      this.#jitdumps.set(view.getInt32(start + 8, le), filename);
    }
  }

  #sample(view: DataView, start: number, end: number, event: number): void {
    const attr = this.#reader.events.all[event];
    if (attr === undefined) return;
    const { layout } = attr;
    const le = this.#reader.littleEndian;
    if (start + layout.fixedSize > end) {
      this.#damaged++;
      return;
    }
    const high = le ? 4 : 0;
    const low = 4 - high;
    const thread = layout.pid < 0 ? this.#machine.thread(0, 0) : this.#machine.thread(
      view.getInt32(start + layout.pid, le),
      view.getInt32(start + layout.pid + 4, le),
    );
    const mode = view.getUint16(start + 4, le) & MISC_CPUMODE_MASK;
    const number = (at: number): number =>
      view.getUint32(start + at + high, le) * 2 ** 32 + view.getUint32(start + at + low, le);
    const time = layout.time < 0 ? 0 : number(layout.time);
    let ipHigh = 0, ipLow = 0;
    if (layout.ip >= 0) {
      const period = layout.period < 0 ? Number(attr.attr.sample_period) : number(layout.period);
      ipHigh = view.getUint32(start + layout.ip + high, le);
      ipLow = view.getUint32(start + layout.ip + low, le);
      this.#samples++;
      this.#period += period;
      this.#use(thread, mode, ipHigh, ipLow, ADDRESS_USE.IP, 1, period, time);
    }
    if (!(layout.sampleType & (PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK))) return;
    const fields = this.#fields[event] ??= new SampleFields(attr.attr);
    if (!fields.locate(view, start, end, le)) {
      this.#damaged++;
      return;
    }
    if (layout.sampleType & PERF_SAMPLE_CALLCHAIN) {
      let chainMode = mode;
      for (let i = 0; i < fields.callchainLength; i++) {
        const at = fields.callchain + 8 * i;
        const hi = view.getUint32(at + high, le);
        const lo = view.getUint32(at + low, le);
        if (hi === 0xffff_ffff && (lo | 0) >= CONTEXT_MAX && (lo | 0) < 0) {
          chainMode = CONTEXT_MODES.get(lo | 0) ?? -1;
          continue;
        }
        this.#use(thread, chainMode, hi, lo, ADDRESS_USE.CALLCHAIN, 0, 0, time);
        if (hi === ipHigh && lo === ipLow) continue;
        const before = lo === 0 ? 0xffff_ffff : lo - 1;
        const beforeHigh = lo === 0 ? (hi - 1) >>> 0 : hi;
        this.#use(thread, chainMode, beforeHigh, before, ADDRESS_USE.BEFORE_RETURN, 0, 0, time);
      }
    }
    if (layout.sampleType & PERF_SAMPLE_BRANCH_STACK) {
      for (let i = 0; i < fields.branchStackLength; i++) {
        for (let at = fields.branchStack + 24 * i, k = 0; k < 2; at += 8, k++) {
          const hi = view.getUint32(at + high, le);
          const lo = view.getUint32(at + low, le);
          if (hi === 0 && lo === 0) continue;
          const branchMode = hi >= 0x8000_0000 ? MISC_KERNEL : MISC_USER;
          this.#use(thread, branchMode, hi, lo, ADDRESS_USE.BRANCH, 0, 0, time);
        }
      }
    }
  }

  #use(
    thread: number,
    mode: number,
    hi: number,
    lo: number,
    use: number,
    samples: number,
    period: number,
    time: number,
  ): void {
    const machine = this.#machine;
    const map = machine.map(thread, mode, hi, lo);
    let object = UNMAPPED;
    let address = addressFromHalves(hi, lo);
    if (map < 0) {
      if (mode === MISC_KERNEL && !this.#kernelMapped) object = KERNEL_HIDDEN;
    } else {
      const { spaces } = machine;
      const source = spaces.source[map] as number;
      object = this.#objectOfSource[source] ?? -1;
      if (object < 0) object = this.#addObject(map, source, mode === MISC_KERNEL);
      const found = this.#objects[object] as SymbolObject;
      switch (found.kind) {
        case "kernel":
          address -= this.#kernel?.address ?? 0;
          break;
        case "jit":
          break;
        case "elf":
        case "vdso":
          address += addressFromHalves(
            spaces.pgoffHi[map] as number,
            spaces.pgoffLo[map] as number,
          );
          /* falls through */
        case "module":
        case "bpf":
          address -= addressFromHalves(
            spaces.startHi[map] as number,
            spaces.startLo[map] as number,
          );
      }
    }
    this.#table.use(this.#table.row(object, address), use, samples, period, time);
  }

  #addObject(map: number, source: number, kernelSpace: boolean): number {
    const { names } = this.#machine;
    const path = names.text(this.#machine.mapName(map));
    const found = this.#describe(path, map, kernelSpace);
    const { kind, buildId, loadAddress } = found;
    const key = [path, kind, buildId ?? "", loadAddress ?? ""].join("\0");
    let object = this.#objectKeys.get(key);
    if (object === undefined) {
      object = this.#objects.push(found) - 1;
      this.#objectKeys.set(key, object);
    }
    if (source >= this.#objectOfSource.length) {
      const larger = new Int32Array(Math.max(source + 1, this.#objectOfSource.length * 2)).fill(-1);
      larger.set(this.#objectOfSource);
      this.#objectOfSource = larger;
    }
    this.#objectOfSource[source] = object;
    return object;
  }

  #describe(path: string, map: number, kernelSpace: boolean): SymbolObject {
    const { spaces } = this.#machine;
    const start = addressFromHalves(
      spaces.startHi[map] as number,
      spaces.startLo[map] as number,
    );
    const end = addressFromHalves(spaces.endHi[map] as number, spaces.endLo[map] as number);
    const kind = mapKind(path);
    if (kernelSpace) {
      const kernel = {
        ...(this.#kernel === undefined
          ? {}
          : { reference: this.#kernel.name, referenceAddress: this.#kernel.address }),
      };
      const build = kind === "module" ? this.#buildIds.get(path) : this.#kernelBuildId;
      const buildId = build === undefined ? {} : { buildId: build };
      if (kind === "kernel" || this.#buildIds.get(path) === this.#kernelBuildId && build) {
        return { path, kind: "kernel", ...kernel, ...buildId };
      }
      if (kind === "module") return { path, kind, ...kernel, ...buildId, loadAddress: start };
      return { path: path === "" ? "bpf_image" : path, kind: "bpf", size: end - start };
    }
    const jit = /^\/tmp\/perf-(\d+)\.map$/.exec(path)?.[1];
    if (jit !== undefined || kind === "anonymous") {
      const jitdump = this.#jitdumps.get(Number(jit));
      return { path, kind: "jit", ...(jitdump === undefined ? {} : { jitdump }) };
    }
    const { names } = this.#machine;
    const mapped = this.#machine.mapBuildId(map);
    // The table at the end of a file knows one build of each path; the mapping knows its own.
    const build = mapped < 0 || names.get(mapped).length === 0
      ? this.#buildIds.get(path)
      : hex(names.get(mapped), 0);
    return {
      path,
      kind: kind === "vdso" ? "vdso" : "elf",
      ...(build === undefined ? {} : { buildId: build }),
    };
  }

  finish(): RecordedAddresses {
    // In a pipe, the build ids may come after the samples.
    for (const object of this.#objects) {
      const late = object.kind === "kernel" ? this.#kernelBuildId : this.#buildIds.get(object.path);
      if (object.kind !== "jit" && object.kind !== "bpf" && late !== undefined) {
        object.buildId ??= late;
      }
    }
    return {
      objects: this.#objects,
      table: this.#table,
      samples: this.#samples,
      period: this.#period,
      damaged: this.#damaged,
      release: this.#release,
    };
  }
}

/** `pgoff` of the MMAP or MMAP2 record at `start`. */
function mappedOffset(view: DataView, start: number, le: boolean): number {
  return addressFromHalves(
    view.getInt32(start + (le ? 36 : 32), le),
    view.getInt32(start + (le ? 32 : 36), le),
  );
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

function text(bytes: Uint8Array, start: number, end: number): string {
  const nul = bytes.indexOf(0, start);
  return new TextDecoder().decode(bytes.subarray(start, nul < 0 || nul > end ? end : nul));
}

function hex(bytes: Uint8Array, start: number, length = bytes.length - start): string {
  let out = "";
  for (let i = start; i < start + length; i++) {
    out += (bytes[i] as number).toString(16).padStart(2, "0");
  }
  return out;
}
