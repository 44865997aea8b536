// Uses Deno's workers. Most other modules of this package run in any JavaScript runtime.
import { type CollectAbout, collectWorkers } from "@perfdata/profile/workers";
import { SharedConsumers, type Workers } from "@perfdata/session";
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

/**
 * Worker threads that collect samples, and count for `recordingInfo` beside that.
 *
 * @param path Path of the recording.
 * @param jobs Number of threads, including this one.
 */
export function infoCollectWorkers(path: string, jobs: number, about: CollectAbout): Workers {
  const collecting = collectWorkers(path, jobs, about);
  return {
    ...collecting,
    make: (of: never) => new SharedConsumers([collecting.make(of), new InfoCounts()]),
    start: () =>
      new Worker(new URL("./info_collect_worker.ts", import.meta.url), { type: "module" }),
  };
}
