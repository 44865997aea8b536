import { InsnKind } from "../x86/insn_kind.ts";
import { type BlockCache, BlockStop } from "./block_cache.ts";
import type { CodeSpace } from "./code.ts";

/** How a path ends, which determines the next address. */
export const PathEnd = {
  /** Block {@linkcode PathTable.next} is the next to be executed. */
  NEXT: 0,
  /** Goes on at the target of block `next`, which is outside of its range. */
  OUT_TAKEN: 1,
  /** Goes on after block `next`, outside of its range. */
  OUT_NEXT: 2,
  /** A compressed return whose call is not in the path. */
  RETURN: 3,
  /** A TIP packet says where it continues. */
  INDIRECT: 4,
  /** The same, by a return whose call is not in the path. */
  INDIRECT_RETURN: 11,
  /** An error: a TIP was there, and the code has a conditional branch. */
  NEEDS_TNT: 5,
  /** An error: a TNT was there, and the code has an indirect branch. */
  NEEDS_TIP: 6,
  /** An error: a return with a TNT that says "not taken". */
  BAD_RETURN: 7,
  /** An error: code that goes in circles without a packet. */
  LOOP: 8,
  /** An error: no bytes. */
  NO_CODE: 9,
  /** An error: the bytes are not an instruction. */
  BAD_CODE: 10,
} as const;

/** Maximum number of blocks in a path; longer ones continue in another. */
const MAX_PATH_BLOCKS = 1024;
/** Maximum number of paths and of their blocks, after which {@linkcode PathTable.full} is true. */
const MAX_PATHS = 1 << 21;
const MAX_BLOCKS = 1 << 24;

/**
 * Paths: what a packet leads through from a block on, as a sequence of blocks.
 *
 * A warm loop takes the same way for the same packet again and again, so that following a TNT packet is one
 * look into a table. The key of a path is its first block and what leads it: branches of a TNT (at
 * most six, below a bit that marks their number: 2 to 127), {@linkcode PathTable.TO_INDIRECT} or
 * {@linkcode PathTable.ALONE}.
 */
export class PathTable {
  /** Key: up to the first indirect branch. */
  static readonly TO_INDIRECT = 0;
  /** Key: this block alone. */
  static readonly ALONE = 1;

  /** Number of paths. */
  count = 0;
  /** Start of a path in {@linkcode PathTable.blocks}; it ends at the start of the next one. */
  start: Int32Array = new Int32Array(1024);
  /** The blocks of all paths. */
  blocks: Int32Array = new Int32Array(4096);
  /** {@linkcode PathEnd}. */
  end: Uint8Array = new Uint8Array(1024);
  /** A block; see {@linkcode PathEnd}. */
  next: Int32Array = new Int32Array(1024);
  /** Branches of the TNT that the path took. */
  used: Uint8Array = new Uint8Array(1024);
  /** Instructions in the path. */
  insns: Int32Array = new Int32Array(1024);
  /** Instructions after it that were left out, since it leads into a circle that no packet ends. */
  unsure: Int32Array = new Int32Array(1024);
  /** Start in {@linkcode PathTable.pushes} of the calls from which the path does not return. */
  pushStart: Int32Array = new Int32Array(1024);
  /** Blocks that end with those calls, of all paths. */
  pushes: Int32Array = new Int32Array(1024);

  /**
   * Block after a path that uses all of its branches and ends in its range, or -2 less that block where the path
   * calls what it does not return from; -1 for all others. Most paths are of this kind.
   */
  plain: Int32Array = new Int32Array(1024);
  /**
   * By hash of the key: pairs of a key and the number of its path + 1; 0 if there is none. See
   * {@linkcode pathSlot}.
   */
  table: Int32Array = new Int32Array(1 << 14);

  readonly #blocks: BlockCache;
  #entries = 0;
  readonly #calls = new Int32Array(MAX_PATH_BLOCKS);

