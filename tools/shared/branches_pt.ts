/** Counts the branches of Intel PT, for exports and for the executions of instructions. */
import type { BranchPlaces } from "@perfdata/export";
import { BranchCounts } from "@perfdata/export/code";
import { TraceBranches } from "@perfdata/export/traces";
import { openTrace } from "./command_trace.ts";
import type { SampleFlags } from "./sample_flags.ts";
import type { SymbolFlags } from "./symbol_flags.ts";
import { printLoss } from "./trace_loss.ts";

/** Branch counts, and the places that they refer to. */
export interface TraceCounts {
  readonly counts: BranchCounts;
  readonly places: BranchPlaces;
  /** Prints what could not be decoded, and returns the exit code. */
  readonly report: () => number;
}

/** Counts all branches of the Intel PT in a recording, and the code executed between them. */
export async function traceBranches(
  tool: string,
  name: string,
  flags: SampleFlags & SymbolFlags,
): Promise<TraceCounts> {
  const { trace, filter, complaints, progress } = await openTrace(tool, name, flags);
  const counts = new BranchCounts();
  const branches = new TraceBranches(counts);
  const loss = await trace.branches((rows) => branches.take(rows), { filter });
  progress.finish();
  return {
    counts,
    places: trace.trace.code.places,
    report: () => printLoss(tool, name, loss, complaints) ? 0 : 1,
  };
}
