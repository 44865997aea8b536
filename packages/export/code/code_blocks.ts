import { floatAt, intAt } from "@perfdata/format/elements";
import type { BranchCounts } from "../branches/branch_counts.ts";
import type { BranchPlaces } from "../branches/branch_profile.ts";

/** Code that ran from one taken branch to the next, in one object. */
export interface CodeRun {
  /** Where the branch before led, as the object counts. */
  readonly from: number;
  /** Where the next branch is, which ran as well. */
  readonly to: number;
  /** How often. */
  readonly count: number;
  /** How often it is known how many cycles it took. */
  readonly timed: number;
  /** These cycles. */
  readonly cycles: number;
}

/** Code that ran without a branch, in the objects that `isWanted` accepts by their numbers in `places`. */
export function codeRuns(
  { branches, traces, ran, timed, cycles }: BranchCounts,
  places: BranchPlaces,
  isWanted: (object: number) => boolean,
): CodeRun[] {
  const to = branches.items();
  const before = traces.parents();
  const until = traces.items();
  const runs: CodeRun[] = [];
  for (let i = 0; i < before.length; i++) {
    const [start, end] = [intAt(to, intAt(before, i)), intAt(until, i)];
    if (start < 0 || end < 0) continue;
    const object = places.object(start);
    if (places.object(end) !== object || !isWanted(object)) continue;
    runs.push({
      from: places.address(start),
      to: places.address(end),
      count: floatAt(ran.array(), i),
      timed: floatAt(timed.array(), i),
      cycles: floatAt(cycles.array(), i),
    });
  }
  return runs;
}

/** How often an instruction ran, if known. */
export interface InsnRuns {
  /** Number of the first instruction of its basic block. */
  readonly block: number;
  /** How often it ran between the branches that were recorded. */
  readonly executions: number;
  /**
   * How many cycles it took on average from where a branch led up to this instruction, a branch that was
   * taken then; `undefined` if none was, or the processor does not say.
   */
  readonly cycles: number | undefined;
}

/** An instruction, as far as blocks depend on it. */
export interface BlockInsn {
  /** Where it is. */
  readonly address: bigint;
  /** Number of the instruction that it may jump to. */
  readonly jump?: number | undefined;
}

/**
 * How often each instruction of a piece of code ran. A basic block begins where a branch leads, and after one.
 *
 * @param insns The instructions, all of the piece.
 * @param start Where the first one is, as the object counts.
 *
 * @example
 * ```ts
 * import { insnRuns } from "@perfdata/export/branches";
 * import { assertEquals } from "@std/assert";
 *
 * const insns = [0x10n, 0x12n, 0x17n, 0x19n].map((address) => ({ address }));
 * const loop = { from: 0x112, to: 0x117, count: 9, timed: 9, cycles: 27 };
 * const [first, second, third, last] = insnRuns(insns, 0x110, [loop]);
 * assertEquals([first?.executions, second?.executions, last?.executions], [0, 9, 0]);
 * assertEquals([third?.block, third?.cycles, last?.block], [1, 3, 3]);
 * ```
 */
export function insnRuns(
  insns: readonly BlockInsn[],
  start: number,
  runs: readonly CodeRun[],
): InsnRuns[] {
  const [first] = insns;
  if (first === undefined) return [];
  const base = first.address;
  const numberAt = new Map(
    insns.map(({ address }, number) => [start + Number(address - base), number]),
  );
  const changes = new Float64Array(insns.length + 1);
  const timed = new Float64Array(insns.length);
  const cycles = new Float64Array(insns.length);
  const leads = new Uint8Array(insns.length + 1);
  leads[0] = 1;
  for (const [number, { jump }] of insns.entries()) {
    if (jump === undefined) continue;
    leads[jump] = leads[number + 1] = 1;
  }
  for (const run of runs) {
    const [from, to] = [numberAt.get(run.from), numberAt.get(run.to)];
    // Of other code, or of what does not fit this code.
    if (from === undefined || to === undefined || to < from) continue;
    changes[from] = floatAt(changes, from) + run.count;
    changes[to + 1] = floatAt(changes, to + 1) - run.count;
    leads[from] = leads[to + 1] = 1;
    timed[to] = floatAt(timed, to) + run.timed;
    cycles[to] = floatAt(cycles, to) + run.cycles;
  }
  let executions = 0;
  let block = 0;
  return insns.map((_, number) => {
    executions += floatAt(changes, number);
    if (leads[number] === 1) block = number;
    const times = floatAt(timed, number);
    const average = times === 0 ? undefined : floatAt(cycles, number) / times;
    return { block, executions, cycles: average };
  });
}
