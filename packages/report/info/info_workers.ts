// Uses Deno's workers; most of this package runs in any JavaScript runtime.
import type { Workers } from "@perfdata/session/engine";
import { InfoCounts } from "./info_counts.ts";

/**
 * Threads that count samples for `recordingInfo`.
 *
 * @param path The recording.
 * @param jobs How many threads, the one that asks included.
 */
export function infoWorkers(path: string, jobs: number): Workers {
  return {
    jobs,
    path,
    about: undefined,
    make: () => new InfoCounts(),
    start: () => new Worker(new URL("./info_worker.ts", import.meta.url), { type: "module" }),
  };
}
