import { numberAt } from "@perfdata/format/bytes";
import type { DataType, FunctionData, ObjectData } from "@perfdata/symbols/dwarf";
import type { SymbolObject } from "@perfdata/symbols/resolver";
import type { SymbolResolver } from "@perfdata/symbols";
import type { DataDecoder, DataInsn } from "./data_insn.ts";
import { type FoundData, RegisterTypes } from "./register_types.ts";

/** Reasons for an access with an unknown type. */
export const DATA_CAUSES = [
  /** The instruction pushes, pops, calls or returns. */
  "stack operation",
  /** The access is in a function's frame, where no variable is known. */
  "stack",
  /** The instruction does not access memory. */
  "no memory operand",
  /** No known variable leads to the accessed data. */
  "no variable",
  /** The code has no debug information. */
  "no debug information",
  /** The code cannot be read. */
  "no code",
] as const;

/** One of {@link DATA_CAUSES}. */
export type DataCause = typeof DATA_CAUSES[number];

/** The data that an instruction accesses, or the reason why it is unknown. */
export type DataAccess =
  | {
    /** Type of the data. For arrays, that of an element. */
    readonly type: DataType;
    /** Offset in the type. */
    readonly offset: number;
  }
  | { readonly cause: DataCause };

/** Reads code. */
export interface CodeReader {
  /** Reads bytes at an address of the object. */
  read(
    object: SymbolObject,
    start: number,
    size: number,
  ): { readonly bytes: Uint8Array } | { readonly missing: string };
}

/** Limit of the size of analyzed functions. */
const MOST_CODE = 1 << 18;
/** Size of the longest instruction. */
const LONGEST_INSN = 15;

/** A contiguous part of a function. */
interface Piece {
  readonly insns: readonly DataInsn[];
  /** Index of the instruction at each distance from the start. */
  readonly numberAt: ReadonlyMap<number, number>;
  readonly registers: RegisterTypes | undefined;
}

/** Decodes how AArch64 instructions use memory and registers. Loaded on demand. */
export async function armDataDecoder(): Promise<DataDecoder> {
  return (await import("./arm_data_decoder.ts")).armDataDecoder();
}

/**
 * Finds the data that instructions access: the type of their memory operand, from debug information
 * about the base register.
 */
export class DataTypes {
  readonly #resolver: SymbolResolver;
  readonly #code: CodeReader;
  readonly #decoder: DataDecoder;

  /** Stores the inputs. Code is read in {@link DataTypes.find}. */
  constructor(resolver: SymbolResolver, code: CodeReader, decoder: DataDecoder) {
    this.#resolver = resolver;
    this.#code = code;
    this.#decoder = decoder;
  }

  /** Finds the accesses of instructions, given by addresses in the object. */
  async find(object: SymbolObject, addresses: ArrayLike<number>): Promise<DataAccess[]> {
    const symbols = await this.#resolver.open(object);
    try {
      const data = await symbols.data();
      const pieces = new Map<number, Piece | undefined>();
      return withOneName(
        Array.from(addresses, (address) => this.#access(object, data, address, pieces)),
      );
    } finally {
      symbols.close();
    }
  }

  #access(
    object: SymbolObject,
    data: ObjectData | undefined,
    address: number,
    pieces: Map<number, Piece | undefined>,
  ): DataAccess {
    const inFile = data?.toFile(address);
    const about = inFile === undefined ? undefined : data?.finder.functionAt(inFile);
    if (data === undefined || inFile === undefined || about === undefined) {
      return this.#withoutData(object, address);
    }
    const [low, high] = rangeOf(about, inFile);
    if (high - low > MOST_CODE) return this.#withoutData(object, address);
    if (!pieces.has(low)) {
      pieces.set(low, this.#piece(object, address - (inFile - low), low, high, data, about));
    }
    const piece = pieces.get(low);
    const number = piece?.numberAt.get(inFile - low);
    if (piece === undefined) return { cause: "no code" };
    const insn = number === undefined ? undefined : piece.insns[number];
    if (number === undefined || insn === undefined) return { cause: "no memory operand" };
    const own = accessOf(insn);
    if (own === undefined) return this.#found(piece, number, insn);
    // A compare is fused with a following jump, which then gets its sample.
    const before = piece.insns[number - 1];
    if (insn.isConditional && before?.isCompare && accessOf(before) === undefined) {
      return this.#found(piece, number - 1, before);
    }
    return { cause: own };
  }

  #found(piece: Piece, number: number, { memory }: DataInsn): DataAccess {
    const found = piece.registers?.access(number);
    if (found !== undefined) return elementOf(found);
    const isInFrame = piece.registers?.isOfFrame(memory?.base ?? -1, number) === true;
    return { cause: isInFrame ? "stack" : "no variable" };
  }

  #withoutData(object: SymbolObject, address: number): DataAccess {
    const found = this.#code.read(object, address, LONGEST_INSN);
    const shorter = "missing" in found ? this.#code.read(object, address, 1) : found;
    if ("missing" in shorter) return { cause: "no code" };
    const [insn] = this.#decoder.insns(shorter.bytes, 0n);
    return { cause: (insn && accessOf(insn)) ?? "no debug information" };
  }

  #piece(
    object: SymbolObject,
    start: number,
    low: number,
    high: number,
    data: ObjectData,
    about: FunctionData,
  ): Piece | undefined {
    const found = this.#code.read(object, start, high - low);
    if ("missing" in found) return undefined;
    const insns = this.#decoder.insns(found.bytes, BigInt.asUintN(64, BigInt(low)));
    return {
      insns,
      numberAt: new Map(insns.map(({ at }, number) => [at, number])),
      registers: new RegisterTypes(insns, low, data, about, this.#decoder),
    };
  }
}

/**
 * A structure can have its own name and `typedef`s. Uses the name that most instructions have for
 * it.
 */
function withOneName(accesses: readonly DataAccess[]): DataAccess[] {
  const counts = new Map<object, Map<DataType, number>>();
  for (const access of accesses) {
    if ("cause" in access || access.type.kind !== "structure") continue;
    const { type } = access;
    let known = counts.get(type.meant);
    if (known === undefined) counts.set(type.meant, known = new Map());
    known.set(type, (known.get(type) ?? 0) + 1);
  }
  const chosen = new Map([...counts].map(([meant, known]) => {
    const ordered = [...known].sort(([a, m], [b, n]) => n - m || (a.name < b.name ? -1 : 1));
    return [meant, ordered[0]?.[0]];
  }));
  return accesses.map((access) => {
    if ("cause" in access) return access;
    return { type: chosen.get(access.type.meant) ?? access.type, offset: access.offset };
  });
}

/** Reason why an instruction accesses no data; `undefined` if it does. */
function accessOf({ memory, isStackOperation }: DataInsn): DataCause | undefined {
  if (isStackOperation) return "stack operation";
  return memory?.isAccessed === true ? undefined : "no memory operand";
}

/** The contiguous part of a function that contains an address. */
function rangeOf({ ranges }: FunctionData, address: number): [low: number, high: number] {
  for (let i = 0; i < ranges.length; i += 2) {
    const low = numberAt(ranges, i), high = numberAt(ranges, i + 1);
    if (address >= low && address < high) return [low, high];
  }
  return [address, address];
}

function elementOf({ type, offset }: FoundData): FoundData {
  const { target } = type;
  if (type.kind !== "array" || target === undefined || target.size === 0) return { type, offset };
  return elementOf({ type: target, offset: offset % target.size });
}
