// One module, since the grammar's productions call each other and share position, substitutions and
// limits.
import {
  isFunctionQualifier,
  Kind,
  listNode,
  LiteralStyle,
  type Node,
  node,
  operatorNode,
} from "./itanium_node.ts";
import { BUILTIN_TYPES, BUILTIN_TYPES_D, OPERATORS, STANDARD_NAMES } from "./itanium_tables.ts";

/** Thrown at the first invalid part of a name. */
export class NotMangled extends Error {}

const FAIL = new NotMangled("not a mangled name");

/** Limit of nesting, which protects the stack. Real names are below it. */
const MAX_DEPTH = 400;

/** Limit of backtracking. Nested ambiguous parts would need 2ⁿ attempts. */
const MAX_BACKTRACKS = 256;

/** Style of the type `void`. As the only parameter it means an empty list. */
const VOID = "void";

/** Options of the parser; see `ItaniumOptions`. */
export interface ParseOptions {
  /** Parse the outermost function's parameters. */
  readonly params: boolean;
  /** Expand `std::string` and the like. */
  readonly verbose: boolean;
}

/**
 * A recursive-descent parser of the grammar in the Itanium C++ ABI, section 5.1 (“External Names”).
 * Each method has the name of its production. They are one class because productions are mutually
 * recursive.
 */
export class ItaniumParser {
  readonly #text: string;
  readonly #options: ParseOptions;
  #at = 0;
  #depth = 0;
  #substitutions: Node[] = [];
  /** Name of the class, for a constructor or destructor. */
  #lastName: Node | undefined;
  #inExpression = false;
  #inConversion = false;
  #backtracks = 0;

  /** @param text the mangled name, from `_Z` on */
  constructor(text: string, options: ParseOptions) {
    this.#text = text;
    this.#options = options;
  }

  /**
   * Parses a whole `<mangled-name>` with compilers' clone suffixes.
   *
   * @throws {NotMangled} If the name is invalid.
   */
  parse(): Node {
    let result = this.#mangledName(true);
    if (!this.#options.params) return result;
    while (this.#peek() === "." && /[a-z_0-9]/.test(this.#peek(1))) result = this.#clone(result);
    if (this.#at < this.#text.length) throw FAIL;
    return result;
  }

  #peek(ahead = 0): string {
    return this.#text.charAt(this.#at + ahead);
  }

  #accept(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #expect(text: string): void {
    if (!this.#accept(text)) throw FAIL;
  }

  #enter(): void {
    if (++this.#depth > MAX_DEPTH) throw FAIL;
  }

  #leave<T>(result: T): T {
    this.#depth--;
    return result;
  }

  #remember(item: Node): Node {
    this.#substitutions.push(item);
    return item;
  }

  #clone(of: Node): Node {
    const match = /^(?:\.[a-z_0-9][a-z_0-9]*)?(?:\.[0-9]+)*/.exec(this.#text.slice(this.#at));
    const suffix = match?.[0] ?? "";
    if (suffix === "") throw FAIL;
    this.#at += suffix.length;
    return node(Kind.Clone, of, undefined, suffix);
  }

  #mangledName(top: boolean): Node {
    // Some compilers omit the underscore in template arguments.
    if (!this.#accept("_") && top) throw FAIL;
    this.#expect("Z");
    return this.#encoding(top);
  }

