import { enlarge } from "@perfdata/format/bytes";
import type { BlockCache, PathTable } from "@perfdata/intel-pt";
import type { CallStack } from "./pt_call_stack.ts";
import type { CallTree } from "./pt_call_tree.ts";
import type { PlaceSums } from "./pt_place_sums.ts";

/** The paths of a decoder, and the places of their blocks: see `CallBlocks`. */
export interface PathBlocks {
  readonly place: Int32Array;
  readonly places: number;
  readonly paths: Pick<PathTable, "start" | "blocks" | "insns">;
  readonly blocks: Pick<BlockCache, "insns">;
}

/**
 * Several threads may count parts of a stack's instructions. The time of each instruction is
 * rounded to a multiple of 2^-16 ns, so that sums below 2^37 ns are exact.
 */
const SHARE_GRAIN = 1.5 * 2 ** 36;

/** Sums by index, and the list of indices with a sum. */
class Tally {
  /** The sum of each index. */
  sums: Float64Array = new Float64Array(256);
  /** The indices with a sum: the first `count`. */
  indices: Int32Array = new Int32Array(256);
  count = 0;

  /** Makes room for this many indices. */
  room(length: number): void {
    if (this.sums.length >= length) return;
    this.sums = enlarge(this.sums, length);
    this.indices = enlarge(this.indices, this.sums.length);
  }

  /** Adds a number above 0 to the sum of an index. */
  add(index: number, value: number): void {
    const before = this.sums[index] as number;
    if (before === 0) this.indices[this.count++] = index;
    this.sums[index] = before + value;
  }
}

/** Executed paths of a buffer since its last time. They share the time up to the next one. */
export class OpenPaths {
  /** The last time in ns; -1 if unknown. */
  time = -1;
  /** Core clocks up to that time, and whether the thread runs. */
  cycles = 0;
  isOn = true;
  /** The thread that runs. */
  stack: CallStack | undefined;
  /** Executions of paths. */
  readonly #paths = new Tally();
  /** For paths whose numbers are no longer valid: a place and its instructions, alternating. */
  readonly #places: number[] = [];
  /** Instructions of the tree's nodes. */
  readonly #nodes = new Tally();

  room(paths: number): void {
    this.#paths.room(paths);
  }

  add(path: number): void {
    this.#paths.add(path, 1);
  }

  addToNode(node: number, insns: number): void {
    this.#nodes.room(node + 1);
    this.#nodes.add(node, insns);
  }

  /** Whether paths wait for their time. */
  get isWaiting(): boolean {
    return this.#paths.count + this.#places.length > 0;
  }

  /** Whether instructions of nodes wait for their time. */
  get hasNodes(): boolean {
    return this.#nodes.count > 0;
  }

  /** Converts the waiting paths to places, because numbers of paths are about to be reused. */
  forget({ place, paths, blocks: { insns } }: PathBlocks): void {
    const { start, blocks } = paths;
    const { sums, indices, count } = this.#paths;
    for (const path of indices.subarray(0, count)) {
      const times = sums[path] as number;
      sums[path] = 0;
      for (const block of blocks.subarray(start[path], start[path + 1])) {
        this.#places.push(place[block] as number, times * (insns[block] as number));
      }
    }
    this.#paths.count = 0;
  }

  /**
   * Divides ns and core clocks among the paths by their instructions, and adds all three to the
   * sums.
   */
  fold(
    ns: number,
    cycles: number,
    of: PathBlocks,
    sums: PlaceSums,
    tree?: Pick<CallTree, "addTo">,
  ): void {
    if (!this.isWaiting) return;
    const { paths: { start, blocks, insns }, place, blocks: { insns: blockInsns } } = of;
    const { sums: times, indices, count } = this.#paths;
    let total = 0;
    for (let i = 1; i < this.#places.length; i += 2) total += this.#places[i] as number;
    for (let i = 0; i < count; i++) {
      const path = indices[i] as number;
      total += (times[path] as number) * (insns[path] as number);
    }
    const nsEach = total === 0 ? 0 : ns / total;
    const clocksEach = total === 0 ? 0 : cycles / total;
    sums.room(of.places);
    for (let i = 0; i < count; i++) {
      const path = indices[i] as number;
      const executions = times[path] as number;
      times[path] = 0;
      const end = start[path + 1] as number;
      for (let k = start[path] as number; k < end; k++) {
        const block = blocks[k] as number;
        const executed = executions * (blockInsns[block] as number);
        sums.add(place[block] as number, executed, nsEach, clocksEach);
      }
    }
    this.#paths.count = 0;
    if (this.#places.length > 0) this.#foldPlaces(sums, nsEach, clocksEach);
    if (this.#nodes.count > 0) this.#foldNodes(nsEach, tree);
    sums.insns += total;
    sums.time += total === 0 ? 0 : ns;
  }

  #foldPlaces(sums: PlaceSums, nsEach: number, clocksEach: number): void {
    for (let i = 0; i < this.#places.length; i += 2) {
      sums.add(this.#places[i] as number, this.#places[i + 1] as number, nsEach, clocksEach);
    }
    this.#places.length = 0;
  }

  #foldNodes(nsEach: number, tree: Pick<CallTree, "addTo"> | undefined): void {
    const { sums, indices, count } = this.#nodes;
    const grainedNs = nsEach + SHARE_GRAIN - SHARE_GRAIN;
    for (let i = 0; i < count; i++) {
      const node = indices[i] as number;
      tree?.addTo(node, sums[node] as number, grainedNs);
      sums[node] = 0;
    }
    this.#nodes.count = 0;
  }
}
