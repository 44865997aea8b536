import { buildIdText, type PerfDataReader, SampleFields } from "@perfdata/format";
import { addressFromHalves, type SymbolObject } from "@perfdata/symbols";
import { ADDRESS_USE, AddressTable, KERNEL_HIDDEN, UNMAPPED } from "./address_table.ts";
import { Machine } from "./machine.ts";
import { deliverInOrder, type RecordBytes, type RecordSink } from "./order.ts";
import { RecordedObjects } from "./recorded_objects.ts";

const SAMPLE = 9;

const MISC_CPUMODE_MASK = 7;
const MISC_KERNEL = 1;
const MISC_USER = 2;
const MISC_GUEST_KERNEL = 4;
const MISC_GUEST_USER = 5;
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
  readonly release?: string;
  /** Architecture of the recorded machine, where the file tells it. */
  readonly arch?: string;
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
  await collector.begin();
  await deliverInOrder(reader, collector);
  return await collector.finish();
}

class Collector implements RecordSink {
  readonly #reader: PerfDataReader;
  readonly #machine: Machine;
  readonly #table = new AddressTable();
  readonly #recorded: RecordedObjects;
  readonly #objects: SymbolObject[] = [];
  readonly #objectKeys = new Map<string, number>();
  /** Number of the object of each `source` of a map; -1 before it is asked for. */
  #objectOfSource = new Int32Array(1 << 8).fill(-1);
  readonly #fields: (SampleFields | undefined)[] = [];
  #samples = 0;
  #period = 0;
  #damaged = 0;

  constructor(reader: PerfDataReader) {
    this.#reader = reader;
    this.#recorded = new RecordedObjects(reader);
    this.#machine = new Machine(reader.littleEndian);
    this.#machine.arch = reader.arch;
  }

  async begin(): Promise<void> {
    await this.#recorded.readFeatures(this.#reader);
    this.#machine.setKnownBinaries(this.#recorded.known);
  }

  record(at: RecordBytes, start: number, end: number, _offset: number, event: number): void {
    const { view } = at;
    const le = this.#reader.littleEndian;
    const type = view.getUint32(start, le);
    if (type === SAMPLE) {
      if (event >= 0) this.#sample(view, start, end, event);
      return;
    }
    this.#recorded.record(at.bytes, view, start, end);
    this.#machine.apply(at.bytes, view, start, end);
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
      if (mode === MISC_KERNEL && !this.#recorded.kernelMapped) object = KERNEL_HIDDEN;
    } else {
      const { spaces } = machine;
      const source = spaces.source[map] as number;
      object = this.#objectOfSource[source] ?? -1;
      if (object < 0) object = this.#addObject(map, source, mode === MISC_KERNEL);
      const found = this.#objects[object] as SymbolObject;
      switch (found.kind) {
        case "kernel":
          address -= this.#recorded.kernel?.address ?? 0;
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
    const { names, spaces } = this.#machine;
    const buildId = this.#machine.mapBuildId(map);
    const bytes = buildId < 0 ? undefined : names.get(buildId);
    const found = this.#recorded.describe({
      name: names.text(this.#machine.mapName(map)),
      kernel: kernelSpace,
      buildId: bytes && buildIdText({ build_id: bytes, build_id_size: bytes.length }),
      start: addressFromHalves(spaces.startHi[map] as number, spaces.startLo[map] as number),
      end: addressFromHalves(spaces.endHi[map] as number, spaces.endLo[map] as number),
    });
    const { path, kind, loadAddress } = found;
    const key = [path, kind, found.buildId ?? "", loadAddress ?? ""].join("\0");
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

  async finish(): Promise<RecordedAddresses> {
    // Those of a file that arrives as a stream come last.
    if (this.#reader.fileSize === undefined) await this.#recorded.readFeatures(this.#reader);
    return {
      objects: this.#objects.map((object) => this.#recorded.complete(object)),
      table: this.#table,
      samples: this.#samples,
      period: this.#period,
      damaged: this.#damaged,
      ...this.#recorded.machine,
    };
  }
}
