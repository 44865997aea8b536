// Uses Deno's workers; most of this package runs in any JavaScript runtime.
import type { Workers } from "@perfdata/session/engine";
import { BranchCounts } from "./branch_counts.ts";

/**
 * Threads that count branches as a {@linkcode BranchCounts} does: for `EngineOptions.workers`.
 *
 * @param path The recording.
 * @param jobs How many threads, the one that asks included.
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
