/** Decodes how x86 instructions use memory and registers, with iced-x86. */
import {
  armDataDecoder,
  type DataDecoder,
  type DataInsn,
  type InsnEffect,
  type InsnFlow,
  type MemoryOperand,
} from "@perfdata/report";

/** DWARF register numbers by x86 register numbers (System V psABI for AMD64, figure 3.36). */
const DWARF_64 = [0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15];
/** Caller-saved registers: rax, rdx, rcx, rsi, rdi, r8 to r11. */
const LOST_64 = [0, 1, 2, 4, 5, 8, 9, 10, 11];
/** Caller-saved registers of 32-bit code: eax, ecx, edx. Their numbers are the same. */
const LOST_32 = [0, 1, 2];

/**
 * Loads the data decoder for an architecture.
 *
 * @param arch The recording's architecture; `undefined` means x86-64.
 * @returns `undefined` if the architecture is not supported.
 */
export async function dataDecoder(arch: string | undefined): Promise<DataDecoder | undefined> {
  if (arch === undefined || arch === "x86_64") return await x86(64);
  if (/^i[3-6]86$|^x86$/.test(arch)) return await x86(32);
  if (/^(?:aarch64|arm64)$/.test(arch)) return await armDataDecoder();
  return undefined;
}

async function x86(mode: 64 | 32): Promise<DataDecoder> {
  return new X86Decoder(await import("iced-x86"), mode);
}

type Iced = typeof import("iced-x86");
type Instruction = import("iced-x86").Instruction;

/** Maps iced-x86's results to the types of {@link DataDecoder}. */
class X86Decoder implements DataDecoder {
  readonly returned = 0;
  readonly stackPointer: number;
  readonly lostByCalls: readonly number[];
  readonly #iced: Iced;
  readonly #mode: 64 | 32;
  readonly #registers: X86Registers;
  readonly #factory: import("iced-x86").InstructionInfoFactory;
  /** The current instruction, reused by each decoding. */
  readonly #insn: Instruction;
  readonly #flows: ReadonlyMap<number, InsnFlow>;
  readonly #compares: ReadonlySet<number>;
  readonly #stacks: ReadonlySet<number>;
  readonly #strings: ReadonlySet<number>;
  readonly #writes: ReadonlySet<number>;

