// Uses Deno's standard output: what the threads of a dump have in common (see parallel.ts).
import type { PerfDataReader } from "@perfdata/format";
import { writeStdout } from "@perfdata/format/file-sink";
import type { Blocks } from "@perfdata/session/blocks";
import { BlockText } from "./block_items.ts";

/** What a thread that writes has to know. */
export interface BlockAbout {
  /** Path of the file. */
  readonly path: string;
  /** Its size when the dump began: it may be one that is still written. */
  readonly fileSize: number;
  /** Whether bytes are printed. */
  readonly hex: boolean;
}

/** Writes the text of blocks to standard output, each when it is its turn. */
export function blockWriter(
  reader: PerfDataReader,
  path: string,
  hex: boolean,
  blocks: Blocks,
): (n: number) => void {
  const text = new BlockText(reader, path, hex, blocks);
  return (n) => {
    text.put(n, (bytes) => {
      blocks.turn(n);
      writeStdout(bytes);
    });
    blocks.empty(n);
  };
}
