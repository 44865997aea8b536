/** What instructions of x86 do with memory and registers, by iced-x86. */
import type {
  DataDecoder,
  DataInsn,
  InsnEffect,
  InsnFlow,
  MemoryOperand,
} from "@perfdata/report/data-insn";

/** Numbers of registers in DWARF by those in instructions (System V psABI for AMD64, figure 3.36). */
const DWARF_64 = [0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15];
/** Those that calls need not keep: rax, rdx, rcx, rsi, rdi, r8 to r11. */
const LOST_64 = [0, 1, 2, 4, 5, 8, 9, 10, 11];
/** In 32-bit code the numbers are the same; eax, ecx, edx. */
const LOST_32 = [0, 1, 2];

/**
 * Loads what decodes instructions of a machine.
 *
 * @param arch As the recording calls it; x86-64 where it does not.
 * @returns `undefined` if there is nothing for it.
 */
export async function dataDecoder(arch: string | undefined): Promise<DataDecoder | undefined> {
  if (arch === undefined || arch === "x86_64") return await x86(64);
  if (/^i[3-6]86$|^x86$/.test(arch)) return await x86(32);
  return undefined;
}

async function x86(mode: 64 | 32): Promise<DataDecoder> {
  const iced = await import("iced-x86");
  const { Decoder, FlowControl, Instruction, InstructionInfoFactory } = iced;
  const { Mnemonic, OpAccess, OpKind, Register, RegisterExt } = iced;
  const factory = new InstructionInfoFactory();
  const insn = new Instruction();
  const numbers = new Map<number, number>();
  /** The number of a general register in DWARF, -1 of any other. */
  const numberOf = (register: number): number => {
    let number = numbers.get(register);
    if (number === undefined) {
      number = -1;
      if (RegisterExt.isGPR(register)) {
        const own = RegisterExt.number(RegisterExt.fullRegister(register));
        number = mode === 64 ? DWARF_64[own] ?? -1 : own;
      }
      numbers.set(register, number);
    }
    return number;
  };
  /** The number of a register that can hold an address. */
  const whole = (register: number): number =>
    RegisterExt.isGPR(register) && 8 * RegisterExt.size(register) === mode
      ? numberOf(register)
      : -1;
  const flows = new Map<number, InsnFlow>([
    [FlowControl.UnconditionalBranch, "jump"],
    [FlowControl.IndirectBranch, "end"],
    [FlowControl.ConditionalBranch, "branch"],
    [FlowControl.Return, "end"],
    [FlowControl.Call, "call"],
    [FlowControl.IndirectCall, "call"],
    [FlowControl.Exception, "end"],
  ]);
  const compares = new Set<number>([
    ...[Mnemonic.Cmp, Mnemonic.Test, Mnemonic.Add, Mnemonic.Sub],
    ...[Mnemonic.And, Mnemonic.Inc, Mnemonic.Dec],
  ]);
  const stacks = new Set<number>([Mnemonic.Push, Mnemonic.Pop, Mnemonic.Ret, Mnemonic.Leave]);
  const strings = new Set<number>([
    ...[OpKind.MemoryESDI, OpKind.MemoryESEDI, OpKind.MemoryESRDI],
    ...[OpKind.MemorySegSI, OpKind.MemorySegESI, OpKind.MemorySegRSI],
  ]);

  /** The operand in memory: of those of a string instruction, the first. */
  const memoryOf = (): MemoryOperand | undefined => {
    const isAccessed = insn.mnemonic !== Mnemonic.Lea;
    for (let k = 0; k < insn.opCount; k++) {
      const kind = insn.opKind(k);
      if (strings.has(kind)) {
        const isTo = kind === OpKind.MemoryESDI || kind === OpKind.MemoryESEDI ||
          kind === OpKind.MemoryESRDI;
        const base = numberOf(isTo ? Register.RDI : Register.RSI);
        return {
          base,
          isIndexed: false,
          offset: 0,
          isAddress: false,
          isAccessed,
          isSegment: false,
        };
      }
      if (kind !== OpKind.Memory) continue;
      const isRelative = insn.isIpRelMemoryOperand;
      const { memoryBase: base, memoryIndex: index, memorySegment: segment } = insn;
      const offset = isRelative ? insn.ipRelMemoryAddress : insn.memoryDisplacement;
      const isSegment = segment === Register.FS || segment === Register.GS;
      return {
        base: isRelative || base === Register.None ? -1 : numberOf(base),
        isIndexed: index !== Register.None,
        offset: Number(BigInt.asIntN(64, offset)),
        isAddress: isRelative || (base === Register.None && index === Register.None),
        isAccessed,
        isSegment,
      };
    }
    return undefined;
  };

  const effectOf = (): InsnEffect | undefined => {
    if (insn.opCount < 2 || insn.op0Kind !== OpKind.Register) return undefined;
    const to = whole(insn.op0Register);
    if (to < 0) return undefined;
    const from = insn.op1Kind === OpKind.Register ? whole(insn.op1Register) : -1;
    const { mnemonic } = insn;
    switch (mnemonic) {
      case Mnemonic.Mov:
        if (insn.op1Kind === OpKind.Memory) return { kind: "load", to };
        return from < 0 ? undefined : { kind: "move", to, from };
      case Mnemonic.Lea:
        return { kind: "address", to };
      case Mnemonic.Add:
      case Mnemonic.Sub: {
        if (from >= 0) return mnemonic === Mnemonic.Add ? { kind: "sum", to, from } : undefined;
        if (insn.op1Kind === OpKind.Memory) return undefined;
        const value = Number(BigInt.asIntN(64, insn.immediate(1)));
        return { kind: "add", to, value: mnemonic === Mnemonic.Add ? value : 0 - value };
      }
    }
    return /^Cmov/.test(Mnemonic[mnemonic] ?? "") && from >= 0
      ? { kind: "choose", to, from }
      : undefined;
  };

  const writes = new Set<number>([
    ...[OpAccess.Write, OpAccess.CondWrite, OpAccess.ReadWrite, OpAccess.ReadCondWrite],
  ]);
  const writtenOf = (): number[] => {
    const info = factory.info(insn);
    const found = new Set<number>();
    for (const used of info.usedRegisters()) {
      if (writes.has(used.access)) {
        const number = numberOf(used.register);
        if (number >= 0) found.add(number);
      }
      used.free();
    }
    info.free();
    return [...found];
  };

  return {
    returned: 0,
    stackPointer: mode === 64 ? 7 : 4,
    lostByCalls: mode === 64 ? LOST_64 : LOST_32,
    insns(bytes, address) {
      const decoder = new Decoder(mode, bytes, 0);
      decoder.ip = address;
      const found: DataInsn[] = [];
      while (decoder.canDecode) {
        const at = decoder.position;
        decoder.decodeOut(insn);
        const flow = flows.get(insn.flowControl) ?? "next";
        const { mnemonic } = insn;
        const hasTarget = flow === "jump" || flow === "branch" || insn.isCallNear;
        const target = hasTarget
          ? Number(BigInt.asIntN(64, insn.nearBranchTarget - address))
          : undefined;
        const memory = mnemonic === Mnemonic.Nop ? undefined : memoryOf();
        found.push({
          at,
          length: decoder.position - at,
          flow,
          target,
          memory,

          // A call through memory is about where it goes: a table of functions, say.
          isStackOperation: stacks.has(mnemonic) || (mnemonic === Mnemonic.Call && !memory),
          isCompare: compares.has(mnemonic),
          isConditional: flow === "branch",
          effect: effectOf(),
          written: writtenOf(),
        });
      }
      decoder.free();
      return found;
    },
  };
}
