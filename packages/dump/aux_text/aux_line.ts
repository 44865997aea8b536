import { byteAt } from "@perfdata/format/elements";
import { putAscii, putHex2, putHex4 } from "@perfdata/format/text-bytes";

/** The bytes from a packet on. The object is reused for the next packet. */
export interface AuxBytes {
  /** What holds them. */
  readonly input: Uint8Array;
  /** Where the packet begins. */
  at: number;
  /** Where the bytes end: after `at`. */
  end: number;
  /** Place of the packet in the data. */
  position: number;
}

/** Writes the packets of one piece of AUX data, a line each. */
export interface AuxText {
  /** Bytes that have to be there for any packet, unless it is the last of the data. */
  readonly reach: number;
  /** Number of bytes in the last line. */
  consumed: number;
  /**
   * The line before the packets.
   *
   * @param size Bytes of data.
   * @param input The first of them.
   */
  heading(size: number, input: Uint8Array): string;
  /** Writes the line of a packet. */
  put(out: DataView, p: number, bytes: AuxBytes): number;
}

/** `.  00000010:  71 00 …`: the place and `n` bytes, padded to `width` bytes. */
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

/** Writes the beginning of a line of AUX data, as `.  00000010: `; returns the position after it. */
export function putPlace(out: DataView, p: number, position: number): number {
  p = putAscii(out, p, ".  ");
  p = putHex4(out, putHex4(out, p, position >>> 16), position & 0xffff);
  return putAscii(out, p, ": ");
}

/** The little-endian 32-bit word at `at`. */
export function u32(input: Uint8Array, at: number): number {
  const byte = (i: number): number => byteAt(input, at + i);
  return (byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24) >>> 0;
}
