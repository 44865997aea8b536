// Uses Deno's file API and standard output: writes blocks of `records` (see records_parallel.ts).
import { PerfDataReader } from "@perfdata/format";
import { fileSource } from "@perfdata/format/file-source";
import { emptyBlocks } from "@perfdata/session/block-threads";
import { type RecordsAbout, recordsWriter } from "./records_writer.ts";

emptyBlocks<RecordsAbout>(async ({ path, fileSize, options }, blocks) => {
  // Damage is reported by the thread that has the reader of the caller.
  const reader = await PerfDataReader.open({ ...fileSource(path), size: fileSize }, {
    diagnostics: () => {},
  });
  return await recordsWriter(reader, options, blocks);
});
