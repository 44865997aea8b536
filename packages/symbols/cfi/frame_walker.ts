import { DwarfError } from "../dwarf/dwarf_error.ts";
import { EM } from "../elf/elf_constants.ts";
import { RULE } from "./cfi_constants.ts";
import { evaluateExpression, type FrameState } from "./dwarf_expression.ts";
import type { ExpressionTable, FrameRules } from "./frame_rules.ts";
import type { CfiMachine } from "./cfi_machine.ts";
import { DAMAGED, NO_FDE, ROW, type RowTable } from "./row_table.ts";
import { WALK_END } from "./walk_end.ts";

/** Instead of a row: the object has no call frame information. */
export const NO_CFI: number = -3;
/** Instead of a row: the file of the object is not here, or is from another build. */
export const NO_OBJECT: number = -4;
/** Instead of a row: nothing is mapped at the address, or nothing that can be executed. */
export const NOT_MAPPED: number = -5;

/** Queries of a {@linkcode FrameWalker} about code, implemented by the caller, which knows the mappings. */
export interface CodeLookup {
  /** The row of the address looked up last, or `NO_FDE` … `NOT_MAPPED`. */
  row: number;
  /** The caller's name for the frame: an opaque number. */
  place: number;
  /** Looks an address up: sets `row` and `place`. */
  find(address: number): void;
  /** The rules of all registers at an address for which there is a row. */
  rules(address: number): { rules: FrameRules; expressions: ExpressionTable } | undefined;
  /** Memory that is not on the stack and does not change: `NaN` where it is not known. */
  memory(address: number, size: number): number;
}

/** The copy of a part of the stack that a sample holds. */
export interface StackCopy {
  /** What holds it. */
  view: DataView;
  /** Its first byte, which was at the stack pointer. */
  start: number;
  /** Its size in bytes. */
  size: number;
}

/** By so much the next frame pointer may lie higher than this frame: as libunwind believes. */
const MAX_GUESSED_FRAME = 0x4000;

/**
 * Walks stacks, from the registers and the copy of the stack that a sample holds. What nearly all
 * frames need (stack pointer, frame pointer, return address) is computed from four numbers of a
 * row; a stack with a frame that needs more is walked again with all registers.
 *
 * Where there is no call frame information the frame pointer is followed, if what it leads to looks
 * like a frame; `guessed` counts that.
 */
export class FrameWalker {
  /** Places of the frames, the innermost first: what `CodeLookup` called them. */
  readonly places: Int32Array;
  /** Their addresses: that of the first one, of each other one the byte before a return address. */
  readonly addresses: Float64Array;
  /** Number of frames. */
  count = 0;
  /** Why the walk ended: `WALK_END`. */
  end: number = WALK_END.START;
  /** The frames that were found by the frame pointer alone. */
  guessed = 0;
  /** Bytes of stack that would have been needed for the next frame, where the end is `STACK`. */
  wanted = 0;
  /** The stack pointer before the last frame, which gives the depth of the stack. */
  top = 0;

  readonly #machine: CfiMachine;
  readonly #rows: RowTable;
  readonly #code: CodeLookup;
  readonly #littleEndian: boolean;
  readonly #state: FrameState;
  /** All registers of the frame, by number; `NaN` where one is not known. */
  readonly #registers: Float64Array;
  readonly #next: Float64Array;
  /** Whether all registers are kept up to date, not only the three. */
  #full = false;
  /** Whether something could not be computed because only three registers are known. */
  #needsFull = false;
  /** The highest address that could not be read. */
  #unreadable = 0;
  #view: DataView = new DataView(new ArrayBuffer(0));
  #stackStart = 0;
  #stackSize = 0;
  #base = 0;
  #addressLimit = 0;
  #pc = 0;
  #sp = 0;
  #fp = 0;
  /** Whether the registers of this frame are those at an instruction, not those after a call. */
  #exact = true;
  #first = true;

