/** A field of a structure. */
export interface DataField {
  /** Its name; `""` for a structure without one, and for what a class inherits. */
  readonly name: string;
  /** Offset in the structure, in bytes. */
  readonly offset: number;
  /** Bytes that it touches. */
  readonly size: number;
  /** Its type. */
  readonly type: DataType | undefined;
}

/** A type of data. Qualifiers (`const` and so on) are left out. */
export interface DataType {
  /** As perf has it: `struct list_head`, `node_t`, `long int`, `char*`, `int[]`. */
  readonly name: string;
  /** What it is, below the names that `typedef` gives. */
  readonly kind: "structure" | "array" | "pointer" | "scalar";
  /** Bytes; 0 if they are not known, as of what is only declared. */
  readonly size: number;
  /** Fields of a structure, a class or a union, in the order of the source. */
  readonly fields: readonly DataField[];
  /** What a pointer points to, and what an array is of. */
  readonly target: DataType | undefined;
  /** What it is below the names that `typedef` gives: types that are the same have the same. */
  readonly meant: object;
}

/** Where a variable is. Registers have their numbers in DWARF. */
export type VariablePlace =
  /** Its value is that of a register, plus an offset. */
  | { readonly kind: "value"; readonly register: number; readonly offset: number }
  /** It is in memory, at an offset from where a register points. */
  | { readonly kind: "memory"; readonly register: number; readonly offset: number }
  /** It is in memory, at an offset from the base of its function's frame. */
  | { readonly kind: "frame"; readonly offset: number }
  /** It is in memory, at an offset from the canonical frame address. */
  | { readonly kind: "cfa"; readonly offset: number }
  /** It is in memory, at an address of the file. */
  | { readonly kind: "address"; readonly address: number };

/** Where a variable is in a piece of code. */
export interface Location {
  /** The first address. */
  readonly low: number;
  /** The first address after it. */
  readonly high: number;
  /** Where it is; `undefined` if that cannot be said in so few words. */
  readonly place: VariablePlace | undefined;
}

/** A variable or parameter of a function. */
export interface Variable {
  /** Its name; `""` if it has none. */
  readonly name: string;
  /** Its type. */
  readonly type: DataType;
  /** How deep its scope is in the function: the inner one hides the outer one. */
  readonly depth: number;
  /** Where it is, in which code. */
  readonly locations: readonly Location[];
}

/** A function, with the variables of all scopes in it. */
export interface FunctionData {
  /** Its code: where each range begins and ends. */
  readonly ranges: readonly number[];
  /** What variables in its frame count from. */
  readonly frameBase: VariablePlace | undefined;
  /** Its variables, those of outer scopes first. */
  readonly variables: readonly Variable[];
}

/** A variable outside of functions. */
export interface GlobalVariable {
  /** Its name. */
  readonly name: string;
  /** Its type. */
  readonly type: DataType;
  /** Where it is in the file's memory. */
  readonly address: number;
}

/** Finds variables and their types by addresses of a file. */
export interface VariableFinder {
  /** The function whose code is at an address. */
  functionAt(address: number): FunctionData | undefined;
  /**
   * What the function that begins at an address returns.
   *
   * @param from An address in its unit: of others nothing is read for this.
   */
  returnType(address: number, from: number): DataType | undefined;
  /** The variable outside of functions whose memory has an address. */
  globalAt(address: number): GlobalVariable | undefined;
}
