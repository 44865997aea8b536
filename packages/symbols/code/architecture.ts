import { EM } from "../elf/elf_constants.ts";

/** Fields of an ELF header that determine the machine. */
export interface ElfMachine {
  /** `e_machine`. */
  readonly machine: number;
  /** Byte order. */
  readonly littleEndian: boolean;
}

/**
 * Machine types by name (`uname -m`), with the byte order if it is unique. A 64-bit kernel also
 * runs programs of the 32-bit machine.
 */
const MACHINES: readonly (readonly [RegExp, readonly number[], boolean?])[] = [
  [/^x86_64$|^amd64$/, [EM.X86_64, EM.I386], true],
  [/^(?:i[3-6]86|x86)$/, [EM.I386, EM.X86_64], true],
  [/^(?:aarch64|arm64)$/, [EM.AARCH64, EM.ARM]],
  [/^arm/, [EM.ARM]],
  [/^(?:ppc64le|powerpc64le)$/, [EM.PPC64, EM.PPC], true],
  [/^(?:ppc|powerpc)/, [EM.PPC64, EM.PPC], false],
  [/^s390/, [EM.S390], false],
  [/^riscv/, [EM.RISCV], true],
  [/^mips/, [EM.MIPS]],
  [/^sparc/, [EM.SPARC, EM.SPARCV9, EM.SPARC32PLUS], false],
  [/^loongarch/, [EM.LOONGARCH], true],
];

/**
 * Whether a machine can run an ELF file, so that the file can be the mapped one.
 *
 * @param arch name of the machine's architecture (`uname -m`)
 * @returns `true` also if the name is unknown or missing
 *
 * @example
 * ```ts
 * import { runsOn } from "@perfdata/symbols/resolver";
 * import { assertEquals } from "@std/assert";
 *
 * const bash = { machine: 62, littleEndian: true }; // EM_X86_64
 * assertEquals(runsOn("x86_64", bash), true);
 * assertEquals(runsOn("ppc64le", bash), false);
 * assertEquals(runsOn(undefined, bash), true);
 * ```
 */
export function runsOn(arch: string | undefined, elf: ElfMachine): boolean {
  if (arch === undefined) return true;
  const found = MACHINES.find(([name]) => name.test(arch));
  if (found === undefined) return true;
  const [, machines, littleEndian] = found;
  return machines.includes(elf.machine) &&
    (littleEndian === undefined || littleEndian === elf.littleEndian);
}

/**
 * The ELF machine type of an architecture's native programs.
 *
 * @param arch name of the architecture (`uname -m`)
 * @returns `undefined` if the name is unknown or missing
 *
 * @example
 * ```ts
 * import { machineOf } from "@perfdata/symbols/resolver";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals([machineOf("x86_64"), machineOf("aarch64"), machineOf("vax")], [62, 183, undefined]);
 * ```
 */
export function machineOf(arch: string | undefined): number | undefined {
  return arch === undefined ? undefined : MACHINES.find(([name]) => name.test(arch))?.[1][0];
}
