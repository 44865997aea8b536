// Uses Deno's workers and standard output; most of this package runs in any JavaScript runtime.
/**
 * Dumps of files by several threads, on Deno.
 *
 * @module
 */
import type { PerfDataReader } from "@perfdata/format";
import { Dumper, type DumpOptions, type DumpPart, type DumpStats } from "./dump.ts";
import { type ShareAnswer, type ShareTask, writeAll } from "./share_task.ts";
import { StoppedError, Turns } from "./turns.ts";

/** How to dump a file with several threads: the text goes to standard output. */
export interface ParallelDumpOptions extends Omit<DumpOptions, "path" | "write"> {
  /** Bytes of records that a thread writes before it is another one's turn; 128 KB by default. */
  readonly shareSize?: number;
}

const SHARE_SIZE = 1 << 17;

/**
 * Writes what `dump` writes to standard output, with `jobs` threads.
 *
 * Each thread goes through the whole file, since the text of a record depends on those before it,
 * and writes the text of those shares of it that no other thread has taken, when their turn has come.
 * The text is the same for any number of threads.
 *
 * @param reader The file; what is wrong with it is told once, by this reader.
 * @param path The same file: each thread opens it for itself.
 * @param jobs How many threads, this one included.
 * @throws {RangeError} Where `reader` reads a stream, and `jobs` is more than 1.
 * @throws {PerfDataError} In strict mode, where the file is damaged.
 */
export async function dumpFile(
  reader: PerfDataReader,
  path: string,
  jobs: number,
  options: ParallelDumpOptions = {},
): Promise<DumpStats> {
  const { shareSize: size = SHARE_SIZE, ...what } = options;
  const wish: DumpOptions = { ...what, path, write: writeAll };
  // Threads cannot share the symbols.
  if (jobs <= 1 || options.symbols !== undefined) {
    const dumper = new Dumper(reader, wish);
    const part = await dumper.run();
    dumper.finish([part]);
    return part.stats;
  }
  const turns = new Turns();
  const { fileSize } = reader;
  if (fileSize === undefined) throw new RangeError("dump: a stream is read by one thread");
  const others = Array.from(
    { length: jobs - 1 },
    () =>
      new ShareWorker({
        path,
        fileSize,
        options: what,
        size,
        turns: turns.shared,
      }),
  );
  try {
    const dumper = new Dumper(reader, wish, { size, turns });
    const own = await dumper.run().catch((error: unknown) => {
      if (!(error instanceof StoppedError)) throw error;
    });
    const found = [own, ...await Promise.all(others.map(({ part }) => part))];
    const parts = found.filter((part) => part !== undefined);
    if (own === undefined || parts.length < jobs) {
      throw new Error("the file changed while it was read");
    }
    dumper.finish(parts);
    const sum = (key: "unknownEvents" | "badSamples" | "undecodedAux"): number =>
      parts.reduce((total, { stats }) => total + stats[key], 0);
    return {
      ...own.stats,
      unknownEvents: sum("unknownEvents"),
      badSamples: sum("badSamples"),
      undecodedAux: sum("undecodedAux"),
    };
  } finally {
    turns.stop();
    for (const other of others) other.end();
  }
}

/** Another thread. */
class ShareWorker {
  /** What it printed; `undefined` where it stopped because another one failed. */
  readonly part: Promise<DumpPart | undefined>;
  readonly #worker: Worker;

  constructor(task: ShareTask) {
    this.#worker = new Worker(new URL("./share_worker.ts", import.meta.url), { type: "module" });
    this.#worker.postMessage(task);
    const part = Promise.withResolvers<DumpPart | undefined>();
    this.#worker.onmessage = ({ data }: MessageEvent<ShareAnswer>) => {
      if (data.kind === "part") part.resolve(data.part);
      else if (data.kind === "stopped") part.resolve(undefined);
      else {
        part.reject(
          data.isBrokenPipe ? new Deno.errors.BrokenPipe(data.message) : new Error(data.message),
        );
      }
    };
    this.#worker.onerror = (event) => {
      event.preventDefault();
      part.reject(new Error(event.message));
    };
    this.part = part.promise;
    // It may fail before somebody asks.
    this.part.catch(() => {});
  }

  end(): void {
    this.#worker.terminate();
  }
}
