import { type BlockCache, InsnKind, type PathTable } from "@perfdata/intel-pt";
import { enlarge } from "@perfdata/format/bytes";
import { KIND_FLAGS } from "../samples/pt_flow_codes.ts";
import { IP_FLAG } from "../samples/pt_sample_rows.ts";

const TURN = IP_FLAG.CALL | IP_FLAG.RETURN;

/** Whether a branch is a call or a return, by the kind of its instruction. */
function isTurn(kind: number): boolean {
  return ((KIND_FLAGS[kind] as number) & TURN) !== 0;
}

/** Whether a branch of this kind of instruction needs a packet for its target. */
export function usesPacket(kind: number): boolean {
  return isBranch(kind) && kind !== InsnKind.JMP && kind !== InsnKind.CALL;
}

export function isBranch(kind: number): boolean {
  return kind !== InsnKind.OTHER && kind < InsnKind.PTWRITE;
}

/** Number of 32-bit words that describe a turn in {@linkcode PathTurns.words}. */
export const TURN_WORDS = 2;

/**
 * Calls and returns of paths. Most blocks end with a jump, so that their blocks need not be
 * examined again whenever a path is executed.
 */
export class PathTurns {
  /**
   * {@linkcode TURN_WORDS} words for each turn: index of its block in `PathTable.blocks`, and 1 if
   * a packet was used on the path up to there.
   */
  words: Int32Array<ArrayBuffer> = new Int32Array(1024);
  /** Offset of each path's first turn, + 1; 0 if unknown. */
  #from = new Int32Array(0);
  #to = new Int32Array(0);
  /** 1 for each path on which a packet is used. */
  #packets = new Uint8Array(0);
  #used = 0;
  readonly #isWanted: boolean;

  /**
   * @param isWanted Whether calls and returns are requested; otherwise they are treated like jumps.
   */
  constructor(isWanted: boolean) {
    this.#isWanted = isWanted;
  }

  /** Whether a branch is a requested call or return, by the kind of its instruction. */
  isTurn(kind: number): boolean {
    return this.#isWanted && isTurn(kind);
  }

  /** Finds the turns of a path; returns the offset of the first. */
  from(paths: PathTable, blocks: BlockCache, path: number): number {
    const known = path < this.#from.length ? (this.#from[path] as number) - 1 : -1;
    return known < 0 ? this.#find(paths, blocks, path) : known;
  }

  /** Offset after the last turn of a path whose turns were found. */
  to(path: number): number {
    return this.#to[path] as number;
  }

  /** Whether a packet is used on a path whose turns were found. */
  usesPacket(path: number): boolean {
    return this.#packets[path] === 1;
  }

  /** Clears all paths, because their numbers are no longer valid. */
  clear(): void {
    this.#from.fill(0);
    this.#used = 0;
  }

  #find({ start, blocks: list, count }: PathTable, blocks: BlockCache, path: number): number {
    if (path >= this.#from.length) {
      this.#from = enlarge(this.#from, count);
      this.#to = enlarge(this.#to, count);
      this.#packets = enlarge(this.#packets, count);
    }
    const from = this.#used;
    const end = start[path + 1] as number;
    let packets = 0;
    for (let k = start[path] as number; k < end; k++) {
      const kind = blocks.kind[list[k] as number] as number;
      if (usesPacket(kind)) packets = 1;
      if (!this.isTurn(kind)) continue;
      if (this.#used + TURN_WORDS > this.words.length) {
        this.words = enlarge(this.words, this.#used + TURN_WORDS);
      }
      this.words[this.#used++] = k;
      this.words[this.#used++] = packets;
    }
    this.#from[path] = from + 1;
    this.#to[path] = this.#used;
    this.#packets[path] = packets;
    return from;
  }
}
