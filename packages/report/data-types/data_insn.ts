/** Where execution continues after an instruction. */
export type InsnFlow = "next" | "branch" | "jump" | "call" | "end";

/** An operand in memory. Registers have their numbers in DWARF. */
export interface MemoryOperand {
  /** The register that it is counted from; -1 for none. */
  readonly base: number;
  /** Whether a register is added, times a scale: what is an element of an array. */
  readonly isIndexed: boolean;
  /** What is added to the base; without one, or relative to the instruction pointer, the address. */
  readonly offset: number;
  /** Whether the offset is the address, as of what is relative to the instruction pointer. */
  readonly isAddress: boolean;
  /** Whether it is read or written, and not just its address taken (`lea`). */
  readonly isAccessed: boolean;
  /** Whether it is of a thread or a CPU (`%fs`, `%gs`). */
  readonly isSegment: boolean;
}

/** Effect of an instruction on the address that a register may hold. */
export type InsnEffect =
  /** It copies a register. */
  | { readonly kind: "move"; readonly to: number; readonly from: number }
  /** It copies it on a condition. */
  | { readonly kind: "choose"; readonly to: number; readonly from: number }
  /** It loads all of a register from its operand in memory. */
  | { readonly kind: "load"; readonly to: number }
  /** It computes the address of its operand. */
  | { readonly kind: "address"; readonly to: number }
  /** It adds a number. */
  | { readonly kind: "add"; readonly to: number; readonly value: number }
  /** It adds a register. */
  | { readonly kind: "sum"; readonly to: number; readonly from: number };

/** An instruction, as far as it matters where data is. */
export interface DataInsn {
  /** Distance from the first one. */
  readonly at: number;
  /** Bytes. */
  readonly length: number;
  /** What follows it. */
  readonly flow: InsnFlow;
  /** Where it may go, as a distance from the first one. */
  readonly target: number | undefined;
  /** Its operand in memory. */
  readonly memory: MemoryOperand | undefined;
  /** Whether it pushes, pops, calls or returns. */
  readonly isStackOperation: boolean;
  /** Whether it is one that processors execute together with a jump after it. */
  readonly isCompare: boolean;
  /** Whether it is a jump on a condition. */
  readonly isConditional: boolean;
  /** What it does with registers, where that is known. */
  readonly effect: InsnEffect | undefined;
  /** Registers that hold something else after it. */
  readonly written: readonly number[];
}

/** Decodes code of one architecture. */
export interface DataDecoder {
  /** The instructions; a piece that is none stands for itself. */
  insns(bytes: Uint8Array, address: bigint): DataInsn[];
  /** The register with what a function returns. */
  readonly returned: number;
  /** The stack pointer. */
  readonly stackPointer: number;
  /** Registers that functions need not keep. */
  readonly lostByCalls: readonly number[];
}
