// Uses Deno's files: a worker thread that counts for `info` (see info_counts.ts).
import { guardHeap, openSource } from "@perfdata/format/files";
import { serveBlocks } from "@perfdata/session/workers";
import { InfoCounts } from "./info_counts.ts";

guardHeap();
serveBlocks<undefined>({ open: (path) => openSource(path), make: () => new InfoCounts() });
