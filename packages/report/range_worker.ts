// Uses Deno's file API: looks at parts of a file in a thread of its own (see parallel.ts).
import { PerfDataReader } from "@perfdata/format/reader";
import { fileSource } from "@perfdata/format/file-source";
import type { SampleFilter } from "./aggregate.ts";
import type { SampleKeys } from "./sample_counts.ts";
import { type FileIndex, scanPart } from "./file_index.ts";
import { countRanges } from "./ranges.ts";
import { SampleTally } from "./sample_tally.ts";
import { type Range, takeRanges } from "./take_ranges.ts";

/** What the worker is asked: first, perhaps, to scan a part, then to count ranges. */
export type RangeTask = ScanTask | CountTask;

/** Asks for what changes the machine in a part of the file. */
export interface ScanTask {
  /** Path of the file. */
  readonly path: string;
  /** File offsets of the first record, and of the one after the last. */
  readonly scan: readonly [number, number];
  /** Whether samples are counted meanwhile. */
  readonly tally: boolean;
}

/** Asks to count ranges of the file. */
export interface CountTask {
  /** Path of the file. */
  readonly path: string;
  /** What the first pass found. */
  readonly index: FileIndex;
  /** Ranges that all threads share. */
  readonly ranges: readonly Range[];
  /** How many ranges were taken; in shared memory. */
  readonly taken: Int32Array;
  /** Which samples count. */
  readonly filter: SampleFilter | undefined;
  /** What is told apart. */
  readonly keys: SampleKeys | undefined;
  /** Whether call chains are counted as well. */
  readonly calls: boolean;
}

const scope = globalThis as unknown as {
  onmessage: (event: { data: RangeTask }) => void;
  postMessage(message: unknown, transfer?: ArrayBuffer[]): void;
};

const progress = (bytes: number) => scope.postMessage({ bytes });

scope.onmessage = async ({ data }) => {
  if ("scan" in data) scope.postMessage(...await scan(data));
  else await count(data);
};

async function scan(task: ScanTask): Promise<[unknown, ArrayBuffer[]]> {
  const { path, scan: [from, until] } = task;
  // What cannot be read is for the first thread to find, which tells it.
  try {
    using source = fileSource(path);
    let problems = 0;
    const reader = await PerfDataReader.open(source, { diagnostics: () => void problems++ });
    problems = 0;
    const found = await scanPart(reader, from, until, {
      tally: task.tally ? SampleTally.of(reader) : undefined,
      progress: task.tally ? progress : undefined,
    });
    if (found !== undefined && problems === 0) {
      const { bytes, starts, rests, hi, lo, offsets, rounds, tally } = found;
      const columns = [bytes, starts, rests, hi, lo, offsets, rounds];
      if (tally !== undefined) columns.push(tally.rows, tally.first, tally.last, tally.periods);
      return [{ scan: found }, columns.map(({ buffer }) => buffer)];
    }
  } catch {
    // As above.
  }
  return [{ scan: undefined }, []];
}

async function count(task: CountTask): Promise<void> {
  const { path, index, ranges, taken, filter, keys, calls } = task;
  try {
    using source = fileSource(path);
    // What is damaged was told when the index was made.
    const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
    const counts = await countRanges(reader, index, takeRanges(ranges, taken), {
      ...(filter === undefined ? {} : { filter }),
      ...(keys === undefined ? {} : { keys }),
      calls,
      progress,
    });
    const { entries, periods } = counts.columns;
    const columns = [entries, periods, ...Object.values(counts.calls ?? {})];
    scope.postMessage({ counts }, columns.map(({ buffer }) => buffer));
  } catch (error) {
    scope.postMessage({ error: error instanceof Error ? error.message : String(error) });
  }
}
