/** `--jobs` of commands that count samples. */
import type { ShareWork } from "@perfdata/perfdata";
import { sampleJobs } from "@perfdata/session";
import type { OpenResolverOptions } from "@perfdata/symbols/files";
import { parseJobs } from "./record_flags.ts";

/**
 * Starts the threads of `--jobs`, or as many as a recording is worth.
 *
 * @param name The recording, which each thread opens.
 * @param jobs The value of `--jobs`.
 * @param symbols Options of the search for code, to unwind copied stacks.
 */
export function sampleThreads(
  name: string,
  jobs: string | undefined,
  symbols: OpenResolverOptions = {},
): ShareWork {
  const asked = parseJobs(jobs);
  return async ({ collect, reader, isScanned, isShared }) => {
    const jobs = await sampleJobs(asked, reader, undefined, isScanned);
    if (jobs === 1) return undefined;
    if (collect === undefined) {
      return (await import("@perfdata/perfdata/workers")).infoWorkers(name, jobs);
    }
    const about = { collect, symbols: { ...symbols, parameters: false } };
    return isShared
      ? (await import("@perfdata/perfdata/workers")).infoCollectWorkers(name, jobs, about)
      : (await import("@perfdata/perfdata/workers")).collectWorkers(name, jobs, about);
  };
}
