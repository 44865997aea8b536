import type { ItraceOptions } from "./itrace.ts";
import { BranchRing } from "../decode/pt_branch_ring.ts";
import { CallDepth } from "../calls/pt_call_depth.ts";
import type { PtCode, ThreadCode } from "../code/pt_code.ts";
import {
  BRANCH_WORDS,
  CHAIN_WORDS,
  DATA_WORDS,
  IP_FLAG,
  type PtSampleRows,
} from "./pt_sample_rows.ts";

/** Branches between a sample's address and its recording, as assumed by perf. */
const LATE = 1;
const LATE_IN_KERNEL = 1024;

interface ThreadState {
  readonly calls: CallDepth;
  readonly ring: BranchRing | undefined;
  /** Incremented with each branch. */
  version: number;
}

/** The lists of the last row: rows between two branches share them. */
interface LastLists {
  rows: PtSampleRows | undefined;
  state: ThreadState | undefined;
  version: number;
  drops: number;
  isKernel: boolean;
  at: number;
}

/** Source and target of a branch for {@linkcode SampleStacks.branch}; unknown addresses are 0. */
export interface BranchEnds {
  fromLow: number;
  fromHigh: number;
  fromPlace: number;
  /** Size of the instruction in bytes. */
  size: number;
  toLow: number;
  toHigh: number;
  toPlace: number;
}

/**
 * The calls and the last branches of each thread, as perf follows them while it makes samples
 * (tools/perf/util/thread-stack.c), and the lists of samples.
 */
