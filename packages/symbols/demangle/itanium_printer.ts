// One module, since a declarator is printed inside its type (`int (*)(char)`): each kind of node
// needs the state of its surrounding nodes.
import { isFunctionQualifier, Kind, LiteralStyle, type Node } from "./itanium_node.ts";
import { isNewStyleCast, NotMangled } from "./itanium_parser.ts";

const FAIL = new NotMangled("cannot be printed");

/** Limit of the text's length. Substitutions can grow it exponentially. */
const MAX_LENGTH = 1 << 16;
const MAX_DEPTH = 1000;
/**
 * Limit of visited nodes. It bounds the time of names with short text, such as nested empty packs.
 */
const MAX_STEPS = 1 << 18;

/** The enclosing templates, innermost first, for looking up parameters. */
interface Scope {
  readonly next: Scope | undefined;
  readonly template: Node;
}

/**
 * A declarator around the type that is printed. C++ writes the `*` of `int (*)(char)` inside the
 * function type, so it is passed down until a node prints it.
 */
interface Modifier {
  readonly next: Modifier | undefined;
  readonly node: Node;
  readonly scope: Scope | undefined;
  printed: boolean;
}

/** The nodes being printed, innermost first. */
interface Frame {
  readonly parent: Frame | undefined;
  readonly node: Node;
}

const LITERAL_SUFFIX: Partial<Record<LiteralStyle, string>> = {
  [LiteralStyle.Int]: "",
  [LiteralStyle.Unsigned]: "u",
  [LiteralStyle.Long]: "l",
  [LiteralStyle.UnsignedLong]: "ul",
  [LiteralStyle.LongLong]: "ll",
  [LiteralStyle.UnsignedLongLong]: "ull",
};

/**
 * Prints a parsed name with the spacing and abbreviations of GNU `c++filt`. One class, since nodes
 * of all kinds can be nested.
 */
export class ItaniumPrinter {
  #text = "";
  #last = "";
  #scope: Scope | undefined;
  #modifiers: Modifier | undefined;
  #template: Node | undefined;
  #packIndex = 0;
  #lambdaDepth = 0;
  #frame: Frame | undefined;
  #depth = 0;
  #steps = 0;
  /** The scope in which each referent was first printed; see #restoreScope. */
  readonly #savedScopes = new Map<Node, Scope | undefined>();

  /**
   * Returns the text of a name.
   *
   * @throws {NotMangled} If a template parameter has no argument, or the text is too long.
   */
  static print(name: Node): string {
    const printer = new ItaniumPrinter();
    printer.#print(name);
    return printer.#text;
  }

  #append(text: string): void {
    if (text === "") return;
    this.#text += text;
    this.#last = text.charAt(text.length - 1);
    if (this.#text.length > MAX_LENGTH) throw FAIL;
  }

  #print(node: Node | undefined): void {
    if (node === undefined || ++this.#depth > MAX_DEPTH || ++this.#steps > MAX_STEPS) throw FAIL;
    const frame = this.#frame;
    this.#frame = { parent: frame, node };
    this.#printInside(node);
    this.#frame = frame;
    this.#depth--;
  }

