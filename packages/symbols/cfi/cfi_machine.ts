import { EM } from "../elf/elf_constants.ts";

/** A processor's registers, by DWARF number, for call frame information. */
export interface CfiMachine {
  /** `e_machine`. */
  readonly machine: number;
  /** Size of an address in bytes. */
  readonly addressSize: 4 | 8;
  /** Number of followed registers, from 0. Floating-point registers are not followed. */
  readonly registers: number;
  /** The stack pointer. */
  readonly sp: number;
  /** The conventional frame pointer. */
  readonly fp: number;
  /** The column of the return address. */
  readonly returnAddress: number;
  /** The program counter. */
  readonly pc: number;
  /** The register that receives the return address of a call; −1 if a call pushes it. */
  readonly link: number;
  /** Names of the followed registers, as binutils prints them. */
  readonly names: readonly string[];
}

/** Pseudo register that tells whether the return address is signed (aarch64). */
export const RA_SIGN_STATE = 34;

const numbered = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => prefix + i);

/** System V psABI for AMD64, figure 3.36. */
const X86_64: CfiMachine = {
  machine: EM.X86_64,
  addressSize: 8,
  registers: 17,
  sp: 7,
  fp: 6,
  returnAddress: 16,
  pc: 16,
  link: -1,
  names: [
    ...["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"],
    ...["r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip"],
  ],
};

/** System V psABI for i386, table 2.14. */
const I386: CfiMachine = {
  machine: EM.I386,
  addressSize: 4,
  registers: 9,
  sp: 4,
  fp: 5,
  returnAddress: 8,
  pc: 8,
  link: -1,
  names: ["eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "eip"],
};

/** DWARF for the Arm 64-bit architecture (aadwarf64), 4.1. */
const AARCH64: CfiMachine = {
  machine: EM.AARCH64,
  addressSize: 8,
  registers: RA_SIGN_STATE + 1,
  sp: 31,
  fp: 29,
  returnAddress: 30,
  pc: 32,
  link: 30,
  names: [...numbered("x", 31), "sp", "pc", "ELR_mode", "RA_SIGN_STATE"],
};

/** DWARF for the Arm architecture (aadwarf32), 4.1. */
const ARM: CfiMachine = {
  machine: EM.ARM,
  addressSize: 4,
  registers: 16,
  sp: 13,
  fp: 11,
  returnAddress: 14,
  pc: 15,
  link: 14,
  names: numbered("r", 16),
};

const MACHINES = new Map([X86_64, I386, AARCH64, ARM].map((machine) => [machine.machine, machine]));

/**
 * The registers of a machine; `undefined` if stacks of this machine are not supported.
 *
 * @param machine `e_machine` of the ELF header
 *
 * @example
 * ```ts
 * import { cfiMachine } from "@perfdata/symbols/dwarf";
 * import { EM } from "@perfdata/symbols";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(cfiMachine(EM.X86_64)?.names[7], "rsp");
 * ```
 */
export function cfiMachine(machine: number): CfiMachine | undefined {
  return MACHINES.get(machine);
}
