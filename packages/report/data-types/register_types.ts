import { partitionPoint, shortAt } from "@perfdata/format/bytes";
import type {
  DataType,
  FunctionData,
  ObjectData,
  Variable,
  VariablePlace,
} from "@perfdata/symbols/dwarf";
import { DEEPEST_FIELD } from "./data_field.ts";
import type { DataDecoder, DataInsn, MemoryOperand } from "./data_insn.ts";

interface Pointed {
  readonly type: DataType;
  /** Offset in the type. */
  readonly offset: number;
  /** Whether more elements may surround it, as for a pointer's target. */
  readonly repeats: boolean;
}

/** A type with an offset. */
export interface FoundData {
  readonly type: DataType;
  /** The offset. */
  readonly offset: number;
}

/** The data to which each register points; `undefined` if unknown. */
type Registers = readonly (Pointed | undefined)[];

const REGISTERS = 32;
const NOTHING: Registers = new Array<Pointed | undefined>(REGISTERS).fill(undefined);
/** Limit of visits to an instruction. Few are needed, since each visit only removes knowledge. */
const MOST_VISITS = 256;

/**
 * The data to which registers point at each instruction of a piece of code. It is known from
 * variables in debug information, and follows copies, loads of pointers and sums. Where control
 * flow joins, differing knowledge is dropped.
 */
export class RegisterTypes {
  readonly #insns: readonly DataInsn[];
  readonly #data: ObjectData;
  readonly #function: FunctionData;
  readonly #decoder: DataDecoder;
  /** Virtual address of the first instruction. */
  readonly #start: number;
  /** Registers with variables, by instruction. */
  readonly #known: (Map<number, { value: Pointed; depth: number }> | undefined)[];
  readonly #before: (Registers | undefined)[];
  /** Variables in memory relative to a register, usually in the frame. */
  readonly #framed: readonly Variable[];