  /** Makes a table of paths over the blocks of a cache. */
  constructor(blocks: BlockCache) {
    this.#blocks = blocks;
  }

  /** Whether there are so many paths that the table should be cleared. */
  get full(): boolean {
    return this.count >= MAX_PATHS || (this.start[this.count] as number) >= MAX_BLOCKS;
  }

  /** Forgets all paths: their numbers mean nothing any more. */
  clear(): void {
    this.count = 0;
    this.#entries = 0;
    this.table.fill(0);
    this.start[0] = 0;
    this.pushStart[0] = 0;
  }

  /** The last block of a path; -1 if it has none. */
  lastBlock(path: number): number {
    const end = this.start[path + 1] ?? 0;
    return end === this.start[path] ? -1 : this.blocks[end - 1] ?? -1;
  }

  /** The path from a block on; see the class for `lead`. */
  of(space: CodeSpace, block: number, lead: number): number {
    const key = block << 7 | lead;
    const { table } = this;
    const mask = table.length - 1;
    let slot = pathSlot(key) & mask;
    for (;;) {
      const path = table[slot + 1] as number;
      if (path === 0) break;
      if (table[slot] === key) return path - 1;
      slot = slot + 2 & mask;
    }
    const path = this.build(space, block, lead);
    table[slot] = key;
    table[slot + 1] = path + 1;
    if (4 * ++this.#entries > table.length) this.rehash();
    return path;
  }

  /** Goes the way, and adds it as a path. */
  // One function: a dozen counts of the walk are what the path is made of, and as locals they cost nothing.
  private build(space: CodeSpace, first: number, lead: number): number {
    const cache = this.#blocks;
    const calls = this.#calls;
    const path = this.count++;
    if (path + 1 >= this.start.length) this.grow();
    const start = this.start[path] as number;
    while (start + MAX_PATH_BLOCKS > this.blocks.length) this.blocks = twice(this.blocks);
    const { blocks } = this;
    const alone = lead === PathTable.ALONE;
    const bits = lead < 2 ? 0 : 31 - Math.clz32(lead);
    let left = bits;
    let insns = 0;
    let n = 0;
    // Blocks up to the last branch that a packet has confirmed.
    let sure = 0;
    let depth = 0;
    let block = first;
    let end: number = PathEnd.NEXT;
    // Brent's way to find a circle: a mark that is moved at powers of two.
    let mark = -1;
    let steps = 0;
    let power = 1;
    for (;;) {
      if (n === MAX_PATH_BLOCKS) break;
      blocks[start + n++] = block;
      insns += cache.insns[block] as number;
      if (alone) {
        block = -1;
        break;
      }
      const kind = cache.kind[block] as number;
      let to: number;
      let taken = true;
      if (kind === InsnKind.JCC || kind === InsnKind.RET) {
        if (left === 0) {
          end = kind === InsnKind.JCC
            ? PathEnd.NEEDS_TNT
            : --depth < 0
            ? PathEnd.INDIRECT_RETURN
            : PathEnd.INDIRECT;
          depth = Math.max(0, depth);
          break;
        }
        taken = (lead >> --left & 1) !== 0;
        sure = n;
        steps = 0;
        power = 1;
        mark = -1;
        if (kind === InsnKind.RET) {
          if (!taken) {
            end = PathEnd.BAD_RETURN;
            break;
          }
          if (depth === 0) {
            end = PathEnd.RETURN;
            break;
          }
          block = calls[--depth] as number;
          taken = false;
        }
        to = taken ? cache.takenOf(space, block) : cache.nextOf(space, block);
      } else if (kind === InsnKind.JMP) {
        to = cache.takenOf(space, block);
      } else if (kind === InsnKind.CALL) {
        if (isRealCall(cache, block)) calls[depth++] = block;
        to = cache.takenOf(space, block);
      } else if (kind === InsnKind.OTHER || kind >= InsnKind.PTWRITE) {
        const stop = cache.stop[block] as number;
        if (stop !== BlockStop.NONE) {
          end = stop === BlockStop.NO_CODE ? PathEnd.NO_CODE : PathEnd.BAD_CODE;
          break;
        }
        taken = false;
        to = cache.nextOf(space, block);
      } else {
        end = lead === PathTable.TO_INDIRECT ? PathEnd.INDIRECT : PathEnd.NEEDS_TIP;
        if (kind === InsnKind.CALL_INDIRECT && end === PathEnd.INDIRECT) calls[depth++] = block;
        break;
      }
      if (to === -2) {
        end = taken ? PathEnd.OUT_TAKEN : PathEnd.OUT_NEXT;
        break;
      }
      block = to;
      if (lead !== PathTable.TO_INDIRECT && left === 0) break;
      if (block === mark) {
        end = PathEnd.LOOP;
        break;
      }
      if (++steps === power) {
        power *= 2;
        mark = block;
      }
    }
    // For an error, only the code that was certainly executed.
    let dropped = 0;
    if (end === PathEnd.LOOP) {
      dropped = n - sure;
      depth = 0;
    } else if (
      end === PathEnd.NEEDS_TNT || end === PathEnd.NEEDS_TIP || end === PathEnd.BAD_RETURN
    ) dropped = 1;
    const before = insns;
    for (; dropped > 0; dropped--) insns -= cache.insns[blocks[start + --n] as number] as number;
    this.unsure[path] = end === PathEnd.LOOP ? before - insns : 0;
    this.end[path] = end;
    this.next[path] = block;
    this.used[path] = bits - left;
    this.insns[path] = insns;
    this.start[path + 1] = start + n;
    const push = this.pushStart[path] as number;
    while (push + depth > this.pushes.length) this.pushes = twice(this.pushes);
    for (let i = 0; i < depth; i++) this.pushes[push + i] = calls[i] as number;
    this.pushStart[path + 1] = push + depth;
    const isPlain = end === PathEnd.NEXT && left === 0 && bits > 0;
    this.plain[path] = !isPlain ? -1 : depth === 0 ? block : -2 - block;
    return path;
  }

  /** Doubles the columns. */
  private grow(): void {
    this.start = twice(this.start);
    this.next = twice(this.next);
    this.insns = twice(this.insns);
    this.unsure = twice(this.unsure);
    this.plain = twice(this.plain);
    this.pushStart = twice(this.pushStart);
    const end = new Uint8Array(2 * this.end.length);
    end.set(this.end);
    this.end = end;
    const used = new Uint8Array(2 * this.used.length);
    used.set(this.used);
    this.used = used;
  }

  /** Doubles the table. */
  private rehash(): void {
    const old = this.table;
    const table = this.table = new Int32Array(2 * old.length);
    const mask = table.length - 1;
    for (let i = 0; i < old.length; i += 2) {
      if (old[i + 1] === 0) continue;
      const key = old[i] as number;
      let slot = pathSlot(key) & mask;
      while (table[slot + 1] !== 0) slot = slot + 2 & mask;
      table[slot] = key;
      table[slot + 1] = old[i + 1] as number;
    }
  }
}

/**
 * Position of a key in {@linkcode PathTable.table}, before reduction to the size of the table: an even
 * number.
 */
export function pathSlot(key: number): number {
  return Math.imul(key, 0x9e3779b1) >>> 6 & -2;
}

/**
 * Whether a direct call puts its return address on the processor's stack of compressed returns: a call
 * of the next instruction, which position-independent code of 32 bits uses, does not.
 */
export function isRealCall(blocks: BlockCache, block: number): boolean {
  const end = (blocks.low[block] as number) + (blocks.size[block] as number) | 0;
  return blocks.targetLow[block] !== end || blocks.targetHigh[block] !== blocks.endHigh(block);
}

function twice(old: Int32Array): Int32Array {
  const larger = new Int32Array(2 * old.length);
  larger.set(old);
  return larger;
}
