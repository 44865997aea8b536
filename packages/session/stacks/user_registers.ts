import { type CfiMachine, cfiMachine } from "@perfdata/symbols/dwarf";

/** `e_machine` of the machines whose stacks are unwound (elf.h). */
const EM = { I386: 3, ARM: 40, X86_64: 62, AARCH64: 183 } as const;

/** `PERF_SAMPLE_REGS_ABI_32`. */
const ABI_32 = 1;

/** Bits of `sample_regs_user` by DWARF's register numbers. */
interface RegisterMap {
  readonly machine: CfiMachine;
  /** Bit by DWARF's register number; -1 for a register that is not recorded. */
  readonly bits: readonly number[];
}

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

/** arch/x86/include/uapi/asm/perf_regs.h: AX BX CX DX SI DI BP SP IP …, R8 from 16 on. */
const X86_64_BITS = [0, 3, 2, 1, 4, 5, 6, 7, ...upTo(8).map((i) => 16 + i), 8];
const I386_BITS = [0, 2, 3, 1, 7, 6, 4, 5, 8];
/** arch/arm64/include/uapi/asm/perf_regs.h: x0 … x29, lr, sp, pc. */
const AARCH64_BITS = upTo(33);
/**
 * For a 32-bit process on a 64-bit kernel: the stack pointer and pc are in the bits of the 64-bit
 * registers.
 */
const ARM_ON_AARCH64_BITS = [...upTo(13), 31, 14, 32];

function map(machine: number, bits: readonly number[]): RegisterMap {
  const found = cfiMachine(machine);
  if (found === undefined) throw new RangeError(`no registers of machine ${machine}`);
  return { machine: found, bits };
}

const X86_64 = map(EM.X86_64, X86_64_BITS);
const I386 = map(EM.I386, I386_BITS);
const AARCH64 = map(EM.AARCH64, AARCH64_BITS);
const ARM = map(EM.ARM, upTo(16));
const ARM_ON_AARCH64 = map(EM.ARM, ARM_ON_AARCH64_BITS);

/**
 * The machine and layout of a sample's registers.
 *
 * @param arch Architecture of the recorded machine, as of `uname -m`; if unknown, it follows from
 * the registers in the mask.
 * @param abi `abi` of the sample's registers.
 * @param mask `sample_regs_user`.
 */
function registerMap(
  arch: string | undefined,
  abi: number,
  mask: bigint,
): RegisterMap | undefined {
  const narrow = abi === ABI_32;
  const name = arch ?? archOfMask(mask);
  if (/^(x86_64|amd64)$/.test(name)) return narrow ? I386 : X86_64;
  if (/^(i[3-6]86|x86)$/.test(name)) return I386;
  if (/^(aarch64|arm64)/.test(name)) return narrow ? ARM_ON_AARCH64 : AARCH64;
  return /^arm/.test(name) ? ARM : undefined;
}

function archOfMask(mask: bigint): string {
  if (mask >> 32n === 1n) return "aarch64";
  if (mask >> 16n !== 0n) return "x86_64";
  return mask >> 12n !== 0n ? "armv7l" : "i686";
}

/** Reads the user registers of the samples of one event, by their numbers in DWARF. */
export class UserRegisters {
  readonly machine: CfiMachine;
  /** The last registers; `NaN` for a register that is not recorded. */
  readonly values: Float64Array;
  /**
   * Index of the recorded word by DWARF's register number; -1 for a register that is not recorded.
   */
  readonly #words: Int32Array;
  readonly #littleEndian: boolean;

  private constructor(map: RegisterMap, mask: bigint, littleEndian: boolean) {
    this.machine = map.machine;
    this.#littleEndian = littleEndian;
    this.values = new Float64Array(Math.max(map.machine.registers, map.machine.pc + 1)).fill(NaN);
    this.#words = Int32Array.from(map.bits, (bit) => {
      if (bit < 0 || (mask >> BigInt(bit) & 1n) === 0n) return -1;
      let before = 0;
      for (let i = 0; i < bit; i++) before += Number(mask >> BigInt(i) & 1n);
      return before;
    });
  }

  /**
   * Prepares for one mask.
   *
   * @returns `undefined` for a machine whose stacks are not unwound.
   */
  static of(
    arch: string | undefined,
    abi: number,
    mask: bigint,
    littleEndian: boolean,
  ): UserRegisters | undefined {
    const map = registerMap(arch, abi, mask);
    return map && new UserRegisters(map, mask, littleEndian);
  }

  /** Reads the registers whose words begin at `at`. */
  read(view: DataView, at: number): void {
    const words = this.#words, { values } = this, le = this.#littleEndian;
    const narrow = this.machine.addressSize === 4;
    for (let register = 0; register < words.length; register++) {
      const word = words[register] as number;
      if (word < 0) continue;
      const from = at + 8 * word;
      const low = view.getUint32(le ? from : from + 4, le);
      // deno-lint-ignore perfdata/halves -- addresses of user space, under 2^48; stacks hold nothing else
      values[register] = narrow ? low : view.getInt32(le ? from + 4 : from, le) * 4294967296 + low;
    }
  }
}
