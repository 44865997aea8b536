/** The worker of a page that opens files by itself. */
import { serveCalls } from "./serve_calls.ts";

serveCalls(undefined);
