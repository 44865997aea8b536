/**
 * Register names by the bit numbers of `sample_regs_user` and `sample_regs_intr`.
 *
 * Sources: `arch/x86/include/uapi/asm/perf_regs.h`, `arch/arm64/include/uapi/asm/perf_regs.h`,
 * `arch/arm/include/uapi/asm/perf_regs.h`.
 *
 * @module
 */

const X86: readonly string[] = [
  "AX BX CX DX SI DI BP SP IP FLAGS CS SS DS ES FS GS",
  "R8 R9 R10 R11 R12 R13 R14 R15",
].join(" ").split(" ");

/** XMM registers have 128 bits: two bits of the mask and two words each. */
const X86_XMM = 32;

const ARM64: readonly string[] = [
  ...Array.from({ length: 30 }, (_, i) => `x${i}`),
  "lr",
  "sp",
  "pc",
];
/** The vector granule of SVE. */
const ARM64_VG = 46;

const ARM: readonly string[] = [
  ...Array.from({ length: 11 }, (_, i) => `r${i}`),
  "fp",
  "ip",
  "sp",
  "lr",
  "pc",
];

/**
 * Returns the name of the register of bit `bit` on the machine `arch` (as `uname -m` prints it).
 *
 * An unknown register is called `reg<bit>`.
 *
 * @example
 * ```ts
 * import { registerName } from "@perfdata/format/constants";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(registerName("x86_64", 7), "SP");
 * assertEquals(registerName("aarch64", 32), "pc");
 * assertEquals(registerName("x86_64", 33), "XMM0_hi");
 * ```
 */
export function registerName(arch: string | undefined, bit: number): string {
  const name = arch === undefined
    ? undefined
    : /^(x86_64|i[3-6]86|x86)$/.test(arch)
    ? bit >= X86_XMM ? `XMM${(bit - X86_XMM) >> 1}${bit & 1 ? "_hi" : ""}` : X86[bit]
    : /^(aarch64|arm64)/.test(arch)
    ? bit === ARM64_VG ? "vg" : ARM64[bit]
    : /^arm/.test(arch)
    ? ARM[bit]
    : undefined;
  return name ?? `reg${bit}`;
}

/**
 * Name of a register as perf prints it: both words of an XMM register have one name. Without an
 * architecture in the file, perf assumes the machine that it runs on.
 */
export function perfRegisterName(arch: string | undefined, bit: number): string {
  const name = registerName(arch ?? "x86_64", bit).replace("_hi", "");
  return name.startsWith("reg") ? "unknown" : name;
}
