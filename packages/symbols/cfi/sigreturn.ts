import { EM } from "../elf/elf_constants.ts";
import { RULE } from "./cfi_constants.ts";
import { ExpressionTable, FrameRules } from "./frame_rules.ts";
import type { RowTable } from "./row_table.ts";

/** `mov x8, #139` (`__NR_rt_sigreturn`) and `svc #0`. */
const MOV_X8 = 0xd2801168;
const SVC = 0xd4000001;

/**
 * Position of the saved registers from the stack pointer in the trampoline: `struct rt_sigframe` of
 * arch/arm64/kernel/signal.c has a `siginfo` of 128 bytes, then a `ucontext` with a `sigcontext` at
 * 176 (arch/arm64/include/uapi/asm/ucontext.h, sigcontext.h).
 */
const X0 = 128 + 176 + 8;
const SP = X0 + 31 * 8;
const PC = SP + 8;

/**
 * The code to which signal handlers of AArch64 return: `mov x8, #139; svc #0`, in the vdso or in a C
 * library. Its call frame information is missing, or has the interrupted function's return address
 * instead of its pc, so debuggers know it by its instructions, too.
 */
export class Sigreturn {
  readonly #rows: RowTable;
  readonly #expressions = new ExpressionTable(new Uint8Array(0), true);
  #row = -1;

  private constructor(rows: RowTable) {
    this.#rows = rows;
  }

  /** Prepares for a machine; `undefined` for others than AArch64. */
  static of(rows: RowTable): Sigreturn | undefined {
    return rows.machine.machine === EM.AARCH64 ? new Sigreturn(rows) : undefined;
  }

  /**
   * Whether an address is in the code, or the byte before it, as return addresses minus one are.
   *
   * @param memory Reads constant memory; `NaN` if it is unknown.
   */
  isAt(address: number, memory: (address: number, size: number) => number): boolean {
    for (const start of [address + 1, address, address - 4]) {
      if (start % 4 === 0 && memory(start, 4) === MOV_X8) return memory(start + 4, 4) === SVC;
    }
    return false;
  }

  /** The row of the code. */
  row(): number {
    if (this.#row < 0) {
      this.#row = this.#rows.count;
      this.#rows.add(0, this.rules().rules, this.#expressions, this.#row);
    }
    return this.#row;
  }

  /** The rules of all registers: those of the interrupted code. */
  rules(): { readonly rules: FrameRules; readonly expressions: ExpressionTable } {
    const { machine } = this.#rows;
    const rules = new FrameRules(machine.registers);
    rules.signal = true;
    rules.cfaRegister = machine.sp;
    rules.returnAddress = machine.pc;
    const save = (register: number, at: number): void => {
      rules.rule[register] = RULE.OFFSET;
      rules.value[register] = at;
    };
    for (let register = 0; register < 31; register++) save(register, X0 + 8 * register);
    save(machine.sp, SP);
    save(machine.pc, PC);
    return { rules, expressions: this.#expressions };
  }
}
