import { partitionPoint } from "@perfdata/format/bytes";

import { Cursor } from "../dwarf/bytes.ts";
import { SymbolsError } from "../errors.ts";
import { RULE } from "./cfi_constants.ts";
import { ExpressionTable, FrameRules } from "./frame_rules.ts";
import type { CfiSource } from "./unwind_table.ts";
import type { CfiMachine } from "./cfi_machine.ts";
import { DAMAGED, NO_FDE, type RowTable } from "./row_table.ts";

/** The `.ARM.exidx` section, and access to `.ARM.extab`. */
export interface ExidxBytes {
  /** The section's bytes: pairs of words, sorted by address. */
  readonly bytes: Uint8Array;
  /** Address of the section. */
  readonly address: number;
  /** Byte order. */
  readonly littleEndian: boolean;
  /** Reads up to `length` bytes at an address, from `.ARM.extab`. */
  read(address: number, length: number): Uint8Array;
}

const R4 = 4, SP = 13, LR = 14, PC = 15;
const CANT_UNWIND = 1;
/** Longest list of instructions: 255 words and three bytes. */
const MAX_TABLE = 4 * 256 + 4;

/** Thrown for the instruction `10000000 00000000`: unwinding is refused. */
class Refused extends Error {}

/**
 * Unwinding tables of 32-bit ARM (Exception Handling ABI for the Arm Architecture, ehabi32). Each
 * function has one list of instructions, valid at its calls. Prologues and epilogues are not
 * described.
 */
export class ExidxTable implements CfiSource {
  readonly expressions: ExpressionTable;
  readonly #source: ExidxBytes;
  readonly #view: DataView;
  readonly #rows: RowTable;
  readonly #onDamage: (error: SymbolsError) => void;
  /** For each entry 1 + its row, or a negative result; 0 if the entry was not decoded yet. */
  readonly #entries: Int32Array;

  /** Creates a table that decodes entries on first use, and reports damaged ones to `onDamage`. */
  constructor(source: ExidxBytes, rows: RowTable, onDamage: (error: SymbolsError) => void) {
    this.#source = source;
    this.#rows = rows;
    this.#onDamage = onDamage;
    const { bytes, littleEndian } = source;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#entries = new Int32Array(bytes.length >>> 3);
    this.expressions = new ExpressionTable(new Uint8Array(0), littleEndian);
  }

  find(address: number): number {
    const entry = this.#search(address);
    if (entry < 0) return NO_FDE;
    const known = this.#entries[entry] as number;
    if (known !== 0) return known > 0 ? known - 1 : known;
    const row = this.#compile(entry);
    this.#entries[entry] = row >= 0 ? row + 1 : row;
    return row;
  }

  rules(address: number): FrameRules | undefined {
    const entry = this.#search(address);
    return entry < 0 ? undefined : this.#tolerant(entry);
  }

  #search(address: number): number {
    const isBefore = (entry: number) => this.#prel31(entry * 8) <= address;
    return partitionPoint(0, this.#entries.length, isBefore) - 1;
  }

  /** Decodes a prel31 word: an address relative to the word itself, in 31 bits. */
  #prel31(at: number): number {
    const { address, littleEndian } = this.#source;
    return (address + at + (this.#view.getInt32(at, littleEndian) << 1 >> 1)) >>> 0;
  }

  #compile(entry: number): number {
    const rules = this.#tolerant(entry);
    if (rules === undefined) return DAMAGED;
    const rows = this.#rows;
    const row = rows.count;
    rows.add(0, rules, this.expressions, row);
    return row;
  }

