// Uses Deno's files: a thread that counts samples (see sample_counts.ts).
import { openSource } from "@perfdata/format/file-source";
import { guardHeap } from "@perfdata/format/heap-guard";
import type { Engine } from "@perfdata/session/engine";
import { serveBlocks } from "@perfdata/session/workers";
import type { OpenResolverOptions } from "@perfdata/symbols/open-resolver";
import { type CountOptions, SampleCounts } from "./sample_counts.ts";

/** Input of the worker. */
export interface CountAbout {
  /** How to count. */
  readonly counts: CountOptions;
  /** Where code is found, for stacks that have to be unwound. */
  readonly symbols: OpenResolverOptions;
}

guardHeap();
serveBlocks<CountAbout>({
  open: (path) => openSource(path),
  make: ({ counts }) => new SampleCounts(counts),
  unwind: async ({ symbols }, { recorded }: Engine) => {
    // Only copies of stacks need it.
    const { openResolver } = await import("@perfdata/symbols/open-resolver");
    return openResolver({ ...symbols, machine: recorded });
  },
});