export class SampleStacks {
  readonly #code: PtCode;
  readonly #chain: number;
  readonly #branches: number;
  readonly #addedChain: number;
  readonly #addedBranches: number;
  /** Number of branches that are kept per thread. */
  readonly #ringSize: number;
  readonly #threads = new Map<number, ThreadState>();
  readonly #last: LastLists = {
    rows: undefined,
    state: undefined,
    version: -1,
    drops: -1,
    isKernel: false,
    at: -1,
  };

  /** Starts without calls. `hasKernel`: whether the kernel is traced. */
  constructor(code: PtCode, itrace: ItraceOptions, hasKernel: boolean) {
    const { callChain = 0, branchStack = 0, addedChain = 0, addedBranches = 0 } = itrace;
    this.#code = code;
    this.#chain = callChain;
    this.#branches = branchStack;
    this.#addedChain = addedChain;
    this.#addedBranches = addedBranches;
    const more = addedBranches === 0 ? 0 : hasKernel ? LATE_IN_KERNEL : LATE;
    this.#ringSize = Math.max(branchStack, addedBranches) + more;
  }

  get isAdding(): boolean {
    return this.#addedChain > 0 || this.#addedBranches > 0;
  }

  /** Whether the last branches are kept. */
  get hasBranches(): boolean {
    return this.#ringSize > 0;
  }

  get isOn(): boolean {
    return this.#chain > 0 || this.#branches > 0;
  }

  /** Applies a branch of a thread; returns the depth of its calls. */
  branch(
    thread: number,
    trace: number,
    flags: number,
    code: ThreadCode,
    ends: BranchEnds,
  ): number {
    let state = this.#threads.get(thread);
    if (state === undefined) {
      const ring = this.#ringSize > 0 ? new BranchRing(this.#ringSize) : undefined;
      state = { calls: new CallDepth(), ring, version: 0 };
      this.#threads.set(thread, state);
      state.calls.trace = trace;
    }
    const { calls, ring } = state;
    state.version++;
    // Calls that are open at a gap may have returned in it.
    if (calls.trace !== trace) {
      calls.clear();
      ring?.clear();
      calls.trace = trace;
    }
    if (ring !== undefined) this.#note(ring, flags, ends);
    const { fromLow, fromHigh, size, toLow, toHigh } = ends;
    calls.branch(flags, fromLow, fromHigh, size, toLow, toHigh);
    if (this.#chain + this.#addedChain > 0 && calls.pushed) {
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
   * Adds the lists of a sample to rows; returns their offset.
   *
   * @param data Data of an event: {@linkcode DATA_WORDS} words per entry.
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
    const branches = Math.min(this.#branches, state?.ring?.count ?? 0);
    const at = rows.reserve(
      3 + chain * CHAIN_WORDS + branches * BRANCH_WORDS + data.length,
    );
    let end = this.#putChain(rows.lists, at, state, isKernel);
    rows.lists[end++] = branches;
    end = state?.ring?.put(rows.lists, end, branches) ?? end;
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
   * Adds the lists of a recorded sample to rows; returns their offset. The sample was recorded some
   * time after the processor was at its address, so calls and branches in between are left out
   * (`thread_stack__sample_late` and `thread_stack__br_sample_late` of perf).
   */
  added(rows: PtSampleRows, thread: number, high: number, low: number): number {
    const state = this.#threads.get(thread);
    const at = rows.reserve(
      3 + this.#addedChain * CHAIN_WORDS + this.#addedBranches * BRANCH_WORDS,
    );
    let end = this.#putAddedChain(rows.lists, at, state, high, low);
    const ring = this.#addedBranches === 0 ? undefined : state?.ring;
    const skip = ring === undefined ? 0 : lateBranches(ring, high, low);
    const count = Math.min(this.#addedBranches, (ring?.count ?? 0) - skip);
    rows.lists[end++] = Math.max(0, count);
    if (ring !== undefined && count > 0) end = ring.put(rows.lists, end, count, skip);
    rows.lists[end++] = 0;
    rows.listWords = end;
    return at;
  }

  /**
   * Writes the callers of a recorded sample. Its own address is not an entry; changes to user space
   * are.
   */
  #putAddedChain(
    lists: Int32Array,
    at: number,
    state: ThreadState | undefined,
    ownHigh: number,
    ownLow: number,
  ): number {
    lists[at] = 0;
    if (state === undefined || this.#addedChain === 0) return at + 1;
    const { calls } = state;
    const { low, high } = calls;
    let n = calls.count - 1;
    // Skip calls in the kernel after the sample.
    while (n >= 0 && (high[n] as number) < 0 && (high[n] !== ownHigh || low[n] !== ownLow)) n--;
    return putCallers(lists, at, calls, n, this.#addedChain + 1, undefined);
  }

  /**
   * Writes the callers of a sample, innermost first. perf counts the sample's own address and each
   * change between kernel and user space as entries (`thread_stack__sample`).
   */
  #putChain(
    lists: Int32Array,
    at: number,
    state: ThreadState | undefined,
    isKernel: boolean,
  ): number {
    lists[at] = 0;
    if (state === undefined || this.#chain === 0) return at + 1;
    const { calls } = state;
    return putCallers(lists, at, calls, calls.count - 1, this.#chain - 1, isKernel);
  }
}

/**
 * Writes callers from the `n`th on, innermost first, at `at`, after their number.
 *
 * @param room Maximum number of entries, as counted by perf.
 * @param inKernel Whether the previous entry is in the kernel; `undefined` without one.
 * @returns The offset after the callers.
 */
function putCallers(
  lists: Int32Array,
  at: number,
  { low, high, place }: ThreadState["calls"],
  n: number,
  room: number,
  inKernel: boolean | undefined,
): number {
  let end = at + 1;
  for (; n >= 0 && room > 0; n--, room--) {
    const top = high[n] as number;
    if ((top < 0) !== inKernel) {
      if (room === 1) break;
      room--;
      inKernel = top < 0;
    }
    lists[end] = top;
    lists[end + 1] = low[n] as number;
    lists[end + 2] = place[n] as number;
    end += CHAIN_WORDS;
  }
  lists[at] = (end - at - 1) / CHAIN_WORDS;
  return end;
}

/** Number of the newest branches that came after a sample at an address. */
function lateBranches(ring: BranchRing, high: number, low: number): number {
  const { words, count } = ring;
  for (let n = 0; n < count; n++) {
    const at = ring.at(n);
    const [fromHigh = 0, , , toHigh = 0, toLow = 0] = words.subarray(at, at + BRANCH_WORDS);
    const isUser = toHigh >= 0 && (toHigh !== 0 || toLow !== 0);
    if (isUser || (high < 0 && fromHigh >= 0)) return n;
    if (high >= 0 || n === 0) continue;
    // In the kernel, the sample's address has to be between this branch and the next one.
    const later = ring.at(n - 1);
    const laterHigh = words[later] as number;
    const laterLow = words[later + 1] as number;
    if (isUpTo(toHigh, toLow, high, low) && isUpTo(high, low, laterHigh, laterLow)) return n;
  }
  return count;
}

/** Whether an address is less than or equal to another one. */
function isUpTo(high: number, low: number, otherHigh: number, otherLow: number): boolean {
  return high === otherHigh ? low >>> 0 <= otherLow >>> 0 : high >>> 0 < otherHigh >>> 0;
}
