// Uses Deno's workers and standard output; most of this package runs in any JavaScript runtime.
/**
 * Dumps of files by several threads, on Deno.
 *
 * @module
 */
import type { PerfDataReader } from "@perfdata/format";
import { writeStdout } from "@perfdata/format/file-sink";
import { BLOCK_SIZE, type BlockTarget, BlockText } from "./block_items.ts";
import { type BlockAnswer, type BlockTask, writeBlock } from "./block_task.ts";
import { Blocks, StoppedError } from "./blocks.ts";
import { dump, type DumpOptions, dumpRecords, type DumpStats, isShareable } from "./dump.ts";

/** How to dump a file with several threads: the text goes to standard output. */
export interface ParallelDumpOptions extends Omit<DumpOptions, "path" | "write"> {
  /** Bytes that a thread hands to another one at a time; 128 KB by default. */
  readonly blockSize?: number;
}

/** Blocks that wait to be written: threads are now faster, now slower. */
const WAITING = 16;

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
  const hex = wish.hex !== false;
  if (jobs <= 1 || fileSize === undefined || !isShareable(reader, wish)) {
    return await dump(reader, wish);
  }
  const blocks = Blocks.of(WAITING + 2 * jobs, BLOCK_SIZE);
  let text: BlockText | undefined;
  const help = (n: number): boolean => {
    if (n < 0) return false;
    text ??= new BlockText(reader, path, hex, blocks);
    writeBlock(blocks, n, text);
    return true;
  };
  const task: BlockTask = { path, fileSize, hex, shared: blocks.shared };
  const writers = Array.from({ length: jobs - 1 }, () => new BlockWorker(task));
  try {
    const target: BlockTarget = {
      memory: (n) => blocks.memory(n),
      // Where the others cannot keep up, this thread lends a hand.
      room: () => blocks.room(() => help(blocks.tryClaim())),
      fill: () => blocks.fill(),
      close: () => blocks.close(),
      ...(blockSize === undefined ? {} : { full: blockSize }),
    };
    const dumped = await run(reader, wish, target, () => help(blocks.claim())).catch(
      (error: unknown) => {
        if (!(error instanceof StoppedError)) throw error;
      },
    );
    const areDone = await Promise.all(writers.map(({ isDone }) => isDone));
    if (dumped === undefined || areDone.includes(false)) {
      throw new Error("the file changed while it was read");
    }
    dumped.finish();
    return dumped.stats;
  } finally {
    blocks.stop();
    for (const writer of writers) writer.end();
  }
}

/** Fills all blocks, and helps with those that are left. */
async function run(
  reader: PerfDataReader,
  wish: DumpOptions,
  target: BlockTarget,
  help: () => boolean,
): ReturnType<typeof dumpRecords> {
  const dumped = await dumpRecords(reader, wish, target);
  while (help());
  return dumped;
}

/** Another thread. */
class BlockWorker {
  /** Whether all is written: not where it stopped because another one failed. */
  readonly isDone: Promise<boolean>;
  readonly #worker: Worker;

  constructor(task: BlockTask) {
    this.#worker = new Worker(new URL("./block_worker.ts", import.meta.url), { type: "module" });
    this.#worker.postMessage(task);
    const isDone = Promise.withResolvers<boolean>();
    this.#worker.onmessage = ({ data }: MessageEvent<BlockAnswer>) => {
      if (data.kind === "error") {
        isDone.reject(
          data.isBrokenPipe ? new Deno.errors.BrokenPipe(data.message) : new Error(data.message),
        );
      } else {
        isDone.resolve(data.kind === "done");
      }
    };
    this.#worker.onerror = (event) => {
      event.preventDefault();
      isDone.reject(new Error(event.message));
    };
    this.isDone = isDone.promise;
    // It may fail before somebody asks.
    this.isDone.catch(() => {});
  }

  end(): void {
    this.#worker.terminate();
  }
}
