// Uses Deno's file API: a worker that copies AUX data (see aux_file_copy.ts).
import { servePool } from "@perfdata/session";
import { type CopyOrder, copyShares, type CopyTask } from "./aux_shares.ts";

servePool((task: CopyTask) => ({ take: (order: CopyOrder) => copyShares(task, order) }));