  /**
   * Makes a walker for one kind of machine.
   *
   * @param maxFrames frames that are wanted of a stack at most
   */
  constructor(rows: RowTable, code: CodeLookup, maxFrames: number, littleEndian: boolean = true) {
    this.#machine = rows.machine;
    this.#rows = rows;
    this.#code = code;
    this.#littleEndian = littleEndian;
    this.places = new Int32Array(maxFrames);
    this.addresses = new Float64Array(maxFrames);
    this.#registers = new Float64Array(rows.machine.registers);
    this.#next = new Float64Array(rows.machine.registers);
    this.#state = {
      register: (number) => this.#register(number),
      memory: (address, size) => this.#memory(address, size),
    };
  }

  /**
   * Walks one stack.
   *
   * @param registers by their numbers in DWARF, as signed numbers; `NaN` where one was not recorded
   * @param stack the copy of the stack, from the stack pointer on
   */
  walk(registers: Float64Array, stack: StackCopy): void {
    const { sp, pc } = this.#machine;
    this.#view = stack.view;
    this.#stackStart = stack.start;
    this.#stackSize = stack.size;
    this.#base = registers[sp] as number;
    this.count = 0;
    this.#addressLimit = this.#machine.machine === EM.AARCH64 ? addressLimit(this.#base) : 0;
    if (Number.isNaN(registers[pc] as number) || Number.isNaN(this.#base)) {
      this.end = WALK_END.DAMAGED;
      return;
    }
    this.#full = false;
    this.#run(registers);
    if (this.#needsFull) {
      this.#full = true;
      this.#run(registers);
    }
  }

  #run(registers: Float64Array): void {
    const { places, addresses } = this;
    const { sp, fp, pc, machine } = this.#machine;
    const code = this.#code;
    const { kind: kinds } = this.#rows;
    this.#registers.set(registers.subarray(0, this.#registers.length));
    this.#pc = registers[pc] as number;
    this.#sp = registers[sp] as number;
    this.#fp = registers[fp] as number;
    this.#exact = true;
    this.#first = true;
    this.#needsFull = false;
    this.guessed = 0;
    let count = 0;
    for (;;) {
      const address = this.#exact ? this.#pc : this.#pc - 1;
      code.find(machine === EM.ARM && address % 2 !== 0 ? address - 1 : address);
      addresses[count] = address;
      places[count++] = code.place;
      this.top = this.#sp;
      const { row } = code;
      let end: number;
      if (row >= 0) {
        const kind = row < kinds.length ? kinds[row] as number : this.#rows.kind[row] as number;
        if ((kind & ROW.END) !== 0) end = WALK_END.START;
        else {end = (kind & ROW.GENERIC) !== 0 || this.#full
            ? this.#stepAll(address)
            : this.#step(row, kind);}
        if (this.#needsFull && !this.#full) return;
      } else {
        end = this.#guess(row);
      }
      // No code is in the first page: above the frames of a process lies the number of its arguments.
      if (end < 0 && this.#pc >= 0 && this.#pc < 4096) end = WALK_END.START;
      if (end < 0 && count === places.length) end = WALK_END.LIMIT;
      if (end >= 0) {
        this.end = end;
        break;
      }
      this.#first = false;
    }
    this.count = count;
  }

  /** The common case. Gives the reason why there is no next frame, or −1. */
  #step(row: number, kind: number): number {
    const rows = this.#rows;
    const sp = this.#sp;
    let cfa = ((kind & ROW.CFA_FP) !== 0 ? this.#fp : sp) + (rows.cfa[row] as number);
    if ((kind & ROW.CFA_DEREF) !== 0) {
      const at = cfa;
      cfa = this.#word(at);
      if (Number.isNaN(cfa)) return this.#lost(at);
    }
    if (Number.isNaN(cfa)) return WALK_END.DAMAGED;
    let pc: number;
    if ((kind & ROW.RA_SAVED) !== 0) {
      const at = cfa + (rows.ra[row] as number);
      pc = this.#word(at);
      if (Number.isNaN(pc)) return this.#lost(at);
    } else if (this.#first) {
      pc = this.#registers[this.#machine.link] as number;
      if (Number.isNaN(pc)) return WALK_END.DAMAGED;
    } else {
      this.#needsFull = true;
      return WALK_END.DAMAGED;
    }
    // Only a leaf function can have a frame of no bytes.
    if (cfa < sp || cfa === sp && !this.#first) return WALK_END.CYCLE;
    if ((kind & ROW.FP_SAVED) !== 0) {
      this.#fp = this.#saved(cfa + (rows.fp[row] as number), this.#fp);
    }
    this.#pc = this.#returnAddress(pc);
    this.#sp = cfa;
    this.#exact = (kind & ROW.SIGNAL) !== 0;
    return -1;
  }

  /** A register that was saved at an address. */
  #saved(at: number, present: number): number {
    // After `pop %rbp` GCC still says that it is saved: where that is no longer on the stack, it has
    // been restored.
    return at < this.#base && at >= this.#base - 4096 ? present : this.#word(at);
  }

  /** A frame whose rules a row cannot say, or of which all registers are wanted. */
  #stepAll(address: number): number {
    const found = this.#code.rules(address);
    if (found === undefined) return WALK_END.DAMAGED;
    try {
      return this.#apply(found.rules, found.expressions);
    } catch (error) {
      if (!(error instanceof DwarfError)) throw error;
      return WALK_END.DAMAGED;
    }
  }

  #apply(rules: FrameRules, expressions: ExpressionTable): number {
    const machine = this.#machine, { addressSize } = machine;
    const state = this.#state;
    this.#unreadable = 0;
    const { cfaRegister, cfaOffset } = rules;
    if (cfaRegister === -2) return WALK_END.DAMAGED;
    const cfa = cfaRegister === -1
      ? evaluateExpression(expressions, cfaOffset, undefined, addressSize, state)
      : this.#register(cfaRegister) + cfaOffset;
    if (Number.isNaN(cfa)) return this.#failed();
    const value = (register: number): number => this.#restored(register, rules, expressions, cfa);
    const pc = value(rules.returnAddress);
    if (Number.isNaN(pc)) return this.#failed();
    const spRule = rules.rule[machine.sp] as number;
    const sp = spRule === RULE.NONE ? cfa : value(machine.sp);
    if (Number.isNaN(sp)) return this.#failed();
    if (!rules.signal && (sp < this.#sp || sp === this.#sp && !this.#first)) return WALK_END.CYCLE;
    if (this.#full) {
      const next = this.#next;
      for (let register = 0; register < next.length; register++) next[register] = value(register);
      this.#registers.set(next);
      this.#registers[machine.sp] = sp;
    }
    const needed = this.#needsFull;
    const fp = value(machine.fp);
    this.#fp = fp;
    // That the frame pointer is not known matters only if it is used.
    this.#needsFull = needed;
    this.#pc = this.#returnAddress(pc);
    this.#sp = sp;
    this.#exact = rules.signal;
    return -1;
  }

  /** The value of a register in the calling frame. */
  #restored(
    register: number,
    rules: FrameRules,
    expressions: ExpressionTable,
    cfa: number,
  ): number {
    const { addressSize } = this.#machine;
    const value = rules.value[register] as number;
    switch (rules.rule[register]) {
      case RULE.NONE:
      case RULE.SAME:
        return this.#register(register);
      case RULE.OFFSET:
        return register === rules.returnAddress
          ? this.#memory(cfa + value, addressSize)
          : this.#saved(cfa + value, this.#register(register));
      case RULE.VAL_OFFSET:
        return cfa + value;
      case RULE.REGISTER:
        return value < this.#registers.length ? this.#register(value) : NaN;
      case RULE.EXPRESSION: {
        const at = evaluateExpression(expressions, value, cfa, addressSize, this.#state);
        return Number.isNaN(at) ? NaN : this.#memory(at, addressSize);
      }
      case RULE.VAL_EXPRESSION:
        return evaluateExpression(expressions, value, cfa, addressSize, this.#state);
    }
    return NaN;
  }

  /** Why a value is not known. */
  #failed(): number {
    if (this.#needsFull && !this.#full) return WALK_END.DAMAGED;
    return this.#unreadable !== 0 ? this.#lost(this.#unreadable) : WALK_END.DAMAGED;
  }

  /** What was needed lies outside of the copy of the stack. */
  #lost(at: number): number {
    const wanted = at + this.#machine.addressSize - this.#base;
    // What lies elsewhere is no stack that a larger copy would have held.
    if (wanted <= this.#stackSize || wanted > 2 ** 30) return WALK_END.DAMAGED;
    this.wanted = wanted;
    return WALK_END.STACK;
  }

  #register(number: number): number {
    const { sp, fp, pc } = this.#machine;
    if (number === sp) return this.#sp;
    if (number === fp) return this.#fp;
    if (number === pc) return this.#pc;
    if (this.#full || this.#first) {
      return number < this.#registers.length ? this.#registers[number] as number : NaN;
    }
    this.#needsFull = true;
    return NaN;
  }

  /** A word of the stack or of other memory that is known. */
  #word(at: number): number {
    const { addressSize } = this.#machine;
    const offset = at - this.#base;
    if (!(offset >= 0 && offset + addressSize <= this.#stackSize)) {
      return this.#code.memory(at, addressSize);
    }
    const view = this.#view, le = this.#littleEndian;
    const from = this.#stackStart + offset;
    if (addressSize === 4) return view.getUint32(from, le);
    return le
      ? view.getInt32(from + 4, true) * 4294967296 + view.getUint32(from, true)
      : view.getInt32(from, false) * 4294967296 + view.getUint32(from + 4, false);
  }

  #memory(at: number, size: number): number {
    const offset = at - this.#base;
    const known = offset >= 0 && offset + size <= this.#stackSize;
    const view = this.#view, le = this.#littleEndian, from = this.#stackStart + offset;
    let value: number;
    if (!known) value = this.#code.memory(at, size);
    else if (size === 1) value = view.getUint8(from);
    else if (size === 2) value = view.getUint16(from, le);
    else if (size === 4) value = view.getUint32(from, le);
    else value = this.#word(at);
    if (Number.isNaN(value)) this.#unreadable = at;
    return value;
  }

  /** Without the bits that authenticate it (aarch64). */
  #returnAddress(pc: number): number {
    const limit = this.#addressLimit;
    if (limit === 0 || pc >= 0 && pc < limit) return pc;
    return ((pc % limit) + limit) % limit;
  }

  /** The next frame by the frame pointer, where there is no call frame information. */
  #guess(row: number): number {
    const { addressSize: size } = this.#machine;
    const reason = row === NO_FDE || row === NO_CFI
      ? WALK_END.NO_CFI
      : row === NO_OBJECT
      ? WALK_END.NO_OBJECT
      : row === DAMAGED
      ? WALK_END.DAMAGED
      : WALK_END.NOT_MAPPED;
    if (row === NO_FDE && this.#first && this.#leaf()) return -1;
    const fp = this.#fp, sp = this.#sp;
    if (row === NOT_MAPPED || this.#machine.machine === EM.ARM) return reason;
    if (!(fp >= sp && fp - sp <= MAX_GUESSED_FRAME && fp % size === 0)) {
      return row === NO_CFI && this.#first && this.#leaf() ? -1 : reason;
    }
    const next = this.#word(fp), pc = this.#returnAddress(this.#word(fp + size));
    if (Number.isNaN(next) || Number.isNaN(pc)) return this.#lostGuess(fp + size, reason);
    if (pc !== 0) {
      // What it was before may be anything: the caller need not use a frame pointer.
      this.#code.find(pc - 1);
      if (this.#code.row === NOT_MAPPED) return reason;
    }
    this.#sp = fp + 2 * size;
    this.#fp = next;
    this.#pc = pc;
    this.#exact = false;
    this.guessed++;
    if (this.#full) {
      this.#registers.fill(NaN);
      this.#registers[this.#machine.sp] = this.#sp;
      this.#registers[this.#machine.fp] = next;
    }
    return -1;
  }

  /**
   * Returns from a function that has put nothing on the stack, as hand-written code does around system
   * calls and in `memcpy`: what lies on top is the address after a call.
   */
  #leaf(): boolean {
    const { machine, addressSize } = this.#machine;
    if (machine !== EM.X86_64 && machine !== EM.I386) return false;
    const pc = this.#word(this.#sp);
    if (!(pc > 0) || !this.#isAfterCall(pc)) return false;
    this.#code.find(pc - 1);
    if (this.#code.row === NOT_MAPPED) return false;
    this.#pc = pc;
    this.#sp += addressSize;
    this.#exact = false;
    this.guessed++;
    return true;
  }

  /** Whether the instruction before an address is CALL: `e8`, or `ff /2` of any length (SDM 2A). */
  #isAfterCall(pc: number): boolean {
    const byte = (back: number) => this.#code.memory(pc - back, 1);
    if (byte(5) === 0xe8) return true;
    for (const length of [2, 3, 4, 6, 7]) {
      if (byte(length) === 0xff && (byte(length - 1) & 0x38) === 0x10) return true;
    }
    return false;
  }

  #lostGuess(at: number, reason: number): number {
    const end = this.#lost(at);
    return end === WALK_END.STACK ? end : reason;
  }
}

/** Addresses of a process are below this: the next power of two that kernels of aarch64 use. */
function addressLimit(sp: number): number {
  for (const bits of [36, 39, 42, 47, 48]) if (sp < 2 ** bits) return 2 ** bits;
  return 2 ** 52;
}
