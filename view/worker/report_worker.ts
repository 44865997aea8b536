/** Worker of a page with the data of a server or a report. */
import { serveCalls } from "./serve_calls.ts";

serveCalls(undefined);
