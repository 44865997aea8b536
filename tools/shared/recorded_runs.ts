/** Counts executions of instructions from branch stacks, for `annotate` and `report`. */
import { type BranchPlaces, hasBranches } from "@perfdata/export";
import {
  type BranchCounts,
  codeRuns,
  type InsnRuns,
  insnRuns,
  type ReadCode,
} from "@perfdata/export/code";
import type { PerfDataReader } from "@perfdata/format/records";
import { openSource } from "@perfdata/format/files";
import { open } from "@perfdata/perfdata";
import { branchThreads, countStacks } from "./branch_exports.ts";
import { complain, Progress } from "./cli.ts";
import { hasIntelPt } from "./open_profile.ts";
import type { traceBranches } from "./branches_pt.ts";

/** Returns the execution counts of the instructions in a piece of code. */
export type RecordedRuns = (piece: ReadCode) => InsnRuns[];

/**
 * Reads the branches of the recording in a second pass.
 *
 * @param progress The command's name, if it shows a progress line.
 * @returns `undefined` if no branches were recorded.
 */
export async function recordedRuns(
  name: string,
  reader: PerfDataReader,
  flags: Parameters<typeof traceBranches>[2],
  progress?: string,
): Promise<RecordedRuns | undefined> {
  if (!hasBranches(reader)) {
    // Decoding the whole trace takes long, so do it only for commands with a progress line.
    if (progress === undefined || name === "-" || !await hasIntelPt(name)) return undefined;
    const traces = await import("./branches_pt.ts");
    return runsOf(await traces.traceBranches(progress, name, flags));
  }
  if (name === "-") {
    complain("annotate: how often code ran is counted in files alone, not in a stream");
    return undefined;
  }
  const bar = progress === undefined ? undefined : new Progress(progress, undefined);
  const recording = await open(openSource(name), {
    // The first pass reported the errors.
    diagnostics: () => {},
    progress: (_, bytes, all) => bar?.reach(bytes, all),
    threads: branchThreads(name),
  });
  const { counts, places } = await countStacks(recording, flags);
  bar?.finish();
  return counts.samples === 0 ? undefined : runsOf({ counts, places });
}

/** Execution counts by code, from branch counts. */
export function runsOf(
  { counts, places }: { readonly counts: BranchCounts; readonly places: BranchPlaces },
): RecordedRuns {
  return ({ path, start, insns }) => {
    const runs = codeRuns(counts, places, (object) => places.objects[object]?.path === path);
    return insnRuns(insns, start, runs);
  };
}
