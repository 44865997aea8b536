// Uses Deno's file API: counts ranges of a file in a thread of its own (see parallel.ts).
import { PerfDataReader } from "@perfdata/format";
import { fileSource } from "@perfdata/format/file_source";
import { countRange, type FileIndex } from "./ranges.ts";
import type { SampleFilter, SampleKeys } from "./aggregate.ts";

/** What the worker is asked. */
export interface RangeTask {
  /** Path of the file. */
  readonly path: string;
  /** What the first pass found. */
  readonly index: FileIndex;
  /** First and last offset. */
  readonly range: readonly [number, number];
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

scope.onmessage = async ({ data: { path, index, range, filter, keys, calls } }) => {
  try {
    using source = fileSource(path);
    // What is damaged was told when the index was made.
    const reader = await PerfDataReader.open(source, { diagnostics: () => {} });
    const counts = await countRange(reader, index, range[0], range[1], {
      ...(filter === undefined ? {} : { filter }),
      ...(keys === undefined ? {} : { keys }),
      calls,
      progress: (bytes) => scope.postMessage({ bytes }),
    });
    const { entries, periods } = counts.columns;
    const columns = [entries, periods, ...Object.values(counts.calls ?? {})];
    scope.postMessage({ counts }, columns.map(({ buffer }) => buffer));
  } catch (error) {
    scope.postMessage({ error: error instanceof Error ? error.message : String(error) });
  }
};
