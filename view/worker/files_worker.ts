/** The worker of a page that opens files by itself, and the threads that help it. */
import { BLOCKS, openFiles, serveSamples } from "../files/files_source.ts";
import { serveCalls } from "./serve_calls.ts";

if (self.name === BLOCKS) serveSamples();
else serveCalls(openFiles);
