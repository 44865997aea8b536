/** Kinds of {@linkcode Node} of a parsed C++ name. */
export const enum Kind {
  /** `text`: an identifier, a number or other literal text. */
  Name,
  /** `left` with ABI tag `right`. */
  Tagged,
  /** `left::right`. */
  Qualified,
  /** `left::right`; `left` is the encoding of the enclosing function. */
  Local,
  /** Entity `left` in the scope of default argument number `num`. */
  DefaultArg,
  /** Entity `left` with the function type `right`. */
  Typed,
  /** Template `left` with the arguments `right` (a List). */
  Template,
  /** Template parameter number `num`. */
  TemplateParam,
  /** Function parameter number `num`; 0 is `this`. */
  FunctionParam,
  /** Constructor of the class named `left`. */
  Constructor,
  /** Destructor of the class named `left`. */
  Destructor,
  /** `text` then `left`: vtables, thunks, guards and the like. */
  Special,
  /** Construction vtable for `left` in `right`. */
  ConstructionVtable,
  /** Reference temporary number `right` for `left`. */
  ReferenceTemporary,
  /** Standard abbreviation (`std::string`): `text`. */
  StandardName,
  /** Built-in type `text`; `num` is its {@linkcode Literal} style. */
  Builtin,
  /** Vendor-extended type `left`. */
  VendorType,
  /** Function type: returns `left`, takes `right` (a List). */
  Function,
  /** Array of `right` with the bound `left`. */
  Array,
  /** Pointer to a member, of type `right`, of the class `left`. */
  PointerToMember,
  /** Vector of `right` with `left` elements. */
  Vector,
  Const,
  Volatile,
  Restrict,
  /** `left` qualified by the vendor's `right`. */
  VendorQualified,
  Pointer,
  Reference,
  RvalueReference,
  Complex,
  Imaginary,
  /** Qualifiers of member functions. */
  ConstThis,
  VolatileThis,
  RestrictThis,
  ReferenceThis,
  RvalueReferenceThis,
  /** `noexcept`, with the condition `right` if there is one. */
  Noexcept,
  /** `throw(right)`. */
  ThrowSpec,
  TransactionSafe,
  /** `items`, separated by commas. */
  List,
  /** Template argument pack: `items`. */
  Pack,
  /** `left...`. */
  PackExpansion,
  /** Braced `right` (a List), of type `left` if one is given. */
  InitializerList,
  /** Operator name: `text`; `code` is its code in a mangled name. */
  Operator,
  /** Vendor-extended operator `left`. */
  VendorOperator,
  /** Literal operator `""left`. */
  LiteralOperator,
  /** Conversion operator to `left`, or a cast. */
  Conversion,
  Cast,
  /** Operator without operands: `left`. */
  Nullary,
  /** Operator `left` on `right`. */
  Unary,
  /** Operator `left`, written after `right`. */
  Postfix,
  /** Operator `left` on `items`. */
  Binary,
  Ternary,
  /** Literal `text` of type `left`; `num` is 1 if it is negative. */
  Literal,
  Decltype,
  /** Closure number `num` with parameters `left` (a List). */
  Lambda,
  /** Unnamed type number `num`. */
  UnnamedType,
  /** `left` with the clone suffix `text`. */
  Clone,
  /** Structured binding of the names `items`. */
  StructuredBinding,
}

/** Notation of literals of a built-in type. */
export const enum LiteralStyle {
  /** `(type)value` */
  Cast,
  Int,
  Unsigned,
  Long,
  UnsignedLong,
  LongLong,
  UnsignedLongLong,
  Bool,
  /** `(type)[value]` */
  Float,
}

/** A node of a parsed name. All nodes have the same shape, for speed. */
export interface Node {
  readonly kind: Kind;
  left: Node | undefined;
  right: Node | undefined;
  readonly items: Node[];
  readonly text: string;
  readonly code: string;
  readonly num: number;
}

const none: Node[] = [];

export function node(kind: Kind, left?: Node, right?: Node, text = "", num = 0): Node {
  return { kind, left, right, items: none, text, code: "", num };
}

/** Creates a node with `items`. */
export function listNode(kind: Kind, items: Node[], left?: Node): Node {
  return { kind, left, right: undefined, items, text: "", code: "", num: 0 };
}

/** Creates an operator: `code` in the mangled name, `text` in the output, `num` operands. */
export function operatorNode(code: string, text: string, num: number): Node {
  const kind = Kind.Operator;
  return { kind, left: undefined, right: undefined, items: none, text, code, num };
}

/** Whether a node is a member function's qualifier, which is printed after the parameters. */
export function isFunctionQualifier(kind: Kind): boolean {
  return kind >= Kind.ConstThis && kind <= Kind.TransactionSafe;
}
