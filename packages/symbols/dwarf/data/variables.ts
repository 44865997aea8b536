/** A field of a structure. */
export interface DataField {
  /** Name; `""` for an unnamed structure and for a base class. */
  readonly name: string;
  /** Offset in the structure, in bytes. */
  readonly offset: number;
  /** Number of bytes that the field touches. */
  readonly size: number;
  /** Type of the field. */
  readonly type: DataType | undefined;
}

/** A type of data. Qualifiers (`const` and so on) are left out. */
export interface DataType {
  /** Name in perf's notation: `struct list_head`, `node_t`, `long int`, `char*`, `int[]`. */
  readonly name: string;
  /** Kind of the type, after resolving `typedef`s. */
  readonly kind: "structure" | "array" | "pointer" | "scalar";
  /** Size in bytes; 0 if it is unknown, as for a mere declaration. */
  readonly size: number;
  /** Fields of a structure, a class or a union, in the order of the source. */
  readonly fields: readonly DataField[];
  /** The type that a pointer points to, or an array's element type. */
  readonly target: DataType | undefined;
  /** Identity of the type after resolving `typedef`s: equal types have the same object. */
  readonly meant: object;
}

/** Location of a variable. Registers have DWARF numbers. */
export type VariablePlace =
  /** The value is register + offset. */
  | { readonly kind: "value"; readonly register: number; readonly offset: number }
  /** In memory at register + offset. */
  | { readonly kind: "memory"; readonly register: number; readonly offset: number }
  /** In memory at an offset from the function's frame base. */
  | { readonly kind: "frame"; readonly offset: number }
  /** In memory at an offset from the canonical frame address. */
  | { readonly kind: "cfa"; readonly offset: number }
  /** In memory at a virtual address in the file. */
  | { readonly kind: "address"; readonly address: number };

/** Location of a variable in a range of code. */
export interface Location {
  /** The first address. */
  readonly low: number;
  /** First address after the range. */
  readonly high: number;
  /** The location; `undefined` if it is too complex for a {@linkcode VariablePlace}. */
  readonly place: VariablePlace | undefined;
}

/** A variable or parameter of a function. */
export interface Variable {
  /** Name; `""` if there is none. */
  readonly name: string;
  /** Type of the variable. */
  readonly type: DataType;
  /** Depth of the scope within the function. A variable of an inner scope hides others. */
  readonly depth: number;
  /** Locations, each with its range of code. */
  readonly locations: readonly Location[];
}

/** A function, with the variables of all scopes in it. */
export interface FunctionData {
  /** Code as pairs of start and end. */
  readonly ranges: readonly number[];
  /** The frame base, from which `frame` locations count. */
  readonly frameBase: VariablePlace | undefined;
  /** Variables, outer scopes first. */
  readonly variables: readonly Variable[];
}

/** A variable outside of functions. */
export interface GlobalVariable {
  /** Its name. */
  readonly name: string;
  /** Its type. */
  readonly type: DataType;
  /** Virtual address in the file. */
  readonly address: number;
}

/** Look-up of variables and types by virtual address. */
export interface VariableFinder {
  /** The function whose code is at an address. */
  functionAt(address: number): FunctionData | undefined;
  /**
   * The return type of the function that begins at an address.
   *
   * @param from Only a function in the unit of this address is looked up.
   */
  returnType(address: number, from: number): DataType | undefined;
  /** The global variable that contains an address. */
  globalAt(address: number): GlobalVariable | undefined;
}
