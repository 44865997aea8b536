// Uses Deno's file API. The module of a worker that collects samples.
import { guardHeap } from "@perfdata/format/files";
import { serveBlocks } from "@perfdata/session/workers";
import { COLLECT_SERVICE } from "./collect_service.ts";

guardHeap();
serveBlocks(COLLECT_SERVICE);
