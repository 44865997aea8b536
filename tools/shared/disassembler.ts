/** Instructions of x86, by iced-x86, and of AArch64, by Capstone: whichever is needed is loaded. */
import { type DecodedInsn, type Disassembler, x86Disassembler } from "@perfdata/export/code";
import type { InsnMode } from "@perfdata/intel-pt";
import { complain } from "./cli.ts";
import { insnText } from "./insn_text.ts";

/**
 * Loads what decodes code of a machine.
 *
 * @param tool The command, for messages.
 * @param arch As the recording calls it; x86-64 where it does not.
 * @param withText Whether instructions have texts; without them x86 needs no other library.
 * @returns `undefined` if there is nothing for it.
 */
export async function disassembler(
  tool: string,
  arch: string | undefined,
  withText = true,
): Promise<Disassembler | undefined> {
  if (arch === undefined || arch === "x86_64") return await x86(tool, 64, withText);
  if (/^i[3-6]86$|^x86$/.test(arch)) return await x86(tool, 32, withText);
  if (/^(?:aarch64|arm64)$/.test(arch)) return await aarch64(tool);
  return undefined;
}

async function x86(tool: string, mode: InsnMode, withText: boolean): Promise<Disassembler> {
  return x86Disassembler(mode, withText ? await insnText(tool) : undefined);
}

/** Bytes of an instruction of AArch64. */
const WORD = 4;

/** What is used of Capstone. */
interface Capstone {
  readonly ARCH_ARM64: number;
  readonly MODE_LITTLE_ENDIAN: number;
  readonly Capstone: new (arch: number, mode: number) => {
    disasm(bytes: Uint8Array, address: bigint, most?: number): readonly {
      readonly mnemonic: string;
      readonly op_str: string;
    }[];
  };
}

async function aarch64(tool: string): Promise<Disassembler> {
  let decode: ((bytes: Uint8Array, address: bigint) => string | undefined) | undefined;
  try {
    const { default: load } = await import("@alexaltea/capstone-js") as unknown as {
      default: () => Promise<Capstone>;
    };
    const capstone = await load();
    const handle = new capstone.Capstone(capstone.ARCH_ARM64, capstone.MODE_LITTLE_ENDIAN);
    decode = (bytes, address) => {
      const [insn] = handle.disasm(bytes, address);
      return insn === undefined ? undefined : `${insn.mnemonic.padEnd(6)} ${insn.op_str}`.trimEnd();
    };
  } catch (error) {
    const [why] = (error as Error).message.split("\n");
    complain(`${tool}: instructions have no text: Capstone cannot be loaded: ${why}`);
  }
  return {
    insns(bytes, address) {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      const found: DecodedInsn[] = [];
      for (let at = 0; at < bytes.length; at += WORD) {
        const length = Math.min(WORD, bytes.length - at);
        const own = bytes.subarray(at, at + length);
        const word = length === WORD ? view.getUint32(at, true) : 0;
        const text = decode && (decode(own, address + BigInt(at)) ??
          `.word  0x${word.toString(16).padStart(8, "0")}`);
        const distance = branchDistance(word);
        found.push({
          at,
          length,
          text: text ?? "",
          target: distance === undefined ? undefined : at + distance,
          isCall: word >>> 26 === 0b100101,
        });
      }
      return found;
    },
  };
}

/** How far a branch of AArch64 goes: Arm ARM, C4.1.65 "Branches, Exception Generating and System instructions". */
function branchDistance(word: number): number | undefined {
  /** A signed field of this many bits from a place on, in instructions. */
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
