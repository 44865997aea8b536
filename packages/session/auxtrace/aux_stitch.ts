import type { RandomAccessSource } from "@perfdata/format/bytes";
import { PERF_AUXTRACE_INTEL_PT } from "@perfdata/user-records";
import { findAuxOverlap } from "./aux_overlap.ts";
import type { AuxPiece, AuxTrace } from "./aux_trace.ts";

/**
 * Finds the overlaps between successive pieces of a stream.
 *
 * It keeps a copy of the last piece, which in a stream of snapshots has the size of the ring
 * buffer.
 */
export class AuxStitcher {
  readonly #intelPt: boolean;
  #before: AuxPiece | undefined;
  #buffer = new Uint8Array(0);

  /**
   * Creates a stitcher for one stream.
   *
   * @param intelPt Whether the data is Intel PT; see `findAuxOverlap`.
   */
  constructor(intelPt: boolean) {
    this.#intelPt = intelPt;
  }

  /** Sets `overlap` and `gap` of the next piece of the stream, whose data is `bytes`. */
  add(piece: AuxPiece, bytes: Uint8Array): void {
    const before = this.#before;
    if (before !== undefined) {
      const overlap = findAuxOverlap(
        buffer(this.#buffer.subarray(0, before.size), before),
        buffer(bytes, piece),
        { intelPt: this.#intelPt },
      );
      piece.overlap = overlap ?? 0;
      piece.gap = overlap === undefined ? undefined : 0n;
    }
    if (this.#buffer.length < bytes.length) this.#buffer = new Uint8Array(bytes.length);
    this.#buffer.set(bytes);
    this.#before = piece;
  }
}

function buffer(bytes: Uint8Array, { auxOffset }: AuxPiece) {
  return auxOffset === undefined ? { bytes } : { bytes, offset: auxOffset };
}

/**
 * Sets `overlap` and `gap` of all pieces of a trace. The rest of each piece, one after the other,
 * is then the trace without repetitions.
 *
 * Does nothing if {@link AuxTrace.mayOverlap} is false. Needs memory for two pieces.
 *
 * @param trace A trace of `readAuxTrace`, without pieces from COMPRESSED records.
 * @param source The file.
 */
export async function stitchAuxTrace(trace: AuxTrace, source: RandomAccessSource): Promise<void> {
  if (!trace.mayOverlap) return;
  let buffer = new Uint8Array(0);
  for (const stream of trace.streams) {
    const stitcher = new AuxStitcher(trace.type === PERF_AUXTRACE_INTEL_PT);
    for (const piece of stream.pieces) {
      if (buffer.length < piece.size) buffer = new Uint8Array(piece.size);
      const bytes = buffer.subarray(0, piece.size);
      await source.readAt(bytes, piece.fileOffset);
      stitcher.add(piece, bytes);
    }
  }
}
