// Uses Deno's standard output: what the threads of `records` have in common (see records_parallel.ts).
import type { PerfDataReader } from "@perfdata/format";
import { writeStdout } from "@perfdata/format/file-sink";
import type { Blocks } from "@perfdata/session/blocks";
import { type LineOptions, RecordsLines } from "./records_lines.ts";

/** What a thread that writes has to know: which can be sent to it. */
export interface RecordsAbout {
  /** Path of the file. */
  readonly path: string;
  /** Its size at the start: it may be one that is still written. */
  readonly fileSize: number;
  /** How records are written. */
  readonly options: LineOptions;
}

/** Writes the lines of blocks to standard output, each when it is its turn. */
export async function recordsWriter(
  reader: PerfDataReader,
  options: LineOptions,
  blocks: Blocks,
): Promise<(n: number) => void> {
  const lines = await RecordsLines.open(reader, options, blocks);
  return (n) => {
    lines.put(n, (bytes) => {
      blocks.turn(n);
      writeStdout(bytes);
    });
    blocks.empty(n);
  };
}