  /**
   * Analyzes the code of a function.
   *
   * @param start Virtual address of the first instruction.
   */
  constructor(
    insns: readonly DataInsn[],
    start: number,
    data: ObjectData,
    about: FunctionData,
    decoder: DataDecoder,
  ) {
    this.#insns = insns;
    this.#start = start;
    this.#data = data;
    this.#function = about;
    this.#decoder = decoder;
    this.#known = new Array(insns.length).fill(undefined);
    this.#before = new Array(insns.length).fill(undefined);
    this.#framed = about.variables.filter(({ locations }) =>
      locations.some(({ place }) => place !== undefined && place.kind !== "value")
    );
    this.#readVariables();
    this.#follow();
  }

  /** The data that an instruction accesses; `undefined` if unknown. */
  access(number: number): FoundData | undefined {
    const insn = this.#insns[number];
    if (insn?.memory === undefined) return undefined;
    const found = this.#pointedBy(insn.memory, this.#registersAt(number), number);
    return found === undefined ? undefined : within(found);
  }

  isOfFrame(register: number, number: number): boolean {
    const { frameBase } = this.#function;
    if (register === this.#decoder.stackPointer) return true;
    if (frameBase !== undefined && "register" in frameBase && frameBase.register === register) {
      return true;
    }
    return this.#data.frameAddress(this.#address(number))?.register === register;
  }

  /** Stores the variables in registers by instruction. */
  #readVariables(): void {
    const [first = 0, last = 0] = [this.#start, this.#endOf()];
    for (const { type, depth, locations } of this.#function.variables) {
      const { target } = type;
      if (type.kind !== "pointer" || target === undefined) continue;
      for (const { low, high, place } of locations) {
        if (place?.kind !== "value" || place.register >= REGISTERS) continue;
        if (high <= first || low >= last) continue;
        const value = { type: target, offset: 0 - place.offset, repeats: true };
        for (
          let i = this.#firstFrom(low);
          i < this.#insns.length && this.#address(i) < high;
          i++
        ) {
          const known = this.#known[i] ??= new Map();
          const other = known.get(place.register);
          if (other !== undefined && !isBetter({ value, depth }, other)) continue;
          known.set(place.register, { value, depth });
        }
      }
    }
  }

  #endOf(): number {
    const last = this.#insns.at(-1);
    return this.#start + (last === undefined ? 0 : last.at + last.length);
  }

  #address(number: number): number {
    return this.#start + (this.#insns[number] as DataInsn).at;
  }

  /** The first instruction from an address on. */
  #firstFrom(address: number): number {
    return partitionPoint(0, this.#insns.length, (i) => this.#address(i) < address);
  }

  #follow(): void {
    const insns = this.#insns;
    const numberAt = new Map(insns.map(({ at }, number) => [at, number]));
    const visits = new Uint16Array(insns.length);
    const waiting: number[] = [];
    const reach = (number: number, registers: Registers): void => {
      const before = this.#before[number];
      const joined = before === undefined ? registers : meet(before, registers);
      if (joined === before) return;
      this.#before[number] = joined;
      waiting.push(number);
    };
    for (let entry = 0; entry < insns.length; entry++) {
      // Start at the first instruction, and at those that only an indirect jump or an exception
      // reaches.
      if (this.#before[entry] !== undefined) continue;
      reach(entry, NOTHING);
      for (let number = waiting.pop(); number !== undefined; number = waiting.pop()) {
        const insn = insns[number] as DataInsn;
        visits[number] = shortAt(visits, number) + 1;
        if (shortAt(visits, number) > MOST_VISITS) this.#before[number] = NOTHING;
        if (shortAt(visits, number) > MOST_VISITS + 1) continue;
        const after = this.#after(number, insn);
        if (insn.flow !== "jump" && insn.flow !== "end" && number + 1 < insns.length) {
          reach(number + 1, after);
        }
        if (insn.target !== undefined && (insn.flow === "jump" || insn.flow === "branch")) {
          const target = numberAt.get(insn.target);
          if (target !== undefined) reach(target, after);
        }
      }
    }
  }

  /** Registers before an instruction, including variables. */
  #registersAt(number: number): Registers {
    const before = this.#before[number] ?? NOTHING;
    const known = this.#known[number];
    if (known === undefined) return before;
    const registers = [...before];
    for (const [register, { value }] of known) registers[register] = value;
    return registers;
  }

  #after(number: number, insn: DataInsn): Registers {
    const before = this.#registersAt(number);
    const { effect, written } = insn;
    if (effect === undefined && written.length === 0 && insn.flow !== "call") return before;
    const registers = [...before];
    for (const register of written) registers[register] = undefined;
    if (insn.flow === "call") {
      for (const register of this.#decoder.lostByCalls) registers[register] = undefined;
      registers[this.#decoder.returned] = this.#returned(insn);
    }
    if (effect === undefined) return registers;
    const own = before["of" in effect ? effect.of ?? effect.to : effect.to];
    let value: Pointed | undefined;
    switch (effect.kind) {
      case "move":
        value = before[effect.from];
        break;
      case "choose":
        value = joined(own, before[effect.from]);
        break;
      case "load":
        value = this.#loaded(insn, before, number);
        break;
      case "address":
        value = insn.memory && this.#addressOf(insn.memory, before, number);
        break;
      case "add":
        value = own && shifted(own, effect.value);
        break;
      case "sum": {
        // The sum of a pointer and a number; the operand with known data is the pointer.
        const other = before[effect.from];
        value = own === undefined || other === undefined ? own ?? other : undefined;
        break;
      }
    }
    registers[effect.to] = value;
    return registers;
  }

  #returned({ target }: DataInsn): Pointed | undefined {
    if (target === undefined) return undefined;
    const type = this.#data.finder.returnType(this.#start + target, this.#start);
    return type === undefined ? undefined : pointedBy(type);
  }

  #loaded({ memory }: DataInsn, registers: Registers, number: number): Pointed | undefined {
    const found = memory && this.#pointedBy(memory, registers, number);
    const data = found && within(found);
    const type = data && typeAt(data);
    return type === undefined ? undefined : pointedBy(type);
  }

  /** The data at an operand's address; in an array, an element with others around it. */
  #addressOf(memory: MemoryOperand, registers: Registers, number: number): Pointed | undefined {
    const found = this.#pointedBy(memory, registers, number);
    const element = found?.type.kind === "array" ? found.type.target : undefined;
    if (found === undefined || element === undefined || element.size === 0) return found;
    return shifted({ type: element, offset: 0, repeats: true }, found.offset);
  }

  #pointedBy(memory: MemoryOperand, registers: Registers, number: number): Pointed | undefined {
    if (memory.isSegment) return undefined;
    if (memory.isAddress) return this.#global(memory.offset);
    // Debug information may state a local variable's location as the field that it was loaded from.
    const base = this.isOfFrame(memory.base, number) ? undefined : registers[memory.base];
    if (base !== undefined) return shifted(base, memory.offset);
    const inFrame = this.#inFrame(memory, number);
    if (inFrame !== undefined) return inFrame;
    // With an array index as register, non-relocated code has the array's address as displacement.
    return memory.offset > 0 ? this.#global(memory.offset) : undefined;
  }

  #global(address: number): Pointed | undefined {
    const found = this.#data.finder.globalAt(address);
    return found && { type: found.type, offset: address - found.address, repeats: false };
  }

  #inFrame({ base, offset }: MemoryOperand, number: number): Pointed | undefined {
    const address = this.#address(number);
    let found: Pointed | undefined, depth = -1;
    for (const variable of this.#framed) {
      if (variable.depth < depth) continue;
      for (const { low, high, place } of variable.locations) {
        if (address < low || address >= high || place === undefined) continue;
        const at = this.#offsetFrom(base, place, address);
        if (at === undefined || offset < at || offset >= at + variable.type.size) continue;
        found = { type: variable.type, offset: offset - at, repeats: false };
        depth = variable.depth;
      }
    }
    return found;
  }

  /** Offset of a location from a register. */
  #offsetFrom(register: number, place: VariablePlace, address: number): number | undefined {
    if (place.kind === "memory") return place.register === register ? place.offset : undefined;
    if (place.kind !== "frame" && place.kind !== "cfa") return undefined;
    const { frameBase } = this.#function;
    if (place.kind === "frame" && frameBase !== undefined && "register" in frameBase) {
      return frameBase.register === register ? frameBase.offset + place.offset : undefined;
    }
    const cfa = this.#data.frameAddress(address);
    return cfa?.register === register ? cfa.offset + place.offset : undefined;
  }
}

