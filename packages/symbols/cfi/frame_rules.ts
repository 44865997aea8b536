/** The expressions of a section by number: the value of a rule is such a number. */
export class ExpressionTable {
  /** What holds the expressions. */
  readonly bytes: Uint8Array;
  /** Byte order. */
  readonly littleEndian: boolean;

  /** First byte of each expression. */
  readonly start: number[] = [];
  /** End of each expression. */
  readonly end: number[] = [];
  readonly #known = new Map<number, number>();

  /** Expressions in `bytes`. */
  constructor(bytes: Uint8Array, littleEndian: boolean) {
    this.bytes = bytes;
    this.littleEndian = littleEndian;
  }

  /** The number of the expression `[start, end)`. */
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
  /** Register of the CFA; −1 where an expression gives it, −2 where nothing has defined it. */
  cfaRegister: number = -2;
  /** Offset of the CFA from the register, or the number of the expression. */
  cfaOffset = 0;
  /** The column of the return address. */
  returnAddress = 0;
  /** Whether the frame was made by a signal. */
  signal = false;
  /** `RULE` of each register. */
  readonly rule: Uint8Array;
  /** What the rule is about: an offset, a register, the number of an expression. */
  readonly value: Int32Array;

  /** Rules for registers `0 … registers`, none of them stated. */
  constructor(registers: number) {
    this.rule = new Uint8Array(registers);
    this.value = new Int32Array(registers);
  }

  /** Becomes what `from` is. */
  set(from: FrameRules): void {
    this.cfaRegister = from.cfaRegister;
    this.cfaOffset = from.cfaOffset;
    this.returnAddress = from.returnAddress;
    this.signal = from.signal;
    this.rule.set(from.rule);
    this.value.set(from.value);
  }

  /** Another object of the same content. */
  clone(): FrameRules {
    const copy = new FrameRules(this.rule.length);
    copy.set(this);
    return copy;
  }
}
