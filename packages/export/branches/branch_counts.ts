import { enlarge, floatAt, intAt } from "@perfdata/format/bytes";
import { FloatColumn, NodeTable } from "@perfdata/profile";
import {
  BRANCH,
  CHOSEN,
  type Consumer,
  type JoinedNumbers,
  type Needs,
  type Run,
  type Shareable,
} from "@perfdata/session";

/** Number of cached branches with the code after them, chosen to fit in a CPU's cache. */
const SLOTS = 1 << 13;
/**
 * Words of a cached branch: source, target, place of the next branch, index of the branch, index of
 * the trace.
 */
const WORDS = 5;
/** Words of a trace's pending counts: executions, timed executions, cycles. */
const SUMS = 4;

/** Counts of one thread. */
export interface BranchPart {
  /** Samples with branches. */
  readonly samples: number;
  /** Source place of each branch. */
  readonly from: Int32Array<ArrayBuffer>;
  /** Target place of each branch. */
  readonly to: Int32Array<ArrayBuffer>;
  /** Number of times that each branch was taken. */
  readonly taken: Float64Array<ArrayBuffer>;
  /** Number of mispredictions of each branch. */
  readonly mispredicted: Float64Array<ArrayBuffer>;
  /** For each trace (see {@linkcode BranchCounts}), the index of the branch that led to it. */
  readonly before: Int32Array<ArrayBuffer>;
  /** For each trace, the place of its last instruction. */
  readonly until: Int32Array<ArrayBuffer>;
  /** How often each trace was executed. */
  readonly ran: Float64Array<ArrayBuffer>;
  /** How often each trace was executed with known cycles. */
  readonly timed: Float64Array<ArrayBuffer>;
  /** Sum of these cycles. */
  readonly cycles: Float64Array<ArrayBuffer>;
}

/**
 * Counts branches, and traces: straight code between two taken branches, in which all instructions
 * are executed one after the other. (Not to be confused with the trace of Intel PT.) Branches come from branch
 * stacks (LBR and similar), as a consumer of the engine, or from an Intel PT trace
 * (`TraceBranches`). Memory grows with the executed code, not with the samples.
 *
 * @example
 * ```ts
 * import { BranchCounts } from "@perfdata/export/code";
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { runEngine } from "@perfdata/session";
 * import { assertEquals } from "@std/assert";
 *
 * const pipe = new Uint8Array(16);
 * pipe.set(new TextEncoder().encode("PERFILE2"));
 * pipe.set([16], 8);
 * const counts = new BranchCounts();
 * await runEngine(await PerfDataReader.open(bytesSource(pipe)), [counts]);
 * assertEquals([counts.samples, counts.branches.length], [0, 0]);
 * ```
 */
export class BranchCounts implements Consumer, Shareable<BranchPart> {
  /** Data that the engine has to provide. */
  readonly needs: Needs = { order: "any", places: true, branches: true };
  /** Samples with branches. */
  samples: number = 0;
  /** Branches by source (`parents()`) and target (`items()`) place; -1 for address 0. */
  readonly branches: NodeTable = new NodeTable();
  /** Number of times that each branch was taken. */
  readonly taken: FloatColumn = new FloatColumn();
  /** Number of mispredictions of each branch. */
  readonly mispredicted: FloatColumn = new FloatColumn();
  /**
   * Traces: code that ran without a taken branch, from the target of a branch (`parents()`, a node
   * of `branches`) to a place (`items()`), the source of the next branch.
   */
  readonly traces: NodeTable = new NodeTable();
  /** How often each trace was executed. */
  readonly ran: FloatColumn = new FloatColumn();
  /** How often each trace was executed with known cycles. */
  readonly timed: FloatColumn = new FloatColumn();
  /** Sum of these cycles. */
  readonly cycles: FloatColumn = new FloatColumn();

  /** Cache of recent branches: most branches are in loops, so nearly all are found here. */
  readonly #recent = new Int32Array(SLOTS * WORDS).fill(-2);
  /** Counts of traces since {@linkcode BranchCounts.finish}. */
  #sums = new Float64Array(SUMS << 10);

