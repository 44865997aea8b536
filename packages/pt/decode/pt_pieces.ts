import type { RandomAccessSource } from "@perfdata/format/bytes";
import type { AuxPiece, AuxStream } from "@perfdata/session/auxtrace";

/** Number of bytes for each read. */
const READ = 1 << 18;
/**
 * Number of bytes that are fed to a decoder before `idle` is called; their output is up to a
 * thousand times as large.
 */
const FEED = 1 << 13;

/** A place in a stream. */
export interface StreamPlace {
  /** Number of the piece. */
  readonly piece: number;
  /** Offset in the piece, without its overlap with the previous piece. */
  readonly at: number;
}

/** Reads the bytes of a stream in order, piece after piece. */
export class PieceReader {
  /** Whether bytes are missing before those that {@linkcode PieceReader.next} returned last. */
  isAfterGap = false;
  readonly #stream: AuxStream;
  readonly #source: RandomAccessSource;
  readonly #bytes = new Uint8Array(READ);
  /** Range of bytes that were read but not returned yet. */
  #from = 0;
  #to = 0;
  #piece = 0;
  #at = 0;

  /** Starts at a place of a stream, or at its beginning. */
  constructor(stream: AuxStream, source: RandomAccessSource, place?: StreamPlace) {
    this.#stream = stream;
    this.#source = source;
    if (place === undefined) return;
    this.#piece = place.piece;
    if (place.at > 0) this.#at = place.at + (stream.pieces[place.piece]?.overlap ?? 0);
  }

  /** The next bytes, valid until the next call; `undefined` at the end. */
  async next(): Promise<Uint8Array | undefined> {
    const { pieces } = this.#stream;
    this.isAfterGap = false;
    for (;;) {
      if (this.#from < this.#to) {
        // Parts end at the same offsets, wherever decoding began.
        const at = this.#at - (this.#to - this.#from);
        const part = this.#bytes.subarray(
          this.#from,
          Math.min(this.#from + FEED - at % FEED, this.#to),
        );
        this.#from += part.length;
        return part;
      }
      const piece = pieces[this.#piece];
      if (piece === undefined) return undefined;
      if (this.#at === 0) {
        this.#at = piece.overlap;
        if (this.#piece > 0 && piece.gap !== 0n) this.isAfterGap = true;
      }
      const end = pieceEnd(piece, pieces[this.#piece + 1]);
      const n = this.#at >= end ? 0 : await this.#source.readAt(
        this.#bytes.subarray(0, Math.min(READ - this.#at % READ, end - this.#at)),
        piece.fileOffset + this.#at,
      );
      if (n === 0) {
        this.#piece++;
        this.#at = 0;
        continue;
      }
      this.#at += n;
      this.#from = 0;
      this.#to = n;
    }
  }
}

/** End of the data of a piece, without perf's padding, whose length follows from the next piece. */
export function pieceEnd(piece: AuxPiece, next: AuxPiece | undefined): number {
  // Offsets of snapshots are positions in a ring, so only offsets of contiguous data give its
  // length.
  if (
    next?.auxOffset === undefined || piece.auxOffset === undefined || next.overlap > 0 ||
    next.gap === undefined
  ) {
    return piece.size;
  }
  const distance = next.auxOffset - piece.auxOffset;
  return distance > 0n && distance < BigInt(piece.size) ? Number(distance) : piece.size;
}
