import { MapLayers } from "./machine_layers.ts";
import { AddressSpaces } from "./machine_maps.ts";
import { isShared } from "./machine_names.ts";
import { TidTable } from "./machine_tids.ts";

export { MapLayers, type MapRanges } from "./machine_layers.ts";

/** The address space of the kernel and its modules. */
export const KERNEL_SPACE = 0;

/**
 * The columns of a {@link MachineHistory}: flat arrays, each of which may lie in shared memory.
 *
 * The rows of a thread id and the roots of an address space are sorted by epoch.
 */
export interface MachineHistoryData {
  /** When each change was delivered, high half of the time. */
  readonly timeHi: Uint32Array;
  /** When each change was delivered, low half of the time. */
  readonly timeLo: Uint32Array;
  /** File offset of the record that each change came from. */
  readonly offsets: Float64Array;
  /** By hash: the number of a thread id, or -1. */
  readonly tidSlots: Int32Array;
  /** Thread ids, by number. */
  readonly tids: Int32Array;
  /** Where the rows of each thread id start, and after the last where all of them end. */
  readonly rowStarts: Int32Array;
  /** By row: from which epoch on the thread id is as it says. */
  readonly rowEpochs: Int32Array;
  /** By row: the thread, which is another one where the thread id is used again. */
  readonly threads: Int32Array;
  /** By row: its process id. */
  readonly pids: Int32Array;
  /** By row: its address space. */
  readonly threadSpaces: Int32Array;
  /** By row: its comm: a name, or -1. */
  readonly comms: Int32Array;
  /** Where the roots of each address space start, and after the last where all of them end. */
  readonly spaceStarts: Int32Array;
  /** From which epoch on the space has the root beside it. */
  readonly spaceEpochs: Int32Array;
  /** What is mapped: a tree for the kernel, a layer (see {@link MapLayers}) for all others. */
  readonly roots: Int32Array;
  /** Left subtree of each node. */
  readonly left: Int32Array;
  /** Right subtree of each node. */
  readonly right: Int32Array;
  /** Map of each node. */
  readonly nodeMaps: Int32Array;
  /** First address of each map, high half. */
  readonly startHi: Uint32Array;
  /** First address of each map, low half. */
  readonly startLo: Uint32Array;
  /** First address after each map, high half. */
  readonly endHi: Uint32Array;
  /** First address after each map, low half. */
  readonly endLo: Uint32Array;
  /** File offset of each map, high half. */
  readonly pgoffHi: Uint32Array;
  /** File offset of each map, low half. */
  readonly pgoffLo: Uint32Array;
  /** What each map was made from. */
  readonly mapSources: Int32Array;
  /** The layer below each map; see {@link MapLayers}. */
  readonly below: Int32Array;
  /** Layers below each map. */
  readonly depths: Int32Array;
  /** What maps are made from: eight little-endian u32 each, see {@link MapSource}. */
  readonly sources: Uint8Array;
  /** Where each name starts in `nameBytes`. */
  readonly nameStarts: Int32Array;
  /** All names. */
  readonly nameBytes: Uint8Array;
}

/** What a map was made from: the fields of its MMAP or MMAP2 record. */
export interface MapSource {
  /** Path or bracketed name: a name. */
  readonly name: number;
  /** Bytes of the build id, as a name; -1 where the record has none. */
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
}

/**
 * Threads, comms and maps at any time: immutable, and made of flat arrays only, so that workers can
 * share it.
 *
 * Time is turned into an epoch, the number of changes that were delivered before; everything else
 * is asked by epoch.
 *
 * @example
 * ```ts
 * import { Machine } from "@perfdata/session";
 * import { KERNEL_RECORDS, RecordCodec } from "@perfdata/format";
 * import { assertEquals } from "@std/assert";
 *
 * const machine = new Machine(true, { history: true });
 * const codec = new RecordCodec(KERNEL_RECORDS);
 * [["sh", 100], ["true", 200]].forEach(([comm, time], i) => {
 *   const body = { pid: 7, tid: 7, comm: comm as string };
 *   const record = codec.encode({ type: 3, name: "COMM", misc: 0, body });
 *   machine.at(0, time as number, i);
 *   machine.apply(record, new DataView(record.buffer), 0, record.length);
 * });
 * const history = machine.history();
 * const comms = [50, 150, 250].map((time) => {
 *   const row = history.threadRow(history.epochAt(0, time), 7);
 *   return row < 0 ? undefined : history.name(history.data.comms[row] as number);
 * });
 * assertEquals(comms, [undefined, "sh", "true"]);
 * ```
 */
export class MachineHistory {
  /** The columns. */
  readonly data: MachineHistoryData;
  readonly #spaces = new AddressSpaces();
  /** What is mapped in all spaces but that of the kernel. */
  readonly layers: MapLayers = new MapLayers();
  readonly #tids = new TidTable();

