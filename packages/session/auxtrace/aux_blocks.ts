import { payloadBytes, type PerfDataReader } from "@perfdata/format/records";
import { PERF_AUXTRACE_INTEL_PT } from "@perfdata/user-records";
import { AuxStitcher } from "./aux_stitch.ts";
import { AuxCollector, type AuxCollectorOptions } from "./aux_streams.ts";
import type { AuxPiece, AuxStream, AuxTrace } from "./aux_trace.ts";

/** Bytes of AUX data of a CPU or thread. */
export interface AuxBlock {
  /** The CPU or thread. */
  readonly stream: AuxStream;
  /** The next bytes of the stream; valid until the next block is requested. */
  readonly bytes: Uint8Array;
  /** The streams and pieces that were read so far. */
  readonly found: AuxCollector;
}

/** Options of {@link auxBlocks}. */
export interface AuxBlockOptions extends Pick<AuxCollectorOptions, "diagnostics"> {
  /** Whether to keep the bytes that successive pieces have in common. */
  readonly raw?: boolean;
}

/**
 * Yields the AUX data of a recording, such as Intel PT, block by block in file order, of all CPUs
 * and threads. Files and pipes are read once, in bounded memory. If pieces may overlap (snapshot
 * mode, samples), the last piece of each stream is held.
 *
 * @returns The streams, after all is read.
 * @throws {PerfDataError} In strict mode, if the recording is damaged.
 *
 * @example
 * ```ts
 * import { bytesSource, memorySink, PerfDataReader, PerfDataWriter, RecordCodec } from "@perfdata/format";
 * import { AUXTRACE } from "@perfdata/user-records";
 * import { auxBlocks } from "@perfdata/session/auxtrace";
 * import { assertEquals } from "@std/assert";
 *
 * const sink = memorySink();
 * const writer = await PerfDataWriter.pipe(sink);
 * await writer.write(new RecordCodec([AUXTRACE]).encode({
 *   type: 71,
 *   name: "AUXTRACE",
 *   misc: 0,
 *   body: { size: 8n, offset: 0n, reference: 1n, idx: 0, tid: -1, cpu: 2 },
 * }));
 * await writer.write(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8));
 *
 * const reader = await PerfDataReader.open(bytesSource(sink.bytes()));
 * const bytesOf = new Map<number | undefined, number>();
 * for await (const { stream, bytes } of auxBlocks(reader)) {
 *   bytesOf.set(stream.cpu, (bytesOf.get(stream.cpu) ?? 0) + bytes.length);
 * }
 * assertEquals([...bytesOf], [[2, 8]]);
 * ```
 */
export async function* auxBlocks(
  reader: PerfDataReader,
  options: AuxBlockOptions = {},
): AsyncGenerator<AuxBlock, AuxTrace, void> {
  const { raw = false } = options;
  // Data in samples is yielded at the end of its batch.
  const samples: { piece: AuxPiece; bytes: Uint8Array }[] = [];
  const found: AuxCollector = new AuxCollector(reader, {
    diagnostics: options.diagnostics,
    onSample: (piece, bytes) => samples.push({ piece, bytes }),
  });
  const stitchers = new Map<AuxStream, AuxStitcher>();
  const whole = (piece: AuxPiece, bytes: Uint8Array): AuxBlock => {
    const { stream } = piece;
    if (!raw) {
      let stitcher = stitchers.get(stream);
      if (stitcher === undefined) {
        stitcher = new AuxStitcher(found.info?.type === PERF_AUXTRACE_INTEL_PT);
        stitchers.set(stream, stitcher);
      }
      stitcher.add(piece, bytes);
    }
    return { stream, bytes: bytes.subarray(piece.overlap), found };
  };
  for await (const batch of reader.batches()) {
    const piece = found.take(batch);
    for (const { piece, bytes } of samples) yield whole(piece, bytes);
    samples.length = 0;
    const { payload } = batch;
    if (piece === undefined || payload === undefined) continue;
    const announced = piece.size + piece.missing;
    if (found.mayOverlap && !raw) {
      const bytes = await payloadBytes(payload, piece.size);
      piece.size = bytes.length;
      yield whole(piece, bytes);
    } else {
      piece.size = 0;
      for await (const bytes of payload) {
        piece.size += bytes.length;
        yield { stream: piece.stream, bytes, found };
      }
      // Yield a piece with no new bytes as well, so that the caller sees its stream.
      if (piece.size === 0) yield { stream: piece.stream, bytes: new Uint8Array(), found };
    }
    piece.missing = announced - piece.size;
  }
  return await found.finish();
}
