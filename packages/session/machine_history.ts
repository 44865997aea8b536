import { AddressSpaces } from "./machine_maps.ts";

/**
 * The columns of a {@link MachineHistory}: flat arrays, each of which may lie in shared memory.
 *
 * Rows of `tids`, `threads` and `spaceIds` are sorted by that column and then by epoch.
 */
export interface MachineHistoryData {
  /** When each change was delivered, high half of the time. */
  readonly timeHi: Uint32Array;
  /** When each change was delivered, low half of the time. */
  readonly timeLo: Uint32Array;
  /** File offset of the record that each change came from. */
  readonly offsets: Float64Array;
  /** Thread ids. */
  readonly tids: Int32Array;
  /** From which epoch on the tid means the thread beside it. */
  readonly tidEpochs: Int32Array;
  /** The thread. */
  readonly tidThreads: Int32Array;
  /** Threads. */
  readonly threads: Int32Array;
  /** From which epoch on the thread is as beside it. */
  readonly threadEpochs: Int32Array;
  /** Its process id. */
  readonly pids: Int32Array;
  /** Its address space. */
  readonly threadSpaces: Int32Array;
  /** Its comm: a name, or -1. */
  readonly comms: Int32Array;
  /** Address spaces. */
  readonly spaceIds: Int32Array;
  /** From which epoch on the space has the tree beside it. */
  readonly spaceEpochs: Int32Array;
  /** The tree. */
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
  }

  /** The same history in memory that workers share instead of copying it. */
  shared(): MachineHistory {
    const data = Object.fromEntries(
      Object.entries(this.data).map(([key, column]) => {
        const from = column as Int32Array | Uint32Array | Float64Array | Uint8Array;
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

  /**
   * The row of `pids`, `threadSpaces` and `comms` that describes a thread at an epoch, or -1 where
   * the thread was not known yet.
   */
  threadRow(epoch: number, tid: number): number {
    const { tids, tidEpochs, tidThreads, threads, threadEpochs } = this.data;
    const row = lastRow(tids, tidEpochs, tid, epoch);
    if (row < 0) return -1;
    return lastRow(threads, threadEpochs, tidThreads[row] as number, epoch);
  }

  /** The map that holds an address in an address space at an epoch, or -1. */
  map(epoch: number, space: number, hi: number, lo: number): number {
    const { spaceIds, spaceEpochs, roots } = this.data;
    const row = lastRow(spaceIds, spaceEpochs, space, epoch);
    return row < 0 ? -1 : this.#spaces.find(roots[row] as number, hi, lo);
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

/** The last row of `key` that is not later than `epoch`, or -1. */
function lastRow(keys: Int32Array, epochs: Int32Array, key: number, epoch: number): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const k = keys[middle] as number;
    if (k < key || (k === key && (epochs[middle] as number) <= epoch)) low = middle + 1;
    else high = middle;
  }
  return low > 0 && keys[low - 1] === key ? low - 1 : -1;
}
