import type { CallEventPart, CallEvents } from "./pt_call_events.ts";
import { CALL_OP, CallOpReader } from "./pt_call_ops.ts";
import type { CallStack } from "./pt_call_stack.ts";
import { type CallOutputs, type CallTracker, MAX_DEPTH } from "./pt_call_tracker.ts";
import type { LatencyPart } from "./pt_latency.ts";
import { EXACT } from "./pt_place_sums.ts";
import type { PtBuffer } from "../decode/pt_sink.ts";

/** Result of a `PtCalls` for a range of a buffer. */
export interface CallPart {
  /** For each place: its number, instructions, ns, core clocks. */
  readonly places: Float64Array<ArrayBuffer>;
  /** Executed places. */
  readonly met: Int32Array<ArrayBuffer>;
  /** Counts of calls, by row. */
  readonly latency: LatencyPart;
  /** A place of each row in the part: row, place. */
  readonly rows: Float64Array<ArrayBuffer>;
  /** Time and instructions that depend on open calls; see {@linkcode OwnSums}. */
  readonly own: Float64Array<ArrayBuffer>;
  /** Operations that depend on earlier code; see {@linkcode CallOps}. */
  readonly ops: Float64Array<ArrayBuffer>;
  /**
   * Executed code by stack, with a root for each operation SUMS; `undefined` if the next part
   * completes it.
   */
  readonly tree: Float64Array<ArrayBuffer> | undefined;
  /** Single calls, between operations ROWS, instead of sums; `undefined` if there are sums. */
  readonly events: CallEventPart | undefined;
  /** Whether a guest ran. Operations do not tell its code from the host's. */
  readonly hasGuest: boolean;
  /** Total of instructions. */
  readonly insns: number;
  /** Total of time in ns. */
  readonly time: number;
}

/**
 * The trace has to be decoded by one thread. Either the outer calls would have to be forgotten,
 * since too many are open; or times are too long for exact sums, as in damaged traces; or a guest
 * ran, whose code is different.
 */
export class OneThreadOnly extends Error {}

/** A part whose sums were added, and whose operations are to be applied step by step. */
export interface JoinedCalls {
  /**
   * Advances to the next step; returns its thread and start time in ns, or `undefined` at the end.
   */
  nextStep(): { readonly tid: number; readonly position: number } | undefined;

  /**
   * Applies the operations of a step to the open calls.
   *
   * @param buffer The running thread, its CPU and time.
   * @throws {OneThreadOnly} If the trace has to be decoded by one thread.
   */
  apply(buffer: PtBuffer): void;

  /** Adds the code by stack, if requested, after all operations were applied. */
  joinTree(): void;
}

/** Receivers of {@linkcode PartJoiner}. */
export interface JoiningCalls {
  readonly out: CallOutputs;
  /** Follows the open calls. */
  readonly tracker: CallTracker;
  /** The calls of the running thread; `undefined` if the thread is not in the filter. */
  readonly stackOf: (buffer: PtBuffer) => CallStack | undefined;
}

/** Index here for each index of a part. */
export interface PartNumbers {
  /** Places here, by places of the part. */
  readonly placeOf: Int32Array;
  readonly rowOf: ReadonlyMap<number, number>;
  /** Receives the innermost node of the tree at each operation SUMS. */
  readonly roots: Map<number, number>;
}

/** Applies the operations that a part left to the joining thread. */
export class PartJoiner implements JoinedCalls {
  readonly #to: JoiningCalls;
  readonly #part: CallPart;
  readonly #numbers: PartNumbers;
  readonly #ops: CallOpReader;
  #ownAt = 0;
  #row = 0;

  /** Starts before the first step. */
  constructor(to: JoiningCalls, part: CallPart, numbers: PartNumbers) {
    this.#to = to;
    this.#part = part;
    this.#numbers = numbers;
    this.#ops = new CallOpReader(part.ops);
  }

