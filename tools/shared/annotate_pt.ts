/** The instructions that Intel PT executed, for `annotate`. */
import type { BranchPlaces } from "@perfdata/export";
import type { BranchCounts } from "@perfdata/export/code";
import { complain, UsageError } from "./cli.ts";
import type { ReadProfile } from "./open_profile.ts";
import { openTrace } from "./command_trace.ts";
import type { SampleFlags } from "./sample_flags.ts";
import type { SymbolFlags } from "./symbol_flags.ts";
import { printLoss } from "./trace_loss.ts";

/** A profile of a trace, with execution counts between branches. */
export interface TracedInsns extends ReadProfile {
  readonly traced: { readonly counts: BranchCounts; readonly places: BranchPlaces };
}

/** Decodes a trace. Each executed instruction becomes a sample. */
export async function readTracedInsns(
  tool: string,
  name: string,
  flags: SampleFlags & SymbolFlags,
): Promise<TracedInsns> {
  if (flags.value.comm !== undefined) {
    throw new UsageError("--comm is for samples: --tid and --pid choose threads of a trace");
  }
  const { trace: opened, filter, complaints, progress } = await openTrace(tool, name, flags);
  const { profile, loss, counts, resolver } = await opened.instructions({ filter });
  progress.finish();
  complain(`${tool}: ${name}: all of its Intel PT: each instruction that ran counts as a sample`);
  const { engine: { reader, recorded }, code: { places } } = opened.trace;
  return {
    profile,
    isWhole: printLoss(tool, name, loss, complaints),
    isPt: true,
    source: { engine: { reader, recorded, places }, resolver },
    traced: { counts, places },
  };
}
