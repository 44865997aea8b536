import type { Cursor } from "../dwarf/bytes.ts";
import { EM } from "../elf/elf_constants.ts";
import { DW_CFA, RULE } from "./cfi_constants.ts";
import type { Cie, Fde, FrameSection } from "./frame_section.ts";
import { type ExpressionTable, FrameRules } from "./frame_rules.ts";
import { type CfiMachine, RA_SIGN_STATE } from "./cfi_machine.ts";

/** Limit of the stack of remembered states, which bounds memory. Compilers nest far less. */
const MAX_REMEMBERED = 1024;

/** Receives each row: the rules of the addresses `[low, high)`. */
export type OnRow = (low: number, high: number, rules: FrameRules) => void;

/**
 * Executes the instructions of FDEs. The rules passed to a callback are overwritten afterwards.
 *
 * A row needs at least one byte of instructions, so work is bounded by their size.
 */
export class RuleProgram {
  readonly #section: FrameSection;
  readonly #machine: CfiMachine;
  readonly #expressions: ExpressionTable;
  readonly #rules: FrameRules;
  readonly #initial: FrameRules;
  readonly #remembered: FrameRules[] = [];
  #depth = 0;
  #inCie = false;

  constructor(section: FrameSection, expressions: ExpressionTable) {
    this.#section = section;
    this.#machine = section.machine;
    this.#expressions = expressions;
    this.#rules = new FrameRules(section.machine.registers);
    this.#initial = new FrameRules(section.machine.registers);
  }

  /**
   * Executes an FDE.
   *
   * @param onRow called with each row, in address order; empty rows are skipped
   * @throws {DwarfError} at a malformed or unknown instruction, after calling back with the rows
   * before it
   */
  run(fde: Fde, onRow: OnRow): void {
    const { cie } = fde;
    const rules = this.#rules;
    if (cie.returnAddress >= this.#machine.registers) {
      const c = this.#section.cursor(cie.offset, cie.end);
      throw c.error(`return address in column ${cie.returnAddress}`);
    }
    this.#depth = 0;
    rules.cfaRegister = -2;
    rules.cfaOffset = 0;
    rules.returnAddress = cie.returnAddress;
    rules.signal = cie.signal;
    rules.rule.fill(RULE.NONE);
    rules.value.fill(0);
    this.#inCie = true;
    this.#execute(this.#section.cursor(cie.start, cie.end), cie, fde, onRow);
    this.#initial.set(rules);
    this.#inCie = false;
    const at = this.#execute(this.#section.cursor(fde.start, fde.end), cie, fde, onRow);
    if (at < fde.high) onRow(at, fde.high, rules);
  }

