// Uses Deno's file API and workers; everything else in this package runs in any JavaScript runtime.
/**
 * Counting the samples of a file with several threads, on Deno.
 *
 * @module
 */
import type { PerfDataReader } from "@perfdata/format";
import { MachineHistory } from "@perfdata/session/machine-history";
import {
  type Aggregate,
  aggregate,
  type AggregateOptions,
  type SampleFilter,
} from "./aggregate.ts";
import { guessRecord, isIndexable, makeIndex, type PartScan, scanPart } from "./file_index.ts";
import type { CountTask, RangeTask } from "./range_worker.ts";
import { countRanges, countTallies, cutRanges, mergeRanges, type RangeCounts } from "./ranges.ts";
import { SampleTally } from "./sample_tally.ts";
import { takeRanges } from "./take_ranges.ts";

/** How to count with several threads. */
export interface ParallelOptions extends AggregateOptions {
  /** Fewest bytes that are worth a thread; 128 MB by default. */
  readonly leastRange?: number;
  /**
   * Called before the file is read once more: what is wrong with it was told to the reader's
   * diagnostics by then, and is told again.
   */
  readonly again?: () => void;
}

/** A worker is not worth its start below so many bytes. */
const LEAST_RANGE = 1 << 27;

/** Ranges that threads take one after the other, so that all of them end at about the same time. */
const RANGE = 1 << 25;

/**
 * Counts the samples of a file as `aggregate` does, with up to `jobs` threads.
 *
 * One pass over the record headers builds the state of the machine at any time; then each thread
 * opens the file itself and counts ranges of it. The threads share the first pass, too: each begins
 * where a record seems to start, and what it found is used if the thread before it gets there. The
 * result is the same for any number of threads. A pipe, compressed data and READ values are counted
 * by one thread in one pass.
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
  if (path === undefined || !isIndexable(reader)) return await aggregate(reader, options);
  const least = options.leastRange ?? LEAST_RANGE;
  const wanted = Math.max(1, Math.min(jobs, Math.floor(reader.data.size / least)));
  const threads = Array.from({ length: wanted - 1 }, () => new RangeThread(path, options.progress));
  try {
    const { filter, keys, calls = false } = options;
    const tally = filtersNothing(filter) && !keys?.pid && !keys?.tid && !keys?.cpu && !calls;
    const scans = await scanParts(reader, threads, tally, options);
    if (scans === undefined) return await aggregate(reader, options);
    const index = await makeIndex(reader, scans, threads.length > 0);
    options.again?.();
    const { violations, ordered } = index;
    const tallies = scans.map(({ tally }) => tally).filter((tally) => tally !== undefined);
    let settled: RangeCounts | undefined;
    let rest = options;
    if (ordered && tallies.length === scans.length) {
      const { counts, unsettled } = countTallies(reader, index, tallies);
      if (unsettled.size === 0) return mergeRanges([counts], violations);
      // The totals are those of the pass that looks at the rest.
      settled = { ...counts, totals: [], leftOut: 0 };
      rest = { ...options, filter: { tids: unsettled } };
    }
    const own: RangeCounts[] = settled === undefined ? [] : [settled];
    if (threads.length === 0) {
      own.push(await countRanges(reader, index, cutRanges(index, 1), rest));
      return mergeRanges(own, violations);
    }
    const shared = { ...index, history: new MachineHistory(index.history).shared().data };
    const ranges = cutRanges(index, Math.max(wanted * 4, Math.ceil(reader.data.size / RANGE)));
    const taken = new Int32Array(new SharedArrayBuffer(4));
    const parts = threads.map((thread) =>
      thread.count({ index: shared, ranges, taken, filter: rest.filter, keys, calls })
    );
    own.push(await countRanges(reader, index, takeRanges(ranges, taken), rest));
    return mergeRanges([...own, ...await Promise.all(parts)], violations);
  } finally {
    for (const thread of threads) thread.terminate();
  }
}

function filtersNothing(filter: SampleFilter = {}): boolean {
  return Object.values(filter).every((part) => part === undefined);
}

/** Reads what changes the machine, a part of the file in each thread. */
async function scanParts(
  reader: PerfDataReader,
  threads: readonly RangeThread[],
  tally: boolean,
  options: AggregateOptions,
): Promise<PartScan[] | undefined> {
  const scan = (from: number, until?: number) =>
    scanPart(reader, from, until, {
      tally: tally ? SampleTally.of(reader) : undefined,
      progress: tally ? options.progress : undefined,
    });
  const { offset, size } = reader.data;
  const starts: number[] = [];
  for (let i = 1; i <= threads.length; i++) {
    // This thread has begun when the others still start: it gets a little more.
    const share = (i + 0.2) / (threads.length + 1.2);
    const start = await guessRecord(reader, offset + size * share);
    if (start === undefined || start <= (starts.at(-1) ?? offset)) break;
    starts.push(start);
  }
  const others = starts.map((start, i) =>
    (threads[i] as RangeThread).scan(start, starts[i + 1] ?? Infinity, tally)
  );
  const first = await scan(offset, starts[0]);
  if (first === undefined) return undefined;
  const scans = [first];
  // Where a thread met damage, this one goes on alone, and so it has where a guess was wrong.
  for (let i = 0; i < others.length && scans[i]?.stopped; i++) {
    const found = await others[i] ?? await scan(starts[i] as number);
    if (found === undefined) return undefined;
    scans.push(found);
  }
  return scans;
}

/** What a worker answers. */
interface Answer {
  readonly scan?: PartScan | undefined;
  readonly counts?: RangeCounts;
  readonly bytes?: number;
  readonly error?: string;
}

/** A worker, with its answers as promises. */
class RangeThread {
  readonly #path: string;
  readonly #worker = new Worker(new URL("./range_worker.ts", import.meta.url), { type: "module" });
  #scanned: (scan: PartScan | undefined) => void = () => {};
  #counted: (counts: RangeCounts) => void = () => {};
  #failed: (error: Error) => void = () => {};

  constructor(path: string, progress: AggregateOptions["progress"]) {
    this.#path = path;
    this.#worker.onmessage = ({ data }: MessageEvent<Answer>) => {
      if (data.bytes !== undefined) progress?.(data.bytes);
      else if ("scan" in data) this.#scanned(data.scan);
      else if (data.counts !== undefined) this.#counted(data.counts);
      else this.#failed(new Error(data.error));
    };
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.#scanned(undefined);
      this.#failed(new Error(event.message));
    };
  }

  /** Scans a part; `undefined` where that cannot be done without telling something. */
  scan(from: number, until: number, tally: boolean): Promise<PartScan | undefined> {
    return new Promise((resolve) => {
      this.#scanned = resolve;
      this.#post({ path: this.#path, scan: [from, until], tally });
    });
  }

  count(task: Omit<CountTask, "path">): Promise<RangeCounts> {
    return new Promise((resolve, reject) => {
      this.#counted = resolve;
      this.#failed = reject;
      this.#post({ path: this.#path, ...task });
    });
  }

  terminate(): void {
    this.#worker.terminate();
  }

  #post(task: RangeTask): void {
    this.#worker.postMessage(task);
  }
}
