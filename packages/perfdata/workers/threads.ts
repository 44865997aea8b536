// Uses Deno's workers. No other module of this package imports it.
import { textJobs, type Workers, type WorkerThread } from "@perfdata/session";
import type { CollectAbout } from "./collect_service.ts";
import type { LineAbout } from "./line_worker.ts";
import type { ShareText } from "../text/text_host.ts";

export type { CollectAbout, LineAbout };

/**
 * Threads that collect samples with a `SampleCollector` of the same options, for `EngineOptions.workers`.
 *
 * @param path Path of the recording.
 * @param jobs Number of threads, including this one.
 */
export async function collectWorkers(
  path: string,
  jobs: number,
  about: CollectAbout,
): Promise<Workers> {
  const { SampleCollector } = await import("@perfdata/profile");
  return {
    jobs,
    path,
    about,
    make: ({ collect }: CollectAbout) => new SampleCollector(collect),
    start: () => new Worker(new URL("./collect_worker.ts", import.meta.url), { type: "module" }),
  };
}

/** Threads that count for `recordingInfo`: see {@linkcode collectWorkers}. */
export async function infoWorkers(path: string, jobs: number): Promise<Workers> {
  const { infoCounter } = await import("@perfdata/report/figures");
  return {
    jobs,
    path,
    about: undefined,
    make: () => infoCounter().counts,
    start: () => new Worker(new URL("./info_worker.ts", import.meta.url), { type: "module" }),
  };
}

/** Threads that collect samples, and count for `recordingInfo` beside that. */
export async function infoCollectWorkers(
  path: string,
  jobs: number,
  about: CollectAbout,
): Promise<Workers> {
  const collecting = await collectWorkers(path, jobs, about);
  const { infoCounter } = await import("@perfdata/report/figures");
  const { SharedConsumers } = await import("@perfdata/session");
  return {
    ...collecting,
    make: (of: never) => new SharedConsumers([collecting.make(of), infoCounter().counts]),
    start: () =>
      new Worker(new URL("./info_collect_worker.ts", import.meta.url), { type: "module" }),
  };
}

/** Threads that count accesses like `CacheLines` with the same keys: see {@linkcode collectWorkers}. */
export async function lineWorkers(
  path: string,
  jobs: number,
  about: LineAbout,
): Promise<Workers> {
  const { CacheLines } = await import("@perfdata/report/contention");
  return {
    jobs,
    path,
    about,
    make: ({ by }: LineAbout) => new CacheLines(by),
    start: () => new Worker(new URL("./line_worker.ts", import.meta.url), { type: "module" }),
  };
}

/** Threads that count branches like `BranchCounts`: see {@linkcode collectWorkers}. */
export async function branchWorkers(path: string, jobs: number): Promise<Workers> {
  const { BranchCounts } = await import("@perfdata/export/code");
  return {
    jobs,
    path,
    about: undefined,
    make: () => new BranchCounts(),
    start: () => new Worker(new URL("./branch_worker.ts", import.meta.url), { type: "module" }),
  };
}

/**
 * Starts the threads for text of a recording: see `OpenOptions.textThreads`. The text of `script`, which
 * needs symbols, is written by one thread.
 *
 * @param jobs Number of threads, including this one; by default according to the size of the file.
 */
export function textThreads(jobs?: number): ShareText {
  return (text, reader) => {
    if (text === "script") return undefined;
    const start = text === "dump" ? dumpThread : recordsThread;
    return { jobs: textJobs(jobs, reader), start };
  };
}

/** Starts a thread for `dumpFile`. */
export function dumpThread(): WorkerThread {
  return new Worker(new URL("./dump_worker.ts", import.meta.url), { type: "module" });
}

/** Starts a thread for `recordsFile`. */
export function recordsThread(): WorkerThread {
  return new Worker(new URL("./records_worker.ts", import.meta.url), { type: "module" });
}
