import { FlowError, InsnKind } from "@perfdata/intel-pt";
import { IP_FLAG } from "./pt_sample_rows.ts";

const { BRANCH, CALL, RETURN, CONDITIONAL, SYSCALLRET, INTERRUPT, VMENTRY, VMEXIT } = IP_FLAG;

/** The flags of a branch by its {@linkcode InsnKind} (`intel_pt_insn_type`). */
export const KIND_FLAGS: readonly number[] = [
  [InsnKind.JCC, BRANCH | CONDITIONAL],
  [InsnKind.JMP, BRANCH],
  [InsnKind.JMP_INDIRECT, BRANCH],
  [InsnKind.CALL, BRANCH | CALL],
  [InsnKind.CALL_INDIRECT, BRANCH | CALL],
  [InsnKind.RET, BRANCH | RETURN],
  [InsnKind.SYSCALL, BRANCH | CALL | SYSCALLRET],
  [InsnKind.SYSRET, BRANCH | RETURN | SYSCALLRET],
  [InsnKind.INT, BRANCH | CALL | INTERRUPT],
  [InsnKind.IRET, BRANCH | RETURN | INTERRUPT],
  [InsnKind.FAR_CALL, BRANCH | CALL],
  [InsnKind.FAR_JMP, BRANCH],
  [InsnKind.FAR_RET, BRANCH | RETURN],
  [InsnKind.VM_ENTRY, BRANCH | CALL | VMENTRY],
  [InsnKind.VM_CALL, BRANCH | CALL | VMEXIT],
].reduce((flags, [kind = 0, bits = 0]) => {
  flags[kind] = bits;
  return flags;
}, new Array<number>(18).fill(0));

/** perf's code of each {@linkcode FlowError} (`INTEL_PT_ERR_*`). */
export const ERROR_CODES: readonly number[] = [
  [FlowError.NO_CODE, 5],
  [FlowError.BAD_CODE, 5],
  [FlowError.MISMATCH, 6],
  [FlowError.NO_CALL, 6],
  [FlowError.LOOP, 10],
  [FlowError.OVERFLOW, 7],
  [FlowError.BAD_PACKET, 3],
  [FlowError.GAP, 8],
  [FlowError.TRUNCATED, 3],
  [FlowError.UNEXPECTED, 6],
].reduce((codes, [error = 0, code = 9]) => {
  codes[error] = code;
  return codes;
}, new Array<number>(10).fill(9));
