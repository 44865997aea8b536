// Uses Deno's file API and workers; everything else in this package runs in any JavaScript runtime.
/**
 * Counting the samples of a file with several threads, on Deno.
 *
 * @module
 */
import type { PerfDataReader } from "@perfdata/format";
import { MachineHistory } from "@perfdata/session";
import { type Aggregate, aggregate, type AggregateOptions } from "./aggregate.ts";
import {
  countRange,
  cutRanges,
  type FileIndex,
  indexFile,
  mergeRanges,
  type RangeCounts,
} from "./ranges.ts";

/** How to count with several threads. */
export interface ParallelOptions extends AggregateOptions {
  /** Fewest bytes that are worth a thread; 256 MB by default. */
  readonly leastRange?: number;
}

/** A worker is not worth its start below so many bytes. */
const LEAST_RANGE = 1 << 28;

/**
 * Counts the samples of a file as `aggregate` does, with up to `jobs` threads.
 *
 * One pass over the record headers builds the state of the machine at any time; then each thread
 * opens the file itself and counts a range of it. The result is the same for any number of threads.
 * A pipe, compressed data and READ values are counted by one thread in one pass.
 *
 * @param path The file that `reader` reads, or `undefined` where it is no file.
 * @param jobs Most threads to use.
 * @throws {PerfDataError} In strict mode, where the file is damaged.
 */
export async function aggregateFile(
  reader: PerfDataReader,
  path: string | undefined,
  jobs: number,
  options: ParallelOptions = {},
): Promise<Aggregate> {
  if (path === undefined) return await aggregate(reader, options);
  const least = options.leastRange ?? LEAST_RANGE;
  const wanted = Math.max(1, Math.min(jobs, Math.floor(reader.data.size / least)));
  // They start while the index is made.
  const workers = Array.from(
    { length: wanted - 1 },
    () => new Worker(new URL("./range_worker.ts", import.meta.url), { type: "module" }),
  );
  try {
    const index = await indexFile(reader);
    if (index === undefined) return await aggregate(reader, options);
    const [own, ...others] = cutRanges(index, wanted);
    if (own === undefined) return mergeRanges([], index.violations);
    const shared: FileIndex = others.length === 0
      ? index
      : { ...index, history: new MachineHistory(index.history).shared().data };
    const parts = others.map((range, i) =>
      countIn(workers[i] as Worker, path, shared, range, options)
    );
    const first = await countRange(reader, index, own[0], own[1], options);
    return mergeRanges([first, ...await Promise.all(parts)], index.violations);
  } finally {
    for (const worker of workers) worker.terminate();
  }
}

function countIn(
  worker: Worker,
  path: string,
  index: FileIndex,
  range: readonly [number, number],
  options: AggregateOptions,
): Promise<RangeCounts> {
  const { filter, keys, calls = false } = options;
  worker.postMessage({ path, index, range, filter, keys, calls });
  return new Promise<RangeCounts>((resolve, reject) => {
    worker.onmessage = (
      { data }: MessageEvent<{ counts?: RangeCounts; error?: string; bytes?: number }>,
    ) => {
      if (data.bytes !== undefined) options.progress?.(data.bytes);
      else if (data.counts !== undefined) resolve(data.counts);
      else reject(new Error(data.error));
    };
    worker.onerror = (event) => {
      event.preventDefault();
      reject(new Error(event.message));
    };
  });
}
