import { type FlowCounts, noFlowCounts } from "@perfdata/intel-pt";

/** Figures of a decoded trace. */
export interface PtCounts extends FlowCounts {
  /** Branches of decoded TNT packets. If only packets are decoded, branches of all TNT packets. */
  branches: number;
  /**
   * Instructions that may belong to another thread than the one that they count for: see
   * `PtBuffer.isUnsure`.
   */
  unsureThread: number;
}

/** The numeric members of {@linkcode PtCounts}. */
const SUMS = [
  "bytes",
  "lostBytes",
  "lostBranches",
  "addresses",
  "insns",
  "insnBranches",
  "unsureInsns",
  "branches",
  "unsureThread",
] as const;

/** Figures that are all 0. */
export function noPtCounts(): PtCounts {
  return { ...noFlowCounts(), branches: 0, unsureThread: 0 };
}

/** Adds figures to others, or subtracts them. */
export function addPtCounts(to: PtCounts, counts: PtCounts, sign: 1 | -1 = 1): void {
  // Not sign * n, which is -0 for 0: a double, for which code about figures would be compiled again.
  const sum = (before: number, n: number) => sign < 0 ? before - n : before + n;
  for (const member of SUMS) to[member] = sum(to[member], counts[member]);
  for (const [error, n] of counts.errors.entries()) {
    to.errors[error] = sum(to.errors[error] as number, n);
  }
}
