// Uses Deno's file API: copies AUX data in a thread of its own (see aux_file_copy.ts).
import { servePool } from "../workers/pool.ts";
import { type CopyOrder, copyShares, type CopyTask } from "./aux_shares.ts";

servePool((task: CopyTask) => ({ take: (order: CopyOrder) => copyShares(task, order) }));
