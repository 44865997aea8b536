import { floatAt, intAt } from "@perfdata/format/bytes";
import type { BranchCounts } from "../branches/branch_counts.ts";
import type { BranchPlaces } from "../branches/branch_profile.ts";

/** Straight code that was executed from the target of a taken branch to the next taken branch. */
export interface CodeRun {
  /** Target of the branch before, as address in the object. */
  readonly from: number;
  /** Address of the branch at its end, which was executed too. */
  readonly to: number;
  /** How often it was executed. */
  readonly count: number;
  /** How often it was executed with known cycles. */
  readonly timed: number;
  /** Sum of these cycles. */
  readonly cycles: number;
}

/** Returns the straight code in selected objects. `isWanted` gets an object's index in `places`. */
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

/** Executions of an instruction. */
export interface InsnRuns {
  /** Index of the first instruction of the basic block. */
  readonly block: number;
  /** How often it was executed, according to the recorded branches. */
  readonly executions: number;
  /**
   * Mean number of cycles from the target of the previous branch up to this instruction, a taken
   * branch; `undefined` if it was not taken, or the processor records no cycles.
   */
  readonly cycles: number | undefined;
}

/** The properties of an instruction that determine blocks. */
export interface BlockInsn {
  /** Address of the instruction. */
  readonly address: bigint;
  /** Index of the instruction to which it may jump. */
  readonly jump?: number | undefined;
}

/**
 * Computes how often each instruction ran. A basic block begins at the target of a branch, and
 * after a branch.
 *
 * @param insns All instructions of the piece of code.
 * @param start Address of the first one in the object.
 *
 * @example
 * ```ts
 * import { insnRuns } from "@perfdata/export/code";
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
    // Other code, or a range that does not fit this code.
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
