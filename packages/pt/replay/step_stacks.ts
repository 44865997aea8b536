import { byteAt, floatAt, intAt, numberAt } from "@perfdata/format/bytes";
import { type FlowDecoder, FlowEvent } from "@perfdata/intel-pt";
import { CallBlocks } from "../calls/pt_call_blocks.ts";
import { CallEvents } from "../calls/pt_call_events.ts";
import { CallLog, PLACE_ROWS } from "../calls/pt_call_log.ts";
import { CallStack, PENDING } from "../calls/pt_call_stack.ts";
import { CallTracker } from "../calls/pt_call_tracker.ts";
import type { CallTree } from "../calls/pt_call_tree.ts";
import { LatencyTable } from "../calls/pt_latency.ts";
import type { PtCode, ThreadCode } from "../code/pt_code.ts";
import type { PtBuffer } from "../decode/pt_sink.ts";
import type { ListFollower } from "../lists/pt_list.ts";
import type { StepRows } from "./step_rows.ts";

/** Passes calls and their ends on, and keeps no row. */
class CallChanges extends CallEvents {
  readonly #changed: (isCall: boolean, depth: number) => void;

  constructor(changed: (isCall: boolean, depth: number) => void) {
    super();
    this.#changed = changed;
  }

  override add(kind: number, _tid: number, _cpu: number, depth: number): number {
    this.#changed(kind === 0, depth);
    return 0;
  }
}

/** Follows the calls of one thread, and sets depth and node of the rows of a list. */
export class StepStacks implements ListFollower {
  readonly #rows: StepRows;
  readonly #code: PtCode;
  readonly #tree: CallTree;
  readonly #blocks: CallBlocks;
  readonly #tracker: CallTracker;
  readonly #stack: CallStack;
  /** The node of each known call, from index 1 on; at 0, that of the calls before. */
  readonly #nodes: number[] = [-1];
  #depth = 0;
  /** Minus the number of returns from calls that were not decoded. */
  #level = 0;
  /** Address of the next call site, with its code. */
  #siteLow = 0;
  #siteHigh = 0;
  #siteCode: ThreadCode | undefined;
  /** Offset of the last event in each buffer. */
  readonly #offsets: number[] = [];
  /**
   * PSBs in each buffer. Rows after the first one have other events before them than if decoding
   * began earlier.
   */
  readonly #psbs: number[] = [];

