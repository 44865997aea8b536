/** The part of Capstone's API that is used. */
export interface Capstone {
  readonly ARCH_ARM64: number;
  readonly MODE_LITTLE_ENDIAN: number;
  readonly Capstone: new (arch: number, mode: number) => {
    disasm(bytes: Uint8Array, address: bigint, most?: number): readonly {
      readonly mnemonic: string;
      readonly op_str: string;
    }[];
  };
}

/** Returns the formatter of AArch64 instructions. It returns `undefined` for bytes that are none. */
export function capstoneText(
  { ARCH_ARM64, Capstone, MODE_LITTLE_ENDIAN }: Capstone,
): (bytes: Uint8Array, address: bigint) => string | undefined {
  const handle = new Capstone(ARCH_ARM64, MODE_LITTLE_ENDIAN);
  return (bytes, address) => {
    const [insn] = handle.disasm(bytes, address);
    if (insn === undefined) return undefined;
    // Capstone prints a negative step after an access, as in ldr x0, [x1], #-8, without its sign.
    const operands = insn.op_str.replace(
      /(?<=\], )#(0xf{8}[0-9a-f]{8})$/,
      (_, step) => `#-0x${BigInt.asUintN(64, -BigInt(step)).toString(16)}`,
    );
    return `${insn.mnemonic.padEnd(6)} ${operands}`.trimEnd();
  };
}
