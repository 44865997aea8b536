// Uses Deno's files: a worker thread that counts branches (see branch_counts.ts).
import { guardHeap, openSource } from "@perfdata/format/files";
import { serveBlocks } from "@perfdata/session/workers";
import { BranchCounts } from "./branch_counts.ts";

guardHeap();
serveBlocks<undefined>({ open: (path) => openSource(path), make: () => new BranchCounts() });
