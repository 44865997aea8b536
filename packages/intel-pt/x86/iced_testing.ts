// For tests only: iced-x86, the disassembler with which ours is compared.

import type * as Iced from "iced-x86";
import { InsnKind } from "./insn_kind.ts";

/** Loads iced-x86; `undefined` if the package is not available. */
export async function loadIced(): Promise<typeof Iced | undefined> {
  try {
    return await import("iced-x86");
  } catch {
    return undefined;
  }
}

/** Converts iced's description of an instruction to a kind. */
export function icedKind(iced: typeof Iced, insn: Iced.Instruction): InsnKind {
  const { FlowControl, Mnemonic } = iced;
  switch (insn.mnemonic) {
    case Mnemonic.Syscall:
    case Mnemonic.Sysenter:
      return InsnKind.SYSCALL;
    case Mnemonic.Sysret:
    case Mnemonic.Sysretq:
    case Mnemonic.Sysexit:
    case Mnemonic.Sysexitq:
    case Mnemonic.Erets:
    case Mnemonic.Eretu:
      return InsnKind.SYSRET;
    case Mnemonic.Int:
    case Mnemonic.Int3:
    case Mnemonic.Int1:
    case Mnemonic.Into:
      return InsnKind.INT;
    case Mnemonic.Iret:
    case Mnemonic.Iretd:
    case Mnemonic.Iretq:
    case Mnemonic.Uiret:
    case Mnemonic.Rsm:
      return InsnKind.IRET;
    case Mnemonic.Retf:
      return InsnKind.FAR_RET;
    case Mnemonic.Vmlaunch:
    case Mnemonic.Vmresume:
      return InsnKind.VM_ENTRY;
    case Mnemonic.Vmcall:
      return InsnKind.VM_CALL;
    case Mnemonic.Skinit:
      // An AMD instruction, which iced classifies as a return.
      return InsnKind.OTHER;
    case Mnemonic.Ptwrite:
      return InsnKind.PTWRITE;
    case Mnemonic.Mov:
      if (insn.op0Kind === iced.OpKind.Register && insn.op0Register === iced.Register.CR3) {
        return InsnKind.MOV_CR3;
      }
      return InsnKind.OTHER;
  }
  const far = insn.op0Kind === iced.OpKind.FarBranch16 ||
    insn.op0Kind === iced.OpKind.FarBranch32 ||
    insn.isJmpFar || insn.isJmpFarIndirect || insn.isCallFar || insn.isCallFarIndirect;
  switch (insn.flowControl) {
    case FlowControl.ConditionalBranch:
      return InsnKind.JCC;
    case FlowControl.UnconditionalBranch:
      return far ? InsnKind.FAR_JMP : InsnKind.JMP;
    case FlowControl.IndirectBranch:
      return far ? InsnKind.FAR_JMP : InsnKind.JMP_INDIRECT;
    case FlowControl.Call:
      return far ? InsnKind.FAR_CALL : insn.isCallNear ? InsnKind.CALL : InsnKind.OTHER;
    case FlowControl.IndirectCall:
      return far ? InsnKind.FAR_CALL : InsnKind.CALL_INDIRECT;
    case FlowControl.Return:
      return InsnKind.RET;
    default:
      return InsnKind.OTHER;
  }
}
