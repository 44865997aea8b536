import { InsnDecoder, type InsnMode } from "../x86/insn_decoder.ts";
import { InsnKind } from "../x86/insn_kind.ts";
import { type CodeRange, type CodeSpace, offsetIn } from "./code.ts";

/** Reasons why no block begins at an address. */
export const NoBlock = {
  /** The code's bytes are not available. */
  NO_CODE: -1,
  /** The bytes are not an instruction. */
  BAD_CODE: -2,
} as const;

/** End of a block without a branch. */
export const BlockStop = {
  /** The block ends with a branch, or the next block continues it. */
  NONE: 0,
  /** The bytes after the block are not available. */
  NO_CODE: 1,
  /** The bytes after the block are not an instruction. */
  BAD_CODE: 2,
} as const;

/** Maximum number of instructions in a block, which limits the work for a wrong target. */
const MAX_INSNS = 256;

/** Size of the cache of {@linkcode BlockCache.at}, a power of two. Targets of calls and returns recur. */
const KNOWN = 1 << 12;

/** Maximum number of blocks, after which {@linkcode BlockCache.full} is true. */
const MAX_BLOCKS = 1 << 21;

/** A number for each mode, for hash keys. */
const MODE_BITS: Readonly<Record<InsnMode, number>> = { 64: 0, 32: 1, 16: 2 };
const MODES: readonly InsnMode[] = [64, 32, 16];

/**
 * Basic blocks of code, decoded once and kept in typed arrays. A block is identified by its index.
 *
 * A block begins at a target of execution. It ends with the first branch, PTWRITE or MOV to CR3, after
 * 256 instructions, or at the end of the available bytes. Blocks may overlap.
 *
 * @example
 * ```ts
 * import { BlockCache, bytesRange, fixedSpace, InsnKind } from "@perfdata/intel-pt";
 * import { assertEquals } from "@std/assert";
 *
 * // nop; je +0
 * const space = fixedSpace([bytesRange(1, 0x1000n, Uint8Array.of(0x90, 0x74, 0x00))]);
 * const blocks = new BlockCache();
 * const block = blocks.at(space, 0x1000, 0, 64);
 * assertEquals([blocks.insns[block], blocks.kind[block]], [2, InsnKind.JCC]);
 * assertEquals(blocks.targetLow[block], 0x1003);
 * ```
 */
export class BlockCache {
  /** Number of blocks. */
  count = 0;
  /** Bits 31:0 of a block's first address. */
  low: Int32Array = new Int32Array(1024);
  /** Bits 63:32 of a block's first address. */
  high: Int32Array = new Int32Array(1024);
  /** Size of a block in bytes. */
  size: Int32Array = new Int32Array(1024);
  /** Number of instructions in a block. */
  insns: Int32Array = new Int32Array(1024);
  /** Kind of the last instruction; OTHER if the block ends without a branch. */
  kind: Uint8Array = new Uint8Array(1024);
  /** Length in bytes of the last instruction. */
  lastSize: Uint8Array = new Uint8Array(1024);
  /** {@linkcode BlockStop}. */
  stop: Uint8Array = new Uint8Array(1024);
  /** Target of a direct branch, bits 31:0. */
  targetLow: Int32Array = new Int32Array(1024);
  /** Target of a direct branch, bits 63:32. */
  targetHigh: Int32Array = new Int32Array(1024);
  /** Block at that target; -1 if not yet looked up, -2 if outside of the range. */
  taken: Int32Array = new Int32Array(1024);
  /** Next block in memory; -1 if not yet looked up, -2 if outside of the range. */
  next: Int32Array = new Int32Array(1024);
  /** `id` of the range that contains the block. */
  range: Int32Array = new Int32Array(1024);
  /** Mode of the code: 0 is 64 bits, 1 is 32, 2 is 16. */
  mode: Uint8Array = new Uint8Array(1024);
  /** For a block cut short by an event, the block that it is the beginning of; otherwise the block itself. */
  whole: Int32Array = new Int32Array(1024);

