import { numberAt } from "@perfdata/format/elements";
import type { DataType, FunctionData } from "@perfdata/symbols/dwarf";
import type { ObjectData } from "@perfdata/symbols/object-data";
import type { SymbolObject, SymbolResolver } from "@perfdata/symbols";
import type { DataDecoder, DataInsn } from "./data_insn.ts";
import { type FoundData, RegisterTypes } from "./register_types.ts";

/** Why the type of an access is not known. */
export const DATA_CAUSES = [
  /** It pushes, pops, calls or returns. */
  "stack operation",
  /** It is in the frame of a function, and no variable is known to be there. */
  "stack",
  /** It accesses nothing in memory. */
  "no memory operand",
  /** No variable is known that what it accesses is reached from. */
  "no variable",
  /** Its code has no debug information. */
  "no debug information",
  /** Its code cannot be read. */
  "no code",
] as const;

/** One of {@link DATA_CAUSES}. */
export type DataCause = typeof DATA_CAUSES[number];

/** The data that an instruction accesses, or why it is not known. */
export type DataAccess =
  | {
    /** Its type; an element of an array counts as that. */
    readonly type: DataType;
    /** Where in it. */
    readonly offset: number;
  }
  | { readonly cause: DataCause };

/** Where code is read. */
export interface CodeReader {
  /** Bytes from an address on, as the object's kind counts. */
  read(
    object: SymbolObject,
    start: number,
    size: number,
  ): { readonly bytes: Uint8Array } | { readonly missing: string };
}

/** Larger functions are not followed. */
const MOST_CODE = 1 << 18;
/** No instruction is longer. */
const LONGEST_INSN = 15;

/** A piece of a function. */
interface Piece {
  readonly insns: readonly DataInsn[];
  /** By distance from its beginning: the instruction there. */
  readonly numberAt: ReadonlyMap<number, number>;
  readonly registers: RegisterTypes | undefined;
}

/**
 * Finds which data instructions access: the operand in memory, and by the debug information, of which
 * type what it is counted from points to.
 */
export class DataTypes {
  readonly #resolver: SymbolResolver;
  readonly #code: CodeReader;
  readonly #decoder: DataDecoder;

  /** Reads nothing yet. */
  constructor(resolver: SymbolResolver, code: CodeReader, decoder: DataDecoder) {
    this.#resolver = resolver;
    this.#code = code;
    this.#decoder = decoder;
  }

  /** What instructions of an object access: those at some addresses, as the object's kind counts. */
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
    // A compare and the jump after it are executed together: the jump has its sample.
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
 * Gives a structure that is known by its own name and by one of `typedef` that by which most
 * instructions know it: it is one type.
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

/** Why an instruction accesses no data; `undefined` if it does. */
function accessOf({ memory, isStackOperation }: DataInsn): DataCause | undefined {
  if (isStackOperation) return "stack operation";
  return memory?.isAccessed === true ? undefined : "no memory operand";
}

/** The piece of a function's code that has an address. */
function rangeOf({ ranges }: FunctionData, address: number): [low: number, high: number] {
  for (let i = 0; i < ranges.length; i += 2) {
    const low = numberAt(ranges, i), high = numberAt(ranges, i + 1);
    if (address >= low && address < high) return [low, high];
  }
  return [address, address];
}

/** Data of an array is that of its element. */
function elementOf({ type, offset }: FoundData): FoundData {
  const { target } = type;
  if (type.kind !== "array" || target === undefined || target.size === 0) return { type, offset };
  return elementOf({ type: target, offset: offset % target.size });
}
