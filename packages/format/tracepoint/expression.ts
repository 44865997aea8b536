import { type Tokens, TracepointSyntaxError } from "./tokens.ts";
import {
  atomValue,
  BINARY,
  type BinaryOperator,
  binaryValue,
  castTo,
  unaryValue,
} from "./values.ts";

/** Maximum depth of nested expressions; the kernel's have fewer than 30 levels. */
const MAX_DEPTH = 200;

/** A value of `__print_flags` or `__print_symbolic` and its name. The value is negative if it is unknown. */
export type NamedValue = readonly [value: bigint, name: string];

/** An argument of a tracepoint's print format: C with some functions of the kernel. */
export type Expression =
  /** A number, or a name whose value is unknown. */
  | { readonly kind: "atom"; readonly text: string }
  | { readonly kind: "field"; readonly name: string }
  | {
    readonly kind: "flags";
    readonly of: Expression;
    readonly delimiter: string;
    readonly values: readonly NamedValue[];
  }
  | { readonly kind: "symbolic"; readonly of: Expression; readonly values: readonly NamedValue[] }
  /** Bytes in hexadecimal, separated by spaces if `spaced`. */
  | {
    readonly kind: "hex";
    readonly of: Expression;
    readonly length: Expression;
    readonly spaced: boolean;
  }
  | {
    readonly kind: "array";
    readonly of: Expression;
    readonly count: Expression;
    readonly size: Expression;
  }
  | { readonly kind: "cast"; readonly type: string; readonly of: Expression }
  /** Data that a field refers to: `__get_str`, `__get_dynamic_array` and similar functions. */
  | { readonly kind: "dynamic"; readonly what: DynamicKind; readonly field: string }
  | { readonly kind: "sizeof"; readonly type: string }
  | { readonly kind: "unary"; readonly operator: string; readonly of: Expression }
  | {
    readonly kind: "binary";
    readonly operator: BinaryOperator;
    readonly left: Expression;
    readonly right: Expression;
  }
  | { readonly kind: "index"; readonly of: Expression; readonly index: Expression }
  | {
    readonly kind: "conditional";
    readonly condition: Expression;
    readonly yes: Expression;
    readonly no: Expression;
  };

/** Kind of access to a dynamic field. */
export type DynamicKind = "string" | "bitmask" | "cpumask" | "data" | "length" | "sockaddr";

const DYNAMIC_FUNCTIONS: Readonly<Record<string, DynamicKind>> = {
  __get_str: "string",
  __get_bitmask: "bitmask",
  __get_cpumask: "cpumask",
  __get_dynamic_array: "data",
  __get_dynamic_array_len: "length",
  __get_sockaddr: "sockaddr",
  __get_rel_str: "string",
  __get_rel_bitmask: "bitmask",
  __get_rel_cpumask: "cpumask",
  __get_rel_dynamic_array: "data",
  __get_rel_dynamic_array_len: "length",
  __get_rel_sockaddr: "sockaddr",
};

/** Values of names that some kernels leave in `__print_symbolic`. */
const KNOWN_NAMES: Readonly<Record<string, bigint>> = {
  HI_SOFTIRQ: 0n,
  TIMER_SOFTIRQ: 1n,
  NET_TX_SOFTIRQ: 2n,
  NET_RX_SOFTIRQ: 3n,
  BLOCK_SOFTIRQ: 4n,
  IRQ_POLL_SOFTIRQ: 5n,
  TASKLET_SOFTIRQ: 6n,
  SCHED_SOFTIRQ: 7n,
  HRTIMER_SOFTIRQ: 8n,
  RCU_SOFTIRQ: 9n,
  HRTIMER_NORESTART: 0n,
  HRTIMER_RESTART: 1n,
};

/**
 * Parses the arguments after a format: `, REC->x, …`.
 *
 * @throws {TracepointSyntaxError} If an argument cannot be parsed.
 */
