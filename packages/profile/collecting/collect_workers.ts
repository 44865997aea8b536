// Uses Deno's workers; most of this package runs in any JavaScript runtime.
import type { Workers } from "@perfdata/session";
import type { CollectAbout } from "./collect_service.ts";
import { SampleCollector } from "./sample_collector.ts";

export type { CollectAbout } from "./collect_service.ts";

/**
 * Threads that collect samples with {@linkcode SampleCollector}s of the same options: for
 * `EngineOptions.workers`.
 *
 * @param path The recording.
 * @param jobs Number of threads, including the caller's.
 */
export function collectWorkers(path: string, jobs: number, about: CollectAbout): Workers {
  return {
    jobs,
    path,
    about,
    make: ({ collect }: CollectAbout) => new SampleCollector(collect),
    start: () => new Worker(new URL("./collect_worker.ts", import.meta.url), { type: "module" }),
  };
}
