// Uses Deno's workers and standard output; most of this package runs in any JavaScript runtime.
/**
 * Records of files as text, by several threads, on Deno.
 *
 * @module
 */
import type { PerfDataReader } from "@perfdata/format";
import { writeStdout } from "@perfdata/format/file-sink";
import { shareBlocks } from "@perfdata/session/block-threads";
import type { Engine } from "@perfdata/session/engine";
import type { RecordsOptions } from "./records.ts";
import { isTimeOrdered, RecordsText } from "./records_text.ts";
import { RECORDS_BLOCK } from "./records_blocks.ts";
import { type LineOptions, RecordsLines } from "./records_lines.ts";

/** How to write the records of a file with several threads: they go to standard output. */
export interface ParallelRecordsOptions extends RecordsOptions {
  /** Bytes that a thread hands to another one at a time; 128 KB by default. */
  readonly blockSize?: number;
}

/** What was written. */
export interface WrittenRecords {
  /** What was found on the way. */
  readonly engine: Engine;
  /** Number of records. */
  readonly count: number;
}

/**
 * Writes what `writeRecords` writes to standard output, with up to `jobs` threads: one goes through the
 * file, the others make the lines. The text is the same for any number of threads.
 *
 * Where a number of lines, symbols or whole stacks are asked for, and for files in pipe format, one
 * thread does it all.
 *
 * @param reader The file; what is wrong with it is reported once, by this reader.
 * @param path The same file: each thread opens it for itself.
 * @param jobs How many threads, this one included.
 * @throws {PerfDataError} In strict mode, where the file is damaged.
 */
export async function recordsFile(
  reader: PerfDataReader,
  path: string,
  jobs: number,
  options: ParallelRecordsOptions = {},
): Promise<WrittenRecords> {
  const { blockSize, ...wish } = options;
  const { fileSize } = reader;
  if (jobs <= 1 || fileSize === undefined || !isShareable(reader, wish)) {
    const text = new RecordsText(reader, writeStdout, wish);
    return { engine: await text.run(), count: text.count };
  }
  const { format, u64 } = wish;
  const about: LineOptions = {
    ...(format === undefined ? {} : { format }),
    ...(u64 === undefined ? {} : { u64 }),
    order: isTimeOrdered(wish) ? "time" : "file",
  };
  return await shareBlocks({
    reader,
    path,
    fileSize,
    jobs,
    blockBytes: RECORDS_BLOCK,
    full: blockSize,
    start: () => new Worker(new URL("./records_worker.ts", import.meta.url), { type: "module" }),
    about,
    make: RecordsLines.open,
    fill: async (target) => {
      const text = new RecordsText(reader, writeStdout, wish, target);
      return { engine: await text.run(), count: text.count };
    },
  });
}

/** Whether threads can share the work. */
function isShareable(
  { isPipe }: PerfDataReader,
  { limit, symbols, unwind }: RecordsOptions,
): boolean {
  return !isPipe && limit === undefined && symbols === undefined && unwind === undefined;
}
