// Uses Deno's workers; most of this package runs in any JavaScript runtime.
import type { Workers } from "@perfdata/session/engine";
import type { ProfileAbout } from "./profile_worker.ts";
import { ProfileConsumer } from "./recorded_profile.ts";

export type { ProfileAbout } from "./profile_worker.ts";

/**
 * Threads that collect samples as a {@linkcode ProfileConsumer} with the same options does: for
 * `EngineOptions.workers`.
 *
 * @param path The recording.
 * @param jobs How many threads, the one that asks included.
 */
export function profileWorkers(path: string, jobs: number, about: ProfileAbout): Workers {
  return {
    jobs,
    path,
    about,
    make: ({ profile }: ProfileAbout) => new ProfileConsumer(profile),
    start: () => new Worker(new URL("./profile_worker.ts", import.meta.url), { type: "module" }),
  };
}
