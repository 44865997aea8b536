// Uses Deno's files: a worker thread that counts cache lines.
import { guardHeap, openSource } from "@perfdata/format/files";
import { CacheLines, type COALESCED } from "@perfdata/report/contention";
import type { Engine } from "@perfdata/session";
import { serveBlocks } from "@perfdata/session/workers";
import type { OpenResolverOptions } from "@perfdata/symbols/files";

/** Input of the worker. */
export interface LineAbout {
  /** Keys that distinguish accesses to one offset. */
  readonly by: readonly typeof COALESCED[number][];
  /** Options for finding jitdump files. */
  readonly symbols: OpenResolverOptions;
}

guardHeap();
serveBlocks<LineAbout>({
  open: (path) => openSource(path),
  make: ({ by }) => new CacheLines(by),
  unwind: async ({ symbols }, { recorded }: Engine) => {
    const { openResolver } = await import("@perfdata/symbols/files");
    return openResolver({ ...symbols, machine: recorded });
  },
});
