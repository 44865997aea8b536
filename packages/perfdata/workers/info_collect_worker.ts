// Uses Deno's file API. The module of a worker that collects samples and counts for `info`.
import { guardHeap } from "@perfdata/format/files";
import { infoCounter } from "@perfdata/report/figures";
import { SharedConsumers } from "@perfdata/session";
import { serveBlocks } from "@perfdata/session/workers";
import { COLLECT_SERVICE } from "./collect_service.ts";

guardHeap();
serveBlocks({
  ...COLLECT_SERVICE,
  make: (about) => new SharedConsumers([COLLECT_SERVICE.make(about), infoCounter().counts]),
});
