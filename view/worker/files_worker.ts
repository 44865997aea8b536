/** Worker of the page that opens files by itself, and of its helper threads. */
import { BLOCKS, openFiles, serveSamples } from "../files/files_source.ts";
import { serveCalls } from "./serve_calls.ts";

if (self.name === BLOCKS) serveSamples();
else serveCalls(openFiles);
