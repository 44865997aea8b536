/**
 * Disassembles x86 with iced-x86 and AArch64 with Capstone. Loads only the library that is needed.
 */
import { type DecodedInsn, type Disassembler, x86Disassembler } from "@perfdata/export/code";
import type { InsnMode } from "@perfdata/intel-pt";
import { complain } from "./cli.ts";
import { insnText } from "./insn_text.ts";

/**
 * Loads the disassembler of an architecture.
 *
 * @param tool The command's name, for messages.
 * @param arch The recording's architecture; `undefined` means x86-64.
 * @param withText Whether instructions get text. Without text, x86 needs no library.
 * @returns `undefined` if the architecture is not supported.
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

/** Size of an AArch64 instruction in bytes. */
const WORD = 4;

/** The part of Capstone's API that is used. */
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
      if (insn === undefined) return undefined;
      // Capstone prints a negative step after an access, as in ldr x0, [x1], #-8, without its sign.
      const operands = insn.op_str.replace(
        /(?<=\], )#(0xf{8}[0-9a-f]{8})$/,
        (_, step) => `#-0x${BigInt.asUintN(64, -BigInt(step)).toString(16)}`,
      );
      return `${insn.mnemonic.padEnd(6)} ${operands}`.trimEnd();
    };
  } catch (error) {
    const [why] = (error as Error).message.split("\n");
    complain(`${tool}: instructions have no text: Capstone cannot be loaded: ${why}`);
  }
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
        const text = decode && (decode(own, address + BigInt(at)) ?? dataText(own, word));
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
