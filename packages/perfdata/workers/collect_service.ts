// Uses Deno's file API. Collects samples in a worker.
import { openSource } from "@perfdata/format/files";
import { type CollectOptions, SampleCollector } from "@perfdata/profile";
import type { Engine } from "@perfdata/session";
import type { BlockService } from "@perfdata/session/workers";
import type { OpenResolverOptions } from "@perfdata/symbols/files";

/** Options of the worker. */
export interface CollectAbout {
  /** Options of the collector. */
  readonly collect: CollectOptions;
  /** Options of the search for code, to unwind copied stacks. */
  readonly symbols: OpenResolverOptions;
}

/** Opens recordings and collects samples in a worker's module, which passes this to `serveBlocks`. */
export const COLLECT_SERVICE: BlockService<CollectAbout> = {
  open: (path) => openSource(path),
  make: ({ collect }) => new SampleCollector(collect),
  unwind: async ({ symbols }, { recorded }: Engine) => {
    // Loaded on demand: only copied stacks need it.
    const { openResolver } = await import("@perfdata/symbols/files");
    return openResolver({ ...symbols, machine: recorded });
  },
};
