// Uses Deno's workers. Most other modules of this package run in any JavaScript runtime.
import type { Workers } from "@perfdata/session";
import { CacheLines } from "./cache_lines.ts";
import type { LineAbout } from "./line_worker.ts";
export type { LineAbout } from "./line_worker.ts";

/**
 * Worker threads that count accesses like {@linkcode CacheLines} with the same keys, for
 * `EngineOptions.workers`.
 *
 * @param path Path of the recording.
 * @param jobs Number of threads, including this one.
 */
export function lineWorkers(path: string, jobs: number, about: LineAbout): Workers {
  return {
    jobs,
    path,
    about,
    make: ({ by }: LineAbout) => new CacheLines(by),
    start: () => new Worker(new URL("./line_worker.ts", import.meta.url), { type: "module" }),
  };
}
