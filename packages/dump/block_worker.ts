// Uses Deno's file API and standard output: writes blocks of a dump (see parallel.ts).
import { PerfDataReader } from "@perfdata/format";
import { fileSource } from "@perfdata/format/file-source";
import { emptyBlocks } from "@perfdata/session/block-threads";
import { type BlockAbout, blockWriter } from "./block_writer.ts";

emptyBlocks<BlockAbout>(async ({ path, fileSize, hex }, blocks) => {
  // Damage is reported by the thread that has the reader of the caller.
  const reader = await PerfDataReader.open({ ...fileSource(path), size: fileSize }, {
    diagnostics: () => {},
  });
  return blockWriter(reader, path, hex, blocks);
});
