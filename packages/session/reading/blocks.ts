import type { PerfDataReader } from "@perfdata/format/records";
import { PERF_RECORD_FINISHED_ROUND } from "@perfdata/format/constants";
import type { Consumer } from "../engine/engine_consumer.ts";
import type { EngineOptions } from "../engine/engine_options.ts";
import { type BlockRange, type IndexBlock, RecordingIndex } from "../index/recording_index.ts";
import { isKnownTime, RecordTime } from "../order/record_time.ts";
import { Run, RUN_ROWS } from "../order/run.ts";
import type { SampleFilter } from "../samples/resolve.ts";

/**
 * Returns the index of a file: that of an earlier scan, or of a scan that passes records that are
 * not samples to consumers.
 */
export async function readIndex(
  reader: PerfDataReader,
  consumers: readonly Consumer[],
  { blockBytes, filter = {}, progress, index: known }: EngineOptions,
  quiet: boolean = false,
): Promise<RecordingIndex> {
  const { size } = reader.data;
  if (known === undefined) progress?.(0, size);
  const index = known ?? await scan(reader, consumers, { blockBytes, progress }, quiet);
  const wanted = wantedBlocks(index, filter);
  progress?.(0, wanted.reduce((bytes, { from, to }) => bytes + to - from, -size));
  return index;
}

function scan(
  reader: PerfDataReader,
  consumers: readonly Consumer[],
  { blockBytes, progress }: EngineOptions,
  quiet: boolean,
): Promise<RecordingIndex> {
  const takers = consumers.filter(({ other }) => other !== undefined);
  return RecordingIndex.read(reader, {
    blockBytes,
    progress,
    quiet,
    other: takers.length === 0 ? undefined : (batch, i, hi, lo) => {
      for (const taker of takers) taker.other?.(batch, i, hi, lo);
    },
  });
}

/** The blocks that may have chosen samples, in the order of the file. */
export function wantedBlocks(
  { blocks }: RecordingIndex,
  filter: SampleFilter,
): readonly IndexBlock[] {
  return blocks.filter((block) => isWanted(block, filter));
}

/** Whether a block may have samples in the time filter. */
function isWanted(
  { oldest, youngest, samples }: IndexBlock,
  { time }: SampleFilter,
): boolean {
  return samples > 0 && (time === undefined || (youngest >= time[0] && oldest <= time[1]));
}

/** Reads blocks one after the other into the same columns of records (`Run`), which each read overwrites. */
export class BlockReader {
  readonly #reader: PerfDataReader;
  readonly #run = new Run();

  constructor(reader: PerfDataReader) {
    this.#reader = reader;
  }

  /** Reads a block of the file, and passes its records in order of delivery. */
  async read(
    { from, to, first, round, resume }: BlockRange,
    take: (run: Run) => void,
  ): Promise<void> {
    const reader = this.#reader;
    const run = this.#run;
    const time = new RecordTime(reader.events);
    const { timeHi, timeLo, event, start, offset, position, round: rounds } = run;
    const times = { hi: timeHi, lo: timeLo, event };
    for await (const batch of reader.batches({ from, to, resume, quiet: true })) {
      const { count, starts, inflatedFrom, offset: base, view, littleEndian } = batch;
      run.blocks = [batch];
      for (let row = 0; row < count; row += RUN_ROWS) {
        const rows = Math.min(RUN_ROWS, count - row);
        time.readAll(batch, row, row + rows, times);
        run.count = rows;
        for (let i = 0; i < rows; i++) {
          const at = starts[row + i] as number;
          start[i] = at;
          position[i] = first + i;
          rounds[i] = round;
          offset[i] = inflatedFrom >= 0 ? inflatedFrom : base + at;
          if (!isKnownTime(timeHi[i] as number, timeLo[i] as number)) timeHi[i] = timeLo[i] = 0;
          if (view.getInt32(at, littleEndian) === PERF_RECORD_FINISHED_ROUND) round++;
        }
        first += rows;
        take(run);
      }
    }
  }
}