  #tolerant(entry: number): FrameRules | undefined {
    try {
      return this.#readEntry(entry);
    } catch (error) {
      if (!(error instanceof SymbolsError)) throw error;
      this.#onDamage(error);
      return undefined;
    }
  }

  #readEntry(entry: number): FrameRules {
    const { littleEndian } = this.#source;
    const at = entry * 8 + 4;
    const word = this.#view.getUint32(at, littleEndian);
    if (word === CANT_UNWIND) return refused(this.#rows.machine);
    if (word >>> 31 === 1) return this.#inline(word, at);
    const address = this.#prel31(at);
    const table = this.#source.read(address, MAX_TABLE);
    const c = new Cursor(table, ".ARM.extab", address, littleEndian);
    return interpret(instructions(c), this.#rows.machine, c);
  }

  #inline(word: number, at: number): FrameRules {
    const c = new Cursor(this.#source.bytes, ".ARM.exidx", 0, this.#source.littleEndian, at);
    if ((word >>> 24 & 0x7f) !== 0) throw c.error(`personality ${word >>> 24 & 0x7f} inline`);
    return interpret([word >>> 16 & 255, word >>> 8 & 255, word & 255], this.#rows.machine, c);
  }
}

/** Reads the instruction bytes of an `.ARM.extab` entry (ehabi32, 7.2 and 7.3). */
function instructions(c: Cursor): number[] {
  const first = c.u32();
  let more: number, word: number, bytes: number;
  if (first >>> 31 === 1) {
    const personality = first >>> 24 & 0x7f;
    if (personality > 2) throw c.error(`personality ${personality}`, 0);
    word = first;
    more = personality === 0 ? 0 : first >>> 16 & 255;
    bytes = personality === 0 ? 3 : 2;
  } else {
    // A language's personality routine. GCC and LLVM put the same table after it.
    word = c.u32();
    more = word >>> 24;
    bytes = 3;
  }
  const list: number[] = [];
  for (let i = bytes - 1; i >= 0; i--) list.push(word >>> i * 8 & 255);
  for (; more > 0; more--) {
    word = c.u32();
    list.push(word >>> 24, word >>> 16 & 255, word >>> 8 & 255, word & 255);
  }
  return list;
}

function refused(machine: CfiMachine): FrameRules {
  const rules = new FrameRules(machine.registers);
  rules.returnAddress = LR;
  rules.cfaRegister = SP;
  rules.rule[LR] = RULE.UNDEFINED;
  return rules;
}

/**
 * Executes the instructions (ehabi32, 10.3) symbolically: registers at offsets from a base
 * register.
 */
class Frame {
  base: number = SP;
  /** The virtual stack pointer, relative to the base register. */
  vsp = 0;
  /** Offsets of the popped registers from the base register. */
  readonly saved: Map<number, number> = new Map();
  readonly #bytes: readonly number[];
  readonly #c: Cursor;
  #at = 0;

  constructor(bytes: readonly number[], c: Cursor) {
    this.#bytes = bytes;
    this.#c = c;
  }

  run(): void {
    while (this.#at < this.#bytes.length) {
      if (!this.#step(this.#next())) return;
    }
  }

  #next(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw this.#c.error("instructions cut short");
    return byte;
  }

  #pop(first: number, mask: number): void {
    for (let register = first; mask !== 0; register++, mask >>>= 1) {
      if ((mask & 1) === 0) continue;
      this.saved.set(register, this.vsp);
      this.vsp += 4;
    }
  }

  /** Executes one instruction. Returns `false` at `finish`. */
  #step(op: number): boolean {
    if (op < 0x40) this.vsp += ((op & 0x3f) << 2) + 4;
    else if (op < 0x80) this.vsp -= ((op & 0x3f) << 2) + 4;
    else if (op < 0x90) {
      const mask = (op & 15) << 8 | this.#next();
      if (mask === 0) throw new Refused();
      this.#pop(R4, mask);
    } else if (op < 0xa0) this.#setVsp(op & 15);
    else if (op < 0xb0) this.#pop(R4, (1 << (op & 7) + 1) - 1 | (op & 8 ? 1 << LR - R4 : 0));
    else if (op === 0xb0) return false;
    else this.#rare(op);
    return true;
  }

  #setVsp(register: number): void {
    if (register === SP || register === PC) throw this.#c.error(`stack pointer in r${register}`);
    // A new base is not supported after pops: saved registers are relative to the old one.
    if (this.saved.size > 0) throw this.#c.error("stack pointer set after registers were popped");
    this.base = register;
    this.vsp = 0;
  }

  #rare(op: number): void {
    switch (op) {
      case 0xb1: {
        const mask = this.#next();
        if (mask === 0 || mask > 15) throw this.#c.error(`instruction b1 ${mask.toString(16)}`);
        return this.#pop(0, mask);
      }
      case 0xb2:
        this.vsp += 0x204 + this.#uleb() * 4;
        return;
      case 0xb3: // VFP registers saved by FSTMFDX, with a word of padding
        this.vsp += ((this.#next() & 15) + 1) * 8 + 4;
        return;
      case 0xb4: // Pop of the return address's authentication code
        this.vsp += 4;
        return;
      case 0xb5: // The stack pointer as modifier of the authentication code
        return;
      case 0xc6: // iWMMXt
      case 0xc8:
      case 0xc9: // VFP
        this.vsp += ((this.#next() & 15) + 1) * 8;
        return;
      case 0xc7: // iWMMXt control registers
        for (let mask = this.#next() & 15; mask !== 0; mask &= mask - 1) this.vsp += 4;
        return;
    }
    if (op >= 0xb8 && op < 0xc0) this.vsp += ((op & 7) + 1) * 8 + 4;
    else if (op >= 0xc0 && op < 0xc6) this.vsp += ((op & 7) + 1) * 8;
    else if (op >= 0xd0 && op < 0xd8) this.vsp += ((op & 7) + 1) * 8;
    else throw this.#c.error(`instruction ${op.toString(16)}`);
  }

  #uleb(): number {
    let value = 0, shift = 0, byte;
    do {
      byte = this.#next();
      value |= (byte & 0x7f) << shift;
      shift += 7;
    } while ((byte & 0x80) !== 0 && shift < 28);
    return value;
  }
}

function interpret(bytes: readonly number[], machine: CfiMachine, c: Cursor): FrameRules {
  const frame = new Frame(bytes, c);
  try {
    frame.run();
  } catch (error) {
    if (error instanceof Refused) return refused(machine);
    throw error;
  }
  const rules = new FrameRules(machine.registers);
  rules.cfaRegister = frame.base;
  const { saved, vsp } = frame;
  // The CFA is the address after the last pop, even if the stack pointer was popped too.
  rules.cfaOffset = vsp;
  for (const [register, at] of saved) {
    if (register === PC) continue;
    rules.rule[register] = RULE.OFFSET;
    rules.value[register] = at - vsp;
  }
  rules.returnAddress = LR;
  const pc = saved.get(PC);
  if (pc !== undefined) {
    rules.rule[LR] = RULE.OFFSET;
    rules.value[LR] = pc - vsp;
  }
  return rules;
}
