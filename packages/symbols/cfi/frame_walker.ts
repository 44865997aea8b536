import { byteAt } from "@perfdata/format/bytes";
import { DwarfError } from "../dwarf/dwarf_error.ts";
import { EM } from "../elf/elf_constants.ts";
import { RULE } from "./cfi_constants.ts";
import { evaluateExpression, type FrameState } from "./dwarf_expression.ts";
import type { ExpressionTable, FrameRules } from "./frame_rules.ts";
import type { CfiMachine } from "./cfi_machine.ts";
import { DAMAGED, NO_FDE, ROW, type RowTable } from "./row_table.ts";
import { WALK_END } from "./walk_end.ts";

/** Result in place of a row: the object has no call frame information. */
export const NO_CFI: number = -3;
/** Result in place of a row: the object's file is missing or from another build. */
export const NO_OBJECT: number = -4;
/** Result in place of a row: the address is unmapped or not executable. */
export const NOT_MAPPED: number = -5;

/** Code look-ups of a {@linkcode FrameWalker}, implemented by its user, who knows the mappings. */
export interface CodeLookup {
  /** Result of `find`: a row, or `NO_FDE` … `NOT_MAPPED`. */
  row: number;
  /** Result of `find`: a number that the implementation chooses for the frame. */
  place: number;
  /** Looks up an address. Sets `row` and `place`. */
  find(address: number): void;
  /** The rules of all registers at an address that has a row. */
  rules(address: number): { rules: FrameRules; expressions: ExpressionTable } | undefined;
  /** Constant memory outside of the stack as a number; `NaN` if it is unknown. */
  memory(address: number, size: number): number;
}

/** The part of the stack that a sample copied. */
export interface StackCopy {
  /** The buffer that contains the copy. */
  view: DataView;
  /** Offset of the copy's first byte, the one at the stack pointer. */
  start: number;
  /** Size of the copy in bytes. */
  size: number;
}

/** Largest distance of the next frame pointer from this frame, as in libunwind. */
const MAX_GUESSED_FRAME = 0x4000;

/**
 * Unwinds stacks from the registers and the stack copy of a sample. Nearly all frames need only the
 * stack pointer, the frame pointer and the return address, which a row's four numbers give. If a
 * frame needs more, the stack is walked again with all registers.
 *
 * Code without call frame information is unwound by the frame pointer if that leads to a plausible
 * frame; `guessed` counts such frames.
 */
export class FrameWalker {
  /** `CodeLookup.place` of each frame, innermost first. */
  readonly places: Int32Array;
  /**
   * Addresses of the frames: the first is exact, the others are the byte before a return address.
   */
  readonly addresses: Float64Array;
  /** Number of frames. */
  count = 0;
  /** Reason for the end of the walk: `WALK_END`. */
  end: number = WALK_END.START;
  /** Number of frames found by the frame pointer alone. */
  guessed = 0;
  /** Bytes of stack that the next frame would have needed, if the walk ended with `STACK`. */
  wanted = 0;
  /** Stack pointer before the last frame, a measure of the stack's depth. */
  top = 0;

  readonly #machine: CfiMachine;
  readonly #rows: RowTable;
  readonly #code: CodeLookup;
  readonly #littleEndian: boolean;
  readonly #state: FrameState;
  /** All registers of the frame, by number; `NaN` if unknown. */
  readonly #registers: Float64Array;
  readonly #next: Float64Array;
  /** Whether all registers are tracked, not only three. */
  #full = false;
  /** Whether a computation failed because only three registers are tracked. */
  #needsFull = false;
  /** Highest address that could not be read. */
  #unreadable = 0;
  #view: DataView = new DataView(new ArrayBuffer(0));
  #stackStart = 0;
  #stackSize = 0;
  #base = 0;
  #addressLimit = 0;
  #pc = 0;
  #sp = 0;
  #fp = 0;
  /** Whether the program counter is exact. It is not after a call. */
  #exact = true;
  #first = true;

