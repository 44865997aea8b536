// Uses Deno's files: a thread that collects samples (see sample_collector.ts).
import { guardHeap, openSource } from "@perfdata/format/files";
import type { Engine } from "@perfdata/session";
import { serveBlocks } from "@perfdata/session/workers";
import type { OpenResolverOptions } from "@perfdata/symbols/files";
import { type CollectOptions, SampleCollector } from "./sample_collector.ts";

/** Input of the worker. */
export interface CollectAbout {
  /** What is collected. */
  readonly collect: CollectOptions;
  /** Where code is found, for stacks that have to be unwound. */
  readonly symbols: OpenResolverOptions;
}

guardHeap();
serveBlocks<CollectAbout>({
  open: (path) => openSource(path),
  make: ({ collect }) => new SampleCollector(collect),
  unwind: async ({ symbols }, { recorded }: Engine) => {
    // Only copies of stacks need it.
    const { openResolver } = await import("@perfdata/symbols/files");
    return openResolver({ ...symbols, machine: recorded });
  },
});
