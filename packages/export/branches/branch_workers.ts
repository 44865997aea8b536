// Uses Deno's workers. Most other modules of this package run in any JavaScript runtime.
import type { Workers } from "@perfdata/session";
import { BranchCounts } from "./branch_counts.ts";

/**
 * Worker threads that count branches like {@linkcode BranchCounts}, for `EngineOptions.workers`.
 *
 * @param path Path of the recording.
 * @param jobs Number of threads, including this one.
 */
export function branchWorkers(path: string, jobs: number): Workers {
  return {
    jobs,
    path,
    about: undefined,
    make: () => new BranchCounts(),
    start: () => new Worker(new URL("./branch_worker.ts", import.meta.url), { type: "module" }),
  };
}
