import type { InsnMode } from "../x86/insn_decoder.ts";
import { InsnKind } from "../x86/insn_kind.ts";
import { type BlockCache, BlockStop, NoBlock } from "./block_cache.ts";
import type { CodeSpace } from "./code.ts";
import { FlowError } from "./flow_event.ts";
import { isRealCall, PathEnd, pathSlot, PathTable } from "./path_table.ts";

/** Maximum number of blocks without a packet; more are a loop through several ranges. */
const MAX_STEPS = 1 << 16;
/** Maximum number of paths without a packet, kept until a packet confirms them; more are a loop. */
const MAX_UNSURE = 1 << 11;

/** Result of {@linkcode Walker.tnt} at an indirect branch whose TIP the processor deferred. */
export const DEFERRED = 100;

/** Target of a scan. */
export const Scan = {
  /** The address `low`, `high`, which is not executed. */
  ADDRESS: 0,
  /** The end of the first block whose last instruction has the kind `low`. */
  KIND: 1,
  /** The end of the first block that leads to the address `low`, `high` by a branch. */
  BRANCH_TO: 2,
  /** The end of the first block that can leave the traced context. */
  LEAVE: 3,
} as const;

export type Scan = typeof Scan[keyof typeof Scan];

/** Number of calls that the processor remembers (SDM, "Indirect Transfer Compression for Returns"). */
const RETURN_DEPTH = 64;

/** The calls for compressed returns, as return addresses and blocks. */
class ReturnStack {
  /** Bits 31:0 of the return address popped last. */
  low = 0;
  /** Bits 63:32 of the return address popped last. */
  high = 0;
  /** Block of the call popped last, or -1 if it has to be looked up by its address. */
  block: number = -1;

  readonly #low = new Int32Array(RETURN_DEPTH);
  readonly #high = new Int32Array(RETURN_DEPTH);
  readonly #block = new Int32Array(RETURN_DEPTH);
  #top = 0;
  #depth = 0;

