/** Threads that decode parts of a trace for `pt` (see pt.ts). */
import { type CallFilter, PLACE_ROWS } from "@perfdata/pt/calls";
import { PtNames } from "@perfdata/pt/code";
import { callRowsOf, functionRows } from "@perfdata/pt/lists";
import type { PtWhole, PtWorkers } from "@perfdata/pt/parallel";
import { codeOf, imagesOf, openPtAgain } from "./_pt.ts";
import { resolverOf } from "./_symbol_flags.ts";

/** What a thread is to decode. */
export interface PtAbout {
  /** The recording. */
  readonly name: string;
  /** The flags of code and symbols. */
  readonly flags: Parameters<typeof resolverOf>[0];
  /** `--image` */
  readonly image: string | undefined;
  /** Which part counts. */
  readonly filter: CallFilter;
  /** Only the buffers of these CPUs. */
  readonly cpus: ReadonlySet<number> | undefined;
  /** What calls are counted by: functions, those of a name (`--latency`), or places, for a tree of stacks. */
  readonly by: "functions" | "stacks" | { readonly name: string };
}

/** Bytes of a trace from which on a second thread pays: docs/performance.md. */
const LARGE = 1 << 24;

/** How many threads decode: as many as asked for, or all processors for large traces. */
export function ptJobs(jobs: number | undefined, bytes: number): number {
  return jobs ?? (bytes >= LARGE ? navigator.hardwareConcurrency : 1);
}

/** Starts threads. */
export function ptWorkers(
  jobs: number,
  about: PtAbout,
  progress: PtWorkers["progress"],
): PtWorkers {
  return {
    jobs,
    about,
    start: () => new Worker(new URL("./_pt_worker.ts", import.meta.url), { type: "module" }),
    ...(progress === undefined ? {} : { progress }),
  };
}

/** What calls are counted by, and whether by stack. */
export function ptRows(names: PtNames, by: PtAbout["by"]): Pick<PtWhole, "rows" | "tree"> {
  if (by === "stacks") return { rows: PLACE_ROWS, tree: true };
  return { rows: by === "functions" ? functionRows(names) : callRowsOf(by.name, names) };
}

/** Whether a buffer is one of these CPUs. */
export function ofCpus(cpus: ReadonlySet<number> | undefined): PtWhole["wants"] {
  return ({ cpu }) => cpus === undefined || (cpu !== undefined && cpus.has(cpu));
}

/** Opens in another thread what the first one has opened. */
export async function openWhole(
  { name, flags, image, filter, cpus, by }: PtAbout,
): Promise<PtWhole> {
  const { trace, source, sideband } = await openPtAgain(name);
  const { recorded } = sideband;
  const code = await codeOf(sideband, flags.value, imagesOf(image, name));
  const resolver = await resolverOf(flags, name, {
    ...(recorded === undefined ? {} : { machine: recorded }),
    parameters: false,
    debugInformation: false,
  });
  const rows = ptRows(new PtNames(code, resolver), by);
  return { trace, source, sideband, code, filter, ...rows, wants: ofCpus(cpus) };
}
