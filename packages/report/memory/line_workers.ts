// Uses Deno's workers; most of this package runs in any JavaScript runtime.
import type { Workers } from "@perfdata/session/engine";
import { CacheLines } from "./cache_lines.ts";
import type { LineAbout } from "./line_worker.ts";
export type { LineAbout } from "./line_worker.ts";

/**
 * Threads that count accesses as a {@linkcode CacheLines} with the same keys does: for `EngineOptions.workers`.
 *
 * @param path The recording.
 * @param jobs How many threads, the one that asks included.
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
