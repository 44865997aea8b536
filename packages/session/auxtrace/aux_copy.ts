import type { ByteSink, RandomAccessSource } from "@perfdata/format/bytes";
import type { PerfDataReader } from "@perfdata/format/records";
import { type AuxBlockOptions, auxBlocks } from "./aux_blocks.ts";
import type { AuxCollector } from "./aux_streams.ts";
import type { AuxStream, AuxTrace } from "./aux_trace.ts";

/** Number of bytes for each copy; `aux_shares.ts` explains why it is not larger. */
const BLOCK = 1 << 16;

/** Called from time to time with the bytes that were copied since the last call. */
export type CopyProgress = (bytes: number) => void;

/**
 * Copies the data of a stream, piece after piece, without the bytes that pieces have in common.
 *
 * @param stream A stream that `readAuxTrace` found in `source`. Data of samples in COMPRESSED
 * records has no file offset, so such a stream cannot be copied.
 * @param source The file.
 * @param sink Receives the data.
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
   * Returns the sink for a stream; `undefined` to skip the stream. Called once for each stream.
   * `found` has the data that was read so far.
   */
  readonly open: (stream: AuxStream, found: AuxCollector) => ByteSink | undefined;
  /** Called from time to time with the bytes that were copied since the last call. */
  readonly progress?: CopyProgress;
}

/**
 * Copies the data of all streams in one pass over the records: from a pipe, and from samples.
 *
 * @returns The streams that {@link auxBlocks} found.
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