  nextStep(): { readonly tid: number; readonly position: number } | undefined {
    const ops = this.#ops;
    if (ops.following !== CALL_OP.STEP) return undefined;
    ops.next();
    return { tid: ops.a, position: ops.time };
  }

  apply(buffer: PtBuffer): void {
    const ops = this.#ops;
    const { out: { blocks, log, tree, events }, tracker, stackOf } = this.#to;
    const stack = stackOf(buffer);
    if (stack === undefined) {
      while (ops.following > CALL_OP.STEP) ops.next();
      return;
    }
    const { insns, cycles } = stack;
    tracker.enter(buffer, stack);
    while (ops.following > CALL_OP.STEP && ops.next()) {
      const { low, high, time, a } = ops;
      stack.insns = insns + ops.insns;
      stack.cycles = cycles + ops.cycles;
      // Sums are checked at the end.
      if (events !== undefined && stack.cycles >= EXACT) throw new OneThreadOnly();
      tracker.at(time, a === 1);
      switch (ops.kind) {
        case CALL_OP.ROWS:
          if (events !== undefined) this.#rowsTo(a, events, stack, buffer.stream.cpu ?? -1);
          break;
        case CALL_OP.SUMS:
          if (stack.depth + ops.b > MAX_DEPTH) throw new OneThreadOnly();
          this.#numbers.roots.set(a, stack.node);
          this.#addOwn(a, stack);
          break;
        case CALL_OP.SITE:
          stack.noteSite(blocks.siteBefore(time), stack.depth + a);
          break;
        case CALL_OP.FRAME: {
          const place = this.#numbers.placeOf[a] as number;
          stack.push(place, low, high, time);
          if (events === undefined) log.call(stack.number, place);
          if (tree !== undefined) stack.node = tree.node(stack.node, place, stack.tid);
          break;
        }
        case CALL_OP.BASE:
          if (stack.base < 0) tracker.base(blocks.placeAt(buffer.code, low, high));
          break;
        case CALL_OP.GO_ON:
          tracker.goOn(low, high);
          break;
        case CALL_OP.RETURN:
          tracker.returnTo(low, high);
          break;
        case CALL_OP.JUMP:
          tracker.jump(low, high);
          break;
        case CALL_OP.ENABLED:
          tracker.resume(low, high);
          break;
        case CALL_OP.DISABLED:
          tracker.leave();
          break;
        case CALL_OP.LEFT:
          if (a < 0) break;
          stack.pending = a;
          stack.pendingBlock = -1;
          stack.pendingLow = low;
          stack.pendingHigh = high;
          break;
        case CALL_OP.RESUMES:
          stack.resumes = a;
          stack.resumeLow = low;
          stack.resumeHigh = high;
      }
    }
  }

  joinTree(): void {
    const { tree } = this.#to.out;
    const { roots, placeOf } = this.#numbers;
    if (tree === undefined || this.#part.tree === undefined) return;
    tree.join(this.#part.tree, (number) => roots.get(number) ?? -1, placeOf);
    roots.clear();
  }

  /** Adds rows up to a number, with the depth of the thread's calls. */
  #rowsTo(end: number, events: CallEvents, { tid, depth }: CallStack, cpu: number): void {
    if (this.#part.events === undefined) return;
    const rows = { from: this.#row, to: end, tid, cpu, depth };
    events.join(this.#part.events, rows, this.#numbers.placeOf);
    this.#row = end;
  }

  /** Adds the sums under a number, unless a call of the same row is open. */
  #addOwn(number: number, stack: CallStack): void {
    const { log, latency } = this.#to.out;
    const { own } = this.#part;
    for (; (own[this.#ownAt] ?? Infinity) <= number; this.#ownAt += 4) {
      const row = this.#numbers.rowOf.get(own[this.#ownAt + 1] as number) as number;
      if (log.isOpen(stack.number, row)) continue;
      latency.addOwn(row, own[this.#ownAt + 2] as number, own[this.#ownAt + 3] as number);
    }
  }
}
