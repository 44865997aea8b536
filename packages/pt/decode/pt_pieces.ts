import type { AuxPiece } from "@perfdata/session/auxtrace";

/** End of the data of a piece, without perf's padding, whose length follows from the next piece. */
export function pieceEnd(piece: AuxPiece, next: AuxPiece | undefined): number {
  // Offsets of snapshots are places in a ring: only those of data in a row say how long it is.
  if (
    next?.auxOffset === undefined || piece.auxOffset === undefined || next.overlap > 0 ||
    next.gap === undefined
  ) {
    return piece.size;
  }
  const distance = next.auxOffset - piece.auxOffset;
  return distance > 0n && distance < BigInt(piece.size) ? Number(distance) : piece.size;
}
