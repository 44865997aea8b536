import type { ByteSink, RandomAccessSource } from "@perfdata/format/bytes";
import type { PerfDataReader } from "@perfdata/format/records";
import { type AuxBlockOptions, auxBlocks } from "./aux_blocks.ts";
import type { AuxCollector } from "./aux_streams.ts";
import type { AuxStream, AuxTrace } from "./aux_trace.ts";

/** Number of bytes for each copy; `aux_shares.ts` explains why it is not larger. */
const BLOCK = 1 << 16;

/** Called now and then with the bytes that were copied since the last call. */
export type CopyProgress = (bytes: number) => void;

/**
 * Copies the data of a stream, piece after piece without what they have in common.
 *
 * @param stream A stream that `readAuxTrace` found in `source`; not one of samples in COMPRESSED
 *   records, for whose data there is no place in the file.
 * @param source The file.
 * @param sink Where the data goes.
 */
export async function copyAuxStream(
  stream: AuxStream,
  source: RandomAccessSource,
  sink: ByteSink,
  progress: CopyProgress = () => {},
): Promise<void> {
  const buffer = new Uint8Array(BLOCK);
  for (const { fileOffset, overlap, size } of stream.pieces) {
    const end = fileOffset + size;
    for (let at = fileOffset + overlap; at < end;) {
      const n = await source.readAt(buffer.subarray(0, Math.min(BLOCK, end - at)), at);
      if (n === 0) break;
      await sink.write(buffer.subarray(0, n));
      at += n;
      progress(n);
    }
  }
}

/** Options of {@link copyAuxWhileReading}. */
export interface CopyWhileReadingOptions extends AuxBlockOptions {
  /**
   * Gives the sink for a stream, once for each; `undefined` for a stream that is not wanted. `found`
   * knows what was read so far.
   */
  readonly open: (stream: AuxStream, found: AuxCollector) => ByteSink | undefined;
  /** Called now and then with the bytes that were copied since the last call. */
  readonly progress?: CopyProgress;
}

/**
 * Copies the data of all streams in one pass over the records: from a pipe, and from samples.
 *
 * @returns What {@link auxBlocks} found.
 */
export async function copyAuxWhileReading(
  reader: PerfDataReader,
  options: CopyWhileReadingOptions,
): Promise<AuxTrace> {
  const { open, progress = () => {} } = options;
  const sinks = new Map<AuxStream, ByteSink | undefined>();
  const blocks = auxBlocks(reader, options);
  for (;;) {
    const { done, value } = await blocks.next();
    if (done) return value;
    const { stream, bytes, found } = value;
    if (!sinks.has(stream)) sinks.set(stream, open(stream, found));
    await sinks.get(stream)?.write(bytes);
    progress(bytes.length);
  }
}
