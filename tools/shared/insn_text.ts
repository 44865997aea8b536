/** Formats x86 instructions with iced-x86. */
import type { InsnText } from "@perfdata/pt/decode";
import { complain } from "./cli.ts";

/**
 * Loads the formatter for instructions in the syntax of objdump. Returns `undefined` if iced-x86
 * cannot be loaded.
 *
 * @param tool The command's name, to report that. Workers omit it.
 */
export async function insnText(tool?: string): Promise<InsnText | undefined> {
  try {
    const { Decoder, Formatter, FormatterSyntax, Instruction } = await import("iced-x86");
    const formatter = new Formatter(FormatterSyntax.Gas);
    formatter.branchLeadingZeros = false;
    formatter.firstOperandCharIndex = 7;
    formatter.ripRelativeAddresses = true;
    formatter.smallHexNumbersInDecimal = false;
    formatter.uppercaseHex = false;
    const insn = new Instruction();
    return (bytes, ip, mode) => {
      const decoder = new Decoder(mode, bytes, 0);
      decoder.ip = ip;
      decoder.decodeOut(insn);
      const text = formatter.format(insn);
      const target = insn.isIpRelMemoryOperand
        ? `  # 0x${insn.ipRelMemoryAddress.toString(16)}`
        : "";
      decoder.free();
      return text + target;
    };
  } catch (error) {
    const [why] = (error as Error).message.split("\n");
    if (tool === undefined) return undefined;
    complain(`${tool}: instructions have no text: iced-x86 cannot be loaded: ${why}`);
    return undefined;
  }
}
