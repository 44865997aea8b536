import { byteAt } from "@perfdata/format/bytes";
import { CALL_OP, type CallOps } from "./pt_call_ops.ts";
import type { CallBlocks } from "./pt_call_blocks.ts";
import { CALL_ROW, type CallEvents } from "./pt_call_events.ts";
import { CALL_END, type CallLog, EndedCall } from "./pt_call_log.ts";
import { CallStack, PENDING, RESUMES } from "./pt_call_stack.ts";
import type { CallTimeline, CallTree } from "./pt_call_tree.ts";
import type { LatencyTable } from "./pt_latency.ts";
import type { PtBuffer } from "../decode/pt_sink.ts";

/** Maximum number of open calls; beyond that, the outer half is dropped. */
export const MAX_DEPTH: number = 1 << 16;

/** Outputs of following calls, and the tables for it. */
export interface CallOutputs {
  readonly blocks: CallBlocks;
  /** Counts calls into `latency` if there are no `events`. */
  readonly log: CallLog;
  readonly latency: LatencyTable;
  /** Receives single calls. */
  readonly events: CallEvents | undefined;
  /** Receives the values of PTWRITE. */
  readonly writes: CallEvents | undefined;
  /** Receives the executed code by stack. */
  readonly tree: CallTree | undefined;
  /** Receives the innermost node over time. */
  readonly timeline: CallTimeline | undefined;
  /**
   * Operations for the joining thread, which knows the earlier calls; only with several threads.
   */
  readonly ops: CallOps | undefined;
}

/**
 * Follows the calls of threads: applies the end of a block, an address, or an event of the trace to
 * the open calls. In a worker, operations that depend on earlier calls are left to the joining
 * thread.
 */
export class CallTracker {
  readonly #out: CallOutputs;
  readonly #ended = new EndedCall();
  #stack = new CallStack(-1, -1);
  #buffer: PtBuffer | undefined;
  #cpu = -1;
  #now = -1;
  #counts = true;
  /** Owner of the next operation SUMS. */
  #handed = 0;

  /** Starts without a thread. */
  constructor(out: CallOutputs) {
    this.#out = out;
  }

  /** Sets the thread of the next code, which runs on a buffer's CPU. */
  enter(buffer: PtBuffer, stack: CallStack): void {
    this.#buffer = buffer;
    this.#stack = stack;
    this.#cpu = buffer.stream.cpu ?? -1;
    stack.isUnsure = buffer.isUnsure;
  }

  /** Sets the time of the next code in ns, and whether it passes the filter. */
  at(now: number, counts: boolean): void {
    this.#now = now;
    this.#counts = counts;
  }

  pend(block: number): void {
    const { end, blocks } = this.#out.blocks;
    const stack = this.#stack;
    const pending = end[block] as number;
    stack.pending = pending;
    if (pending !== PENDING.CALL && pending !== PENDING.LEAVE) return;
    stack.pendingBlock = block;
    stack.pendingLow = (blocks.low[block] as number) + (blocks.size[block] as number) | 0;
    stack.pendingHigh = blocks.endHigh(block);
  }

  /** Continues at a block after a call, return or jump. */
  goOnAt(block: number): void {
    const { low, high } = this.#out.blocks.blocks;
    this.goOn(low[block] as number, high[block] as number, block);
  }

  /**
   * Continues at an address after a call, return or jump. `block` is -1 if no block begins there.
   */
  goOn(low: number, high: number, block = -1): void {
    const stack = this.#stack;
    const { blocks } = this.#out;
    const { pending, pendingLow, pendingHigh } = stack;
    stack.pending = PENDING.NONE;
    switch (pending) {
      case PENDING.NONE:
        return;
      case PENDING.UNKNOWN:
        return this.#defer(CALL_OP.GO_ON, low, high);
      case PENDING.JUMP:
        return this.jump(low, high, block);
      case PENDING.CALL:
      case PENDING.LEAVE: {
        if (pending === PENDING.CALL) this.#noteSite();
        const { code, toCode } = this.#running;
        const place = block < 0 ? blocks.placeAt(toCode, low, high) : blocks.placeOf(code, block);
        return this.#push(place, pendingLow, pendingHigh);
      }
      default:
        return this.returnTo(low, high);
    }
  }

