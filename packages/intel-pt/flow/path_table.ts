import { InsnKind } from "../x86/insn_kind.ts";
import { type BlockCache, BlockStop } from "./block_cache.ts";
import type { CodeSpace } from "./code.ts";

/** End of a path, which determines the next address. */
export const PathEnd = {
  /** Continues with block {@linkcode PathTable.next}. */
  NEXT: 0,
  /** Continues at the target of block `next`, outside of its range. */
  OUT_TAKEN: 1,
  /** Continues after block `next`, outside of its range. */
  OUT_NEXT: 2,
  /** A compressed return whose call is not in the path. */
  RETURN: 3,
  /** An indirect branch; a TIP packet has the target. */
  INDIRECT: 4,
  /** A return with a TIP packet, whose call is not in the path. */
  INDIRECT_RETURN: 11,
  /** Error: a conditional branch without a TNT. */
  NEEDS_TNT: 5,
  /** Error: an indirect branch with a TNT instead of a TIP. */
  NEEDS_TIP: 6,
  /** Error: a return with a TNT bit of "not taken". */
  BAD_RETURN: 7,
  /** Error: code that loops without a packet. */
  LOOP: 8,
  /** Error: no bytes. */
  NO_CODE: 9,
  /** Error: the bytes are not an instruction. */
  BAD_CODE: 10,
} as const;

/** Maximum number of blocks in a path; another path continues a longer one. */
const MAX_PATH_BLOCKS = 1024;
/** Limits of paths and of their blocks, beyond which {@linkcode PathTable.full} is true. */
const MAX_PATHS = 1 << 21;
const MAX_BLOCKS = 1 << 24;

/**
 * Paths: sequences of blocks that are executed from a block on, following the branches of a packet.
 *
 * Loops execute the same path for the same packet again and again; then following a TNT packet is a single
 * table lookup. The key of a path is its first block and its `lead`: branches of a TNT (at
 * most six, below a bit that marks their count: 2 to 127), {@linkcode PathTable.TO_INDIRECT} or
 * {@linkcode PathTable.ALONE}.
 */
export class PathTable {
  /** `lead` of a path that ends at the first indirect branch. */
  static readonly TO_INDIRECT = 0;
  /** `lead` of a path of a single block. */
  static readonly ALONE = 1;
  /** In {@linkcode PathTable.plain}: the path ends with a compressed return whose call is not in the path. */
  static readonly RETURNS: number = -(2 ** 31);

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
  /** Number of TNT branches that the path used. */
  used: Uint8Array = new Uint8Array(1024);
  /** Number of instructions in the path. */
  insns: Int32Array = new Int32Array(1024);
  /** Number of instructions removed at its end, because they lead into a loop without packets. */
  unsure: Int32Array = new Int32Array(1024);
  /** Start in {@linkcode PathTable.pushes} of the path's calls that do not return within it. */
  pushStart: Int32Array = new Int32Array(1024);
  /** Blocks ending with those calls, of all paths. */
  pushes: Int32Array = new Int32Array(1024);

  /**
   * Next block of a path that uses all of its branches and ends in its range; -2 minus that block if the path
   * has calls that do not return within it; {@linkcode PathTable.RETURNS} if it ends with a compressed return;
   * -1 for all other paths. Most paths are of the first kind.
   */
  plain: Int32Array = new Int32Array(1024);
  /** Hash table of pairs: a key, and the index of its path + 1 (0 if empty). See {@linkcode pathSlot}. */
  table: Int32Array = new Int32Array(1 << 14);

  readonly #blocks: BlockCache;
  #entries = 0;
  readonly #calls = new Int32Array(MAX_PATH_BLOCKS);

  /** Creates a table of paths over the blocks of a cache. */
  constructor(blocks: BlockCache) {
    this.#blocks = blocks;
  }

  /** Whether the table has so many paths that it should be cleared. */
  get full(): boolean {
    return this.count >= MAX_PATHS || (this.start[this.count] as number) >= MAX_BLOCKS;
  }

  /** Removes all paths; their indices become invalid. */
  clear(): void {
    this.count = 0;
    this.#entries = 0;
    this.table.fill(0);
    this.start[0] = 0;
    this.pushStart[0] = 0;
  }

  /** Returns the last block of a path; -1 for an empty path. */
  lastBlock(path: number): number {
    const end = this.start[path + 1] ?? 0;
    return end === this.start[path] ? -1 : this.blocks[end - 1] ?? -1;
  }

  /** Returns the path from a block on, and builds it if it is new. For `lead`, see the class. */
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

  /** Follows the code and appends the path. */
  // One function, because its dozen counters are fast as local variables.
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
    // Number of blocks up to the last branch that a packet confirms.
    let sure = 0;
    let depth = 0;
    let block = first;
    let end: number = PathEnd.NEXT;
    // Brent's algorithm for loop detection: the mark moves at powers of two.
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
    // After an error, keep only the code that was certainly executed.
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
    this.plain[path] = end === PathEnd.RETURN
      ? PathTable.RETURNS
      : !isPlain
      ? -1
      : depth === 0
      ? block
      : -2 - block;
    return path;
  }

  /** Doubles the size of the columns. */
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

  /** Doubles the size of the hash table. */
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

/** Returns a key's position in {@linkcode PathTable.table}, an even number, not reduced to the table's size. */
export function pathSlot(key: number): number {
  return Math.imul(key, 0x9e3779b1) >>> 6 & -2;
}

/**
 * Whether a direct call pushes a return address for compressed returns. A call
 * of the next instruction, which 32-bit position-independent code uses, does not.
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