  readonly #insn = new InsnDecoder();
  readonly #ranges = new Map<number, CodeRange>();
  #table = new Int32Array(4096);
  readonly #cut = new Map<number, number>();
  readonly #straddle = new Uint8Array(15);
  /** Last block found at an address, + 1, by the address's hash; only for the space of the last range found. */
  readonly #known = new Int32Array(KNOWN);
  /** Last range found, and its space. */
  #lastRange: CodeRange | undefined;
  #lastSpace: CodeSpace | undefined;

  /** Whether the cache has so many blocks that it should be cleared. */
  get full(): boolean {
    return this.count >= MAX_BLOCKS;
  }

  /** Returns the mode of a block's code. */
  modeOf(block: number): InsnMode {
    return MODES[this.mode[block] as number] as InsnMode;
  }

  /** Returns the range that contains a block. */
  rangeOf(block: number): CodeRange {
    return this.#ranges.get(this.range[block] as number) as CodeRange;
  }

  /** Removes all blocks; their indices become invalid. */
  clear(): void {
    this.count = 0;
    this.#table.fill(0);
    this.#cut.clear();
    this.#ranges.clear();
    this.forgetSpace();
  }

  /** Clears the lookup caches. To be called if a space's ranges have changed. */
  forgetSpace(): void {
    this.#lastRange = this.#lastSpace = undefined;
    this.#known.fill(0);
  }

