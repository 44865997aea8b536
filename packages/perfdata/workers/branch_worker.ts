// Uses Deno's files: a worker thread that counts branches.
import { guardHeap, openSource } from "@perfdata/format/files";
import { serveBlocks } from "@perfdata/session/workers";
import { BranchCounts } from "@perfdata/export/code";

guardHeap();
serveBlocks<undefined>({ open: (path) => openSource(path), make: () => new BranchCounts() });