  /** Counts the branches of a group of samples. */
  rows(run: Run): void {
    const { count, chosen, branchStart, branches, branchFlags } = run;
    const recent = this.#recent;
    for (let i = 0; i < count; i++) {
      if (chosen[i] !== CHOSEN.YES) continue;
      const first = intAt(branchStart, i);
      const entries = intAt(branchStart, i + 1) - first >> 1;
      if (entries === 0) continue;
      this.samples++;
      let next = -1;
      let nextFlags = 0;
      for (let k = 0; k < entries; k++) {
        const from = intAt(branches, first + 2 * k);
        const to = intAt(branches, first + 2 * k + 1);
        const flags = intAt(branchFlags, (first >> 1) + k);
        const at = slotOf(from, to, next) * WORDS;
        if (recent[at] !== from || recent[at + 1] !== to || recent[at + 2] !== next) {
          recent[at] = from;
          recent[at + 1] = to;
          recent[at + 2] = next;
          const branch = recent[at + 3] = this.#branch(from, to);
          recent[at + 4] = next < 0 ? -1 : this.#trace(branch, next);
        }
        const branch = intAt(recent, at + 3);
        if ((flags & BRANCH.MISPREDICTED) !== 0) this.mispredicted.add(branch, 1);
        if (next < 0) this.taken.add(branch, 1);
        else {
          // The count of a branch follows from the trace after it, so only the trace is counted.
          const sums = this.#sums;
          const sum = intAt(recent, at + 4) * SUMS;
          sums[sum] = floatAt(sums, sum) + 1;
          const cycles = (nextFlags & BRANCH.CYCLES) >> BRANCH.CYCLES_AT;
          if (cycles > 0) {
            sums[sum + 1] = floatAt(sums, sum + 1) + 1;
            sums[sum + 2] = floatAt(sums, sum + 2) + cycles;
          }
        }
        next = from;
        nextFlags = flags;
      }
    }
  }

  /** Adds the pending counts to the columns. */
  finish(): void {
    const sums = this.#sums;
    const before = this.traces.parents();
    for (let trace = 0; trace < before.length; trace++) {
      const times = floatAt(sums, trace * SUMS);
      if (times === 0) continue;
      this.ran.add(trace, times);
      this.taken.add(intAt(before, trace), times);
      this.timed.add(trace, floatAt(sums, trace * SUMS + 1));
      this.cycles.add(trace, floatAt(sums, trace * SUMS + 2));
    }
    sums.fill(0);
  }

  part(): BranchPart {
    this.finish();
    return {
      samples: this.samples,
      from: this.branches.parents().slice(),
      to: this.branches.items().slice(),
      taken: this.taken.array().slice(),
      mispredicted: this.mispredicted.array().slice(),
      before: this.traces.parents().slice(),
      until: this.traces.items().slice(),
      ran: this.ran.array().slice(),
      timed: this.timed.array().slice(),
      cycles: this.cycles.array().slice(),
    };
  }

  join(part: BranchPart, { place }: JoinedNumbers): void {
    const here = (there: number): number => there < 0 ? there : intAt(place, there);
    this.samples += part.samples;
    const numbers = part.from.map((from, i) => {
      const branch = this.#branch(here(from), here(intAt(part.to, i)));
      this.taken.add(branch, floatAt(part.taken, i));
      this.mispredicted.add(branch, floatAt(part.mispredicted, i));
      return branch;
    });
    for (const [i, before] of part.before.entries()) {
      const trace = this.#trace(intAt(numbers, before), here(intAt(part.until, i)));
      this.ran.add(trace, floatAt(part.ran, i));
      this.timed.add(trace, floatAt(part.timed, i));
      this.cycles.add(trace, floatAt(part.cycles, i));
    }
  }

  #branch(from: number, to: number): number {
    const branch = this.branches.node(from, to);
    if (branch === this.taken.length) {
      this.taken.push(0);
      this.mispredicted.push(0);
    }
    return branch;
  }

  #trace(branch: number, place: number): number {
    const trace = this.traces.node(branch, place);
    if (trace === this.ran.length) {
      this.ran.push(0);
      this.timed.push(0);
      this.cycles.push(0);
      const end = (trace + 1) * SUMS;
      if (end > this.#sums.length) this.#sums = enlarge(this.#sums, end);
    }
    return trace;
  }

  /** Counts a branch by its places. Returns its index. */
  branch(from: number, to: number, mispredicted: boolean): number {
    const branch = this.#branch(from, to);
    this.taken.add(branch, 1);
    if (mispredicted) this.mispredicted.add(branch, 1);
    return branch;
  }

  /**
   * Counts a trace from the target of a branch to a place.
   *
   * @param cycles Cycles of this execution; 0 if unknown.
   */
  ranUntil(branch: number, place: number, cycles: number = 0): void {
    const trace = this.#trace(branch, place);
    this.ran.add(trace, 1);
    if (cycles === 0) return;
    this.timed.add(trace, 1);
    this.cycles.add(trace, cycles);
  }
}

function slotOf(from: number, to: number, next: number): number {
  const mixed = Math.imul(from, 0x9e3779b1) ^ Math.imul(to, 0x85ebca6b) ^
    Math.imul(next, 0xc2b2ae35);
  return (mixed ^ mixed >>> 15) & SLOTS - 1;
}
