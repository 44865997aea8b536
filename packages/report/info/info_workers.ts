// Uses Deno's workers. Most other modules of this package run in any JavaScript runtime.
import type { Workers } from "@perfdata/session";
import { InfoCounts } from "./info_counts.ts";

/**
 * Worker threads that count samples for `recordingInfo`.
 *
 * @param path Path of the recording.
 * @param jobs Number of threads, including this one.
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
