/** Threads that decode parts of a trace for `pt` (see pt.ts). */
import { type CallFilter, PLACE_ROWS } from "@perfdata/pt/calls";
import { PtNames } from "@perfdata/pt/code";
import { callRowsOf, functionRows } from "@perfdata/pt/lists";
import {
  callWhole,
  type ListTextOptions,
  listWhole,
  type PtCallWhole,
  type PtWhole,
  type PtWorkers,
} from "@perfdata/pt/parallel";
import { codeOf, imagesOf, namedImages, openPtAgain } from "./_pt.ts";
import { insnText } from "./_insn_text.ts";
import { resolverOf } from "./_symbol_flags.ts";

/** What a thread is to decode. */
export interface PtAbout {
  /** The recording. */
  readonly name: string;
  /** The flags of code and symbols. */
  readonly flags: Parameters<typeof resolverOf>[0];
  /** `--image` */
  readonly image: string | undefined;
  /** `--guest-image` */
  readonly guestImage: string | undefined;
  /** Which part counts. */
  readonly filter: CallFilter;
  /** Only the buffers of these CPUs. */
  readonly cpus: ReadonlySet<number> | undefined;
  /**
   * What calls are counted by: functions, those of a name (`--latency`), or places, for a tree of stacks; or
   * what is listed instead.
   */
  readonly by: CallsBy | { readonly list: Omit<ListTextOptions, "filter" | "text"> };
}

/** What calls are counted by. */
type CallsBy = "functions" | "stacks" | { readonly name: string };

/** Bytes of a trace from which on a second thread pays: docs/performance.md. */
const LARGE = 1 << 24;
/** The same of lists of branches or instructions, whose text is most of the work. */
const LARGE_LIST = 1 << 20;

/** How many threads decode: as many as asked for, or all processors for large traces. */
export function ptJobs(jobs: number | undefined, bytes: number, isLongList = false): number {
  return jobs ?? (bytes >= (isLongList ? LARGE_LIST : LARGE) ? navigator.hardwareConcurrency : 1);
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
export function ptRows(names: PtNames, by: CallsBy): Pick<PtCallWhole, "rows" | "tree"> {
  if (by === "stacks") return { rows: PLACE_ROWS, tree: true };
  const rows = by === "functions" ? functionRows(names) : callRowsOf(by.name, names);
  return { rows, tree: false };
}

/** Whether a buffer is one of these CPUs. */
export function ofCpus(cpus: ReadonlySet<number> | undefined): PtCallWhole["wants"] {
  return ({ cpu }) => cpus === undefined || (cpu !== undefined && cpus.has(cpu));
}

/** Opens in another thread what the first one has opened. */
export async function openWhole(
  { name, flags, image, guestImage, filter, cpus, by }: PtAbout,
): Promise<PtWhole<unknown>> {
  const { trace, source, sideband } = await openPtAgain(name);
  const { recorded } = sideband;
  const guest = namedImages("guest-image", guestImage);
  const code = await codeOf(sideband, flags.value, imagesOf(image, name), guest);
  const isList = typeof by === "object" && "list" in by;
  const resolver = await resolverOf(flags, name, {
    ...(recorded === undefined ? {} : { machine: recorded }),
    parameters: false,
    debugInformation: isList && by.list.source,
  });
  const names = new PtNames(code, resolver);
  const whole = { trace, source, sideband, code, wants: ofCpus(cpus) };
  if (isList) {
    const text = by.list.insns === true ? await insnText() : undefined;
    return listWhole(whole, names, { ...by.list, text, filter });
  }
  return callWhole({ ...whole, filter, ...ptRows(names, by) });
}
