import { numberAt } from "@perfdata/format/bytes";
import { EM } from "../elf/elf_constants.ts";
import { RULE } from "./cfi_constants.ts";
import { ExpressionTable, FrameRules } from "./frame_rules.ts";
import type { CfiSource } from "./unwind_table.ts";
import type { CfiMachine } from "./cfi_machine.ts";
import { NO_FDE, type RowTable } from "./row_table.ts";

/** A section of PLT stubs. */
export interface PltSection {
  /** `.plt`, `.plt.got`, `.plt.sec` or `.iplt`. */
  readonly name: string;
  /** First address of the section. */
  readonly low: number;
  /** First address after the section. */
  readonly high: number;
  /** Reads the code of the section. */
  code(): Uint8Array;
}

/** Key of the row of an entry point, beside numbers of pushed words: code without a caller. */
const NO_CALLER = 1000;
/** Bytes of a stub. */
const STUB = 16;

/** Bytes after the entry point that count as the first function, which has no caller. */
const ENTRY = 32;

/**
 * Unwinding rows for code without call frame information, used if no FDE covers the address: the
 * entry point and the PLT stubs, which lld and linkers of static programs leave undescribed.
 *
 * Each lazy x86 stub has 16 bytes, `jmp *slot; push number; jmp first`: its last five bytes run
 * with one more word on the stack. The first stub, `push; jmp`, adds another word. On AArch64, the
 * first stub and the code that resolves TLS descriptors push two registers, of any size of the
 * stubs. Other stubs change no register that unwinding needs.
 */
export class BareCode implements CfiSource {
  readonly expressions: ExpressionTable = new ExpressionTable(new Uint8Array(0), true);
  readonly #sections: readonly PltSection[];
  readonly #rows: RowTable;
  readonly #entry: number;
  /** Addresses in `.plt` of AArch64 at which two registers are pushed: first and last, in pairs. */
  #pushes: number[] | undefined;
  /** Row numbers by the words pushed since the call. */
  readonly #row = new Map<number, number>();

  /** Creates the rows for the PLT sections and the entry point (0 if there is none). */
  constructor(sections: readonly PltSection[], entry: number, rows: RowTable) {
    this.#sections = sections;
    this.#entry = entry;
    this.#rows = rows;
  }

  find(address: number): number {
    const pushed = this.#pushed(address);
    if (pushed < 0) return NO_FDE;
    let row = this.#row.get(pushed);
    if (row === undefined) {
      const rows = this.#rows;
      row = rows.count;
      rows.add(0, rulesOf(rows.machine, pushed), this.expressions, row);
      this.#row.set(pushed, row);
    }
    return row;
  }

  rules(address: number): FrameRules | undefined {
    const pushed = this.#pushed(address);
    return pushed < 0 ? undefined : rulesOf(this.#rows.machine, pushed);
  }

  /**
   * Words that a stub has pushed before the instruction at `address`; `NO_CALLER` at the entry
   * point, −1 outside stubs.
   */
  #pushed(address: number): number {
    const fromEntry = address - this.#entry;
    if (this.#entry !== 0 && fromEntry >= 0 && fromEntry < ENTRY) return NO_CALLER;
    const section = this.#sections.find(({ low, high }) => address >= low && address < high);
    if (section === undefined) return -1;
    const { machine } = this.#rows.machine;
    if (machine === EM.AARCH64 && section.name === ".plt") {
      const pushes = this.#pushes ??= pushesOf(section);
      for (let i = 0; i < pushes.length; i += 2) {
        if (address > numberAt(pushes, i) && address <= numberAt(pushes, i + 1)) return 2;
      }
      return 0;
    }
    if (section.name !== ".plt" || machine !== EM.X86_64 && machine !== EM.I386) return 0;
    const offset = address - section.low;
    if (offset < STUB) return offset < 6 ? 1 : 2;
    return offset % STUB >= 11 ? 1 : 0;
  }
}

function rulesOf(machine: CfiMachine, pushed: number): FrameRules {
  const rules = new FrameRules(machine.registers);
  rules.cfaRegister = machine.sp;
  rules.returnAddress = machine.returnAddress;
  if (pushed === NO_CALLER) {
    rules.rule[machine.returnAddress] = RULE.UNDEFINED;
    return rules;
  }
  if (machine.link >= 0) {
    rules.cfaOffset = machine.addressSize * pushed;
    return rules;
  }
  rules.cfaOffset = machine.addressSize * (pushed + 1);
  rules.rule[machine.returnAddress] = RULE.OFFSET;
  rules.value[machine.returnAddress] = -machine.addressSize;
  return rules;
}

/** Finds `stp Xn, Xm, [sp, #-16]!`, each up to the next `br`. */
function pushesOf(section: PltSection): number[] {
  const code = section.code();
  const data = new DataView(code.buffer, code.byteOffset, code.byteLength);
  const pushes: number[] = [];
  for (let at = 0; at + 4 <= code.length; at += 4) {
    const word = data.getUint32(at, true);
    const isPush = (word & 0xffff83e0) >>> 0 === 0xa9bf03e0;
    const isBranch = (word & 0xfffffc1f) >>> 0 === 0xd61f0000;
    if (isPush && pushes.length % 2 === 0 || isBranch && pushes.length % 2 === 1) {
      pushes.push(section.low + at);
    }
  }
  return pushes.length % 2 === 0 ? pushes : pushes.slice(0, -1);
}
