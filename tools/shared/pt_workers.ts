/** Worker threads that decode parts of a trace for `pt` (see pt.ts). */
import {
  type CallFilter,
  callRowsOf,
  functionRows,
  type ListTextOptions,
  PLACE_ROWS,
  type PtCallWhole,
  type PtNames,
  type PtWorkers,
} from "@perfdata/pt/decode";
import type { resolverOf } from "./symbol_flags.ts";

/** The job of a worker. */
export interface PtAbout {
  readonly name: string;
  /** Flags for code and symbols. */
  readonly flags: Parameters<typeof resolverOf>[0];
  /** The value of `--image`. */
  readonly image: string | undefined;
  /** The value of `--guest-image`. */
  readonly guestImage: string | undefined;
  /** The part to decode. */
  readonly filter: CallFilter;
  /** Decode only the buffers of these CPUs. */
  readonly cpus: ReadonlySet<number> | undefined;
  /** The unit by which calls are counted, or the list to print instead. */
  readonly by: CallsBy | { readonly list: Omit<ListTextOptions, "filter" | "text"> };
}

/**
 * The unit by which calls are counted: functions, stacks, single calls, or the latencies of one
 * function.
 */
type CallsBy = "functions" | "stacks" | "events" | { readonly name: string };

/** Trace size in bytes above which a second thread pays: docs/performance.md. */
const LARGE = 1 << 24;
/** The same for lists of branches or instructions, where formatting is most of the work. */
const LARGE_LIST = 1 << 20;

/**
 * The number of decoding threads: as requested, or all processors for large traces. One if the
 * recording cannot be read again, such as a pipe.
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

/** Starts the worker threads. */
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

/** Options of `PtCalls` for a unit of counting. */
export function ptRows(
  names: PtNames,
  by: CallsBy,
): Pick<PtCallWhole, "rows" | "tree" | "events"> {
  if (by === "stacks") return { rows: PLACE_ROWS, tree: true, events: false };
  const rows = typeof by === "string" ? functionRows(names) : callRowsOf(by.name, names);
  return { rows, tree: false, events: by === "events" };
}
