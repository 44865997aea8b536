// Uses Deno's workers, files and standard output: makes the lines of blocks (see records_parallel.ts).
import { emptyBlocks } from "@perfdata/session/block-threads";
import { type LineOptions, RecordsLines } from "./records_lines.ts";

emptyBlocks<LineOptions>((reader, options, blocks) => RecordsLines.open(reader, options, blocks));
