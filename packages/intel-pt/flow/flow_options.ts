import { BlockCache } from "./block_cache.ts";
import type { CodeSpace } from "./code.ts";
import { PathTable } from "./path_table.ts";
import type { ClockRatios } from "./time_keeper.ts";

/** Blocks and paths, which decoders of several streams can share. */
export class FlowCache {
  /** The blocks. */
  readonly blocks: BlockCache = new BlockCache();
  /** Paths over the blocks. */
  readonly paths: PathTable = new PathTable(this.blocks);
  /** Number of times the cache was cleared. */
  generation = 0;

  /** Whether the cache should be cleared. */
  get full(): boolean {
    return this.blocks.full || this.paths.full;
  }

  /** Removes all blocks and paths. */
  clear(): void {
    this.blocks.clear();
    this.paths.clear();
    this.generation++;
  }
}

/** Options of {@linkcode FlowDecoder}. */
export interface FlowOptions {
  /** The code at the start; see {@linkcode FlowDecoder.setSpace}. */
  readonly space: CodeSpace;
  /** Cache for blocks and paths; a new one by default. */
  readonly cache?: FlowCache;
  /** Ratios of the clocks. Without them, only TSC packets give the time. */
  readonly clocks?: ClockRatios;
  /** TSC value at time 0; the first TSC of the stream by default. */
  readonly timeBase?: bigint;
  /**
   * Reports only events, without following code: 1 reports the addresses of all packets
   * (TIP, FUP, TIP.PGE), 2 only those of PSB+. Then no code is needed.
   */
  readonly quick?: 0 | 1 | 2;
  /** Stream offset of the first byte that is fed; 0 by default. */
  readonly offset?: number;
}

/** Results of {@linkcode FlowDecoder.run}. */
export const FlowStatus = {
  /** All bytes fed so far are decoded. */
  NEED_MORE: 0,
  /** The stream has ended. */
  END: 1,
  /** The time limit is reached. */
  TIME: 2,
  /** The requested PSB+ has ended: {@linkcode FlowDecoder.seam}. */
  SEAM: 3,
  /** A guest was entered or left, so the code may be in another space; {@linkcode FlowDecoder.nonRoot}. */
  SPACE: 4,
  /** {@linkcode FlowDecoder.holds} stopped before a packet, which the next `run` decodes. */
  HELD: 5,
} as const;

/** One of the numbers of {@linkcode FlowStatus}. */
export type FlowStatus = typeof FlowStatus[keyof typeof FlowStatus];

/** Statistics of a {@linkcode FlowDecoder}. */
export interface FlowCounts {
  /** Bytes of the stream that were decoded. */
  bytes: number;
  /** Bytes of packets while the address of execution was unknown. */
  lostBytes: number;
  /** Branches of TNT packets that could not be followed. */
  lostBranches: number;
  /** Packets with a target address: TIP, TIP.PGE and TIP.PGD. */
  addresses: number;
  /** Instructions in a part of the output (1 of 16 stretches): counting all of them would take longer than decoding. */
  insns: number;
  /** Branches of TNT packets in that part. */
  insnBranches: number;
  /** Instructions that were followed and then taken back: they led into a loop without packets. */
  unsureInsns: number;
  /** The count of errors of each {@linkcode FlowError}. */
  readonly errors: Float64Array;
}

/** Counts that are all 0. */
export function noFlowCounts(): FlowCounts {
  return {
    bytes: 0,
    lostBytes: 0,
    lostBranches: 0,
    addresses: 0,
    insns: 0,
    insnBranches: 0,
    unsureInsns: 0,
    errors: new Float64Array(10),
  };
}