  constructor(iced: Iced, mode: 64 | 32) {
    const { FlowControl, Mnemonic, OpAccess, OpKind } = iced;
    this.#iced = iced;
    this.#mode = mode;
    this.#registers = new X86Registers(iced, mode);
    this.stackPointer = mode === 64 ? 7 : 4;
    this.lostByCalls = mode === 64 ? LOST_64 : LOST_32;
    this.#factory = new iced.InstructionInfoFactory();
    this.#insn = new iced.Instruction();
    this.#flows = new Map<number, InsnFlow>([
      [FlowControl.UnconditionalBranch, "jump"],
      [FlowControl.IndirectBranch, "end"],
      [FlowControl.ConditionalBranch, "branch"],
      [FlowControl.Return, "end"],
      [FlowControl.Call, "call"],
      [FlowControl.IndirectCall, "call"],
      [FlowControl.Exception, "end"],
    ]);
    this.#compares = new Set<number>([
      ...[Mnemonic.Cmp, Mnemonic.Test, Mnemonic.Add, Mnemonic.Sub],
      ...[Mnemonic.And, Mnemonic.Inc, Mnemonic.Dec],
    ]);
    this.#stacks = new Set<number>([Mnemonic.Push, Mnemonic.Pop, Mnemonic.Ret, Mnemonic.Leave]);
    this.#strings = new Set<number>([
      ...[OpKind.MemoryESDI, OpKind.MemoryESEDI, OpKind.MemoryESRDI],
      ...[OpKind.MemorySegSI, OpKind.MemorySegESI, OpKind.MemorySegRSI],
    ]);
    this.#writes = new Set<number>([
      ...[OpAccess.Write, OpAccess.CondWrite, OpAccess.ReadWrite, OpAccess.ReadCondWrite],
    ]);
  }

  insns(bytes: Uint8Array, address: bigint): DataInsn[] {
    const decoder = new this.#iced.Decoder(this.#mode, bytes, 0);
    decoder.ip = address;
    const found: DataInsn[] = [];
    while (decoder.canDecode) {
      const at = decoder.position;
      decoder.decodeOut(this.#insn);
      found.push(this.#described(at, decoder.position - at, address));
    }
    decoder.free();
    return found;
  }

  /** Describes the current instruction. */
  #described(at: number, length: number, address: bigint): DataInsn {
    const { Mnemonic } = this.#iced;
    const insn = this.#insn;
    const flow = this.#flows.get(insn.flowControl) ?? "next";
    const { mnemonic } = insn;
    const hasTarget = flow === "jump" || flow === "branch" || insn.isCallNear;
    const target = hasTarget
      ? Number(BigInt.asIntN(64, insn.nearBranchTarget - address))
      : undefined;
    const memory = mnemonic === Mnemonic.Nop ? undefined : this.#memory();
    return {
      at,
      length,
      flow,
      target,
      memory,
      // A call through memory reads the pointer to its target, such as a table of functions, so it
      // is not a stack operation.
      isStackOperation: this.#stacks.has(mnemonic) || (mnemonic === Mnemonic.Call && !memory),
      isCompare: this.#compares.has(mnemonic),
      isConditional: flow === "branch",
      effect: this.#effect(),
      written: this.#written(),
    };
  }

  /** The memory operand; the first one of a string instruction. */
  #memory(): MemoryOperand | undefined {
    const { Mnemonic, OpKind, Register } = this.#iced;
    const insn = this.#insn;
    const isAccessed = insn.mnemonic !== Mnemonic.Lea;
    for (let k = 0; k < insn.opCount; k++) {
      const kind = insn.opKind(k);
      if (this.#strings.has(kind)) {
        const isTo = kind === OpKind.MemoryESDI || kind === OpKind.MemoryESEDI ||
          kind === OpKind.MemoryESRDI;
        const base = this.#registers.numberOf(isTo ? Register.RDI : Register.RSI);
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
        base: isRelative || base === Register.None ? -1 : this.#registers.numberOf(base),
        isIndexed: index !== Register.None,
        offset: Number(BigInt.asIntN(64, offset)),
        isAddress: isRelative || (base === Register.None && index === Register.None),
        isAccessed,
        isSegment,
      };
    }
    return undefined;
  }

  #effect(): InsnEffect | undefined {
    const { Mnemonic, OpKind } = this.#iced;
    const insn = this.#insn;
    if (insn.opCount < 2 || insn.op0Kind !== OpKind.Register) return undefined;
    const to = this.#registers.addressNumberOf(insn.op0Register);
    if (to < 0) return undefined;
    const from = insn.op1Kind === OpKind.Register
      ? this.#registers.addressNumberOf(insn.op1Register)
      : -1;
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
  }

  /** The general-purpose registers that the instruction writes. */
  #written(): number[] {
    const info = this.#factory.info(this.#insn);
    const found = new Set<number>();
    for (const used of info.usedRegisters()) {
      if (this.#writes.has(used.access)) {
        const number = this.#registers.numberOf(used.register);
        if (number >= 0) found.add(number);
      }
      used.free();
    }
    info.free();
    return [...found];
  }
}

/** Maps iced-x86's registers to DWARF register numbers. */
class X86Registers {
  readonly #iced: Iced;
  readonly #mode: 64 | 32;
  readonly #numbers = new Map<number, number>();

  constructor(iced: Iced, mode: 64 | 32) {
    this.#iced = iced;
    this.#mode = mode;
  }

  /** The DWARF number of a general-purpose register; -1 for other registers. */
  numberOf(register: number): number {
    const { RegisterExt } = this.#iced;
    let number = this.#numbers.get(register);
    if (number === undefined) {
      number = -1;
      if (RegisterExt.isGPR(register)) {
        const own = RegisterExt.number(RegisterExt.fullRegister(register));
        number = this.#mode === 64 ? DWARF_64[own] ?? -1 : own;
      }
      this.#numbers.set(register, number);
    }
    return number;
  }

  /** The DWARF number of a register that can hold an address; -1 for other registers. */
  addressNumberOf(register: number): number {
    const { RegisterExt } = this.#iced;
    return RegisterExt.isGPR(register) && 8 * RegisterExt.size(register) === this.#mode
      ? this.numberOf(register)
      : -1;
  }
}
