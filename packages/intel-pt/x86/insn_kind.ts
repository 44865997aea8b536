/**
 * Kind of an x86 instruction by its effect on control flow; result of {@linkcode InsnDecoder.decode}.
 *
 * Intel PT treats these kinds differently (Intel SDM, Volume 3, section "Change of Flow
 * Instruction (COFI) Tracing"). Every instruction that continues with the next one is OTHER.
 *
 * @example
 * ```ts
 * import { InsnDecoder, InsnKind } from "@perfdata/intel-pt";
 * import { assertEquals } from "@std/assert";
 *
 * const decoder = new InsnDecoder();
 * decoder.decode(Uint8Array.of(0x0f, 0x05), 0, 2, 64);
 * assertEquals(decoder.kind, InsnKind.SYSCALL);
 * ```
 */
export const InsnKind = {
  /** Continues at the next instruction. */
  OTHER: 0,
  /** Conditional branch with a relative target: Jcc, JCXZ, LOOP. */
  JCC: 1,
  /** JMP with a relative target (or JMPABS). */
  JMP: 2,
  /** Near JMP through a register or memory. */
  JMP_INDIRECT: 3,
  /** Near CALL with a relative target. */
  CALL: 4,
  /** Near CALL through a register or memory. */
  CALL_INDIRECT: 5,
  /** Near RET. */
  RET: 6,
  /** SYSCALL, SYSENTER. */
  SYSCALL: 7,
  /** SYSRET, SYSEXIT, ERETS, ERETU. */
  SYSRET: 8,
  /** INT n, INT3, INT1, INTO. */
  INT: 9,
  /** IRET, UIRET, RSM. */
  IRET: 10,
  /** Far CALL. */
  FAR_CALL: 11,
  /** Far JMP. */
  FAR_JMP: 12,
  /** Far RET. */
  FAR_RET: 13,
  /** VMLAUNCH, VMRESUME. */
  VM_ENTRY: 14,
  /** VMCALL. */
  VM_CALL: 15,
  /** PTWRITE: causes a PTW packet. */
  PTWRITE: 16,
  /** MOV to CR3: causes a PIP packet. */
  MOV_CR3: 17,
} as const;

/** One of the numbers of {@linkcode InsnKind}. */
export type InsnKind = typeof InsnKind[keyof typeof InsnKind];
