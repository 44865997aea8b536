/** The expressions of a section by index. The value of an expression rule is such an index. */
export class ExpressionTable {
  /** The bytes that hold the expressions. */
  readonly bytes: Uint8Array;
  /** Byte order. */
  readonly littleEndian: boolean;

  /** First byte of each expression. */
  readonly start: number[] = [];
  /** End of each expression. */
  readonly end: number[] = [];
  readonly #known = new Map<number, number>();

  /** Creates an empty table of expressions in `bytes`. */
  constructor(bytes: Uint8Array, littleEndian: boolean) {
    this.bytes = bytes;
    this.littleEndian = littleEndian;
  }

  /** Returns the index of the expression `[start, end)`, and adds it if it is new. */
  add(start: number, end: number): number {
    let number = this.#known.get(start);
    if (number === undefined) {
      number = this.start.push(start) - 1;
      this.end.push(end);
      this.#known.set(start, number);
    }
    return number;
  }
}

/** Rules at one address: the location of the CFA, and the rule of each register. */
export class FrameRules {
  /** Register of the CFA; −1 if the CFA is an expression, −2 if it is undefined. */
  cfaRegister: number = -2;
  /** Offset of the CFA from its register, or the index of its expression. */
  cfaOffset = 0;
  /** The column of the return address. */
  returnAddress = 0;
  /** Whether the frame is a signal handler's caller. */
  signal = false;
  /** `RULE` of each register. */
  readonly rule: Uint8Array;
  /** Operand of each register's rule: an offset, a register, or the number of an expression. */
  readonly value: Int32Array;

  /** Creates rules for registers `0 … registers - 1`, all of them `RULE.NONE`. */
  constructor(registers: number) {
    this.rule = new Uint8Array(registers);
    this.value = new Int32Array(registers);
  }

  /** Copies all rules from `from`. */
  set(from: FrameRules): void {
    this.cfaRegister = from.cfaRegister;
    this.cfaOffset = from.cfaOffset;
    this.returnAddress = from.returnAddress;
    this.signal = from.signal;
    this.rule.set(from.rule);
    this.value.set(from.value);
  }

  /** A copy. */
  clone(): FrameRules {
    const copy = new FrameRules(this.rule.length);
    copy.set(this);
    return copy;
  }
}
