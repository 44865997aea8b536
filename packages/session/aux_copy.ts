import type { ByteSink, Payload, PerfDataReader, RandomAccessSource } from "@perfdata/format";
import { PERF_AUXTRACE_INTEL_PT } from "@perfdata/user-records";
import { AuxStitcher } from "./aux_stitch.ts";
import {
  AuxCollector,
  type AuxCollectorOptions,
  type AuxPiece,
  type AuxStream,
  type AuxTrace,
} from "./aux_streams.ts";

/** Bytes that are copied at once; `aux_shares.ts` says why no more. */
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
export interface CopyWhileReadingOptions extends Pick<AuxCollectorOptions, "diagnostics"> {
  /**
   * Gives the sink for a stream, once for each; `undefined` for a stream that is not wanted. `found`
   * knows what was read so far.
   */
  readonly open: (stream: AuxStream, found: AuxCollector) => ByteSink | undefined;
  /** Whether to keep what pieces have in common. */
  readonly raw?: boolean;
  /** Called now and then with the bytes that were copied since the last call. */
  readonly progress?: CopyProgress;
}

/**
 * Copies the data of all streams in one pass over the records: from a pipe, and from samples.
 *
 * Where pieces may have data in common, the last piece of each stream is kept in memory.
 */
export async function copyAuxWhileReading(
  reader: PerfDataReader,
  options: CopyWhileReadingOptions,
): Promise<AuxTrace> {
  const { raw = false, progress = () => {} } = options;
  const outputs = new Map<AuxStream, { sink: ByteSink | undefined; stitcher: AuxStitcher }>();
  const outputOf = (stream: AuxStream) => {
    let output = outputs.get(stream);
    if (output === undefined) {
      output = {
        sink: options.open(stream, collector),
        stitcher: new AuxStitcher(collector.info?.type === PERF_AUXTRACE_INTEL_PT),
      };
      outputs.set(stream, output);
    }
    return output;
  };
  // A sink may need time, the callback may not: the data of a batch's samples waits for its end.
  const samples: { piece: AuxPiece; bytes: Uint8Array }[] = [];
  const collector: AuxCollector = new AuxCollector(reader, {
    diagnostics: options.diagnostics,
    onSample: (piece, bytes) => samples.push({ piece, bytes }),
  });
  const put = async (piece: AuxPiece, bytes: Uint8Array) => {
    const { sink, stitcher } = outputOf(piece.stream);
    if (!raw) stitcher.add(piece, bytes);
    await sink?.write(bytes.subarray(piece.overlap));
    progress(bytes.length);
  };
  const block = new Uint8Array(BLOCK);
  for await (const batch of reader.batches()) {
    const piece = collector.take(batch);
    for (const { piece, bytes } of samples) await put(piece, bytes);
    samples.length = 0;
    const { payload } = batch;
    if (piece === undefined || payload === undefined) continue;
    const announced = piece.size + piece.missing;
    if (collector.mayOverlap && !raw) {
      const bytes = await readWhole(payload, piece.size);
      piece.size = bytes.length;
      await put(piece, bytes);
    } else {
      const { sink } = outputOf(piece.stream);
      piece.size = 0;
      for (let n = await payload.read(block); n > 0; n = await payload.read(block)) {
        piece.size += n;
        await sink?.write(block.subarray(0, n));
        progress(n);
      }
    }
    piece.missing = announced - piece.size;
  }
  return await collector.finish();
}

/** Reads a payload; a size that the stream does not have costs no memory. */
async function readWhole(payload: Payload, size: number): Promise<Uint8Array> {
  let bytes = new Uint8Array(Math.min(size, BLOCK));
  let length = 0;
  for (;;) {
    if (length === bytes.length && length < size) {
      const larger = new Uint8Array(Math.min(size, bytes.length * 2));
      larger.set(bytes);
      bytes = larger;
    }
    const n = await payload.read(bytes.subarray(length));
    if (n === 0) return bytes.subarray(0, length);
    length += n;
  }
}
