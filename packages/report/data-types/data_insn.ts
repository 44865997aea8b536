/** Control flow after an instruction. */
export type InsnFlow = "next" | "branch" | "jump" | "call" | "end";

/** A memory operand. Registers have DWARF numbers. */
export interface MemoryOperand {
  /** Base register; -1 if there is none. */
  readonly base: number;
  /** Whether a scaled register is added, as for an element of an array. */
  readonly isIndexed: boolean;
  /** Displacement; without a base, or relative to the instruction pointer, the address. */
  readonly offset: number;
  /** Whether the offset is the address, as with operands relative to the instruction pointer. */
  readonly isAddress: boolean;
  /** Whether memory is read or written, as opposed to `lea`. */
  readonly isAccessed: boolean;
  /** Whether the operand uses a segment of a thread or CPU (`%fs`, `%gs`). */
  readonly isSegment: boolean;
}

/**
 * Effect of an instruction on registers with addresses. `of` is the first operand; by default, it is
 * `to`.
 */
export type InsnEffect =
  /** Copies a register. */
  | { readonly kind: "move"; readonly to: number; readonly from: number }
  /** Copies a register on a condition. */
  | {
    readonly kind: "choose";
    readonly to: number;
    readonly of?: number;
    readonly from: number;
  }
  /** Loads a whole register from the memory operand. */
  | { readonly kind: "load"; readonly to: number }
  /** Computes the address of the memory operand. */
  | { readonly kind: "address"; readonly to: number }
  /** Adds a number. */
  | { readonly kind: "add"; readonly to: number; readonly of?: number; readonly value: number }
  /** Adds a register. */
  | { readonly kind: "sum"; readonly to: number; readonly of?: number; readonly from: number };

/** The properties of an instruction that matter for data types. */
export interface DataInsn {
  /** Distance from the first instruction. */
  readonly at: number;
  /** Length in bytes. */
  readonly length: number;
  /** Control flow after it. */
  readonly flow: InsnFlow;
  /** Target of a jump, as distance from the first instruction. */
  readonly target: number | undefined;
  /** Memory operand. */
  readonly memory: MemoryOperand | undefined;
  /** Whether it pushes, pops, calls or returns. */
  readonly isStackOperation: boolean;
  /** Whether processors fuse it with a following jump. */
  readonly isCompare: boolean;
  /** Whether it is a conditional jump. */
  readonly isConditional: boolean;
  /** Effect on registers, if known. */
  readonly effect: InsnEffect | undefined;
  /** Registers that it overwrites. */
  readonly written: readonly number[];
}

/** Decodes code of one architecture. */
export interface DataDecoder {
  /** Decodes instructions. Invalid bytes are an item of their own. */
  insns(bytes: Uint8Array, address: bigint): DataInsn[];
  /** Register of a function's return value. */
  readonly returned: number;
  /** The stack pointer. */
  readonly stackPointer: number;
  /** Registers that a called function need not preserve. */
  readonly lostByCalls: readonly number[];
}
