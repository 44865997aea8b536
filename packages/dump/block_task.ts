// Uses Deno's standard output: what the threads of a dump have in common (see parallel.ts).
import { writeStdout } from "@perfdata/format/file-sink";
import type { BlockText } from "./block_items.ts";
import type { Blocks, SharedBlocks } from "./blocks.ts";

/** What a worker is asked. */
export interface BlockTask {
  /** Path of the file. */
  readonly path: string;
  /** Its size when the dump began: it may be one that is still written. */
  readonly fileSize: number;
  /** Whether bytes are printed. */
  readonly hex: boolean;
  /** What is to be written. */
  readonly shared: SharedBlocks;
}

/** What a worker answers: that all is written, or why it is not. */
export type BlockAnswer =
  | { readonly kind: "done" }
  | { readonly kind: "stopped" }
  | { readonly kind: "error"; readonly message: string; readonly isBrokenPipe: boolean };

/** Writes block `n`, when it is its turn. */
export function writeBlock(blocks: Blocks, n: number, text: BlockText): void {
  text.put(n, (bytes) => {
    blocks.turn(n);
    writeStdout(bytes);
  });
  blocks.empty(n);
}
