// Uses Deno's file API. The module of a worker that collects samples and counts for `info` (see info_counts.ts).
import { guardHeap } from "@perfdata/format/files";
import { COLLECT_SERVICE } from "@perfdata/profile/workers";
import { SharedConsumers } from "@perfdata/session";
import { serveBlocks } from "@perfdata/session/workers";
import { InfoCounts } from "./info_counts.ts";

guardHeap();
serveBlocks({
  ...COLLECT_SERVICE,
  make: (about) => new SharedConsumers([COLLECT_SERVICE.make(about), new InfoCounts()]),
});