/** Type of the field or array element that begins at an offset. */
function typeAt({ type, offset }: FoundData, depth = 0): DataType | undefined {
  // In a damaged file a structure may contain itself.
  if (depth > DEEPEST_FIELD) return undefined;
  if (type.kind === "structure") {
    for (const field of type.fields) {
      if (field.type === undefined) continue;
      if (offset < field.offset || offset >= field.offset + field.size) continue;
      const found = typeAt({ type: field.type, offset: offset - field.offset }, depth + 1);
      // In a union, the first member that is a pointer.
      if (found?.kind === "pointer") return found;
    }
    return undefined;
  }
  if (type.kind === "array") {
    const { target } = type;
    if (target === undefined || target.size === 0) return undefined;
    return typeAt({ type: target, offset: offset % target.size }, depth + 1);
  }
  return offset === 0 ? type : undefined;
}

function pointedBy({ kind, target: type }: DataType): Pointed | undefined {
  return kind !== "pointer" || type === undefined ? undefined : { type, offset: 0, repeats: true };
}

function shifted({ type, offset, repeats }: Pointed, by: number): Pointed {
  const { size } = type;
  const sum = offset + by;
  return { type, repeats, offset: repeats && size > 0 ? (sum % size + size) % size : sum };
}

/** The data at an offset within its type. */
function within({ type, offset, repeats }: Pointed): FoundData | undefined {
  const { size } = type;
  if (size === 0) return undefined;
  if (repeats) return { type, offset: (offset % size + size) % size };
  return offset >= 0 && offset < size ? { type, offset } : undefined;
}

function isBetter(
  one: { value: Pointed; depth: number },
  other: { value: Pointed; depth: number },
): boolean {
  if (one.depth !== other.depth) return one.depth > other.depth;
  return one.value.type.kind === "structure" && other.value.type.kind !== "structure";
}

/** The common knowledge of both registers' states. Returns `one` if that is equal. */
function meet(one: Registers, other: Registers): Registers {
  let changed: (Pointed | undefined)[] | undefined;
  for (let i = 0; i < REGISTERS; i++) {
    const both = joined(one[i], other[i]);
    if (both === one[i]) continue;
    changed ??= [...one];
    changed[i] = both;
  }
  return changed ?? one;
}

function joined(one: Pointed | undefined, other: Pointed | undefined): Pointed | undefined {
  if (one === undefined || other === undefined) return undefined;
  if (one === other) return one;
  const isSame = one.repeats === other.repeats && one.type.meant === other.type.meant &&
    (one.offset === other.offset || inOneArray(one.type, one.offset, other.offset));
  return isSame ? one : undefined;
}

/** Whether two offsets are at the same place in elements of one array in a structure. */
function inOneArray(type: DataType, one: number, other: number, depth = 0): boolean {
  if (depth > DEEPEST_FIELD) return false;
  for (const { offset, size, type: own } of type.fields) {
    if (own === undefined || one < offset || one >= offset + size) continue;
    // A loop ends at the address after the last element.
    if (other < offset || other > offset + size) continue;
    if (own.kind === "structure") {
      return inOneArray(own, one - offset, other - offset, depth + 1);
    }
    const { target } = own;
    return own.kind === "array" && target !== undefined && target.size > 0 &&
      (one - other) % target.size === 0;
  }
  return false;
}
