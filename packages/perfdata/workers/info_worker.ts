// Uses Deno's files: a worker thread that counts for `info`.
import { guardHeap, openSource } from "@perfdata/format/files";
import { infoCounter } from "@perfdata/report/figures";
import { serveBlocks } from "@perfdata/session/workers";

guardHeap();
serveBlocks<undefined>({ open: (path) => openSource(path), make: () => infoCounter().counts });