  /** Returns the range that contains an address. */
  rangeAt(space: CodeSpace, low: number, high: number): CodeRange | undefined {
    const last = this.#lastRange;
    if (last !== undefined && this.#lastSpace === space && offsetIn(last, low, high) >= 0) {
      return last;
    }
    const range = space.find(low, high);
    if (range !== undefined) {
      if (space !== this.#lastSpace) this.#known.fill(0);
      this.#lastRange = range;
      this.#lastSpace = space;
    }
    return range;
  }

  /**
   * Returns the block that begins at an address, and decodes it if it is new.
   *
   * @returns The block's index, or one of {@linkcode NoBlock}.
   */
  at(space: CodeSpace, low: number, high: number, mode: InsnMode): number {
    const slot = hash(low, 0) & KNOWN - 1;
    const known = (this.#known[slot] as number) - 1;
    if (
      known >= 0 && this.#lastSpace === space && this.low[known] === low &&
      this.high[known] === high && this.mode[known] === MODE_BITS[mode]
    ) return known;
    const range = this.rangeAt(space, low, high);
    if (range === undefined) return NoBlock.NO_CODE;
    const block = this.inRange(space, range, low, high, MODE_BITS[mode]);
    if (block >= 0) this.#known[slot] = block + 1;
    return block;
  }

  /** Like `at`, for a known range. */
  private inRange(
    space: CodeSpace,
    range: CodeRange,
    low: number,
    high: number,
    mode: number,
  ): number {
    const { id } = range;
    const mask = this.#table.length - 1;
    let slot = hash(low, id) & mask;
    for (;;) {
      const block = (this.#table[slot] as number) - 1;
      if (block < 0) break;
      if (
        this.low[block] === low && this.range[block] === id && this.high[block] === high &&
        this.mode[block] === mode
      ) return block;
      slot = slot + 1 & mask;
    }
    const block = this.decode(space, range, low, high, mode);
    if (block >= 0) {
      this.#table[slot] = block + 1;
      if (2 * this.count > this.#table.length) this.rehash();
    }
    return block;
  }

  /** Returns the block at the target of a direct branch; -2 if the target is in another range. */
  takenOf(space: CodeSpace, block: number): number {
    const known = this.taken[block] as number;
    if (known !== -1) return known;
    const low = this.targetLow[block] as number;
    return this.taken[block] = this.link(space, block, low, this.targetHigh[block] as number);
  }

  /** Returns the next block in memory; -2 if it is in another range. */
  nextOf(space: CodeSpace, block: number): number {
    const known = this.next[block] as number;
    if (known !== -1) return known;
    const low = (this.low[block] as number) + (this.size[block] as number) | 0;
    return this.next[block] = this.link(space, block, low, this.endHigh(block));
  }

  /** Returns bits 63:32 of the address after a block. */
  endHigh(block: number): number {
    const low = (this.low[block] as number) >>> 0;
    const high = this.high[block] as number;
    return low + (this.size[block] as number) > 0xffffffff ? high + 1 | 0 : high;
  }

  /** Returns the block at an address of the same range; -2 if the range has no code there. */
  private link(space: CodeSpace, block: number, low: number, high: number): number {
    const range = this.rangeOf(block);
    if (offsetIn(range, low, high) < 0) return -2;
    const found = this.inRange(space, range, low, high, this.mode[block] as number);
    return found < 0 ? -2 : found;
  }

  /**
   * Counts the instructions of a block before an offset.
   *
   * @param offset Offset in bytes from the block's first address.
   * @returns The number of instructions, or -1 if no instruction begins at the offset.
   */
  insnsBefore(space: CodeSpace, block: number, offset: number): number {
    let n = 0;
    let at = 0;
    const range = this.rangeOf(block);
    const size = this.size[block] as number;
    const base = offsetIn(range, this.low[block] as number, this.high[block] as number);
    const mode = this.modeOf(block);
    while (at < offset && at < size) {
      const length = this.insnAt(space, range, base + at, mode);
      if (length <= 0) return -1;
      at += length;
      n++;
    }
    return at === offset ? n : -1;
  }

  /** Calls `use` for each instruction with its offset from the block's first address and its length. */
  eachInsn(space: CodeSpace, block: number, use: (offset: number, length: number) => void): void {
    const range = this.rangeOf(block);
    const base = offsetIn(range, this.low[block] as number, this.high[block] as number);
    const mode = this.modeOf(block);
    const size = this.size[block] as number;
    for (let at = 0; at < size;) {
      const length = this.insnAt(space, range, base + at, mode);
      if (length <= 0) return;
      use(at, length);
      at += length;
    }
  }

  /** Returns the first `insns` instructions of a block, `size` bytes, as a separate block. */
  cut(block: number, insns: number, size: number): number {
    const whole = this.whole[block] as number;
    const key = whole * 8192 + size;
    const known = this.#cut.get(key);
    if (known !== undefined) return known;
    const part = this.add();
    for (
      const column of [this.low, this.high, this.range, this.targetLow, this.targetHigh]
    ) column[part] = column[whole] as number;
    this.mode[part] = this.mode[whole] as number;
    this.size[part] = size;
    this.insns[part] = insns;
    this.kind[part] = InsnKind.OTHER;
    this.lastSize[part] = 0;
    this.stop[part] = BlockStop.NONE;
    this.taken[part] = this.next[part] = -1;
    this.whole[part] = whole;
    this.#cut.set(key, part);
    return part;
  }

  /** Returns the length of an instruction like `InsnDecoder.decode`, even if it continues in the next range. */
  private insnAt(space: CodeSpace, range: CodeRange, offset: number, mode: InsnMode): number {
    const window = range.window(offset);
    if (window === undefined) return 0;
    const { bytes, from } = window;
    const at = offset - from;
    const end = Math.min(bytes.length, range.size - from);
    const length = this.#insn.decode(bytes, at, end, mode);
    return length === 0 ? this.straddling(space, range, offset, mode) : length;
  }

  /** Returns the length of an instruction that begins in one range and ends in the next. */
  private straddling(space: CodeSpace, range: CodeRange, offset: number, mode: InsnMode): number {
    const bytes = this.#straddle;
    let copied = 0;
    let part: CodeRange | undefined = range;
    let at = offset;
    while (copied < bytes.length) {
      const window: ReturnType<CodeRange["window"]> = part.window(at);
      if (window === undefined) break;
      const end = Math.min(window.bytes.length, part.size - window.from);
      const start = at - window.from;
      const n = Math.min(bytes.length - copied, end - start);
      if (n <= 0) break;
      bytes.set(window.bytes.subarray(start, start + n), copied);
      copied += n;
      at += n;
      if (at < part.size) continue;
      const endLow = part.low + part.size | 0;
      const endHigh = (part.low >>> 0) + part.size > 0xffffffff ? part.high + 1 | 0 : part.high;
      part = space.find(endLow, endHigh);
      if (part === undefined) break;
      at = offsetIn(part, endLow, endHigh);
    }
    return this.#insn.decode(bytes, 0, copied, mode);
  }

  /** Decodes a block and appends it. */
  private decode(
    space: CodeSpace,
    range: CodeRange,
    low: number,
    high: number,
    mode: number,
  ): number {
    const insn = this.#insn;
    const bits = MODES[mode] as InsnMode;
    const base = offsetIn(range, low, high);
    let at = base;
    let insns = 0;
    let length = 0;
    let window = range.window(at);
    let stop: number = BlockStop.NONE;
    for (;;) {
      length = 0;
      if (window !== undefined) {
        const { bytes, from } = window;
        const end = Math.min(bytes.length, range.size - from);
        length = insn.decode(bytes, at - from, end, bits);
        if (length === 0) {
          // Another window, or the next range, may have more bytes.
          window = range.window(at);
          length = this.insnAt(space, range, at, bits);
        }
      }
      if (length <= 0) {
        stop = length === 0 ? BlockStop.NO_CODE : BlockStop.BAD_CODE;
        break;
      }
      insns++;
      at += length;
      if (insn.kind !== InsnKind.OTHER || insns === MAX_INSNS || at >= range.size) break;
    }
    if (insns === 0) return stop === BlockStop.NO_CODE ? NoBlock.NO_CODE : NoBlock.BAD_CODE;

    const block = this.add();
    if (!this.#ranges.has(range.id)) this.#ranges.set(range.id, range);
    this.low[block] = low;
    this.high[block] = high;
    this.size[block] = at - base;
    this.insns[block] = insns;
    this.kind[block] = stop === BlockStop.NONE ? insn.kind : InsnKind.OTHER;
    this.lastSize[block] = length > 0 ? length : 0;
    this.stop[block] = stop;
    this.range[block] = range.id;
    this.mode[block] = mode;
    this.whole[block] = block;
    this.taken[block] = this.next[block] = -1;
    if (insn.kind !== InsnKind.OTHER) this.setTarget(block, bits);
    return block;
  }

  /** Stores the target of the direct branch decoded last. */
  private setTarget(block: number, mode: InsnMode): void {
    const insn = this.#insn;
    const endLow = (this.low[block] as number) + (this.size[block] as number) | 0;
    const endHigh = this.endHigh(block);
    let low = endLow + insn.relative | 0;
    // An unsigned lower half plus a signed displacement may carry or borrow.
    const sum = (endLow >>> 0) + insn.relative;
    let high = sum < 0 ? endHigh - 1 | 0 : sum > 0xffffffff ? endHigh + 1 | 0 : endHigh;
    if (insn.absolute) {
      low = insn.absoluteLow;
      high = insn.absoluteHigh;
    } else if (mode !== 64) {
      high = 0;
      if (insn.operand16) low &= 0xffff;
    }
    this.targetLow[block] = low;
    this.targetHigh[block] = high;
  }

  /** Appends an empty block. */
  private add(): number {
    const block = this.count++;
    if (block === this.low.length) this.grow();
    return block;
  }

  /** Doubles the size of the columns. */
  private grow(): void {
    const wide = (old: Int32Array) => {
      const larger = new Int32Array(2 * old.length);
      larger.set(old);
      return larger;
    };
    const narrow = (old: Uint8Array) => {
      const larger = new Uint8Array(2 * old.length);
      larger.set(old);
      return larger;
    };
    this.low = wide(this.low);
    this.high = wide(this.high);
    this.size = wide(this.size);
    this.insns = wide(this.insns);
    this.kind = narrow(this.kind);
    this.lastSize = narrow(this.lastSize);
    this.stop = narrow(this.stop);
    this.targetLow = wide(this.targetLow);
    this.targetHigh = wide(this.targetHigh);
    this.taken = wide(this.taken);
    this.next = wide(this.next);
    this.range = wide(this.range);
    this.mode = narrow(this.mode);
    this.whole = wide(this.whole);
  }

  /** Doubles the size of the hash table. */
  private rehash(): void {
    const table = this.#table = new Int32Array(2 * this.#table.length);
    const mask = table.length - 1;
    for (let block = 0; block < this.count; block++) {
      if (this.whole[block] !== block) continue;
      let slot = hash(this.low[block] as number, this.range[block] as number) & mask;
      while (table[slot] !== 0) slot = slot + 1 & mask;
      table[slot] = block + 1;
    }
  }
}

function hash(low: number, id: number): number {
  const mixed = Math.imul(low ^ Math.imul(id, 0x9e3779b1), 0x85ebca6b);
  return mixed ^ mixed >>> 15;
}