export function parseArguments(tokens: Tokens): Expression[] {
  const args: Expression[] = [];
  if (tokens.kind === "end") return args;
  tokens.expect({ operator: "," });
  do args.push(new Parser(tokens).conditional()); while (tokens.skip(","));
  return args;
}

class Parser {
  readonly #tokens: Tokens;
  #depth = 0;

  constructor(tokens: Tokens) {
    this.#tokens = tokens;
  }

  conditional(): Expression {
    if (++this.#depth > MAX_DEPTH) throw new TracepointSyntaxError("nested too deeply");
    const condition = this.#binary(1);
    let result = condition;
    if (this.#tokens.skip("?")) {
      const yes = this.conditional();
      this.#tokens.expect({ operator: ":" });
      result = { kind: "conditional", condition, yes, no: this.conditional() };
    }
    this.#depth--;
    return result;
  }

  #binary(least: number): Expression {
    const tokens = this.#tokens;
    let left = this.#unary();
    for (;;) {
      const operator = tokens.text;
      const priority = tokens.kind === "operator" ? BINARY[operator] ?? 0 : 0;
      if (priority < least) return left;
      tokens.next();
      left = { kind: "binary", operator, left, right: this.#binary(priority + 1) };
    }
  }

  #unary(): Expression {
    if (++this.#depth > MAX_DEPTH) throw new TracepointSyntaxError("nested too deeply");
    const tokens = this.#tokens;
    let result: Expression;
    if (tokens.kind === "operator" && /^[!~+-]$/.test(tokens.text)) {
      const operator = tokens.text;
      tokens.next();
      result = { kind: "unary", operator, of: this.#unary() };
    } else result = this.#postfix(this.#cast() ?? this.#primary());
    this.#depth--;
    return result;
  }

  #postfix(of: Expression): Expression {
    const tokens = this.#tokens;
    while (tokens.skip("[")) {
      const index = this.conditional();
      tokens.expect({ operator: "]" });
      of = { kind: "index", of, index };
    }
    return of;
  }

  /** Parses `(type)operand`; reads nothing if there is no cast. */
  #cast(): Expression | undefined {
    const tokens = this.#tokens;
    if (!tokens.is("(")) return undefined;
    const start = tokens.mark();
    tokens.next();
    const type = this.#type();
    const { kind } = tokens;
    const isOperand = kind === "name" || kind === "string" || kind === "character" ||
      tokens.is("(") || tokens.is("-") || tokens.is("!") || tokens.is("~");
    if (type === undefined || !isOperand) {
      tokens.back(start);
      return undefined;
    }
    return { kind: "cast", type, of: this.#unary() };
  }

  /** Parses a type and the closing bracket after it. */
  #type(): string | undefined {
    const tokens = this.#tokens;
    const words: string[] = [];
    while (tokens.kind === "name" && /^[A-Za-z_]/.test(tokens.text) && tokens.text !== "REC") {
      words.push(tokens.text);
      tokens.next();
    }
    if (words.length === 0) return undefined;
    while (tokens.is("*")) {
      words.push("*");
      tokens.next();
    }
    return tokens.skip(")") ? words.join(" ") : undefined;
  }

