/** The worker of a page that shows what a server or a report has. */
import { serveCalls } from "./serve_calls.ts";

serveCalls(undefined);
