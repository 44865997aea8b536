import type { DecodedInsn, Disassembler } from "./function_code.ts";

/** Size of an AArch64 instruction in bytes. */
const WORD = 4;

/**
 * Creates a decoder of AArch64 code.
 *
 * @param textOf Formats an instruction; `undefined` for bytes that are none. Without it, texts of
 * instructions are empty.
 */
export function armDisassembler(
  textOf?: (bytes: Uint8Array, address: bigint) => string | undefined,
): Disassembler {
  return {
    insns(bytes, address, data = []) {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      const found: DecodedInsn[] = [];
      let range = 0;
      for (let at = 0, length = 0; at < bytes.length; at += length) {
        while (range < data.length && at >= (data[range]?.to ?? 0)) range++;
        const { from = Infinity, to = Infinity } = data[range] ?? {};
        const end = Math.min(bytes.length, at >= from ? to : from);
        length = Math.min(WORD, end - at);
        const own = bytes.subarray(at, at + length);
        const word = length === WORD ? view.getUint32(at, true) : undefined;
        if (word === undefined || at >= from) {
          found.push({ at, length, text: dataText(own, word), target: undefined, isCall: false });
          continue;
        }
        const distance = branchDistance(word);
        found.push({
          at,
          length,
          text: textOf === undefined
            ? ""
            : textOf(own, BigInt.asUintN(64, address + BigInt(at))) ?? dataText(own, word),
          target: distance === undefined ? undefined : at + distance,
          isCall: word >>> 26 === 0b100101,
        });
      }
      return found;
    },
  };
}

/** The directive of bytes that are not an instruction. */
function dataText(bytes: Uint8Array, word: number | undefined): string {
  const hex = (value: number, digits: number) => `0x${value.toString(16).padStart(digits, "0")}`;
  return word === undefined
    ? `.byte  ${Array.from(bytes, (byte) => hex(byte, 2)).join(", ")}`
    : `.word  ${hex(word, 8)}`;
}

/**
 * The distance of an AArch64 branch in bytes: Arm ARM, C4.1.65 "Branches, Exception Generating and
 * System instructions".
 */
function branchDistance(word: number): number | undefined {
  /** A signed bit field, scaled from instructions to bytes. */
  const field = (at: number, bits: number) => (word << (32 - at - bits) >> (32 - bits)) * WORD;
  // B, BL
  if ((word >>> 26 & 0b11111) === 0b00101) return field(0, 26);
  // B.cond, BC.cond
  if (word >>> 24 === 0b01010100) return field(5, 19);
  // CBZ, CBNZ
  if ((word >>> 25 & 0b111111) === 0b011010) return field(5, 19);
  // TBZ, TBNZ
  if ((word >>> 25 & 0b111111) === 0b011011) return field(5, 14);
  return undefined;
}
