// Uses Deno's workers and standard output; most of this package runs in any JavaScript runtime.
/**
 * Dumps of files by several threads, on Deno.
 *
 * @module
 */
import type { PerfDataReader } from "@perfdata/format";
import { writeStdout } from "@perfdata/format/file-sink";
import { shareBlocks } from "@perfdata/session/block-threads";
import { BLOCK_SIZE, BlockText } from "./block_items.ts";
import { dump, type DumpOptions, dumpRecords, type DumpStats, isShareable } from "./dump.ts";

/** How to dump a file with several threads: the text goes to standard output. */
export interface ParallelDumpOptions extends Omit<DumpOptions, "path" | "write"> {
  /** Bytes that a thread hands to another one at a time; 128 KB by default. */
  readonly blockSize?: number;
}

/**
 * Writes what `dump` writes to standard output, with up to `jobs` threads.
 *
 * One thread goes through the file, since the text of a record depends on those before it; the others
 * make the text of most samples, and write. Where symbols are printed, and for AUX data, one thread
 * does it all, and so it does for files in pipe format. The text is the same for
 * any number of threads.
 *
 * @param reader The file; what is wrong with it is reported once, by this reader.
 * @param path The same file: each thread opens it for itself.
 * @param jobs How many threads, this one included.
 * @throws {PerfDataError} In strict mode, where the file is damaged.
 */
export async function dumpFile(
  reader: PerfDataReader,
  path: string,
  jobs: number,
  options: ParallelDumpOptions = {},
): Promise<DumpStats> {
  const { blockSize, ...what } = options;
  const wish: DumpOptions = { ...what, path, write: writeStdout };
  const { fileSize } = reader;
  if (jobs <= 1 || fileSize === undefined || !isShareable(reader, wish)) {
    return await dump(reader, wish);
  }
  const dumped = await shareBlocks({
    reader,
    path,
    fileSize,
    jobs,
    blockBytes: BLOCK_SIZE,
    full: blockSize,
    start: () => new Worker(new URL("./block_worker.ts", import.meta.url), { type: "module" }),
    about: { path, hex: wish.hex !== false },
    make: (reader, about, blocks) => new BlockText(reader, about, blocks),
    fill: (target) => dumpRecords(reader, wish, target),
  });
  dumped.finish();
  return dumped.stats;
}