  /** Pushes a call: its return address, and the block that ends with the call. */
  push(low: number, high: number, block: number): void {
    const top = this.#top = this.#top + 1 & RETURN_DEPTH - 1;
    this.#low[top] = low;
    this.#high[top] = high;
    this.#block[top] = block;
    if (this.#depth < RETURN_DEPTH) this.#depth++;
  }

  /** Block of the last call; -1 if it is unknown. */
  get top(): number {
    return this.#depth === 0 ? -1 : this.#block[this.#top] ?? -1;
  }

  /** Pops the last call; false if the stack is empty. */
  pop(): boolean {
    if (this.#depth === 0) return false;
    const top = this.#top;
    this.low = this.#low[top] as number;
    this.high = this.#high[top] as number;
    this.block = this.#block[top] as number;
    this.#top = top - 1 & RETURN_DEPTH - 1;
    this.#depth--;
    return true;
  }

  clear(): void {
    this.#depth = 0;
  }

  /** Drops the indices of blocks, which become invalid. */
  forgetBlocks(): void {
    this.#block.fill(-1);
  }
}

/**
 * Follows code from the address of execution to the targets of packets, path by path.
 *
 * {@linkcode Walker.cur} is the block to be executed next, or -1 if only its address is known.
 */
export class Walker {
  /** Output: entries of {@linkcode FlowDecoder.entries}. */
  out: Int32Array = new Int32Array(4096);
  outCount = 0;
  /** The block to be executed next, or -1 if `low` and `high` have the address. */
  cur: number = -1;
  /** Bits 31:0 of the address of execution, if `cur` is -1. */
  low = 0;
  /** Bits 63:32 of the address of execution, if `cur` is -1. */
  high = 0;
  /** Width of the code. */
  mode: InsnMode = 64;
  space: CodeSpace;
  /** The calls for compressed returns. */
  readonly stack: ReturnStack = new ReturnStack();
  /** The branches left when {@linkcode Walker.tnt} returned DEFERRED, as its `lead`. */
  rest = 1;
  /** Result of {@linkcode Walker.tnt} for the last packet of {@linkcode Walker.follow}. */
  error = 0;
  /** Branches of TNT packets that were followed. */
  branches = 0;
  /** Instructions that were taken back, because they led into a loop without packets. */
  unsure = 0;

  private readonly blocks: BlockCache;
  private readonly paths: PathTable;
  private readonly flush: () => void;
  private scanned = new Int32Array(256);

  /** Creates a walker; `flush` empties `out`. */
  constructor(blocks: BlockCache, paths: PathTable, space: CodeSpace, flush: () => void) {
    this.blocks = blocks;
    this.paths = paths;
    this.space = space;
    this.flush = flush;
  }

  /** Sets the address of execution. */
  jump(low: number, high: number): void {
    this.cur = -1;
    this.low = low;
    this.high = high;
  }

  /** Keeps only the address of execution, before indices of blocks or ids of ranges change. */
  detach(): void {
    if (this.cur < 0) return;
    this.low = this.blocks.low[this.cur] as number;
    this.high = this.blocks.high[this.cur] as number;
    this.cur = -1;
  }

  /** Whether execution is at an address. */
  isAt(low: number, high: number): boolean {
    const { cur, blocks } = this;
    return cur < 0
      ? this.low === low && this.high === high
      : blocks.low[cur] === low && blocks.high[cur] === high;
  }

  /** Appends a path, or the complement of an event's number, to the output. */
  put(entry: number): void {
    if (this.outCount === this.out.length) this.flush();
    this.out[this.outCount++] = entry;
  }

  /** Looks up the block at the address of execution; returns 0, or the error + 1. */
  private findBlock(): number {
    const block = this.blocks.at(this.space, this.low, this.high, this.mode);
    if (block < 0) {
      return 1 + (block === NoBlock.NO_CODE ? FlowError.NO_CODE : FlowError.BAD_CODE);
    }
    this.cur = block;
    return 0;
  }

  private pushCalls(path: number): void {
    const { pushStart, pushes } = this.paths;
    const to = pushStart[path + 1] as number;
    for (let i = pushStart[path] as number; i < to; i++) this.pushCall(pushes[i] as number);
  }

  private pushCall(block: number): void {
    const { blocks } = this;
    const low = (blocks.low[block] as number) + (blocks.size[block] as number) | 0;
    this.stack.push(low, blocks.endHigh(block), block);
  }

  /** Continues after the last call; false if no call is known. */
  private returnToCall(): boolean {
    const { stack } = this;
    if (!stack.pop()) return false;
    const next = stack.block < 0 ? -2 : this.blocks.nextOf(this.space, stack.block);
    if (next >= 0) this.cur = next;
    else this.jump(stack.low, stack.high);
    return true;
  }

  /** Continues after a path; returns 0, or the error + 1. */
  private continueAfter(path: number): number {
    const next = this.paths.next[path] as number;
    const { blocks } = this;
    switch (this.paths.end[path]) {
      case PathEnd.NEXT:
        this.cur = next;
        return 0;
      case PathEnd.RETURN:
        return this.returnToCall() ? 0 : this.stopAtBranch(next, FlowError.NO_CALL);
      case PathEnd.OUT_TAKEN:
        this.jump(blocks.targetLow[next] as number, blocks.targetHigh[next] as number);
        return 0;
      case PathEnd.OUT_NEXT:
        this.jumpAfter(next);
        return 0;
      case PathEnd.NO_CODE:
        this.jumpAfter(next);
        return 1 + FlowError.NO_CODE;
      case PathEnd.BAD_CODE:
        this.jumpAfter(next);
        return 1 + FlowError.BAD_CODE;
      case PathEnd.LOOP:
        return this.stopAtBranch(next, FlowError.LOOP);
      default:
        return this.stopAtBranch(next, FlowError.MISMATCH);
    }
  }

  /** Stops at the branch that ends a block, and returns the error + 1. */
  private stopAtBranch(block: number, error: FlowError): number {
    const { blocks } = this;
    const low = blocks.low[block] as number;
    const last = low + (blocks.size[block] as number) - (blocks.lastSize[block] as number) | 0;
    const carry = (last >>> 0) < (low >>> 0) ? 1 : 0;
    this.jump(last, (blocks.high[block] as number) + carry | 0);
    return 1 + error;
  }

  private jumpAfter(block: number): void {
    const { blocks } = this;
    this.jump(
      (blocks.low[block] as number) + (blocks.size[block] as number) | 0,
      blocks.endHigh(block),
    );
  }

  /** Sets the address of execution to the branch that ends the next block. */
  atBranch(): void {
    if (this.cur >= 0) this.stopAtBranch(this.cur, FlowError.MISMATCH);
  }

  /**
   * Follows up to six branches. `lead` has them below a bit that marks their count.
   *
   * @returns 0, DEFERRED, or the error + 1.
   */
  tnt(lead: number): number {
    const { paths } = this;
    // Number of paths since the last branch of the packet.
    let unsure = 0;
    for (;;) {
      if (this.cur < 0) {
        const error = this.findBlock();
        if (error !== 0) return error;
      }
      const path = paths.of(this.space, this.cur, lead);
      if (paths.start[path] !== paths.start[path + 1]) {
        unsure = paths.used[path] === 0 ? this.putUnsure(path, unsure) : 0;
        if (paths.used[path] !== 0) this.put(path);
      }
      if (paths.pushStart[path] !== paths.pushStart[path + 1]) this.pushCalls(path);
      const used = paths.used[path] as number;
      this.branches += used;
      const count = 31 - Math.clz32(lead) - used;
      if (paths.end[path] === PathEnd.NEXT) this.cur = paths.next[path] as number;
      else if (paths.end[path] === PathEnd.NEEDS_TIP) {
        this.cur = paths.next[path] as number;
        this.rest = 1 << count | lead & (1 << count) - 1;
        return DEFERRED;
      } else {
        const error = this.continueAfter(path);
        if (error !== 0) {
          if (error === 1 + FlowError.LOOP) this.takeBack(path, unsure);
          return error;
        }
      }
      if (count === 0) return 0;
      lead = 1 << count | lead & (1 << count) - 1;
      if (unsure > MAX_UNSURE) {
        this.takeBack(path, unsure);
        return 1 + FlowError.LOOP;
      }
    }
  }

  /**
   * Follows the short TNT packets in `bytes[from, to)`, up to one with an error: see {@linkcode Walker.error}. Known
   * paths that are plain or return take one table lookup each.
   *
   * @returns Position of the first packet that was not followed.
   */
  follow(bytes: Uint8Array, from: number, to: number): number {
    const { out, paths, blocks, stack } = this;
    let { table, plain } = paths;
    let { cur, outCount, branches } = this;
    let at = from;
    for (; at < to; at++) {
      const byte = bytes[at] as number;
      // Short TNTs are the even bytes from 4 on: the branches and the bit that marks their number, shifted by 1.
      if ((byte & 1) !== 0 || byte < 4) break;
      let lead = byte >> 1;
      while (lead > 1) {
        const key = cur << 7 | lead;
        const slot = pathSlot(key) & table.length - 1;
        const path = table[slot] === key ? (table[slot + 1] as number) - 1 : -1;
        const next = path < 0 ? -1 : plain[path] as number;
        if (next === -1 || outCount === out.length) break;
        if (next !== PathTable.RETURNS) {
          out[outCount++] = path;
          branches += 31 - Math.clz32(lead);
          if (next >= 0) cur = next;
          else {
            this.pushCalls(path);
            cur = -2 - next;
          }
          lead = 1;
          break;
        }
        const call = stack.top;
        const after = call < 0 ? -1 : blocks.next[call] ?? -1;
        if (after < 0) break;
        stack.pop();
        out[outCount++] = path;
        const used = paths.used[path] ?? 0;
        branches += used;
        cur = after;
        const left = 31 - Math.clz32(lead) - used;
        lead = 1 << left | lead & (1 << left) - 1;
      }
      if (lead === 1) continue;
      this.cur = cur;
      this.outCount = outCount;
      this.branches = branches;
      this.error = this.tnt(lead);
      if (this.error !== 0) return at + 1;
      ({ cur, outCount, branches } = this);
      ({ table, plain } = paths);
    }
    this.cur = cur;
    this.outCount = outCount;
    this.branches = branches;
    return at;
  }

  /** Follows the code through the first indirect branch. */
  indirect(): number {
    const { paths } = this;
    let unsure = 0;
    for (;;) {
      if (this.cur < 0) {
        const error = this.findBlock();
        if (error !== 0) return error;
      }
      const path = paths.of(this.space, this.cur, PathTable.TO_INDIRECT);
      if (paths.start[path] !== paths.start[path + 1]) unsure = this.putUnsure(path, unsure);
      if (paths.pushStart[path] !== paths.pushStart[path + 1]) this.pushCalls(path);
      const end = paths.end[path];
      if (end === PathEnd.INDIRECT) return 0;
      if (end === PathEnd.INDIRECT_RETURN) {
        // Each return pops a call, compressed or not.
        this.stack.pop();
        return 0;
      }
      const error = unsure > MAX_UNSURE ? 1 + FlowError.LOOP : this.continueAfter(path);
      if (error === 0) continue;
      if (error === 1 + FlowError.LOOP) this.takeBack(path, unsure);
      return error;
    }
  }

  /** Outputs a path that no packet has confirmed yet, after `unsure` others. */
  private putUnsure(path: number, unsure: number): number {
    // All unconfirmed paths have to stay in the output, so that they can be taken back.
    if (unsure === 0 && this.outCount + MAX_UNSURE + 2 > this.out.length) this.flush();
    this.put(path);
    return unsure + 1;
  }

  /** After a loop, takes back all unconfirmed paths, including the one that leads into it. */
  private takeBack(path: number, unsure: number): void {
    this.unsure += this.paths.unsure[path] as number;
    for (; unsure > 0; unsure--) {
      this.unsure += this.paths.insns[this.out[--this.outCount] as number] as number;
    }
  }

  /**
   * Searches for the target as far as no packet is needed, and continues there if it is found.
   *
   * @returns 0, or the error + 1.
   */
  scan(what: Scan, low: number, high: number): number {
    const { blocks, space } = this;
    let n = 0;
    let block = this.cur;
    if (block < 0) {
      block = blocks.at(space, this.low, this.high, this.mode);
      // If the target is the current address, nothing is executed.
      if (block < 0) {
        if (what === Scan.ADDRESS && this.low === low && this.high === high) return 0;
        return 1 + (block === NoBlock.NO_CODE ? FlowError.NO_CODE : FlowError.BAD_CODE);
      }
    }
    let mark = -1;
    let power = 1;
    for (let steps = 0;; steps++) {
      if (what === Scan.ADDRESS) {
        const offset = (low - (blocks.low[block] as number)) >>> 0;
        if (
          offset < (blocks.size[block] as number) &&
          (low >>> 0 >= (blocks.low[block] as number) >>> 0
              ? blocks.high[block]
              : (blocks.high[block] as number) + 1 | 0) === high
        ) {
          const insns = offset === 0 ? 0 : blocks.insnsBefore(space, block, offset);
          if (insns >= 0) {
            this.walkScanned(n);
            if (insns > 0) this.putBlock(blocks.cut(block, insns, offset));
            if (offset === 0) this.cur = block;
            else this.jump(low, high);
            return 0;
          }
        }
      }
      if (n === this.scanned.length) {
        const larger = new Int32Array(2 * n);
        larger.set(this.scanned);
        this.scanned = larger;
      }
      this.scanned[n++] = block;
      const kind = blocks.kind[block] as InsnKind;
      if (this.endsScan(what, block, kind, low, high)) {
        this.walkScanned(n);
        // After a system call, execution continues behind it.
        if (what === Scan.KIND || what === Scan.LEAVE) this.jumpAfter(block);
        return 0;
      }
      let next = -2;
      let toLow: number;
      let toHigh: number;
      if (kind === InsnKind.JMP || kind === InsnKind.CALL) {
        next = blocks.takenOf(space, block);
        toLow = blocks.targetLow[block] as number;
        toHigh = blocks.targetHigh[block] as number;
      } else if (kind === InsnKind.OTHER || kind >= InsnKind.PTWRITE) {
        const stop = blocks.stop[block] as number;
        toLow = (blocks.low[block] as number) + (blocks.size[block] as number) | 0;
        toHigh = blocks.endHigh(block);
        if (stop !== BlockStop.NONE) {
          // Execution may stop exactly at the end of the decodable code.
          if (what === Scan.ADDRESS && toLow === low && toHigh === high) {
            this.walkScanned(n);
            this.jump(low, high);
            return 0;
          }
          return 1 + (stop === BlockStop.NO_CODE ? FlowError.NO_CODE : FlowError.BAD_CODE);
        }
        next = blocks.nextOf(space, block);
      } else return 1 + FlowError.MISMATCH;
      if (next === -2) {
        next = blocks.at(space, toLow, toHigh, this.mode);
        if (next < 0) {
          if (what === Scan.ADDRESS && toLow === low && toHigh === high) {
            this.walkScanned(n);
            this.jump(low, high);
            return 0;
          }
          return 1 + (next === NoBlock.NO_CODE ? FlowError.NO_CODE : FlowError.BAD_CODE);
        }
      }
      block = next;
      if (block === mark || steps > MAX_STEPS) return 1 + FlowError.LOOP;
      if (steps + 1 === power) {
        power *= 2;
        mark = block;
      }
    }
  }

  /** Whether a scan ends after a block. */
  private endsScan(what: Scan, block: number, kind: InsnKind, low: number, high: number): boolean {
    const { blocks } = this;
    switch (what) {
      case Scan.KIND:
        return kind === low;
      case Scan.LEAVE:
        return kind !== InsnKind.OTHER && kind !== InsnKind.JCC && kind !== InsnKind.JMP &&
          kind !== InsnKind.CALL && kind < InsnKind.PTWRITE;
      case Scan.BRANCH_TO:
        if (kind === InsnKind.JCC || kind === InsnKind.JMP || kind === InsnKind.CALL) {
          return blocks.targetLow[block] === low && blocks.targetHigh[block] === high;
        }
        return kind !== InsnKind.OTHER && kind < InsnKind.PTWRITE;
      default:
        return false;
    }
  }

  /** Outputs the first `n` scanned blocks. */
  private walkScanned(n: number): void {
    for (let i = 0; i < n; i++) {
      const block = this.scanned[i] as number;
      this.putBlock(block);
      const kind = this.blocks.kind[block];
      if (kind === InsnKind.RET) this.stack.pop();
      else if (kind === InsnKind.CALL_INDIRECT) this.pushCall(block);
      else if (kind === InsnKind.CALL && isRealCall(this.blocks, block)) this.pushCall(block);
    }
  }

  private putBlock(block: number): void {
    this.put(this.paths.of(this.space, block, PathTable.ALONE));
  }
}

/** Follows no code, for `quick`: packets have the address of execution. */
export class HopWalker extends Walker {
  override tnt(lead: number): number {
    this.branches += 31 - Math.clz32(lead);
    return 0;
  }

  /** Counts the branches of all short TNT packets. */
  override follow(bytes: Uint8Array, from: number, to: number): number {
    let { branches } = this;
    let at = from;
    for (; at < to; at++) {
      const byte = bytes[at] as number;
      if ((byte & 1) !== 0 || byte < 4) break;
      branches += 30 - Math.clz32(byte);
    }
    this.branches = branches;
    return at;
  }

  /** Does nothing: a packet has the target. */
  override indirect(): number {
    return 0;
  }

  /** Continues at the address of the packet. */
  override scan(what: Scan, low: number, high: number): number {
    if (what === Scan.ADDRESS) this.jump(low, high);
    return 0;
  }
}