  #encoding(top: boolean): Node {
    this.#enter();
    const peek = this.#peek();
    if (peek === "G" || peek === "T") return this.#leave(this.#specialName());
    let name = this.#name();
    if (top && !this.#options.params) {
      // Without parameters, the qualifiers of `this` are dropped too.
      while (isFunctionQualifier(name.kind)) name = name.left ?? fail();
      if (name.kind === Kind.Local) {
        while (name.right !== undefined && isFunctionQualifier(name.right.kind)) {
          name.right = name.right.left;
        }
      }
      return this.#leave(name);
    }
    const next = this.#peek();
    if (next === "" || next === "E") return this.#leave(name);
    const type = this.#bareFunctionType(hasReturnType(name));
    if (!top && name.kind === Kind.Local) type.left = undefined;
    return this.#leave(node(Kind.Typed, name, type));
  }

  #specialName(): Node {
    if (this.#accept("T")) {
      const code = this.#peek();
      this.#at++;
      switch (code) {
        case "V":
          return special("vtable for ", this.#type());
        case "T":
          return special("VTT for ", this.#type());
        case "I":
          return special("typeinfo for ", this.#type());
        case "S":
          return special("typeinfo name for ", this.#type());
        case "F":
          return special("typeinfo fn for ", this.#type());
        case "h":
          this.#callOffset("h");
          return special("non-virtual thunk to ", this.#encoding(false));
        case "v":
          this.#callOffset("v");
          return special("virtual thunk to ", this.#encoding(false));
        case "c":
          this.#callOffset(undefined);
          this.#callOffset(undefined);
          return special("covariant return thunk to ", this.#encoding(false));
        case "C": {
          const derived = this.#type();
          this.#number();
          this.#expect("_");
          return node(Kind.ConstructionVtable, this.#type(), derived);
        }
        case "H":
          return special("TLS init function for ", this.#name());
        case "W":
          return special("TLS wrapper function for ", this.#name());
        case "A":
          return special("template parameter object for ", this.#templateArg());
        default:
          throw FAIL;
      }
    }
    this.#expect("G");
    const code = this.#peek();
    this.#at++;
    switch (code) {
      case "V":
        return special("guard variable for ", this.#name());
      case "R": {
        const name = this.#name();
        const number = this.#number();
        this.#accept("_");
        return node(Kind.ReferenceTemporary, name, undefined, "", number);
      }
      case "A":
        return special("hidden alias for ", this.#encoding(false));
      case "T":
        if (this.#accept("n")) {
          return special("non-transaction clone for ", this.#encoding(false));
        }
        this.#expect("t");
        return special("transaction clone for ", this.#encoding(false));
      default:
        throw FAIL;
    }
  }

  #callOffset(kind: string | undefined): void {
    const code = kind ?? this.#peek();
    if (kind === undefined) this.#at++;
    if (code !== "h" && code !== "v") throw FAIL;
    this.#number();
    this.#expect("_");
    if (code === "v") {
      this.#number();
      this.#expect("_");
    }
  }

  #name(): Node {
    this.#enter();
    const peek = this.#peek();
    if (peek === "N") return this.#leave(this.#nestedName());
    if (peek === "Z") return this.#leave(this.#localName());
    let name: Node;
    let substituted = false;
    if (peek === "S" && this.#peek(1) !== "t") {
      name = this.#substitution(false);
      substituted = true;
    } else if (peek === "S") {
      this.#at += 2;
      name = node(Kind.Qualified, text("std"), this.#unqualifiedName());
    } else {
      name = this.#unqualifiedName();
    }
    if (this.#peek() === "I") {
      if (!substituted) this.#remember(name);
      name = node(Kind.Template, name, this.#templateArgs());
    }
    return this.#leave(name);
  }

  #nestedName(): Node {
    this.#expect("N");
    const qualifiers = this.#qualifiers(true);
    const reference = this.#referenceQualifier();
    let result = wrap(qualifiers, this.#prefix());
    if (reference !== undefined) result = node(reference, result);
    this.#expect("E");
    return result;
  }

  /** Parses a ref-qualifier: `R` for `&`, `O` for `&&`. */
  #referenceQualifier(): Kind | undefined {
    if (this.#accept("R")) return Kind.ReferenceThis;
    if (this.#accept("O")) return Kind.RvalueReferenceThis;
    return undefined;
  }

  #prefix(): Node {
    let result: Node | undefined;
    while (true) {
      const peek = this.#peek();
      if (peek === "E") return result ?? fail();
      let remember = true;
      if (peek === "M" && result !== undefined) {
        // `M`: the next closure belongs to this data member's initializer.
        this.#at++;
        continue;
      } else if (peek === "I" && result !== undefined) {
        result = node(Kind.Template, result, this.#templateArgs());
      } else {
        let part: Node;
        if (peek === "D" && (this.#peek(1) === "T" || this.#peek(1) === "t")) part = this.#type();
        else if (peek === "T") part = this.#templateParam();
        else if (peek === "S") {
          part = this.#substitution(true);
          remember = false;
        } else part = this.#unqualifiedName();
        result = result === undefined ? part : node(Kind.Qualified, result, part);
      }
      if (remember && this.#peek() !== "E") this.#remember(result);
    }
  }

  #unqualifiedName(): Node {
    const peek = this.#peek();
    let name: Node;
    if (isDigit(peek)) {
      name = this.#sourceName();
    } else if (peek >= "a" && peek <= "z") {
      this.#accept("on");
      name = this.#operatorName();
      if (name.kind === Kind.Operator && name.code === "li") {
        name = node(Kind.LiteralOperator, this.#sourceName());
      }
    } else if (peek === "D" && this.#peek(1) === "C") {
      name = this.#structuredBinding();
    } else if (peek === "C" || peek === "D") {
      name = this.#constructorOrDestructor();
    } else if (peek === "L") {
      this.#at++;
      name = this.#sourceName();
      this.#discriminator();
    } else if (peek === "U" && this.#peek(1) === "l") {
      name = this.#lambda();
    } else if (peek === "U" && this.#peek(1) === "t") {
      this.#at += 2;
      const number = this.#compactNumber();
      name = this.#remember(node(Kind.UnnamedType, undefined, undefined, "", number));
    } else throw FAIL;
    const lastName = this.#lastName;
    while (this.#accept("B")) name = node(Kind.Tagged, name, this.#sourceName());
    this.#lastName = lastName;
    return name;
  }

  #structuredBinding(): Node {
    this.#expect("DC");
    const items: Node[] = [];
    do items.push(this.#sourceName()); while (!this.#accept("E"));
    return listNode(Kind.StructuredBinding, items);
  }

  #sourceName(): Node {
    if (!isDigit(this.#peek())) throw FAIL;
    const length = this.#number();
    const end = this.#at + length;
    if (length === 0 || end > this.#text.length) throw FAIL;
    const identifier = this.#text.slice(this.#at, end);
    this.#at = end;
    const anonymous = /^_GLOBAL_[._$]N/.test(identifier);
    return this.#lastName = text(anonymous ? "(anonymous namespace)" : identifier);
  }

  /** `[n] <digits>`; no digits mean 0. */
  #number(): number {
    const negative = this.#accept("n");
    let value = 0;
    while (isDigit(this.#peek())) {
      value = value * 10 + Number(this.#peek());
      if (value > 0x7fffffff) throw FAIL;
      this.#at++;
    }
    return negative ? -value : value;
  }

  /** `[<number>] _`: `_` is 0, `0_` is 1 and so on. */
  #compactNumber(): number {
    if (this.#accept("_")) return 0;
    if (!isDigit(this.#peek())) throw FAIL;
    const number = this.#number() + 1;
    this.#expect("_");
    return number;
  }

  #discriminator(): void {
    if (!this.#accept("_")) return;
    const long = this.#accept("_");
    const number = this.#number();
    if (number < 0) throw FAIL;
    if (long && number >= 10) this.#expect("_");
  }

  #operatorName(): Node {
    const code = this.#text.substr(this.#at, 2);
    this.#at += 2;
    if (code.charAt(0) === "v" && isDigit(code.charAt(1))) {
      return node(Kind.VendorOperator, this.#sourceName(), undefined, "", Number(code.charAt(1)));
    }
    if (code === "cv") {
      const outer = this.#inConversion;
      this.#inConversion = !this.#inExpression;
      const kind = this.#inConversion ? Kind.Conversion : Kind.Cast;
      const type = this.#type();
      this.#inConversion = outer;
      return node(kind, type);
    }
    return operatorOf(code);
  }

  #constructorOrDestructor(): Node {
    const name = this.#lastName ?? fail();
    if (this.#accept("C")) {
      const inheriting = this.#accept("I");
      if (!/[1-5]/.test(this.#peek())) throw FAIL;
      this.#at++;
      if (inheriting) this.#type();
      return node(Kind.Constructor, name);
    }
    this.#expect("D");
    if (!/[01245]/.test(this.#peek())) throw FAIL;
    this.#at++;
    return node(Kind.Destructor, name);
  }

  #lambda(): Node {
    this.#expect("Ul");
    const params = this.#parameters();
    this.#expect("E");
    return node(Kind.Lambda, params, undefined, "", this.#compactNumber());
  }

  #localName(): Node {
    this.#expect("Z");
    const encoding = this.#encoding(false);
    this.#expect("E");
    let name: Node;
    if (this.#accept("s")) {
      this.#discriminator();
      name = text("string literal");
    } else {
      const argument = this.#accept("d") ? this.#compactNumber() : -1;
      name = this.#name();
      if (name.kind !== Kind.Lambda && name.kind !== Kind.UnnamedType) this.#discriminator();
      if (argument >= 0) name = node(Kind.DefaultArg, name, undefined, "", argument);
    }
    // The outer function's return type would look like that of the inner name.
    if (encoding.kind === Kind.Typed && encoding.right?.kind === Kind.Function) {
      encoding.right.left = undefined;
    }
    return node(Kind.Local, encoding, name);
  }

  /** `<CV-qualifiers>` and other qualifiers of a function type, outermost first. */
  #qualifiers(ofMember: boolean): Node[] {
    const found: Node[] = [];
    while (true) {
      if (this.#accept("r")) found.push(node(ofMember ? Kind.RestrictThis : Kind.Restrict));
      else if (this.#accept("V")) found.push(node(ofMember ? Kind.VolatileThis : Kind.Volatile));
      else if (this.#accept("K")) found.push(node(ofMember ? Kind.ConstThis : Kind.Const));
      else if (this.#accept("Dx")) found.push(node(Kind.TransactionSafe));
      else if (this.#accept("Do")) found.push(node(Kind.Noexcept));
      else if (this.#accept("DO")) {
        found.push(node(Kind.Noexcept, undefined, this.#expression()));
        this.#expect("E");
      } else if (this.#accept("Dw")) {
        found.push(node(Kind.ThrowSpec, undefined, this.#parameters()));
        this.#expect("E");
      } else break;
    }
    if (ofMember || this.#peek() !== "F") return found;
    const ofFunction: Partial<Record<Kind, Kind>> = {
      [Kind.Restrict]: Kind.RestrictThis,
      [Kind.Volatile]: Kind.VolatileThis,
      [Kind.Const]: Kind.ConstThis,
    };
    return found.map((q) => node(ofFunction[q.kind] ?? q.kind, undefined, q.right));
  }

  #type(): Node {
    this.#enter();
    return this.#leave(this.#typeInside());
  }

  #typeInside(): Node {
    const peek = this.#peek();
    const next = this.#peek(1);
    if (
      peek === "r" || peek === "V" || peek === "K" ||
      (peek === "D" && (next === "x" || next === "o" || next === "O" || next === "w"))
    ) {
      const qualifiers = this.#qualifiers(false);
      const inner = this.#peek() === "F" ? this.#functionType() : this.#type();
      // `&` and `&&` are printed after the function's other qualifiers.
      if (inner.kind === Kind.ReferenceThis || inner.kind === Kind.RvalueReferenceThis) {
        return this.#remember(node(inner.kind, wrap(qualifiers, inner.left ?? fail())));
      }
      return this.#remember(wrap(qualifiers, inner));
    }
    const builtin = BUILTIN_TYPES[peek];
    if (builtin !== undefined) {
      this.#at++;
      return node(Kind.Builtin, undefined, undefined, builtin[0], builtin[1]);
    }
    switch (peek) {
      case "u":
        this.#at++;
        return this.#remember(node(Kind.VendorType, this.#sourceName()));
      case "F":
        return this.#remember(this.#functionType());
      case "A":
        return this.#remember(this.#arrayType());
      case "M": {
        this.#at++;
        const owner = this.#type();
        return this.#remember(node(Kind.PointerToMember, owner, this.#type()));
      }
      case "T":
        return this.#remember(this.#templateParamType());
      case "S":
        return this.#substitutedType();
      case "O":
        this.#at++;
        return this.#remember(node(Kind.RvalueReference, this.#type()));
      case "P":
        this.#at++;
        return this.#remember(node(Kind.Pointer, this.#type()));
      case "R":
        this.#at++;
        return this.#remember(node(Kind.Reference, this.#type()));
      case "C":
        this.#at++;
        return this.#remember(node(Kind.Complex, this.#type()));
      case "G":
        this.#at++;
        return this.#remember(node(Kind.Imaginary, this.#type()));
      case "U": {
        this.#at++;
        let qualifier = this.#sourceName();
        if (this.#peek() === "I") {
          qualifier = node(Kind.Template, qualifier, this.#templateArgs());
        }
        return this.#remember(node(Kind.VendorQualified, this.#type(), qualifier));
      }
      case "D":
        return this.#typeWithD();
      default:
        return this.#remember(this.#name());
    }
  }

  #templateParamType(): Node {
    const param = this.#templateParam();
    if (this.#peek() !== "I") return param;
    if (!this.#inConversion) {
      this.#remember(param);
      return node(Kind.Template, param, this.#templateArgs());
    }
    // In `operator T<int>`, the arguments may belong to T or to the operator. They belong to T if
    // more arguments follow.
    if (++this.#backtracks > MAX_BACKTRACKS) throw FAIL;
    const at = this.#at;
    const known = this.#substitutions.length;
    const lastName = this.#lastName;
    const args = this.#templateArgs();
    if (this.#peek() === "I") {
      // T is a substitution before those of its arguments.
      this.#substitutions.splice(known, 0, param);
      return node(Kind.Template, param, args);
    }
    this.#at = at;
    this.#substitutions.length = known;
    this.#lastName = lastName;
    return param;
  }

  #substitutedType(): Node {
    const next = this.#peek(1);
    if (isDigit(next) || next === "_" || (next >= "A" && next <= "Z")) {
      const found = this.#substitution(false);
      if (this.#peek() !== "I") return found;
      return this.#remember(node(Kind.Template, found, this.#templateArgs()));
    }
    const name = this.#name();
    return name.kind === Kind.StandardName ? name : this.#remember(name);
  }

  #typeWithD(): Node {
    this.#expect("D");
    const code = this.#peek();
    this.#at++;
    const builtin = BUILTIN_TYPES_D[code];
    if (builtin !== undefined) {
      return node(Kind.Builtin, undefined, undefined, builtin[0], builtin[1]);
    }
    switch (code) {
      case "T":
      case "t": {
        const expression = this.#expression();
        this.#expect("E");
        return this.#remember(node(Kind.Decltype, expression));
      }
      case "p":
        return this.#remember(node(Kind.PackExpansion, this.#type()));
      case "v": {
        let size: Node | undefined;
        if (this.#accept("_")) size = this.#expression();
        else size = text(String(this.#number()));
        this.#expect("_");
        return this.#remember(node(Kind.Vector, size, this.#type()));
      }
      case "F": {
        const bits = this.#number();
        if (this.#accept("b")) return floatType("std::bfloat16_t");
        if (this.#accept("x")) return floatType(`_Float${bits}x`);
        this.#expect("_");
        return floatType(`_Float${bits}`);
      }
      default:
        throw FAIL;
    }
  }

  #functionType(): Node {
    this.#expect("F");
    this.#accept("Y"); // extern "C", not printed
    const type = this.#bareFunctionType(true);
    const reference = this.#referenceQualifier();
    this.#expect("E");
    return reference === undefined ? type : node(reference, type);
  }

  #bareFunctionType(withReturn: boolean): Node {
    const returns = this.#accept("J") || withReturn ? this.#type() : undefined;
    return node(Kind.Function, returns, this.#parameters());
  }

  #parameters(): Node {
    const items: Node[] = [];
    while (true) {
      const peek = this.#peek();
      if (peek === "" || peek === "E" || peek === ".") break;
      if ((peek === "R" || peek === "O") && this.#peek(1) === "E") break;
      items.push(this.#type());
    }
    const first = items[0] ?? fail();
    const nothing = items.length === 1 && first.kind === Kind.Builtin && first.text === VOID;
    return list(nothing ? [] : items);
  }

  #arrayType(): Node {
    this.#expect("A");
    let bound: Node | undefined;
    if (isDigit(this.#peek())) {
      const start = this.#at;
      while (isDigit(this.#peek())) this.#at++;
      bound = text(this.#text.slice(start, this.#at));
    } else if (this.#peek() !== "_") bound = this.#expression();
    this.#expect("_");
    return node(Kind.Array, bound, this.#type());
  }

  #templateParam(): Node {
    this.#expect("T");
    return node(Kind.TemplateParam, undefined, undefined, "", this.#compactNumber());
  }

  #templateArgs(): Node {
    const lastName = this.#lastName;
    if (!this.#accept("I") && !this.#accept("J")) throw FAIL;
    const items: Node[] = [];
    while (!this.#accept("E")) items.push(this.#templateArg());
    this.#lastName = lastName;
    return listNode(Kind.Pack, items);
  }

  #templateArg(): Node {
    this.#enter();
    switch (this.#peek()) {
      case "X": {
        this.#at++;
        const expression = this.#expression();
        this.#expect("E");
        return this.#leave(expression);
      }
      case "L":
        return this.#leave(this.#primaryExpression());
      case "I":
      case "J":
        return this.#leave(this.#templateArgs());
      default:
        return this.#leave(this.#type());
    }
  }

  #expression(): Node {
    const outer = this.#inExpression;
    this.#inExpression = true;
    this.#enter();
    const result = this.#leave(this.#expressionInside());
    this.#inExpression = outer;
    return result;
  }

  #expressionInside(): Node {
    const peek = this.#peek();
    if (peek === "L") return this.#primaryExpression();
    if (peek === "T") return this.#templateParam();
    if (this.#accept("sr")) return this.#unresolvedName();
    if (this.#accept("sp")) return node(Kind.PackExpansion, this.#expression());
    if (this.#accept("fpT")) return node(Kind.FunctionParam);
    if (this.#accept("fp")) {
      this.#qualifiers(false);
      return node(Kind.FunctionParam, undefined, undefined, "", this.#compactNumber() + 1);
    }
    if (peek === "f" && this.#peek(1) === "L" && isDigit(this.#peek(2))) {
      this.#at += 2;
      this.#number();
      this.#expect("p");
      this.#qualifiers(false);
      return node(Kind.FunctionParam, undefined, undefined, "", this.#compactNumber() + 1);
    }
    if (isDigit(peek) || this.#accept("on")) {
      const name = this.#unqualifiedName();
      if (this.#peek() !== "I") return name;
      return node(Kind.Template, name, this.#templateArgs());
    }
    if (this.#accept("il")) return node(Kind.InitializerList, undefined, this.#expressions("E"));
    if (this.#accept("tl")) {
      const type = this.#type();
      return node(Kind.InitializerList, type, this.#expressions("E"));
    }
    if (peek === "u") {
      this.#at++;
      const name = this.#sourceName();
      const items: Node[] = [];
      while (!this.#accept("E")) items.push(this.#templateArg());
      return listNode(Kind.Binary, [name, list(items)], operatorOf("cl"));
    }
    const operator = this.#operatorName();
    if (operator.kind === Kind.Cast) {
      const operand = this.#accept("_") ? this.#expressions("E") : this.#expression();
      return node(Kind.Unary, operator, operand);
    }
    const operands = operator.num;
    switch (operands) {
      case 0:
        return node(Kind.Nullary, operator);
      case 1:
        return this.#unary(operator);
      case 2:
        return this.#binary(operator);
      case 3:
        return this.#ternary(operator);
      default:
        throw FAIL;
    }
  }

  #unary(operator: Node): Node {
    const { code } = operator;
    if (code === "st" || code === "ti" || code === "at") {
      return node(Kind.Unary, operator, this.#type());
    }
    if (code === "pp" || code === "mm") {
      const prefix = this.#accept("_");
      return node(prefix ? Kind.Unary : Kind.Postfix, operator, this.#expression());
    }
    if (code === "sP") {
      const items: Node[] = [];
      while (!this.#accept("E")) items.push(this.#templateArg());
      return node(Kind.Unary, operator, listNode(Kind.Pack, items));
    }
    return node(Kind.Unary, operator, this.#expression());
  }

  #binary(operator: Node): Node {
    const { code } = operator;
    let left: Node;
    if (isNewStyleCast(code)) left = this.#type();
    else if (code === "fl" || code === "fr") left = this.#operatorName();
    else if (code === "di") left = this.#unqualifiedName();
    else left = this.#expression();
    let right: Node;
    if (code === "cl") right = this.#expressions("E");
    else if (code === "dt" || code === "pt") {
      if (this.#accept("sr")) right = this.#unresolvedName();
      else {
        right = this.#unqualifiedName();
        if (this.#peek() === "I") right = node(Kind.Template, right, this.#templateArgs());
      }
    } else right = this.#expression();
    return listNode(Kind.Binary, [left, right], operator);
  }

  #ternary(operator: Node): Node {
    const { code } = operator;
    const items: Node[] = [];
    if (code === "nw" || code === "na") {
      items.push(this.#expressions("_"), this.#type());
      if (this.#accept("pi")) items.push(this.#expressions("E"));
      else if (this.#peek() === "i" && this.#peek(1) === "l") items.push(this.#expression());
      else this.#expect("E");
    } else {
      items.push(code === "fL" || code === "fR" ? this.#operatorName() : this.#expression());
      items.push(this.#expression(), this.#expression());
    }
    return listNode(Kind.Ternary, items, operator);
  }

  /** After `sr`: a type or a chain of names, then the name. */
  #unresolvedName(): Node {
    let scope: Node | undefined;
    if (this.#accept("N")) {
      scope = this.#type();
      while (!this.#accept("E")) scope = node(Kind.Qualified, scope, this.#nameWithArgs());
    } else if (isDigit(this.#peek())) scope = this.#unresolvedQualifier();
    scope ??= this.#type();
    const name = node(Kind.Qualified, scope, this.#unqualifiedName());
    return this.#peek() === "I" ? node(Kind.Template, name, this.#templateArgs()) : name;
  }

  /**
   * `<unresolved-qualifier-level>+ E` with a name after it. Older compilers omit the `E`; then a
   * type follows.
   */
  #unresolvedQualifier(): Node | undefined {
    const at = this.#at;
    const known = this.#substitutions.length;
    const depth = this.#depth;
    if (++this.#backtracks > MAX_BACKTRACKS) throw FAIL;
    try {
      let scope = this.#nameWithArgs();
      while (!this.#accept("E")) scope = node(Kind.Qualified, scope, this.#nameWithArgs());
      if (isDigit(this.#peek()) || this.#peek() === "o") return scope;
    } catch (error) {
      if (error !== FAIL) throw error;
    }
    this.#at = at;
    this.#substitutions.length = known;
    this.#depth = depth;
    return undefined;
  }

  #nameWithArgs(): Node {
    const name = this.#unqualifiedName();
    return this.#peek() === "I" ? node(Kind.Template, name, this.#templateArgs()) : name;
  }

  #expressions(end: string): Node {
    const items: Node[] = [];
    while (!this.#accept(end)) items.push(this.#expression());
    return list(items);
  }

  #primaryExpression(): Node {
    this.#expect("L");
    let result: Node;
    if (this.#peek() === "_" || this.#peek() === "Z") {
      result = this.#mangledName(false);
      this.#expect("E");
      return result;
    }
    const type = this.#type();
    if (type.kind === Kind.Builtin && type.text === "decltype(nullptr)" && this.#accept("E")) {
      return type;
    }
    const negative = this.#accept("n");
    const end = this.#text.indexOf("E", this.#at);
    if (end < 0) throw FAIL;
    const value = this.#text.slice(this.#at, end);
    this.#at = end + 1;
    return node(Kind.Literal, type, undefined, value, negative ? 1 : 0);
  }

  #substitution(asPrefix: boolean): Node {
    this.#expect("S");
    const code = this.#peek();
    if (code === "_" || isDigit(code) || (code >= "A" && code <= "Z")) {
      let index = 0;
      if (code !== "_") {
        const digits = /^[0-9A-Z]+/.exec(this.#text.slice(this.#at, this.#at + 8))?.[0] ?? "";
        index = parseInt(digits, 36) + 1;
        this.#at += digits.length;
      }
      this.#expect("_");
      return this.#substitutions[index] ?? fail();
    }
    const standard = STANDARD_NAMES[code];
    if (standard === undefined) throw FAIL;
    this.#at++;
    const [short, full, lastName] = standard;
    if (lastName !== "") this.#lastName = text(lastName);
    const next = this.#peek();
    const inFull = this.#options.verbose || (asPrefix && (next === "C" || next === "D"));
    let result = node(Kind.StandardName, undefined, undefined, inFull ? full : short);
    if (next === "B") {
      const held = this.#lastName;
      while (this.#accept("B")) result = node(Kind.Tagged, result, this.#sourceName());
      this.#lastName = held;
      this.#remember(result);
    }
    return result;
  }
}

function fail(): never {
  throw FAIL;
}

function isDigit(char: string): boolean {
  return char >= "0" && char <= "9";
}

function text(value: string): Node {
  return node(Kind.Name, undefined, undefined, value);
}

function list(items: Node[]): Node {
  return listNode(Kind.List, items);
}

function special(prefix: string, of: Node): Node {
  return node(Kind.Special, of, undefined, prefix);
}

function floatType(name: string): Node {
  return node(Kind.Builtin, undefined, undefined, name, LiteralStyle.Float);
}

function operatorOf(code: string): Node {
  const [text, operands] = OPERATORS[code] ?? fail();
  return operatorNode(code, text, operands);
}

/** Wraps `inner` into the qualifiers, the first one outermost. */
function wrap(qualifiers: readonly Node[], inner: Node): Node {
  return qualifiers.reduceRight((result, q) => node(q.kind, result, q.right), inner);
}

/** Whether an operator is `static_cast` or another named cast, whose first operand is a type. */
export function isNewStyleCast(code: string): boolean {
  return code === "sc" || code === "dc" || code === "cc" || code === "rc";
}

/**
 * Whether a function's return type is mangled: only if it is a template, and not a constructor,
 * destructor or conversion.
 */
function hasReturnType(name: Node): boolean {
  if (isFunctionQualifier(name.kind) || name.kind === Kind.DefaultArg) {
    return name.left !== undefined && hasReturnType(name.left);
  }
  if (name.kind === Kind.Local) return name.right !== undefined && hasReturnType(name.right);
  return name.kind === Kind.Template && !hasNoReturnType(name.left);
}

function hasNoReturnType(name: Node | undefined): boolean {
  if (name === undefined) return false;
  switch (name.kind) {
    case Kind.Qualified:
    case Kind.Local:
      return hasNoReturnType(name.right);
    case Kind.Constructor:
    case Kind.Destructor:
    case Kind.Conversion:
      return true;
    default:
      return false;
  }
}