  #primary(): Expression {
    const tokens = this.#tokens;
    if (tokens.kind === "string" || tokens.kind === "character") {
      return { kind: "atom", text: tokens.expect(tokens.kind) };
    }
    if (tokens.skip("(")) {
      const inner = this.#isRecord() ? undefined : this.conditional();
      tokens.expect({ operator: ")" });
      return inner ?? this.#field();
    }
    const name = tokens.expect("name");
    if (name === "REC") return this.#field();
    if (tokens.skip("(")) return this.#function(name);
    let text = name;
    while (tokens.kind === "name") text += ` ${tokens.expect("name")}`;
    return { kind: "atom", text };
  }

  /** Parses the rest of `(REC)`, as in `(REC)->field`; reads nothing if there is something else. */
  #isRecord(): boolean {
    const tokens = this.#tokens;
    if (tokens.kind !== "name" || tokens.text !== "REC") return false;
    const start = tokens.mark();
    tokens.next();
    if (tokens.is(")")) return true;
    tokens.back(start);
    return false;
  }

  #field(): Expression {
    this.#tokens.expect({ operator: "->" });
    return { kind: "field", name: this.#tokens.expect("name") };
  }

  /** Parses the arguments of a function, after its name and the opening bracket. */
  #function(name: string): Expression {
    const tokens = this.#tokens;
    const comma = () => void tokens.expect({ operator: "," });
    const dynamic = Object.hasOwn(DYNAMIC_FUNCTIONS, name) ? DYNAMIC_FUNCTIONS[name] : undefined;
    let result: Expression;
    if (dynamic !== undefined) {
      result = { kind: "dynamic", what: dynamic, field: tokens.expect("name") };
    } else if (name === "sizeof") {
      const type = this.#sizeofType();
      return { kind: "sizeof", type };
    } else {
      const of = this.conditional();
      if (name === "__builtin_expect") {
        comma();
        this.conditional();
        result = of;
      } else if (name === "__print_flags") {
        comma();
        const delimiter = tokens.is(",") ? "" : tokens.expect(tokens.kind);
        comma();
        result = { kind: "flags", of, delimiter, values: this.#values() };
      } else if (name === "__print_symbolic") {
        comma();
        result = { kind: "symbolic", of, values: this.#values() };
      } else if (name === "__print_hex" || name === "__print_hex_str") {
        comma();
        result = { kind: "hex", of, length: this.conditional(), spaced: name === "__print_hex" };
      } else if (name === "__print_array") {
        comma();
        const count = this.conditional();
        comma();
        result = { kind: "array", of, count, size: this.conditional() };
      } else throw new TracepointSyntaxError(`unknown function ${name}`);
    }
    tokens.expect({ operator: ")" });
    return result;
  }

  /** Parses `unsigned long)` or `REC->field)`. */
  #sizeofType(): string {
    const tokens = this.#tokens;
    if (tokens.kind === "name" && tokens.text === "REC") {
      tokens.next();
      tokens.expect({ operator: "->" });
      const name = tokens.expect("name");
      tokens.expect({ operator: ")" });
      return `REC->${name}`;
    }
    const type = this.#type();
    if (type === undefined) throw new TracepointSyntaxError("sizeof what?");
    return type;
  }

  /** Parses the list `{ 1, "a" }, …`, which may be empty. */
  #values(): NamedValue[] {
    const tokens = this.#tokens;
    const values: NamedValue[] = [];
    while (tokens.skip("{")) {
      const value = valueOf(this.conditional());
      tokens.expect({ operator: "," });
      let name = this.conditional();
      // The list of a kernel may end with `{ 0, ((void *)0) }`.
      while (name.kind === "cast") name = name.of;
      if (name.kind !== "atom") throw new TracepointSyntaxError("a name is no text");
      tokens.expect({ operator: "}" });
      values.push([value, name.text]);
      if (!tokens.skip(",")) break;
    }
    return values;
  }
}

/** Evaluates a constant; -1 for unknown names and for negative values. */
function valueOf(expression: Expression): bigint {
  if (expression.kind === "atom") {
    if (/^[0-9]/.test(expression.text)) return BigInt.asIntN(64, atomValue(expression.text));
    return Object.hasOwn(KNOWN_NAMES, expression.text)
      ? KNOWN_NAMES[expression.text] as bigint
      : -1n;
  }
  const value = constant(expression);
  return value < 0n ? -1n : value;
}

function constant(expression: Expression): bigint {
  switch (expression.kind) {
    case "atom":
      return BigInt.asIntN(64, atomValue(expression.text));
    case "cast":
      return BigInt.asIntN(64, castTo(expression.type, constant(expression.of)));
    case "unary":
      return unaryValue(expression.operator, constant(expression.of));
    case "binary": {
      const { operator, left, right } = expression;
      return BigInt.asIntN(64, binaryValue(operator, constant(left), constant(right)));
    }
    default:
      throw new TracepointSyntaxError(`a value is no constant`);
  }
}
