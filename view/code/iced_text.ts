import type { InsnText } from "@perfdata/pt/decode";
import type * as Iced from "iced-x86";

/** Returns the formatter of x86 instructions in the syntax of objdump. */
export function icedText(
  { Decoder, Formatter, FormatterSyntax, Instruction }: Pick<
    typeof Iced,
    "Decoder" | "Formatter" | "FormatterSyntax" | "Instruction"
  >,
): InsnText {
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
    const target = insn.isIpRelMemoryOperand ? `  # 0x${insn.ipRelMemoryAddress.toString(16)}` : "";
    decoder.free();
    return text + target;
  };
}
