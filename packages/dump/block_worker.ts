// Uses Deno's file API and standard output: writes blocks of a dump (see parallel.ts).
import { PerfDataReader } from "@perfdata/format";
import { fileSource } from "@perfdata/format/file-source";
import { BlockText } from "./block_items.ts";
import { type BlockAnswer, type BlockTask, writeBlock } from "./block_task.ts";
import { Blocks, StoppedError } from "./blocks.ts";

const scope = globalThis as unknown as {
  onmessage: (event: { data: BlockTask }) => void;
  postMessage(message: BlockAnswer): void;
};

scope.onmessage = async ({ data }) => {
  const { path, fileSize, hex, shared } = data;
  const blocks = new Blocks(shared);
  try {
    using source = fileSource(path);
    // Damage is reported by the thread that has the reader of the caller.
    const reader = await PerfDataReader.open({ ...source, size: fileSize }, {
      diagnostics: () => {},
    });
    const text = new BlockText(reader, path, hex, blocks);
    for (let n = blocks.claim(); n >= 0; n = blocks.claim()) writeBlock(blocks, n, text);
    scope.postMessage({ kind: "done" });
  } catch (error) {
    blocks.stop();
    if (error instanceof StoppedError) {
      scope.postMessage({ kind: "stopped" });
    } else {
      scope.postMessage({
        kind: "error",
        message: error instanceof Error ? error.message : String(error),
        isBrokenPipe: error instanceof Deno.errors.BrokenPipe,
      });
    }
  }
};
