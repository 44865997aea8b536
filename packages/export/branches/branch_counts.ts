import { floatAt, intAt } from "@perfdata/format/elements";
import { enlarge } from "@perfdata/format/enlarge";
import { FloatColumn } from "@perfdata/profile/columns";
import { NodeTable } from "@perfdata/profile/node-table";
import type { Consumer, Needs } from "@perfdata/session/engine";
import { BRANCH, CHOSEN, type Run } from "@perfdata/session/run";
import type { JoinedNumbers, Shareable } from "@perfdata/session/workers";

/** Number of cached branches, with the code that ran after them: as many as fit in a CPU's cache. */
const SLOTS = 1 << 13;
/** Words of each: the places it leads from and to, the next branch's place, the numbers of branch and trace. */
const WORDS = 5;
/** Numbers of a trace that wait: how often it ran, how often that was timed, its cycles. */
const SUMS = 4;

/** What one thread counted. */
export interface BranchPart {
  /** Samples with branches. */
  readonly samples: number;
  /** Places that branches lead from. */
  readonly from: Int32Array<ArrayBuffer>;
  /** Places that they lead to. */
  readonly to: Int32Array<ArrayBuffer>;
  /** How often each was taken. */
  readonly taken: Float64Array<ArrayBuffer>;
  /** How often each was mispredicted. */
  readonly mispredicted: Float64Array<ArrayBuffer>;
  /** Branches before what ran without one. */
  readonly before: Int32Array<ArrayBuffer>;
  /** Places up to which that ran. */
  readonly until: Int32Array<ArrayBuffer>;
  /** How often each ran. */
  readonly ran: Float64Array<ArrayBuffer>;
  /** How often it is known how many cycles each took. */
  readonly timed: Float64Array<ArrayBuffer>;
  /** The sum of these cycles. */
  readonly cycles: Float64Array<ArrayBuffer>;
}

/**
 * Counts branches, and what ran between two of them: those of branch stacks (LBR and the like), as a
 * consumer of the engine, or those of a trace (`TraceBranches`). Its memory grows with the code that ran, not with the samples.
 *
 * @example
 * ```ts
 * import { BranchCounts } from "@perfdata/export/branches";
 * import { bytesSource, PerfDataReader } from "@perfdata/format";
 * import { runEngine } from "@perfdata/session/engine";
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
  /** What it wants of the engine. */
  readonly needs: Needs = { order: "any", places: true, branches: true };
  /** Samples with branches. */
  samples: number = 0;
  /** Branches by the places that they lead from (`parents()`) and to (`items()`); -1 for address 0. */
  readonly branches: NodeTable = new NodeTable();
  /** How often each was taken. */
  readonly taken: FloatColumn = new FloatColumn();
  /** How often each was mispredicted. */
  readonly mispredicted: FloatColumn = new FloatColumn();
  /**
   * What ran without a branch that was taken: from where a branch (`parents()`, a node of `branches`)
   * led to up to a place (`items()`), the start of the next one.
   */
  readonly traces: NodeTable = new NodeTable();
  /** How often each ran. */
  readonly ran: FloatColumn = new FloatColumn();
  /** How often it is known how many cycles each took. */
  readonly timed: FloatColumn = new FloatColumn();
  /** The sum of these cycles. */
  readonly cycles: FloatColumn = new FloatColumn();

  /** Branches are those of loops: nearly all are among those that came before. */
  readonly #recent = new Int32Array(SLOTS * WORDS).fill(-2);
  /** What was counted of traces since {@linkcode BranchCounts.finish}. */
  #sums = new Float64Array(SUMS << 10);

  /** Counts the branches of a run. */
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
          // How often a branch was taken follows from what ran after it.
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

  /** Adds what waits, when all was counted. */
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

  /** Counts a branch by its places; returns its number. */
  branch(from: number, to: number, mispredicted: boolean): number {
    const branch = this.#branch(from, to);
    this.taken.add(branch, 1);
    if (mispredicted) this.mispredicted.add(branch, 1);
    return branch;
  }

  /**
   * Counts what ran from where a branch led to up to a place.
   *
   * @param cycles How many it took; 0 if that is not known.
   */
  ranUntil(branch: number, place: number, cycles: number = 0): void {
    const trace = this.#trace(branch, place);
    this.ran.add(trace, 1);
    if (cycles === 0) return;
    this.timed.add(trace, 1);
    this.cycles.add(trace, cycles);
  }
}

/** Where a branch and the place that the code after it ran up to are remembered. */
function slotOf(from: number, to: number, next: number): number {
  const mixed = Math.imul(from, 0x9e3779b1) ^ Math.imul(to, 0x85ebca6b) ^
    Math.imul(next, 0xc2b2ae35);
  return (mixed ^ mixed >>> 15) & SLOTS - 1;
}
