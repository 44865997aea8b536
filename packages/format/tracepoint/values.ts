import { TracepointSyntaxError } from "./tokens.ts";

/** Binary operators and their precedence. */
export const BINARY: Readonly<Record<string, number>> = {
  "*": 10,
  "/": 10,
  "%": 10,
  "+": 9,
  "-": 9,
  "<<": 8,
  ">>": 8,
  "<": 7,
  ">": 7,
  "<=": 7,
  ">=": 7,
  "==": 6,
  "!=": 6,
  "&": 5,
  "^": 4,
  "|": 3,
  "&&": 2,
  "||": 1,
};

/** An operator with two operands. */
export type BinaryOperator = keyof typeof BINARY & string;

/** Parses a number like `strtoull(…, 0)`; returns 0 for a name. */
export function atomValue(text: string): bigint {
  const digits = /^(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)/.exec(text)?.[0];
  if (digits === undefined) return 0n;
  const value = BigInt(/^0[0-7]/.test(digits) ? `0o${digits.slice(1)}` : digits);
  return value >> 64n === 0n ? value : (1n << 64n) - 1n;
}

const CAST_BITS: Readonly<Record<string, number>> = {
  u8: 8,
  u16: 16,
  u32: 32,
  s8: 8,
  s16: 16,
  s32: 32,
  char: 8,
  short: 16,
  int: 32,
};

/** Truncates a value to a type; unknown types keep it unchanged, as in libtraceevent. */
export function castTo(type: string, value: bigint): bigint {
  const bits = castBits(type);
  return bits === undefined ? value : BigInt.asUintN(bits, value);
}

/** Returns the number of bits that a type keeps; `undefined` if it keeps all. */
export function castBits(type: string): number | undefined {
  return CAST_BITS[type.replace(/^unsigned /, "")];
}

export function unaryValue(operator: string, value: bigint): bigint {
  if (operator === "!") return value === 0n ? 1n : 0n;
  return operator === "~" ? ~value : operator === "-" ? -value : value;
}

/** Evaluates a binary operator; division by zero results in 0. */
export function binaryValue(operator: BinaryOperator, a: bigint, b: bigint): bigint {
  const truth = (yes: boolean) => yes ? 1n : 0n;
  switch (operator) {
    case "*":
      return a * b;
    case "/":
      return b === 0n ? 0n : a / b;
    case "%":
      return b === 0n ? 0n : a % b;
    case "+":
      return a + b;
    case "-":
      return a - b;
    // Like the processor, takes the count modulo 64.
    case "<<":
      return a << (b & 63n);
    case ">>":
      return a >> (b & 63n);
    case "<":
      return truth(a < b);
    case ">":
      return truth(a > b);
    case "<=":
      return truth(a <= b);
    case ">=":
      return truth(a >= b);
    case "==":
      return truth(a === b);
    case "!=":
      return truth(a !== b);
    case "&":
      return a & b;
    case "^":
      return a ^ b;
    case "|":
      return a | b;
    case "&&":
      return truth(a !== 0n && b !== 0n);
    case "||":
      return truth(a !== 0n || b !== 0n);
    default:
      throw new TracepointSyntaxError(`unknown operator ${operator}`);
  }
}
