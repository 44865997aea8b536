// Uses Deno's workers; most of this package runs in any JavaScript runtime.
import type { Workers } from "@perfdata/session/engine";
import type { CountAbout } from "./count_worker.ts";
export type { CountAbout } from "./count_worker.ts";
import { SampleCounts } from "./sample_counts.ts";

/**
 * Threads that count samples as a {@linkcode SampleCounts} with the same options does: for
 * `EngineOptions.workers`.
 *
 * @param path The recording.
 * @param jobs How many threads, the one that asks included.
 */
export function countWorkers(path: string, jobs: number, about: CountAbout): Workers {
  return {
    jobs,
    path,
    about,
    make: ({ counts }: CountAbout) => new SampleCounts(counts),
    start: () => new Worker(new URL("./count_worker.ts", import.meta.url), { type: "module" }),
  };
}
