/** Reads branches from Intel PT, for exports and commands that count branches. */
import type { BranchPlaces } from "@perfdata/export";
import { BranchCounts } from "@perfdata/export/code";
import { TraceBranches } from "@perfdata/export/traces";
import { clockRatios, type PtSampleRows } from "@perfdata/pt";
import { decodePt, PtNames, PtSamples, type PtThreads, type PtTrace } from "@perfdata/pt/decode";
import { InputError, Progress } from "./cli.ts";
import { sampleFilter } from "./sample_flags.ts";
import { resolverOf } from "./symbol_flags.ts";
import { codeOf, imagesOf, openPt, reportLoss } from "./pt_input.ts";

type TraceFlags = Parameters<typeof sampleFilter>[0] & Parameters<typeof resolverOf>[0];

export interface DecodedBranches {
  readonly trace: PtTrace;
  /** Prints what could not be decoded, and returns the exit code. */
  readonly report: () => number;
}

/**
 * Decodes all branches of the Intel PT in a recording, buffer by buffer.
 *
 * @param open Receives the threads, and returns the function that receives samples of
 * branches and errors in order.
 */
export async function decodeBranches(
  tool: string,
  name: string,
  flags: TraceFlags,
  open: (threads: PtThreads) => (rows: PtSampleRows) => void,
): Promise<DecodedBranches> {
  let chosen: Awaited<ReturnType<typeof sampleFilter>> | undefined;
  const { trace, complaints } = await openPt(tool, name, {
    code: (recorded) => codeOf(recorded, flags.value, imagesOf(undefined, name)),
    filter: async (reader) => chosen = await sampleFilter(flags, reader),
  });
  const { aux, clock, engine, sideband } = trace;
  const names = new PtNames(trace.code, await resolverOf(flags, name, { debugInformation: false }));
  const { maxNonTurboRatio = 0 } = clockRatios(aux);
  const event = engine.reader.events.all.find(({ attr }) =>
    BigInt(attr.type) === aux.intelPt?.pmu_type
  );
  if (event === undefined) throw new InputError(`${name}: no event has recorded the trace`);
  const taker = open(sideband.threads);
  const { time, tids, cpus } = chosen ?? {};
  const take = () => {
    taker(samples.rows);
    samples.clear();
  };
  const samples: PtSamples = new PtSamples(trace, {
    itrace: {
      ...{ branches: true, calls: false, returns: false, transactions: false, ptwrites: false },
      ...{ power: false, interrupts: false, pebs: false, errors: true, skip: 0 },
    },
    maxNonTurboRatio,
    ipc: aux.intelPtConfig?.cyc === true,
    // Code between two branches is only known within one buffer.
    merge: false,
    hasKernel: !event.attr.flags.exclude_kernel,
    snapshots: aux.mayOverlap,
    filter: {
      tids,
      ...(time === undefined
        ? {}
        : { from: clock.origin.since(time[0]), to: clock.origin.since(time[1]) }),
    },
    idle: take,
  });
  const progress = new Progress(tool, trace.bytes);
  const found = await decodePt(trace, samples, {
    progress: progress.add,
    wants: ({ cpu }) => cpus === undefined || (cpu !== undefined && cpus.has(cpu)),
  });
  samples.finish();
  take();
  progress.finish();
  names.close();
  return {
    trace,
    report: () => reportLoss(tool, name, { counts: found, trace, names, complaints }),
  };
}

/** Branch counts, and the places that they refer to. */
export interface TraceCounts {
  readonly counts: BranchCounts;
  readonly places: BranchPlaces;
  /** The trace that was counted. */
  readonly decoded: DecodedBranches;
  /** Prints what could not be decoded, and returns the exit code. */
  readonly report: () => number;
}

/** Counts all branches of the Intel PT in a recording, and the code executed between them. */
export async function traceBranches(
  tool: string,
  name: string,
  flags: TraceFlags,
): Promise<TraceCounts> {
  const counts = new BranchCounts();
  const branches = new TraceBranches(counts);
  const decoded = await decodeBranches(
    tool,
    name,
    flags,
    () => (rows) => branches.take(rows),
  );
  const { trace: { code: { places } }, report } = decoded;
  return {
    counts,
    decoded,
    places,
    report,
  };
}
