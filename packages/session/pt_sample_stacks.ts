import type { ItraceOptions } from "./itrace.ts";
import { BranchRing } from "./pt_branch_ring.ts";
import { CallDepth } from "./pt_call_depth.ts";
import type { PtCode, ThreadCode } from "./pt_code.ts";
import {
  BRANCH_WORDS,
  CHAIN_WORDS,
  DATA_WORDS,
  IP_FLAG,
  type PtSampleRows,
} from "./pt_sample_rows.ts";

/** What is known of a thread's calls and branches. */
interface ThreadState {
  readonly calls: CallDepth;
  readonly ring: BranchRing | undefined;
  /** Changes with each branch. */
  version: number;
}

/** The lists of the row that came last: rows between two branches share them. */
interface LastLists {
  rows: PtSampleRows | undefined;
  state: ThreadState | undefined;
  version: number;
  drops: number;
  isKernel: boolean;
  at: number;
}

/** A branch as {@linkcode SampleStacks.branch} takes it; addresses that are not known are 0. */
export interface BranchEnds {
  fromLow: number;
  fromHigh: number;
  fromPlace: number;
  /** Bytes of the instruction. */
  size: number;
  toLow: number;
  toHigh: number;
  toPlace: number;
}

/**
 * The calls and the last branches of each thread, as perf keeps them while it makes samples
 * (tools/perf/util/thread-stack.c), and the lists that samples have of them.
 */
export class SampleStacks {
  readonly #code: PtCode;
  readonly #chain: number;
  readonly #branches: number;
  readonly #threads = new Map<number, ThreadState>();
  readonly #last: LastLists = {
    rows: undefined,
    state: undefined,
    version: -1,
    drops: -1,
    isKernel: false,
    at: -1,
  };

  /** Begins without calls. */
  constructor(code: PtCode, { callChain = 0, branchStack = 0 }: ItraceOptions) {
    this.#code = code;
    this.#chain = callChain;
    this.#branches = branchStack;
  }

  /** Whether samples have lists. */
  get isOn(): boolean {
    return this.#chain > 0 || this.#branches > 0;
  }

  /** Takes a branch of a thread; returns how deep its calls are. */
  branch(
    thread: number,
    trace: number,
    flags: number,
    code: ThreadCode,
    ends: BranchEnds,
  ): number {
    let state = this.#threads.get(thread);
    if (state === undefined) {
      const ring = this.#branches > 0 ? new BranchRing(this.#branches) : undefined;
      state = { calls: new CallDepth(), ring, version: 0 };
      this.#threads.set(thread, state);
      state.calls.trace = trace;
    }
    const { calls, ring } = state;
    state.version++;
    // After a gap, calls that seem to be open may have returned.
    if (calls.trace !== trace) {
      calls.clear();
      ring?.clear();
      calls.trace = trace;
    }
    if (ring !== undefined) this.#note(ring, flags, ends);
    const { fromLow, fromHigh, size, toLow, toHigh } = ends;
    calls.branch(flags, fromLow, fromHigh, size, toLow, toHigh);
    if (this.#chain > 0 && calls.pushed) {
      const n = calls.count - 1;
      calls.setPlace(this.#code.place(code, calls.low[n] as number, calls.high[n] as number));
    }
    return calls.depth;
  }

  #note(ring: BranchRing, flags: number, ends: BranchEnds): void {
    const at = ring.add();
    const { words } = ring;
    words[at] = ends.fromHigh;
    words[at + 1] = ends.fromLow;
    words[at + 2] = ends.fromPlace;
    words[at + 3] = ends.toHigh;
    words[at + 4] = ends.toLow;
    words[at + 5] = ends.toPlace;
    words[at + 6] = flags & (IP_FLAG.IN_TX | IP_FLAG.TX_ABORT);
  }

  /**
   * Adds the lists of a sample to rows; returns where they begin.
   *
   * @param data What belongs to an event: {@linkcode DATA_WORDS} numbers an entry.
   */
  lists(
    rows: PtSampleRows,
    thread: number,
    isKernel: boolean,
    data: readonly number[] = [],
  ): number {
    const state = this.#threads.get(thread);
    const last = this.#last;
    if (
      last.rows === rows && last.drops === rows.drops && last.state === state &&
      last.version === (state?.version ?? -1) && last.isKernel === isKernel && data.length === 0
    ) {
      return last.at;
    }
    const chain = Math.min(this.#chain, state?.calls.count ?? 0);
    const branches = state?.ring?.count ?? 0;
    const at = rows.reserve(
      3 + chain * CHAIN_WORDS + branches * BRANCH_WORDS + data.length,
    );
    let end = this.#putChain(rows.lists, at, state, isKernel);
    rows.lists[end++] = branches;
    end = state?.ring?.put(rows.lists, end) ?? end;
    rows.lists[end++] = data.length / DATA_WORDS;
    rows.lists.set(data, end);
    rows.listWords = end + data.length;
    last.rows = data.length === 0 ? rows : undefined;
    last.state = state;
    last.version = state?.version ?? -1;
    last.drops = rows.drops;
    last.isKernel = isKernel;
    last.at = at;
    return at;
  }

  /**
   * The callers of a sample, innermost first. perf counts the sample's own address and each change
   * between kernel and user space as entries (`thread_stack__sample`).
   */
  #putChain(
    lists: Int32Array,
    at: number,
    state: ThreadState | undefined,
    isKernel: boolean,
  ): number {
    lists[at] = 0;
    let end = at + 1;
    if (state === undefined || this.#chain === 0) return end;
    const { low, high, place, count } = state.calls;
    const size = this.#chain + 1;
    let used = 2;
    let inKernel = isKernel;
    for (let n = count - 1; n >= 0 && used < size; n--) {
      const top = high[n] as number;
      if ((top < 0) !== inKernel) {
        if (used >= size - 1) break;
        used++;
        inKernel = top < 0;
      }
      lists[end] = top;
      lists[end + 1] = low[n] as number;
      lists[end + 2] = place[n] as number;
      end += CHAIN_WORDS;
      used++;
    }
    lists[at] = (end - at - 1) / CHAIN_WORDS;
    return end;
  }
}
