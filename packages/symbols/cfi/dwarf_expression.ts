import { Cursor } from "../dwarf/bytes.ts";
import { DW_OP } from "../dwarf/dwarf_constants.ts";
import { DwarfError } from "../dwarf/dwarf_error.ts";
import type { ExpressionTable } from "./frame_rules.ts";

/** Registers and memory of one frame, the input of expressions. */
export interface FrameState {
  /** The value of a register; `NaN` if it is unknown. */
  register(number: number): number;
  /** The `size` bytes of memory at an address as an unsigned number; `NaN` if they are unknown. */
  memory(address: number, size: number): number;
}

/** Limit of operations, which ends a loop. */
const MAX_STEPS = 2000;
/** Limit of the stack's depth. Compilers need far less. */
const MAX_DEPTH = 256;

/**
 * Evaluates a DWARF expression of call frame information.
 *
 * Values are signed 64-bit integers (unsigned on 32-bit machines). They are rounded above 2⁵³,
 * where no address is.
 *
 * @param expressions table with the expression
 * @param number Index of the expression in the table.
 * @param initial initial stack content (the CFA); `undefined` for an empty stack
 * @param addressSize 4 or 8
 * @param state registers and memory of the frame
 * @returns the value on top of the stack; `NaN` if a needed register or memory is unknown
 * @throws {DwarfError} if the expression is malformed, or does not end
 */
export function evaluateExpression(
  expressions: ExpressionTable,
  number: number,
  initial: number | undefined,
  addressSize: 4 | 8,
  state: FrameState,
): number {
  const start = expressions.start[number] as number;
  const { bytes, littleEndian } = expressions;
  const c = new Cursor(bytes, "expression", 0, littleEndian, start);
  c.end = expressions.end[number] as number;
  return new Evaluation(c, start, addressSize, state).run(initial);
}

class Evaluation {
  readonly #c: Cursor;
  readonly #start: number;
  readonly #size: 4 | 8;
  readonly #state: FrameState;
  readonly #stack: number[] = [];

  constructor(c: Cursor, start: number, size: 4 | 8, state: FrameState) {
    this.#c = c;
    this.#start = start;
    this.#size = size;
    this.#state = state;
  }

  run(initial: number | undefined): number {
    if (initial !== undefined) this.#push(initial);
    const c = this.#c;
    for (let steps = 0; c.pos < c.end; steps++) {
      if (steps === MAX_STEPS) throw c.error(`more than ${MAX_STEPS} operations`);
      this.#step(c.u8());
    }
    return this.#pop();
  }

  #push(value: number): void {
    if (this.#stack.length === MAX_DEPTH) throw this.#c.error("expression stack too deep");
    this.#stack.push(this.#wrap(value));
  }