  /** Prints a node without counting steps and depth. */
  // One function, since it is a table: a short, independent case for each kind of node.
  #printInside(node: Node): void {
    switch (node.kind) {
      case Kind.Name:
      case Kind.StandardName:
      case Kind.Builtin:
        return this.#append(node.text);
      case Kind.Tagged:
        this.#print(node.left);
        this.#append("[abi:");
        this.#print(node.right);
        return this.#append("]");
      case Kind.Qualified:
      case Kind.Local:
        this.#print(node.left);
        this.#append("::");
        return this.#print(this.#skipDefaultArg(node.right));
      case Kind.DefaultArg:
        return this.#print(this.#skipDefaultArg(node));
      case Kind.Typed:
        return this.#typed(node);
      case Kind.Template:
        return this.#templateId(node);
      case Kind.TemplateParam:
        return this.#templateParam(node);
      case Kind.FunctionParam:
        return this.#append(node.num === 0 ? "this" : `{parm#${node.num}}`);
      case Kind.Constructor:
        return this.#print(node.left);
      case Kind.Destructor:
        this.#append("~");
        return this.#print(node.left);
      case Kind.Special:
        this.#append(node.text);
        return this.#print(node.left);
      case Kind.ConstructionVtable:
        this.#append("construction vtable for ");
        this.#print(node.left);
        this.#append("-in-");
        return this.#print(node.right);
      case Kind.ReferenceTemporary:
        this.#append(`reference temporary #${node.num} for `);
        return this.#print(node.left);
      case Kind.VendorType:
        return this.#print(node.left);
      case Kind.Function:
        return this.#functionType(node);
      case Kind.Array:
        return this.#arrayType(node);
      case Kind.PointerToMember:
      case Kind.Vector:
        return this.#modified(node, node.right);
      case Kind.Const:
      case Kind.Volatile:
      case Kind.Restrict:
        return this.#qualified(node);
      case Kind.Reference:
      case Kind.RvalueReference:
        return this.#reference(node);
      case Kind.VendorQualified:
      case Kind.Pointer:
      case Kind.Complex:
      case Kind.Imaginary:
      case Kind.ConstThis:
      case Kind.VolatileThis:
      case Kind.RestrictThis:
      case Kind.ReferenceThis:
      case Kind.RvalueReferenceThis:
      case Kind.Noexcept:
      case Kind.ThrowSpec:
      case Kind.TransactionSafe:
        return this.#modified(node, node.left);
      case Kind.List:
      case Kind.Pack:
        return this.#list(node.items);
      case Kind.PackExpansion:
        return this.#packExpansion(node);
      case Kind.InitializerList:
        if (node.left !== undefined) this.#print(node.left);
        this.#append("{");
        this.#print(node.right);
        return this.#append("}");
      case Kind.Operator: {
        const name = node.text.trimEnd();
        this.#append(/^[a-z]/.test(name) ? "operator " : "operator");
        return this.#append(name);
      }
      case Kind.VendorOperator:
        this.#append("operator ");
        return this.#print(node.left);
      case Kind.LiteralOperator:
        this.#append('operator"" ');
        return this.#print(node.left);
      case Kind.Conversion:
        this.#append("operator ");
        return this.#conversion(node);
      case Kind.Cast:
        return this.#print(node.left);
      case Kind.Nullary:
        return this.#operator(node.left);
      case Kind.Unary:
        return this.#unary(node);
      case Kind.Postfix:
        this.#operand(node.right);
        return this.#operator(node.left);
      case Kind.Binary:
        return this.#binary(node);
      case Kind.Ternary:
        return this.#ternary(node);
      case Kind.Literal:
        return this.#literal(node);
      case Kind.Decltype:
        this.#append("decltype (");
        this.#print(node.left);
        return this.#append(")");
      case Kind.Lambda:
        this.#append("{lambda(");
        this.#lambdaDepth++;
        this.#print(node.left);
        this.#lambdaDepth--;
        return this.#append(`)#${node.num + 1}}`);
      case Kind.UnnamedType:
        return this.#append(`{unnamed type#${node.num + 1}}`);
      case Kind.Clone:
        this.#print(node.left);
        return this.#append(` [clone ${node.text}]`);
      case Kind.StructuredBinding:
        this.#append("[");
        node.items.forEach((name, i) => {
          if (i > 0) this.#append(", ");
          this.#print(name);
        });
        return this.#append("]");
    }
  }

  #skipDefaultArg(node: Node | undefined): Node | undefined {
    if (node?.kind !== Kind.DefaultArg) return node;
    this.#append(`{default arg#${node.num + 1}}::`);
    return node.left;
  }

  #push(node: Node): Modifier {
    return this.#modifiers = {
      next: this.#modifiers,
      node,
      scope: this.#scope,
      printed: false,
    };
  }

  /**
   * Prints an entity with its function type. The name is passed down as the innermost declarator.
   */
  #typed(node: Node): void {
    const held = this.#modifiers;
    this.#modifiers = undefined;
    const pushed: Modifier[] = [];
    let name = node.left;
    while (name !== undefined) {
      pushed.push(this.#push(name));
      if (!isFunctionQualifier(name.kind)) break;
      name = name.left;
    }
    if (name === undefined) throw FAIL;
    if (name.kind === Kind.Local) {
      // The qualifiers of a local class's member are in the local part. Move them around the name.
      const innermost = pushed.pop();
      if (innermost === undefined) throw FAIL;
      this.#modifiers = innermost.next;
      let local = name.right;
      if (local?.kind === Kind.DefaultArg) local = local.left;
      const whole = name;
      while (local !== undefined && isFunctionQualifier(local.kind)) {
        pushed.push(this.#push(local));
        local = local.left;
      }
      pushed.push(this.#push(whole));
      name = local;
    }
    const scope = this.#scope;
    if (name?.kind === Kind.Template) this.#scope = { next: scope, template: name };
    this.#print(node.right);
    this.#scope = scope;
    for (let i = pushed.length - 1; i >= 0; i--) {
      const modifier = pushed[i];
      if (modifier === undefined || modifier.printed) continue;
      this.#append(" ");
      this.#modifier(modifier.node);
    }
    this.#modifiers = held;
  }

  #templateId(node: Node): void {
    const modifiers = this.#modifiers;
    const template = this.#template;
    this.#modifiers = undefined;
    this.#template = node;
    this.#print(node.left);
    this.#templateArgs(node.right);
    this.#modifiers = modifiers;
    this.#template = template;
  }

  #templateArgs(args: Node | undefined): void {
    if (this.#last === "<") this.#append(" ");
    this.#append("<");
    this.#print(args);
    if (this.#last === ">") this.#append(" ");
    this.#append(">");
  }

  #templateParam(node: Node): void {
    if (this.#lambdaDepth > 0) return this.#append(`auto:${node.num + 1}`);
    const scope = this.#scope;
    const argument = this.#argument(node);
    if (scope === undefined || argument === undefined) throw FAIL;
    // The argument may refer to parameters of outer templates.
    this.#scope = scope.next;
    this.#print(argument);
    this.#scope = scope;
  }

  /** The argument for a template parameter. For a pack: its element that is being expanded. */
  #argument(param: Node): Node | undefined {
    const argument = this.#scope?.template.right?.items[param.num];
    if (argument?.kind !== Kind.Pack || this.#packIndex < 0) return argument;
    return argument.items[this.#packIndex];
  }

  #functionType(node: Node): void {
    if (node.left !== undefined) {
      const modifier = this.#push(node);
      this.#print(node.left);
      this.#modifiers = modifier.next;
      // A declarator around the function, as in `int (*f(char))[3]`.
      if (modifier.printed) return;
      this.#append(" ");
    }
    this.#functionDeclarator(node, this.#modifiers);
  }

  #functionDeclarator(node: Node, modifiers: Modifier | undefined): void {
    let paren = false;
    let space = false;
    for (let m = modifiers; m !== undefined && !m.printed && !paren; m = m.next) {
      switch (m.node.kind) {
        case Kind.Pointer:
        case Kind.Reference:
        case Kind.RvalueReference:
          paren = true;
          break;
        case Kind.Restrict:
        case Kind.Volatile:
        case Kind.Const:
        case Kind.VendorQualified:
        case Kind.Complex:
        case Kind.Imaginary:
        case Kind.PointerToMember:
          paren = true;
          space = true;
      }
    }
    if (paren) {
      if (this.#last !== "(" && this.#last !== "*") space = true;
      if (space && this.#last !== " ") this.#append(" ");
      this.#append("(");
    }
    const held = this.#modifiers;
    this.#modifiers = undefined;
    this.#modifierList(modifiers, false);
    if (paren) this.#append(")");
    this.#append("(");
    this.#print(node.right);
    this.#append(")");
    this.#modifierList(modifiers, true);
    this.#modifiers = held;
  }

  #arrayType(node: Node): void {
    // An array's qualifiers apply to its elements, so they are passed down again.
    const held = this.#modifiers;
    const array = this.#push(node);
    const qualifiers: Modifier[] = [];
    for (let m = held; m !== undefined && isQualifier(m.node.kind); m = m.next) {
      if (m.printed) continue;
      m.printed = true;
      this.#modifiers = { next: this.#modifiers, node: m.node, scope: m.scope, printed: false };
      qualifiers.push(this.#modifiers);
    }
    this.#print(node.right);
    this.#modifiers = held;
    if (array.printed) return;
    for (let i = qualifiers.length - 1; i >= 0; i--) this.#modifier(qualifiers[i]?.node);
    this.#arrayDeclarator(node, held);
  }

  #arrayDeclarator(node: Node, modifiers: Modifier | undefined): void {
    let space = true;
    if (modifiers !== undefined) {
      let paren = false;
      for (let m: Modifier | undefined = modifiers; m !== undefined; m = m.next) {
        if (m.printed) continue;
        if (m.node.kind === Kind.Array) space = false;
        else paren = true;
        break;
      }
      if (paren) this.#append(" (");
      this.#modifierList(modifiers, false);
      if (paren) this.#append(")");
    }
    this.#append(space ? " [" : "[");
    if (node.left !== undefined) this.#print(node.left);
    this.#append("]");
  }

  #qualified(node: Node): void {
    // The element may already have the array's qualifiers.
    for (let m = this.#modifiers; m !== undefined; m = m.next) {
      if (m.printed) continue;
      if (!isQualifier(m.node.kind)) break;
      if (m.node.kind === node.kind) return this.#print(node.left);
    }
    this.#modified(node, node.left);
  }

  #reference(node: Node): void {
    let referent = node.left;
    const scope = this.#scope;
    if (this.#lambdaDepth === 0 && referent?.kind === Kind.TemplateParam) {
      this.#restoreScope(node, referent);
      const argument = this.#argument(referent);
      if (argument === undefined) throw FAIL;
      referent = argument;
    }
    // Reference collapsing: `& &&` is `&`.
    if (referent?.kind === Kind.Reference || referent?.kind === node.kind) {
      this.#modified(referent, referent.left);
    } else if (referent?.kind === Kind.RvalueReference) {
      this.#modified(node, referent.left);
    } else {
      this.#modified(node, node.left);
    }
    this.#scope = scope;
  }

  /**
   * A parameter reached through a substitution has the meaning of its first occurrence, which may
   * be in another template.
   */
  #restoreScope(reference: Node, param: Node): void {
    if (!this.#savedScopes.has(param)) {
      this.#savedScopes.set(param, this.#scope);
      return;
    }
    for (let f = this.#frame; f !== undefined; f = f.parent) {
      if (f.node === param || (f.node === reference && f !== this.#frame)) return;
    }
    this.#scope = this.#savedScopes.get(param);
  }

  #modified(node: Node, inner: Node | undefined): void {
    const modifier = this.#push(node);
    this.#print(inner);
    if (!modifier.printed) this.#modifier(node);
    this.#modifiers = modifier.next;
  }

  /**
   * Prints the pending declarators. Qualifiers of member functions are printed only if `suffix`.
   */
  #modifierList(modifiers: Modifier | undefined, suffix: boolean): void {
    for (let m = modifiers; m !== undefined; m = m.next) {
      if (m.printed || (!suffix && isFunctionQualifier(m.node.kind))) continue;
      m.printed = true;
      const scope = this.#scope;
      this.#scope = m.scope;
      const { kind } = m.node;
      if (kind === Kind.Function) {
        this.#functionDeclarator(m.node, m.next);
      } else if (kind === Kind.Array) {
        this.#arrayDeclarator(m.node, m.next);
      } else if (kind === Kind.Local) {
        const held = this.#modifiers;
        this.#modifiers = undefined;
        this.#print(m.node.left);
        this.#modifiers = held;
        this.#append("::");
        let name = this.#skipDefaultArg(m.node.right);
        while (name !== undefined && isFunctionQualifier(name.kind)) name = name.left;
        this.#print(name);
        this.#scope = scope;
        return;
      } else {
        this.#modifier(m.node);
        this.#scope = scope;
        continue;
      }
      this.#scope = scope;
      return;
    }
  }

  #modifier(node: Node | undefined): void {
    if (node === undefined) throw FAIL;
    switch (node.kind) {
      case Kind.Const:
      case Kind.ConstThis:
        return this.#append(" const");
      case Kind.Volatile:
      case Kind.VolatileThis:
        return this.#append(" volatile");
      case Kind.Restrict:
      case Kind.RestrictThis:
        return this.#append(" restrict");
      case Kind.TransactionSafe:
        return this.#append(" transaction_safe");
      case Kind.Noexcept:
        this.#append(" noexcept");
        if (node.right === undefined) return;
        this.#append("(");
        this.#print(node.right);
        return this.#append(")");
      case Kind.ThrowSpec:
        this.#append(" throw(");
        this.#print(node.right);
        return this.#append(")");
      case Kind.VendorQualified:
        this.#append(" ");
        return this.#print(node.right);
      case Kind.Pointer:
        return this.#append("*");
      case Kind.Reference:
        return this.#append("&");
      case Kind.RvalueReference:
        return this.#append("&&");
      case Kind.ReferenceThis:
        return this.#append(" &");
      case Kind.RvalueReferenceThis:
        return this.#append(" &&");
      case Kind.Complex:
        return this.#append(" _Complex");
      case Kind.Imaginary:
        return this.#append(" _Imaginary");
      case Kind.PointerToMember:
        if (this.#last !== "(") this.#append(" ");
        this.#print(node.left);
        return this.#append("::*");
      case Kind.Typed:
        return this.#print(node.left);
      case Kind.Vector:
        this.#append(" __vector(");
        this.#print(node.left);
        return this.#append(")");
      default:
        return this.#print(node);
    }
  }

  #list(items: readonly Node[]): void {
    let printed = false;
    for (const item of items) {
      const start = this.#text;
      if (printed) this.#append(", ");
      const before = this.#text.length;
      this.#print(item);
      if (this.#text.length > before) {
        printed = true;
      } else {
        // Remove the comma of an empty pack. Afterwards c++filt writes `>>` instead of `> >`.
        this.#text = start;
        if (printed) this.#last = " ";
      }
    }
  }

  #packExpansion(node: Node): void {
    const pack = this.#lambdaDepth > 0 ? undefined : this.#findPack(node.left);
    if (pack === undefined) {
      // Without template packs, only function parameters are left, whose number is unknown.
      this.#operand(node.left);
      return this.#append("...");
    }
    for (let i = 0; i < pack.items.length; i++) {
      if (i > 0) this.#append(", ");
      this.#packIndex = i;
      this.#print(node.left);
    }
  }

  #findPack(node: Node | undefined): Node | undefined {
    if (node === undefined || ++this.#steps > MAX_STEPS) return undefined;
    switch (node.kind) {
      case Kind.TemplateParam: {
        const argument = this.#scope?.template.right?.items[node.num];
        return argument?.kind === Kind.Pack ? argument : undefined;
      }
      case Kind.PackExpansion:
      case Kind.Lambda:
        return undefined;
    }
    for (const item of node.items) {
      const pack = this.#findPack(item);
      if (pack !== undefined) return pack;
    }
    return this.#findPack(node.left) ?? this.#findPack(node.right);
  }

  #conversion(node: Node): void {
    const type = node.left;
    const scope = this.#scope;
    // The type may refer to parameters of the operator template itself.
    if (this.#template !== undefined) this.#scope = { next: scope, template: this.#template };
    if (type?.kind !== Kind.Template) {
      this.#print(type);
      this.#scope = scope;
      return;
    }
    this.#print(type.left);
    this.#scope = scope;
    this.#templateArgs(type.right);
  }

  /** Prints an expression's operator, without the word `operator`. */
  #operator(node: Node | undefined): void {
    if (node?.kind === Kind.Operator) this.#append(node.text);
    else this.#print(node);
  }

  /** Prints an operand, in parentheses unless it is a plain name. */
  #operand(node: Node | undefined): void {
    const plain = node?.kind === Kind.Name || node?.kind === Kind.Qualified ||
      node?.kind === Kind.InitializerList || node?.kind === Kind.FunctionParam;
    if (!plain) this.#append("(");
    this.#print(node);
    if (!plain) this.#append(")");
  }

  #unary(node: Node): void {
    const operator = node.left;
    let operand = node.right;
    const code = operator?.code ?? "";
    if (
      code === "ad" && operand?.kind === Kind.Typed && operand.left?.kind === Kind.Qualified &&
      operand.right?.kind === Kind.Function
    ) {
      // A function's address is printed without its parameters.
      operand = operand.left;
    }
    if (code === "sZ") {
      const pack = this.#findPack(operand);
      return this.#append(String(pack?.items.length ?? 0));
    }
    if (code === "sP") return this.#append(String(this.#countArguments(operand)));
    if (operator?.kind === Kind.Cast) {
      this.#append("(");
      this.#print(operator.left);
      this.#append(")");
    } else this.#operator(operator);
    if (code === "gs") return this.#print(operand);
    if (code === "st" || code === "nx") {
      this.#append("(");
      this.#print(operand);
      return this.#append(")");
    }
    this.#operand(operand);
  }

  #countArguments(args: Node | undefined): number {
    let count = 0;
    for (const item of args?.items ?? []) {
      if (item.kind === Kind.PackExpansion) {
        count += this.#findPack(item.left)?.items.length ?? 0;
      } else count++;
    }
    return count;
  }

  #binary(node: Node): void {
    const operator = node.left;
    const [left, right] = node.items;
    const code = operator?.code ?? "";
    if (isNewStyleCast(code)) {
      this.#operator(operator);
      this.#append("<");
      this.#print(left);
      this.#append(">(");
      this.#print(right);
      return this.#append(")");
    }
    if (code === "fl" || code === "fr") return this.#fold(code, node.items);
    if (code === "di" || code === "dx") {
      this.#append(code === "di" ? "." : "[");
      this.#print(left);
      if (code === "dx") this.#append("]");
      return this.#designated(right);
    }
    // Parentheses, since `>` would end the template arguments.
    if (code === "gt") this.#append("(");
    if (code === "cl" && left?.kind === Kind.Typed) this.#operand(left.left);
    else this.#operand(left);
    if (code === "ix") {
      this.#append("[");
      this.#print(right);
      this.#append("]");
    } else {
      if (code !== "cl") this.#operator(operator);
      this.#operand(right);
    }
    if (code === "gt") this.#append(")");
  }

  #designated(value: Node | undefined): void {
    const code = value?.left?.code ?? "";
    if (code === "di" || code === "dx" || code === "dX") return this.#print(value);
    this.#append("=");
    this.#operand(value);
  }

  #fold(code: string, items: readonly Node[]): void {
    const [operator, first, second] = items;
    const index = this.#packIndex;
    this.#packIndex = -1;
    this.#append(code === "fl" ? "(..." : "(");
    if (code === "fl") {
      this.#operator(operator);
      this.#operand(first);
      this.#append(")");
    } else {
      this.#operand(first);
      this.#operator(operator);
      this.#append("...");
      if (code !== "fr") {
        this.#operator(operator);
        this.#operand(second);
      }
      this.#append(")");
    }
    this.#packIndex = index;
  }

  #ternary(node: Node): void {
    const operator = node.left;
    const [first, second, third] = node.items;
    const code = operator?.code ?? "";
    if (code === "fL" || code === "fR") return this.#fold(code, node.items);
    if (code === "dX") {
      this.#append("[");
      this.#print(first);
      this.#append(" ... ");
      this.#print(second);
      this.#append("]");
      return this.#designated(third);
    }
    if (code === "qu") {
      this.#operand(first);
      this.#operator(operator);
      this.#operand(second);
      this.#append(" : ");
      return this.#operand(third);
    }
    this.#append(code === "na" ? "new[] " : "new ");
    if (first !== undefined && first.items.length > 0) {
      this.#operand(first);
      this.#append(" ");
    }
    this.#print(second);
    if (third !== undefined) this.#operand(third);
  }

  #literal(node: Node): void {
    const type = node.left;
    const sign = node.num === 1 ? "-" : "";
    if (type?.kind === Kind.Builtin) {
      const suffix = LITERAL_SUFFIX[type.num as LiteralStyle];
      if (suffix !== undefined) return this.#append(sign + node.text + suffix);
      if (type.num === LiteralStyle.Bool && sign === "") {
        if (node.text === "0") return this.#append("false");
        if (node.text === "1") return this.#append("true");
      }
    }
    this.#append("(");
    this.#print(type);
    this.#append(")" + sign);
    const float = type?.kind === Kind.Builtin && type.num === LiteralStyle.Float;
    this.#append(float ? `[${node.text}]` : node.text);
  }
}

function isQualifier(kind: Kind): boolean {
  return kind === Kind.Const || kind === Kind.Volatile || kind === Kind.Restrict;
}
