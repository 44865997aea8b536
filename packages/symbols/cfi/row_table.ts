import { enlarge } from "@perfdata/format/bytes";
import { RULE } from "./cfi_constants.ts";
import type { ExpressionTable, FrameRules } from "./frame_rules.ts";
import type { CfiMachine } from "./cfi_machine.ts";

/** Bits of `kind` of a row in a {@linkcode RowTable}. */
export const ROW = {
  /** The CFA is relative to the frame pointer. Without this bit: to the stack pointer. */
  CFA_FP: 1,
  /** The CFA is the value in memory at register + offset. */
  CFA_DEREF: 2,
  /** The caller's frame pointer is saved at CFA + `fp`. Without this bit, it is unchanged. */
  FP_SAVED: 4,
  /** The return address is saved at CFA + `ra`. Without this bit, it is in the link register. */
  RA_SAVED: 8,
  /** The function has no caller. */
  END: 16,
  /** The rules do not fit into a row: call `rules` of the table. */
  GENERIC: 32,
  /** A signal frame. */
  SIGNAL: 64,
} as const;

/** Result in place of a row: no FDE covers the address. */
export const NO_FDE: number = -1;
/** Result in place of a row: the FDE of the address is malformed. */
export const DAMAGED: number = -2;

/**
 * Unwinding rules of all objects of a machine, compiled to rows. Four numbers describe the rules of
 * nearly all code (99 %); other rows refer to full rules. Columns are replaced when they grow: read
 * them again after a look-up.
 *
 * `kind` has the bits of {@linkcode ROW}; `cfa`, `fp` and `ra` are offsets in bytes.
 */
export class RowTable {
  /** The machine whose registers the rows describe. */
  readonly machine: CfiMachine;
  /** Bits of {@linkcode ROW}. */
  kind: Uint8Array = new Uint8Array(1024);
  /** Offset of the CFA from the stack or frame pointer. */
  cfa: Int32Array = new Int32Array(1024);
  /** Offset of the caller's frame pointer from the CFA. */
  fp: Int32Array = new Int32Array(1024);
  /** Offset of the return address from the CFA. */
  ra: Int32Array = new Int32Array(1024);
  /** First address of the row, relative to that of its FDE. */
  start: Uint32Array = new Uint32Array(1024);
  /** Number of rows. */
  count = 0;

  /** Creates a table for one kind of machine. */
  constructor(machine: CfiMachine) {
    this.machine = machine;
  }

  /**
   * Adds a row for the code from `start` on. It is merged with the row before if both are equal and
   * of the same FDE, whose first row is `first`.
   */
  add(start: number, rules: FrameRules, expressions: ExpressionTable, first: number): void {
    const { machine } = this;
    const at = this.count;
    if (at === this.kind.length) this.#grow();
    let kind = rules.signal ? ROW.SIGNAL : 0;
    let cfa = 0, fp = 0, ra = 0;
    const raRule = rules.rule[rules.returnAddress] as number;
    const fpRule = rules.rule[machine.fp] as number;
    if (raRule === RULE.UNDEFINED) {
      kind |= ROW.END;
    } else if (!isPlain(rules, machine, raRule, fpRule)) {
      kind |= ROW.GENERIC;
    } else {
      const { cfaRegister } = rules;
      if (cfaRegister === -1) {
        const deref = dereference(expressions, rules.cfaOffset, machine);
        if (deref === undefined) kind |= ROW.GENERIC;
        else {
          kind |= ROW.CFA_DEREF;
          if (deref.register === machine.fp) kind |= ROW.CFA_FP;
          cfa = deref.offset;
        }
      } else {
        if (cfaRegister === machine.fp) kind |= ROW.CFA_FP;
        cfa = rules.cfaOffset;
      }
      if (raRule === RULE.OFFSET) {
        kind |= ROW.RA_SAVED;
        ra = rules.value[rules.returnAddress] as number;
      }
      if (fpRule === RULE.OFFSET) {
        kind |= ROW.FP_SAVED;
        fp = rules.value[machine.fp] as number;
      }
    }
    const last = at - 1;
    if (
      last >= first && this.kind[last] === kind && this.cfa[last] === cfa &&
      this.fp[last] === fp && this.ra[last] === ra
    ) return;
    this.kind[at] = kind;
    this.cfa[at] = cfa;
    this.fp[at] = fp;
    this.ra[at] = ra;
    this.start[at] = start;
    this.count = at + 1;
  }

  /** Returns the last of the rows `[first, first + count)` that begins at or before `start`. */
  search(first: number, count: number, start: number): number {
    const starts = this.start;
    let low = first + 1, high = first + count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((starts[middle] as number) <= start) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  #grow(): void {
    const size = this.kind.length + 1;
    this.kind = enlarge(this.kind, size);
    this.cfa = enlarge(this.cfa, size);
    this.fp = enlarge(this.fp, size);
    this.ra = enlarge(this.ra, size);
    this.start = enlarge(this.start, size);
  }
}

/** Whether the rules fit into a row. A CFA expression is checked by the caller. */
function isPlain(
  rules: FrameRules,
  machine: CfiMachine,
  raRule: number,
  fpRule: number,
): boolean {
  const { cfaRegister } = rules;
  if (cfaRegister !== machine.sp && cfaRegister !== machine.fp && cfaRegister !== -1) return false;
  if (rules.returnAddress !== machine.returnAddress || rules.rule[machine.sp] !== RULE.NONE) {
    return false;
  }
  const inLink = machine.link >= 0 && (raRule === RULE.NONE || raRule === RULE.SAME);
  if (raRule !== RULE.OFFSET && !inLink) return false;
  return fpRule === RULE.NONE || fpRule === RULE.SAME || fpRule === RULE.OFFSET;
}

/** DW_OP_breg0 and DW_OP_deref (DWARF 5, 7.7.1). */
const BREG0 = 0x70, DEREF = 0x06;

/** Register and offset of a CFA expression `*(register + offset)`, which hand-written code has. */
function dereference(
  expressions: ExpressionTable,
  number: number,
  machine: CfiMachine,
): { register: number; offset: number } | undefined {
  const { bytes } = expressions;
  const start = expressions.start[number] as number, end = expressions.end[number] as number;
  const register = (bytes[start] as number) - BREG0;
  if (register !== machine.sp && register !== machine.fp) return undefined;
  if (bytes[end - 1] !== DEREF || end - start < 3 || end - start > 6) return undefined;
  // An SLEB128 of one to four bytes between the two operations.
  let offset = 0, shift = 0;
  for (let at = start + 1; at < end - 1; at++) {
    const byte = bytes[at] as number;
    offset |= (byte & 0x7f) << shift;
    shift += 7;
    if ((byte & 0x80) !== 0) continue;
    if (at !== end - 2) return undefined;
    if (byte & 0x40) offset |= -1 << shift;
    return { register, offset };
  }
  return undefined;
}