  /** Takes the columns as they are; those of another worker's history will do. */
  constructor(data: MachineHistoryData) {
    this.data = data;
    Object.assign(this.#spaces, {
      left: data.left,
      right: data.right,
      map: data.nodeMaps,
      nodeCount: data.left.length,
      startHi: data.startHi,
      startLo: data.startLo,
      endHi: data.endHi,
      endLo: data.endLo,
      pgoffHi: data.pgoffHi,
      pgoffLo: data.pgoffLo,
      source: data.mapSources,
      mapCount: data.mapSources.length,
    });
    this.layers.below = data.below;
    this.layers.depths = data.depths;
    this.#tids.tids = data.tids;
    this.#tids.count = data.tids.length;
    this.#tids.slots = data.tidSlots;
  }

  /** The same history in memory that workers share: what is in such memory is not copied. */
  shared(): MachineHistory {
    const data = Object.fromEntries(
      Object.entries(this.data).map(([key, column]) => {
        const from = column as Int32Array | Uint32Array | Float64Array | Uint8Array;
        if (isShared(from.buffer)) return [key, from];
        const to = new (from.constructor as Int32ArrayConstructor)(
          new SharedArrayBuffer(from.byteLength),
        );
        to.set(from as Int32Array);
        return [key, to];
      }),
    );
    return new MachineHistory(data as unknown as MachineHistoryData);
  }

  /**
   * The epoch of what is delivered at a time.
   *
   * @param offset File offset of the record that asks: of changes at its very time it sees those
   * that stand before it in the file.
   */
  epochAt(timeHi: number, timeLo: number, offset: number = Infinity): number {
    const { timeHi: his, timeLo: los, offsets } = this.data;
    let low = 0;
    let high = his.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const hi = his[middle] as number;
      const lo = los[middle] as number;
      const before = hi < timeHi || (hi === timeHi &&
        (lo < timeLo || (lo === timeLo && (offsets[middle] as number) < offset)));
      if (before) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The number of a thread id, or -1 where no record is about it. */
  tid(tid: number): number {
    return this.#tids.find(tid);
  }

  /**
   * The row of `pids`, `threadSpaces` and `comms` that describes a thread at an epoch, or -1 where
   * the thread was not known yet.
   */
  threadRow(epoch: number, tid: number): number {
    const i = this.#tids.find(tid);
    if (i < 0) return -1;
    const row = this.tidRow(epoch, i);
    return row < (this.data.rowStarts[i] as number) ? -1 : row;
  }

  /**
   * The row of a thread id, by its number, at an epoch: one before that of its first row where the
   * thread was not known yet.
   */
  tidRow(epoch: number, i: number): number {
    const { rowStarts, rowEpochs } = this.data;
    return lastUntil(rowEpochs, rowStarts[i] as number, rowStarts[i + 1] as number, epoch);
  }

  /**
   * The row of `roots` that an address space has at an epoch: one before that of its first root where
   * it has none yet.
   */
  spaceRow(epoch: number, space: number): number {
    const { spaceStarts, spaceEpochs } = this.data;
    const from = spaceStarts[space] as number;
    return lastUntil(spaceEpochs, from, spaceStarts[space + 1] as number, epoch);
  }

  /** The map that holds an address in an address space at an epoch, or -1. */
  map(epoch: number, space: number, hi: number, lo: number): number {
    const row = this.spaceRow(epoch, space);
    if (row < (this.data.spaceStarts[space] as number)) return -1;
    const root = this.data.roots[row] as number;
    return space === KERNEL_SPACE
      ? this.kernelMap(root, hi, lo)
      : this.layers.find(root, hi, lo, this.data);
  }

  /** The map that holds an address of the kernel where its space has a root, or -1. */
  kernelMap(root: number, hi: number, lo: number): number {
    return this.#spaces.find(root, hi, lo);
  }

  /** What a map was made from. */
  source(map: number): MapSource {
    const { sources, mapSources } = this.data;
    const view = new DataView(sources.buffer, sources.byteOffset, sources.byteLength);
    return decodeMapSource(view, (mapSources[map] as number) * 32);
  }

  /** A name as text. */
  name(id: number): string {
    const { nameStarts, nameBytes } = this.data;
    return new TextDecoder().decode(nameBytes.slice(nameStarts[id], nameStarts[id + 1]));
  }
}

/** Reads what a map was made from: eight little-endian u32. */
export function decodeMapSource(view: DataView, at: number): MapSource {
  return {
    name: view.getUint32(at, true),
    buildId: view.getUint32(at + 4, true) - 1,
    prot: view.getUint32(at + 8, true),
    flags: view.getUint32(at + 12, true),
    maj: view.getUint32(at + 16, true),
    min: view.getUint32(at + 20, true),
    ino: view.getBigUint64(at + 24, true),
  };
}

/** The last of some rising epochs that is not later than `epoch`; `from - 1` where there is none. */
function lastUntil(epochs: Int32Array, from: number, to: number, epoch: number): number {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((epochs[middle] as number) <= epoch) from = middle + 1;
    else to = middle;
  }
  return from - 1;
}