  /**
   * Starts without calls.
   *
   * @param tree Nodes of call sites; may be shared.
   */
  constructor(tid: number, code: PtCode, tree: CallTree, rows: StepRows) {
    this.#code = code;
    this.#tree = tree;
    this.#rows = rows;
    this.#blocks = new CallBlocks(code);
    const latency = new LatencyTable();
    this.#tracker = new CallTracker({
      blocks: this.#blocks,
      log: new CallLog({ rows: PLACE_ROWS, latency, from: -Infinity, to: Infinity }),
      latency,
      events: new CallChanges((isCall, depth) => this.#change(isCall, depth)),
      writes: undefined,
      tree: undefined,
      timeline: undefined,
      ops: undefined,
    });
    this.#tracker.at(-1, true);
    this.#stack = new CallStack(tid, 0);
  }

  /** Follows the calls up to a block. */
  block(buffer: PtBuffer, run: FlowDecoder, block: number): void {
    if (buffer.tid !== this.#stack.tid) return;
    this.#isAt(buffer);
    const { blocks } = run;
    const known = this.#blocks;
    known.use(blocks, run.paths);
    known.lookAtBlock(block);
    this.#tracker.enter(buffer, this.#stack);
    const { pending, depth } = this.#stack;
    if (pending !== PENDING.NONE) this.#tracker.goOnAt(block);
    // The return from a call that was not decoded.
    const isReturn = pending === PENDING.RETURN || pending === PENDING.COME_BACK;
    if (isReturn && depth === 0) this.#leaveUnknown();
    const last = intAt(blocks.size, block) - byteAt(blocks.lastSize, block);
    const sum = (intAt(blocks.low, block) >>> 0) + last;
    this.#siteLow = sum | 0;
    this.#siteHigh = intAt(blocks.high, block) + (sum >= 2 ** 32 ? 1 : 0) | 0;
    this.#siteCode = buffer.code;
    this.#tracker.pend(block);
    this.#set();
  }

  /** Follows the calls at an event. */
  event(buffer: PtBuffer, run: FlowDecoder, event: number): void {
    const { index, begin } = buffer;
    // The event of a PSB comes after those of its PSB+, with the offset of the PSB.
    const offset = begin + floatAt(run.offset, event);
    this.#offsets[index] = Math.max(offset, this.#offsets[index] ?? 0);
    if (run.kind[event] === FlowEvent.PSB) this.#psbs[index] = (this.#psbs[index] ?? 0) + 1;
    if (buffer.tid !== this.#stack.tid) return;
    this.#isAt(buffer);
    this.#blocks.use(run.blocks, run.paths);
    const tracker = this.#tracker;
    tracker.enter(buffer, this.#stack);
    const low = intAt(run.ipLow, event);
    const high = intAt(run.ipHigh, event);
    switch (run.kind[event]) {
      case FlowEvent.DISABLED:
        if ((intAt(run.detail, event) & 2) !== 0) tracker.leaveAt(low, high);
        else tracker.leave();
        break;
      case FlowEvent.ENABLED: {
        // A handler is called from the address at which execution would have continued.
        this.#siteAt(buffer, this.#stack.resumeLow, this.#stack.resumeHigh);
        tracker.resume(low, high);
        break;
      }
      case FlowEvent.ASYNC:
        tracker.goOn(low, high);
        this.#siteAt(buffer, low, high);
        tracker.interrupt(low, high, intAt(run.low, event), intAt(run.high, event));
        break;
      case FlowEvent.ERROR:
        tracker.lose();
    }
    this.#set();
  }

  /** Forgets all indices of blocks. */
  forget(): void {
    this.#blocks.forget();
  }

  /**
   * Adds calls around the present ones, which were decoded before.
   *
   * @param node The present node in that decoding.
   */
  graft(node: number): void {
    let outer = node;
    for (let n = 0; n < this.#depth && outer >= 0; n++) outer = intAt(this.#tree.parent, outer);
    if (outer < 0) return;
    const sites = this.#nodes.slice(1, this.#depth + 1)
      .map((of) => intAt(this.#tree.place, of));
    this.#nodes[0] = outer;
    for (const [n, site] of sites.entries()) this.#call(n, site);
    this.#set();
  }

  /** Sets the position of the next row. */
  #isAt({ index, begin }: PtBuffer): void {
    const rows = this.#rows;
    rows.nextBuffer = index;
    rows.nextOffset = this.#offsets[index] ?? begin;
    rows.isSure = begin === 0 || (this.#psbs[index] ?? 0) > 1;
  }

  #siteAt({ code }: PtBuffer, low: number, high: number): void {
    this.#siteLow = low;
    this.#siteHigh = high;
    this.#siteCode = code;
  }

  #call(depth: number, site: number): void {
    this.#nodes[depth + 1] = this.#tree.node(numberAt(this.#nodes, depth), site, this.#stack.tid);
  }

  #change(isCall: boolean, depth: number): void {
    if (isCall) {
      // Too many calls were open, and the outer ones were forgotten.
      if (depth < this.#depth) {
        this.#nodes.copyWithin(0, this.#depth - depth);
        this.#level += this.#depth - depth;
      }
      const code = this.#siteCode;
      const site = code === undefined ? -1 : this.#code.place(code, this.#siteLow, this.#siteHigh);
      this.#call(depth, site);
    }
    this.#depth = isCall ? depth + 1 : depth;
  }

  #leaveUnknown(): void {
    this.#level--;
    const outer = numberAt(this.#nodes, 0);
    this.#nodes[0] = outer < 0 ? -1 : intAt(this.#tree.parent, outer);
  }

  #set(): void {
    this.#rows.nextDepth = this.#level + this.#depth;
    this.#rows.nextNode = numberAt(this.#nodes, this.#depth);
  }
}
