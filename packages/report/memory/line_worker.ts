// Uses Deno's files: a thread that counts cache lines (see cache_lines.ts).
import { openSource } from "@perfdata/format/file-source";
import { guardHeap } from "@perfdata/format/heap-guard";
import { serveBlocks } from "@perfdata/session/workers";
import { CacheLines, type COALESCED } from "./cache_lines.ts";

/** Input of the worker. */
export interface LineAbout {
  /** What accesses to one offset are distinguished by. */
  readonly by: readonly typeof COALESCED[number][];
}

guardHeap();
serveBlocks<LineAbout>({
  open: (path) => openSource(path),
  make: ({ by }) => new CacheLines(by),
});
