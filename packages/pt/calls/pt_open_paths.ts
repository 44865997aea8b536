import { enlarge } from "@perfdata/format/bytes";
import type { BlockCache, PathTable } from "@perfdata/intel-pt";
import type { CallStack } from "./pt_call_stack.ts";
import type { CallTree } from "./pt_call_tree.ts";
import type { PlaceSums } from "./pt_place_sums.ts";

/** The paths of a decoder, and the places of their blocks: see `CallBlocks`. */
export interface PathBlocks {
  /** The place of each block. */
  readonly place: Int32Array;
  /** Number of places. */
  readonly places: number;
  /** The blocks of each path, and its instructions. */
  readonly paths: Pick<PathTable, "start" | "blocks" | "insns">;
  /** The instructions of each block. */
  readonly blocks: Pick<BlockCache, "insns">;
}

/**
 * Several threads may count parts of a stack's instructions. The time of each instruction is
 * rounded to a multiple of 2^-16 ns, so that sums below 2^37 ns are exact.
 */
const SHARE_GRAIN = 1.5 * 2 ** 36;

/** Executed paths of a buffer since its last time. They share the time up to the next one. */
export class OpenPaths {
  /** The last time in ns; -1 if unknown. */
  time = -1;
  /** Core clocks up to that time, and whether the thread runs. */
  cycles = 0;
  isOn = true;
  /** The thread that runs. */
  stack: CallStack | undefined;
  #count = new Float64Array(256);
  readonly #touched: number[] = [];
  /** For paths whose numbers are no longer valid: a place and its instructions, alternating. */
  readonly #places: number[] = [];
  /** Instructions of the tree's nodes. */
  #nodeInsns = new Float64Array(256);
  readonly #nodes: number[] = [];

  /** Makes room for this many paths. */
  room(paths: number): void {
    if (this.#count.length < paths) this.#count = enlarge(this.#count, paths);
  }

  /** Adds an executed path. */
  add(path: number): void {
    if (this.#count[path] === 0) this.#touched.push(path);
    this.#count[path] = (this.#count[path] as number) + 1;
  }

  /** Adds instructions of a node. */
  addToNode(node: number, insns: number): void {
    if (node >= this.#nodeInsns.length) this.#nodeInsns = enlarge(this.#nodeInsns, node + 1);
    if (this.#nodeInsns[node] === 0) this.#nodes.push(node);
    this.#nodeInsns[node] = (this.#nodeInsns[node] as number) + insns;
  }

  /** Whether paths wait for their time. */
  get isWaiting(): boolean {
    return this.#touched.length + this.#places.length > 0;
  }

  /** Whether instructions of nodes wait for their time. */
  get hasNodes(): boolean {
    return this.#nodes.length > 0;
  }

  /** Converts the waiting paths to places, because numbers of paths are about to be reused. */
  forget({ place, paths, blocks: { insns } }: PathBlocks): void {
    const { start, blocks } = paths;
    for (const path of this.#touched) {
      const times = this.#count[path] as number;
      this.#count[path] = 0;
      for (const block of blocks.subarray(start[path], start[path + 1])) {
        this.#places.push(place[block] as number, times * (insns[block] as number));
      }
    }
    this.#touched.length = 0;
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
    const { paths, blocks, place } = of;
    let total = 0;
    for (let i = 1; i < this.#places.length; i += 2) total += this.#places[i] as number;
    for (const path of this.#touched) {
      total += (this.#count[path] as number) * (paths.insns[path] as number);
    }
    const nsEach = total === 0 ? 0 : ns / total;
    const clocksEach = total === 0 ? 0 : cycles / total;
    sums.room(of.places);
    for (const path of this.#touched) {
      const times = this.#count[path] as number;
      this.#count[path] = 0;
      const end = paths.start[path + 1] as number;
      for (let k = paths.start[path] as number; k < end; k++) {
        const block = paths.blocks[k] as number;
        const insns = times * (blocks.insns[block] as number);
        sums.add(place[block] as number, insns, nsEach, clocksEach);
      }
    }
    this.#touched.length = 0;
    for (let i = 0; i < this.#places.length; i += 2) {
      sums.add(this.#places[i] as number, this.#places[i + 1] as number, nsEach, clocksEach);
    }
    this.#places.length = 0;
    const nodeNsEach = nsEach + SHARE_GRAIN - SHARE_GRAIN;
    for (const node of this.#nodes) {
      tree?.addTo(node, this.#nodeInsns[node] as number, nodeNsEach);
      this.#nodeInsns[node] = 0;
    }
    this.#nodes.length = 0;
    sums.insns += total;
    sums.time += total === 0 ? 0 : ns;
  }
}
