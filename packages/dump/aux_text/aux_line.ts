import { byteAt, putAscii, putHex2, putHex4 } from "@perfdata/format/bytes";

/** The bytes of a packet and those after it. The object is reused. */
export interface AuxBytes {
  /** The buffer with the packet. */
  readonly input: Uint8Array;
  /** Offset of the packet in `input`. */
  at: number;
  /** Offset after the last byte of the data in `input`. */
  end: number;
  /** Offset of the packet in the data. */
  position: number;
}

/** Writes the packets of AUX data, one line each. */
export interface AuxText {
  /** Bytes that `put` needs, unless the data ends earlier. */
  readonly reach: number;
  /** Number of bytes in the last line. */
  consumed: number;
  /**
   * The line before the packets.
   *
   * @param size Size of the data.
   * @param input The first bytes of the data.
   */
  heading(size: number, input: Uint8Array): string;
  put(out: DataView, p: number, bytes: AuxBytes): number;
}

/** Writes `.  00000010:  71 00 …`: the offset and `n` bytes, padded to `width` bytes. */
export function putLineStart(
  out: DataView,
  p: number,
  { input, at, position }: AuxBytes,
  n: number,
  width: number,
): number {
  p = putPlace(out, p, position);
  for (let i = 0; i < n; i++) {
    out.setUint8(p++, 0x20);
    p = putHex2(out, p, byteAt(input, at + i));
  }
  for (let i = n; i < width; i++) p = putAscii(out, p, "   ");
  return p;
}

/** Writes the offset at the start of a line, as `.  00000010: `. Returns the position after it. */
export function putPlace(out: DataView, p: number, position: number): number {
  p = putAscii(out, p, ".  ");
  p = putHex4(out, putHex4(out, p, position >>> 16), position & 0xffff);
  return putAscii(out, p, ": ");
}

/** Reads the little-endian 32-bit word at `at`. */
export function u32(input: Uint8Array, at: number): number {
  const byte = (i: number): number => byteAt(input, at + i);
  return (byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24) >>> 0;
}