  #pop(): number {
    const value = this.#stack.pop();
    if (value === undefined) throw this.#c.error("expression stack empty");
    return value;
  }

  #peek(depth: number): number {
    const value = this.#stack[this.#stack.length - 1 - depth];
    if (value === undefined) throw this.#c.error(`no entry ${depth} on the expression stack`);
    return value;
  }

  #wrap(value: number): number {
    if (this.#size === 4) return Number.isNaN(value) ? value : value >>> 0;
    return value;
  }

  /** Converts an unsigned 64-bit number to the signed one that addresses use. */
  #signed(value: number, bytes: number): number {
    return this.#size === 8 && bytes === 8 && value >= 2 ** 63 ? value - 2 ** 64 : value;
  }

  #step(opcode: number): void {
    const c = this.#c;
    if (opcode >= DW_OP.lit0 && opcode <= DW_OP.lit31) return this.#push(opcode - DW_OP.lit0);
    if (opcode >= DW_OP.breg0 && opcode <= DW_OP.breg31) {
      return this.#push(this.#state.register(opcode - DW_OP.breg0) + c.sleb());
    }
    if (opcode >= DW_OP.abs && opcode <= DW_OP.ne) return this.#arithmetic(opcode);
    switch (opcode) {
      case DW_OP.addr:
        return this.#push(c.address(this.#size));
      case DW_OP.deref:
        return this.#deref(this.#size);
      case DW_OP.deref_size:
        return this.#deref(c.u8());
      case DW_OP.const1u:
        return this.#push(c.u8());
      case DW_OP.const1s:
        return this.#push(c.u8() << 24 >> 24);
      case DW_OP.const2u:
        return this.#push(c.u16());
      case DW_OP.const2s:
        return this.#push(c.u16() << 16 >> 16);
      case DW_OP.const4u:
        return this.#push(c.u32());
      case DW_OP.const4s:
        return this.#push(c.u32() | 0);
      case DW_OP.const8u:
      case DW_OP.const8s:
        return this.#push(c.address(8));
      case DW_OP.constu:
        return this.#push(c.uleb());
      case DW_OP.consts:
        return this.#push(c.sleb());
      case DW_OP.dup:
        return this.#push(this.#peek(0));
      case DW_OP.drop:
        this.#pop();
        return;
      case DW_OP.over:
        return this.#push(this.#peek(1));
      case DW_OP.pick:
        return this.#push(this.#peek(c.u8()));
      case DW_OP.swap: {
        const a = this.#pop(), b = this.#pop();
        this.#push(a);
        return this.#push(b);
      }
      case DW_OP.rot: {
        const a = this.#pop(), b = this.#pop(), third = this.#pop();
        this.#push(a);
        this.#push(third);
        return this.#push(b);
      }
      case DW_OP.skip: {
        const by = c.u16() << 16 >> 16;
        return this.#jump(by);
      }
      case DW_OP.bregx:
        return this.#push(this.#state.register(c.uleb()) + c.sleb());
      case DW_OP.nop:
        return;
    }
    throw c.error(`operation 0x${opcode.toString(16)} in call frame information`, c.pos - 1);
  }

  #deref(size: number): void {
    if (size !== 1 && size !== 2 && size !== 4 && size !== 8 || size > this.#size) {
      throw this.#c.error(`a value of ${size} bytes`);
    }
    const address = this.#pop();
    const value = Number.isNaN(address) ? NaN : this.#state.memory(address, size);
    this.#push(this.#signed(value, size));
  }

  #jump(by: number): void {
    const to = this.#c.pos + by;
    if (to < this.#start || to > this.#c.end) throw this.#c.error("a jump out of the expression");
    this.#c.pos = to;
  }

  #arithmetic(opcode: number): void {
    switch (opcode) {
      case DW_OP.abs:
        return this.#push(Math.abs(this.#asSigned(this.#pop())));
      case DW_OP.neg:
        return this.#push(-this.#pop());
      case DW_OP.not:
        return this.#push(-1 - this.#pop());
      case DW_OP.plus_uconst:
        return this.#push(this.#pop() + this.#c.uleb());
      case DW_OP.bra: {
        const by = this.#c.u16() << 16 >> 16;
        const condition = this.#pop();
        // The branch depends on an unknown value, so the result is unknown.
        if (Number.isNaN(condition)) this.#giveUp();
        else if (condition !== 0) this.#jump(by);
        return;
      }
    }
    const b = this.#pop(), a = this.#pop();
    if (Number.isNaN(a) || Number.isNaN(b)) return this.#push(NaN);
    this.#push(this.#binary(opcode, a, b));
  }

  #giveUp(): void {
    this.#stack.length = 0;
    this.#push(NaN);
    this.#c.pos = this.#c.end;
  }

  #asSigned(value: number): number {
    return this.#size === 4 ? value | 0 : value;
  }

  #binary(opcode: number, a: number, b: number): number {
    switch (opcode) {
      case DW_OP.plus:
        return a + b;
      case DW_OP.minus:
        return a - b;
      case DW_OP.eq:
        return Number(a === b);
      case DW_OP.ne:
        return Number(a !== b);
      case DW_OP.ge:
        return Number(this.#asSigned(a) >= this.#asSigned(b));
      case DW_OP.gt:
        return Number(this.#asSigned(a) > this.#asSigned(b));
      case DW_OP.le:
        return Number(this.#asSigned(a) <= this.#asSigned(b));
      case DW_OP.lt:
        return Number(this.#asSigned(a) < this.#asSigned(b));
      case DW_OP.and:
        return bitwise(a, b, (x, y) => x & y);
      case DW_OP.or:
        return bitwise(a, b, (x, y) => x | y);
      case DW_OP.xor:
        return bitwise(a, b, (x, y) => x ^ y);
    }
    return this.#wide(opcode, BigInt(a), BigInt(b));
  }

  /**
   * Operations that can exceed 53 bits, or divide. They are rare: only PLT expressions, which
   * shift, are known to need them.
   */
  #wide(opcode: number, a: bigint, b: bigint): number {
    const bits = this.#size * 8;
    const result = (value: bigint): number => Number(BigInt.asIntN(bits, value));
    const shift = BigInt.asUintN(bits, b);
    const tooFar = shift >= BigInt(bits);
    const signed = BigInt.asIntN(bits, a);
    switch (opcode) {
      case DW_OP.mul:
        return result(a * b);
      case DW_OP.shl:
        return tooFar ? 0 : result(a << shift);
      case DW_OP.shr:
        return tooFar ? 0 : result(BigInt.asUintN(bits, a) >> shift);
      case DW_OP.shra:
        return result(signed >> (tooFar ? BigInt(bits - 1) : shift));
    }
    if (b === 0n) throw new DwarfError("expression", this.#c.pos, "division by zero");
    if (opcode === DW_OP.div) return result(signed / BigInt.asIntN(bits, b));
    // DW_OP_mod is unsigned, DW_OP_div signed.
    return result(BigInt.asUintN(bits, a) % BigInt.asUintN(bits, b));
  }
}

/** A bitwise operation on 64 bits in two halves. */
function bitwise(a: number, b: number, operation: (x: number, y: number) => number): number {
  const aHigh = Math.floor(a / 4294967296), bHigh = Math.floor(b / 4294967296);
  const low = operation(a - aHigh * 4294967296, b - bHigh * 4294967296) >>> 0;
  return operation(aHigh, bHigh) * 4294967296 + low;
}