  /**
   * Creates a walker for one kind of machine.
   *
   * @param maxFrames limit of the frames of a stack
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
   * Unwinds one stack.
   *
   * @param registers values by DWARF number, signed; `NaN` if not recorded
   * @param stack the stack copy, from the stack pointer on
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
      let address = this.#exact ? this.#pc : this.#pc - 1;
      code.find(machine === EM.ARM && address % 2 !== 0 ? address - 1 : address);
      // A handler returns to the start of a function that did not call it. (perf's names of x86 are
      // those of the byte before.)
      if (machine === EM.AARCH64 && !this.#exact && this.#isSignal(code.row)) {
        address = this.#pc;
        code.find(address);
      }
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
      // The first page has no code: the word above a process's outermost frame is argc.
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

  #isSignal(row: number): boolean {
    return row >= 0 && (byteAt(this.#rows.kind, row) & ROW.SIGNAL) !== 0;
  }

  /**
   * Fast path: computes the next frame from a row. Returns the reason for the end, or −1 if the
   * walk continues.
   */
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
    // Only a leaf function can have an empty frame: a sample or a signal interrupted it.
    if (cfa < sp || cfa === sp && !this.#exact) return WALK_END.CYCLE;
    if ((kind & ROW.FP_SAVED) !== 0) {
      this.#fp = this.#saved(cfa + (rows.fp[row] as number), this.#fp);
    }
    this.#pc = this.#returnAddress(pc);
    this.#sp = cfa;
    this.#exact = (kind & ROW.SIGNAL) !== 0;
    return -1;
  }

  #saved(at: number, present: number): number {
    // GCC still states a saved %rbp after `pop %rbp`. If its slot is below the stack pointer, the
    // register was restored.
    return at < this.#base && at >= this.#base - 4096 ? present : this.#word(at);
  }

  /** Slow path: computes all registers from full rules. */
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
    if (!rules.signal && (sp < this.#sp || sp === this.#sp && !this.#exact)) return WALK_END.CYCLE;
    if (this.#full) {
      const next = this.#next;
      for (let register = 0; register < next.length; register++) next[register] = value(register);
      this.#registers.set(next);
      this.#registers[machine.sp] = sp;
    }
    const needed = this.#needsFull;
    const fp = value(machine.fp);
    this.#fp = fp;
    // An unknown frame pointer matters only if it is used.
    this.#needsFull = needed;
    this.#pc = this.#returnAddress(pc);
    this.#sp = sp;
    this.#exact = rules.signal;
    return -1;
  }

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

  /** Reason for the end after an unknown value. */
  #failed(): number {
    if (this.#needsFull && !this.#full) return WALK_END.DAMAGED;
    return this.#unreadable !== 0 ? this.#lost(this.#unreadable) : WALK_END.DAMAGED;
  }

  /** The end of a walk that needed memory outside of the stack copy. */
  #lost(at: number): number {
    const wanted = at + this.#machine.addressSize - this.#base;
    // Addresses below the copy or far above are not on this stack.
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

  /** Reads a word of the stack copy or of constant memory. */
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

  /**
   * Strips the authentication bits of a return address (aarch64). They begin at the size of the
   * address space, which is not recorded. The stack pointer gives only its least size, since a
   * coroutine's stack may be far below other mappings, so the mappings decide.
   */
  #returnAddress(pc: number): number {
    const limit = this.#addressLimit;
    if (limit === 0 || pc >= 0 && pc < limit) return pc;
    for (const bits of ADDRESS_BITS) {
      const size = 2 ** bits;
      const address = ((pc % size) + size) % size;
      if (size === limit) return address;
      this.#code.find(address - 1);
      if (this.#code.row !== NOT_MAPPED) return address;
    }
    return pc;
  }

  /** Finds the next frame by the frame pointer, for code without call frame information. */
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
      // Check that the return address is mapped: the caller need not use a frame pointer.
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
   * Returns from a function that pushed nothing, like hand-written code around system calls and in
   * `memcpy`. The word on top of the stack must be a return address.
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

  /**
   * Whether the instruction before an address is a CALL: `e8`, or `ff /2` of any length (SDM 2A).
   */
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

/** Sizes of user address spaces of aarch64, in bits, the largest first. */
const ADDRESS_BITS = [52, 48, 47, 42, 39, 36] as const;

/** The smallest size of an aarch64 address space that contains the stack pointer. */
function addressLimit(sp: number): number {
  return 2 ** (ADDRESS_BITS.findLast((bits) => sp < 2 ** bits) ?? 52);
}