  returnTo(low: number, high: number): void {
    const frames = this.#stack.returnsTo(low, high);
    if (frames > 0) this.#popFrames(frames);
    else if (this.#stack.isOpenBelow) this.#defer(CALL_OP.RETURN, low, high);
  }

  /**
   * Applies an indirect jump. A jump to the return address of an earlier call of this thread is a
   * longjmp to its setjmp, and ends all calls since.
   */
  jump(low: number, high: number, block = -1): void {
    const { blocks, ops } = this.#out;
    const site = blocks.siteReturningTo(low, high);
    const depth = site === undefined ? -1 : this.#stack.depthOf(site);
    if (depth >= 0) {
      while (this.#stack.depth > depth) this.#pop(CALL_END.PASSED);
    } else if (ops !== undefined && blocks.isAfterCall(this.#running.code, low, high, block)) {
      this.#defer(CALL_OP.JUMP, low, high);
    }
  }

  /** Applies an interrupt at an address, which leads to another address. */
  interrupt(low: number, high: number, toLow: number, toHigh: number): void {
    this.goOn(low, high);
    this.#push(this.#out.blocks.placeAt(this.#running.toCode, toLow, toHigh), low, high);
    this.#stack.pending = PENDING.NONE;
  }

  /** Ends tracing, by an event at an address. */
  leaveAt(low: number, high: number): void {
    // The end of the last block was executed, though no code after it.
    this.goOn(low, high);
    const stack = this.#stack;
    stack.resumes = RESUMES.YES;
    stack.resumeLow = low;
    stack.resumeHigh = high;
    stack.pending = PENDING.NONE;
  }

  /** Ends tracing, by the end of the last block. */
  leave(): void {
    const stack = this.#stack;
    const { pending } = stack;
    stack.pending = PENDING.NONE;
    if (pending === PENDING.LEAVE) {
      stack.resumes = RESUMES.YES;
      stack.resumeLow = stack.pendingLow;
      stack.resumeHigh = stack.pendingHigh;
    } else if (pending === PENDING.UNKNOWN) {
      stack.resumes = RESUMES.UNKNOWN;
      this.#out.ops?.add(CALL_OP.DISABLED, stack);
    } else stack.resumes = RESUMES.NO;
  }

  /** Begins tracing again at an address: where it was left, after a return, or in a handler. */
  resume(low: number, high: number): void {
    const stack = this.#stack;
    const { blocks, ops } = this.#out;
    const { resumes, resumeLow, resumeHigh } = stack;
    if (resumes === RESUMES.UNKNOWN) return this.#defer(CALL_OP.ENABLED, low, high);
    if (resumes === RESUMES.NO || (low === resumeLow && high === resumeHigh)) return;
    const frames = stack.returnsTo(low, high);
    if (frames > 0) this.#popFrames(frames);
    else if (ops !== undefined && stack.isOpenBelow) {
      this.#handOver(ops, stack);
      ops.add(CALL_OP.RESUMES, stack, resumes, resumeLow, resumeHigh);
      this.#defer(CALL_OP.ENABLED, low, high);
    } else this.#push(blocks.placeAt(this.#running.code, low, high), resumeLow, resumeHigh);
  }

  /** Adds a value that the code at an address wrote with PTWRITE. */
  write(low: number, high: number, valueLow: number, valueHigh: number): void {
    // The code at the address is that after the last call or return.
    if (low !== 0 || high !== 0) this.goOn(low, high);
    const { writes, blocks } = this.#out;
    if (writes === undefined || !this.#counts) return;
    const { tid, depth, isUnsure } = this.#stack;
    const place = blocks.placeAt(this.#running.code, low, high);
    const row = writes.add(CALL_ROW.PTWRITE, tid, this.#cpu, depth, place, this.#now);
    writes.unsure[row] = isUnsure ? 1 : 0;
    writes.insns[row] = valueLow >>> 0;
    writes.cycles[row] = valueHigh >>> 0;
  }

  /** Forgets the end of the last block: the code since then is unknown. */
  lose(): void {
    this.#stack.pending = PENDING.NONE;
    this.#stack.resumes = RESUMES.NO;
  }

  /** Starts with a block, the first known code of the thread. */
  beginAt(block: number): void {
    const stack = this.#stack;
    const { blocks, ops, tree } = this.#out;
    if (ops === undefined) return this.base(blocks.placeOf(this.#running.code, block));
    stack.base = 0;
    if (tree === undefined) return;
    const { low, high } = blocks.blocks;
    this.#handOver(ops, stack);
    ops.add(CALL_OP.BASE, stack, 0, low[block], high[block]);
  }

  /** Starts with a place, the first code of the thread. */
  base(place: number): void {
    const stack = this.#stack;
    stack.base = place;
    const { tree } = this.#out;
    if (tree === undefined) return;
    this.note(stack);
    if (stack.depth === 0) stack.node = tree.node(-1, place, stack.tid);
  }

  /** Ends the open calls of a finished thread. */
  finish(stack: CallStack): void {
    this.#stack = stack;
    this.#cpu = -1;
    stack.isUnsure = false;
    while (stack.depth > 0) this.#pop(CALL_END.PASSED);
    this.since(stack, this.#now);
  }

  /** Adds the instructions since the last change of a thread's calls to its innermost node. */
  note(stack: CallStack): void {
    const { open, node } = stack;
    if (open === undefined) return;
    const insns = stack.insns - stack.noted;
    stack.noted = stack.insns;
    if (insns > 0 && node >= 0 && this.#counts) open.addToNode(node, insns);
  }

  /** Ends the time of a thread's innermost node in the timeline. */
  since(stack: CallStack, now: number): void {
    const { node, nodeSince } = stack;
    if (now < 0) return;
    if (node >= 0 && nodeSince >= 0 && now > nodeSince && this.#counts) {
      this.#out.timeline?.add(stack.tid, node, nodeSince, now);
    }
    stack.nodeSince = now;
  }

  /** Restarts a thread whose earlier calls are unknown. */
  restart(stack: CallStack): void {
    stack.restart();
    this.#beginNode(stack);
  }

  /**
   * Leaves a thread that no longer runs to the joining thread: its open calls, and the end of its
   * last block.
   */
  leaveToOthers(ops: CallOps, stack: CallStack): void {
    this.#handOver(ops, stack);
    const { pending, pendingLow, pendingHigh, resumes, resumeLow, resumeHigh } = stack;
    const waits = pending === PENDING.UNKNOWN ? -1 : pending;
    ops.add(CALL_OP.LEFT, stack, waits, pendingLow, pendingHigh);
    if (resumes === RESUMES.UNKNOWN) return;
    ops.add(CALL_OP.RESUMES, stack, resumes, resumeLow, resumeHigh);
  }

  get #running(): PtBuffer {
    return this.#buffer as PtBuffer;
  }

  /** In a worker, leaves the open calls and an operation to the joining thread. */
  #defer(kind: number, low: number, high: number): void {
    const { ops } = this.#out;
    if (ops === undefined) return;
    this.#handOver(ops, this.#stack);
    ops.add(kind, this.#stack, this.#counts ? 1 : 0, low, high, this.#now);
  }

  /** Leaves the open calls to the joining thread. */
  #handOver(ops: CallOps, stack: CallStack): void {
    const { tree, log, blocks } = this.#out;
    if (tree === undefined && stack.peak === 0 && stack.sites.length === 0) return;
    const number = this.#handed++;
    this.note(stack);
    ops.addSums(stack, number);
    log.handOver(stack.number, number);
    for (const site of new Set(stack.sites)) {
      ops.add(CALL_OP.SITE, stack, stack.depthOf(site), 0, 0, blocks.addressOfSite(site));
    }
    for (let n = 0; n < stack.depth; n++) ops.addFrame(stack, n);
    stack.empty();
    this.#beginNode(stack);
  }

  /** Adds a node for running code whose caller is unknown. */
  #beginNode(stack: CallStack): void {
    const { tree } = this.#out;
    if (tree !== undefined) stack.node = tree.add(-1, this.#handed, stack.tid);
  }

  /** Stores the depth of the call at the end of the last block. */
  #noteSite(): void {
    const { blocks, ops } = this.#out;
    const stack = this.#stack;
    const { pendingBlock, pendingLow, pendingHigh } = stack;
    const site = blocks.siteOfBlock(pendingBlock, pendingLow, pendingHigh);
    if (ops !== undefined && stack.depthOf(site) < 0) stack.sites.push(site);
    stack.noteSite(site, stack.depth);
  }

  /** Adds a call of a place that returns to an address. */
  #push(place: number, low: number, high: number): void {
    const { events, log, tree } = this.#out;
    const stack = this.#stack;
    if (stack.depth === MAX_DEPTH) this.#forgetOldest(stack);
    if (this.#counts && events !== undefined) {
      const row = events.add(0, stack.tid, this.#cpu, stack.depth, place, this.#now);
      events.unsure[row] = stack.isUnsure ? 1 : 0;
    }
    stack.push(place, low, high, this.#now);
    if (events === undefined) log.call(stack.number, place);
    if (tree === undefined) return;
    this.note(stack);
    this.since(stack, this.#now);
    stack.node = tree.node(stack.node, place, stack.tid);
  }

  /** Too many calls are open for most to return: the outer half ends without a return. */
  #forgetOldest(stack: CallStack): void {
    const { events, log } = this.#out;
    if (events === undefined) {
      for (const place of stack.place.subarray(0, stack.depth >> 1)) {
        log.end(stack.number, new EndedCall(CALL_END.PASSED, place, true));
      }
    }
    stack.forgetOldest();
  }

  #popFrames(frames: number): void {
    // All but the outermost frame end without a return.
    for (let n = frames; n > 1; n--) this.#pop(CALL_END.PASSED);
    this.#pop(CALL_END.RETURNED);
  }

  #pop(kind: number): void {
    const { events, log, tree } = this.#out;
    const stack = this.#stack;
    const now = this.#now;
    if (tree !== undefined && stack.node >= 0) {
      this.note(stack);
      this.since(stack, now);
      stack.node = tree.parent[stack.node] as number;
    }
    const n = --stack.depth;
    const ended = this.#ended;
    ended.kind = kind;
    ended.place = stack.place[n] as number;
    ended.since = stack.since[n] as number;
    ended.end = now;
    ended.insns = stack.insns - (stack.sinceInsns[n] as number);
    ended.counts = this.#counts;
    if (events === undefined) log.end(stack.number, ended);
    else if (this.#counts) {
      const row = events.add(kind, stack.tid, this.#cpu, n, ended.place, now);
      events.duration[row] = ended.duration;
      events.insns[row] = ended.insns;
      events.unsure[row] = stack.isUnsure ? 1 : byteAt(stack.sinceUnsure, n);
      events.cycles[row] = stack.cycles - (stack.sinceCycles[n] as number);
    }
  }
}
