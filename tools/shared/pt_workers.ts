/** Threads that decode parts of a trace for `pt` (see pt.ts). */
import {
  type CallFilter,
  callRowsOf,
  functionRows,
  type ListTextOptions,
  PLACE_ROWS,
  type PtCallWhole,
  type PtWorkers,
} from "@perfdata/pt/decode";
import type { PtNames } from "@perfdata/pt/code";
import type { resolverOf } from "./symbol_flags.ts";

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
   * What calls are counted by: functions, those of a name (`--latency`), or places, for a tree of stacks; whether they
   * are listed one by one; or what is listed instead.
   */
  readonly by: CallsBy | { readonly list: Omit<ListTextOptions, "filter" | "text"> };
}

/** What calls are counted by. */
type CallsBy = "functions" | "stacks" | "events" | { readonly name: string };

/** Bytes of a trace from which on a second thread pays: docs/performance.md. */
const LARGE = 1 << 24;
/** The same of lists of branches or instructions, whose text is most of the work. */
const LARGE_LIST = 1 << 20;

/**
 * How many threads decode: as many as asked for, or all processors for large traces; one where the recording can be
 * read only once, as a pipe.
 */
export function ptJobs(
  name: string,
  jobs: number | undefined,
  bytes: number,
  isLongList = false,
  processors: number = navigator.hardwareConcurrency,
): number {
  if (!canReadAgain(name)) return 1;
  return jobs ?? (bytes >= (isLongList ? LARGE_LIST : LARGE) ? processors : 1);
}

function canReadAgain(name: string): boolean {
  if (name === "-") return false;
  const { isFile, isDirectory } = Deno.statSync(name);
  return isFile || isDirectory;
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
    start: () => new Worker(new URL("./pt_worker.ts", import.meta.url), { type: "module" }),
    progress,
  };
}

/** What calls are counted by, whether by stack, and whether they are listed one by one. */
export function ptRows(
  names: PtNames,
  by: CallsBy,
): Pick<PtCallWhole, "rows" | "tree" | "events"> {
  if (by === "stacks") return { rows: PLACE_ROWS, tree: true, events: false };
  const rows = typeof by === "string" ? functionRows(names) : callRowsOf(by.name, names);
  return { rows, tree: false, events: by === "events" };
}

/** Whether a buffer is one of these CPUs. */
export function ofCpus(cpus: ReadonlySet<number> | undefined): PtCallWhole["wants"] {
  return ({ cpu }) => cpus === undefined || (cpu !== undefined && cpus.has(cpu));
}
