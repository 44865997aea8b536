import { byteAt, putAscii, putHex } from "@perfdata/format/bytes";
import { type AuxBytes, type AuxText, putLineStart, u32 } from "./aux_line.ts";

/** Size of a BTS record: source and target of the branch, flags. */
const BRANCH = 24;
const PREDICTED = 0x10;

/**
 * Records of Intel's Branch Trace Store on 64-bit machines (SDM volume 3, "Branch Trace Store").
 */
export class IntelBtsText implements AuxText {
  readonly reach = BRANCH;
  consumed = 0;

  /** The line before the packets. */
  heading(size: number): string {
    return `.\n. ... Intel BTS data: size ${size} bytes\n`;
  }

  put(out: DataView, p: number, bytes: AuxBytes): number {
    const { input, at, end } = bytes;
    this.consumed = Math.min(BRANCH, end - at);
    p = putLineStart(out, p, bytes, this.consumed, BRANCH);
    if (this.consumed < BRANCH) return putAscii(out, p, " Bad record!\n");
    p = putWord(out, putAscii(out, p, " "), input, at);
    p = putWord(out, putAscii(out, p, " -> "), input, at + 8);
    return putAscii(out, p, byteAt(input, at + 16) & PREDICTED ? " pred\n" : " miss\n");
  }
}

/** Writes the little-endian 64-bit word at `at` as `%lx`. */
function putWord(out: DataView, p: number, input: Uint8Array, at: number): number {
  return putHex(out, p, u32(input, at + 4), u32(input, at));
}