  /** Returns the address of the last row. */
  #execute(c: Cursor, cie: Cie, fde: Fde, onRow: OnRow): number {
    const rules = this.#rules;
    let at = fde.low;
    const advance = (to: number): void => {
      if (this.#inCie) throw c.error("a CIE that advances the location");
      if (to < at) throw c.error("a location that goes back");
      const high = Math.min(to, fde.high);
      if (high > at) onRow(at, high, rules);
      at = to;
    };
    const unit = cie.codeAlign;
    while (c.pos < c.end) {
      const opcode = c.u8();
      const low = opcode & 0x3f;
      switch (opcode & 0xc0) {
        case DW_CFA.advance_loc:
          advance(at + low * unit);
          continue;
        case DW_CFA.offset:
          this.#setOffset(c, low, c.uleb() * cie.dataAlign);
          continue;
        case DW_CFA.restore:
          this.#restore(c, low);
          continue;
      }
      switch (opcode) {
        case DW_CFA.nop:
          break;
        case DW_CFA.set_loc:
          advance(this.#section.pointer(c, cie.encoding, cie.addressSize));
          break;
        case DW_CFA.advance_loc1:
          advance(at + c.u8() * unit);
          break;
        case DW_CFA.advance_loc2:
          advance(at + c.u16() * unit);
          break;
        case DW_CFA.advance_loc4:
          advance(at + c.u32() * unit);
          break;
        case DW_CFA.MIPS_advance_loc8:
          advance(at + c.u64() * unit);
          break;
        default:
          this.#setRule(c, opcode, cie);
      }
    }
    return at;
  }

  #setRule(c: Cursor, opcode: number, cie: Cie): void {
    const rules = this.#rules, { dataAlign } = cie;
    switch (opcode) {
      case DW_CFA.def_cfa:
        this.#setCfa(c, c.uleb(), c.uleb());
        break;
      case DW_CFA.def_cfa_sf:
        this.#setCfa(c, c.uleb(), c.sleb() * dataAlign);
        break;
      case DW_CFA.def_cfa_register:
        // After an expression there is no offset to keep.
        this.#setCfa(c, c.uleb(), rules.cfaRegister === -1 ? 0 : rules.cfaOffset);
        break;
      case DW_CFA.def_cfa_offset:
        this.#setCfa(c, this.#cfaRegister(c), c.uleb());
        break;
      case DW_CFA.def_cfa_offset_sf:
        this.#setCfa(c, this.#cfaRegister(c), c.sleb() * dataAlign);
        break;
      case DW_CFA.def_cfa_expression:
        rules.cfaOffset = this.#expression(c);
        rules.cfaRegister = -1;
        break;
      case DW_CFA.offset_extended:
        this.#setOffset(c, c.uleb(), c.uleb() * dataAlign);
        break;
      case DW_CFA.offset_extended_sf:
        this.#setOffset(c, c.uleb(), c.sleb() * dataAlign);
        break;
      case DW_CFA.GNU_negative_offset_extended:
        this.#setOffset(c, c.uleb(), -c.uleb() * dataAlign);
        break;
      case DW_CFA.val_offset:
        this.#set(c.uleb(), RULE.VAL_OFFSET, inWord(c, c.uleb() * dataAlign));
        break;
      case DW_CFA.val_offset_sf:
        this.#set(c.uleb(), RULE.VAL_OFFSET, inWord(c, c.sleb() * dataAlign));
        break;
      case DW_CFA.register:
        this.#set(c.uleb(), RULE.REGISTER, inWord(c, c.uleb()));
        break;
      case DW_CFA.undefined:
        this.#set(c.uleb(), RULE.UNDEFINED, 0);
        break;
      case DW_CFA.same_value:
        this.#set(c.uleb(), RULE.SAME, 0);
        break;
      case DW_CFA.expression:
        this.#set(c.uleb(), RULE.EXPRESSION, this.#expression(c));
        break;
      case DW_CFA.val_expression:
        this.#set(c.uleb(), RULE.VAL_EXPRESSION, this.#expression(c));
        break;
      case DW_CFA.restore_extended:
        this.#restore(c, c.uleb());
        break;
      case DW_CFA.remember_state:
        this.#remember(c);
        break;
      case DW_CFA.restore_state:
        if (this.#depth === 0) throw c.error("a state is restored that was not remembered");
        rules.set(this.#remembered[--this.#depth] as FrameRules);
        break;
      case DW_CFA.GNU_args_size:
        c.uleb();
        break;
      case DW_CFA.AARCH64_negate_ra_state:
      case DW_CFA.AARCH64_negate_ra_state_with_pc:
        if (this.#machine.machine === EM.AARCH64) {
          rules.value[RA_SIGN_STATE] = 1 - (rules.value[RA_SIGN_STATE] as number);
          break;
        }
      /* falls through */
      default:
        throw c.error(`call frame instruction 0x${opcode.toString(16)}`, c.pos - 1);
    }
  }

  #set(register: number, rule: number, value: number): void {
    // Floating-point registers are not followed.
    if (register >= this.#machine.registers) return;
    this.#rules.rule[register] = rule;
    this.#rules.value[register] = value;
  }

  #setOffset(c: Cursor, register: number, offset: number): void {
    this.#set(register, RULE.OFFSET, inWord(c, offset));
  }

  #setCfa(c: Cursor, register: number, offset: number): void {
    if (register >= this.#machine.registers) throw c.error(`CFA in register ${register}`);
    this.#rules.cfaRegister = register;
    this.#rules.cfaOffset = inWord(c, offset);
  }

  #cfaRegister(c: Cursor): number {
    const { cfaRegister } = this.#rules;
    if (cfaRegister < 0) throw c.error("an offset of the CFA without a register");
    return cfaRegister;
  }

  #restore(c: Cursor, register: number): void {
    if (this.#inCie) throw c.error("a CIE that restores a register");
    if (register >= this.#machine.registers) return;
    this.#rules.rule[register] = this.#initial.rule[register] as number;
    this.#rules.value[register] = this.#initial.value[register] as number;
  }

  #remember(c: Cursor): void {
    if (this.#depth >= MAX_REMEMBERED) {
      throw c.error(`more than ${MAX_REMEMBERED} states remembered`);
    }
    let state = this.#remembered[this.#depth];
    if (state === undefined) {
      state = new FrameRules(this.#machine.registers);
      this.#remembered.push(state);
    }
    state.set(this.#rules);
    this.#depth++;
  }

  #expression(c: Cursor): number {
    const size = c.uleb();
    const start = c.take(size);
    return this.#expressions.add(start, start + size);
  }
}

/** Checks that an offset fits into 32 bits. */
function inWord(c: Cursor, value: number): number {
  if (value !== (value | 0)) throw c.error(`offset ${value}; 32 bits expected`);
  return value;
}
