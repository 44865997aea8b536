import { byteAt, enlarge, floatAt, intAt, numberAt } from "@perfdata/format/bytes";
import { KIND, SLOT } from "./abbrev.ts";
import { type Cursor, u16, u32 } from "./bytes.ts";
import { Die, stepOver } from "./die.ts";
import { READ } from "./forms.ts";
import { Cells, paint, RangeList } from "./paint.ts";
import type { Unit } from "./unit.ts";

const die = new Die();

/** Returned to {@link walkCalls} by a visitor that ignores a call. */
export const UNWANTED = -2;

/** Target of the `DW_AT_sibling` at `p`, for the entry at `at`. */
function siblingAt(unit: Unit, p: number, read: number, at: number): number {
  const b = unit.bytes, le = unit.file.info.le;
  let to = -1;
  if (read === READ.U32 && p + 4 <= b.length) to = u32(b, p, le);
  else if (read === READ.U16 && p + 2 <= b.length) to = u16(b, p, le);
  else if (read === READ.U8 && p < b.length) to = byteAt(b, p);
  else if (read === READ.ULEB) to = unit.cursor(Math.min(p, b.length)).uleb();
  return checkSibling(unit, p, to, at);
}

function checkSibling(unit: Unit, p: number, to: number, at: number): number {
  if (!(to > p && to <= unit.size)) {
    throw unit.error(`DW_AT_sibling leads to 0x${(unit.offset + to).toString(16)}`, at);
  }
  return to;
}

/** Number of entries that one call skips. */
const PIECE = 1024;

/**
 * Walks over a unit's entries, from one function that can have code to the next.
 *
 * Most entries are inlined calls. In C++ they contain no functions with code: that of a lambda or
 * local class is in the abstract instance of the enclosing function (DWARF 5, 3.3.8). For languages
 * with nested functions this is not certain (3.3.8.4).
 */
export class FunctionWalk {
  /** The function's attributes; overwritten by the next call. */
  readonly die: Die = die;
  readonly #unit: Unit;
  readonly #c: Cursor;
  readonly #overCalls: boolean;
  #p: number;

  constructor(unit: Unit) {
    this.#unit = unit;
    this.#overCalls = unit.isCPlusPlus;
    this.#p = unit.headerSize;
    this.#c = unit.cursor(0);
  }

  /** Position of the next function's entry, or -1 at the end. */
  next(): number {
    const end = this.#unit.bytes.length;
    while (this.#p < end) {
      // In short calls: an engine optimizes a function best when it is called again.
      const at = this.#nextInPiece();
      if (at >= 0) return at;
    }
    if (this.#p > end) throw this.#unit.error("the last entry runs past the end of the unit");
    return -1;
  }

  #nextInPiece(): number {
    const unit = this.#unit, c = this.#c;
    const table = unit.abbrevs;
    const { dense, kind: kinds, size: sizes, jump: jumps } = table;
    const overCalls = this.#overCalls, le = unit.file.info.le;
    const b = unit.bytes;
    const end = b.length;
    let p = this.#p;
    for (let n = 0; n < PIECE && p < end; n++) {
      const at = p;
      let code = byteAt(b, p++);
      if (code === 0) continue;
      if (code >= 0x80) {
        c.pos = at;
        code = c.uleb();
        p = c.pos;
      }
      const a = dense >= 0 ? (code <= dense ? code - 1 : -1) : table.index(code);
      if (a < 0) throw unit.error(`abbreviation ${code} is not in the table`, at);
      const kind = numberAt(kinds, a);
      if (kind === KIND.FUNCTION) {
        c.pos = p;
        die.read(c, table, a, unit);
        this.#p = c.pos;
        return at;
      }
      const jump = numberAt(jumps, a);
      if (jump >= 0 && (kind !== KIND.INLINED || overCalls)) {
        p += jump;
        p = checkSibling(unit, p, p + 4 <= end ? u32(b, p, le) : -1, at);
        continue;
      }
      const size = numberAt(sizes, a);
      if (size >= 0 && kind !== KIND.SKIPPED) {
        p += size;
        continue;
      }
      p = stepOver(b, p, table, a, c, unit);
      if (kind === KIND.SKIPPED) p = siblingAt(unit, p, numberAt(table.sibling, a), at);
    }
    this.#p = p;
    return -1;
  }
}

/**
 * Walks over the entries of the function at `entry`, and calls `visit` with each inlined call,
 * except those of nested functions. Arguments are the position of the entry, its attributes
 * (overwritten later), and the enclosing call (-1: the function itself).
 *
 * `visit` returns the number of the call, or `UNWANTED` to skip its contents.
 */
export function walkCalls(
  unit: Unit,
  entry: number,
  visit: (at: number, die: Die, parent: number) => number,
): void {
  const table = unit.abbrevs;
  const { dense, kind: kinds, size: sizes, hasChildren, jump: jumps } = table;
  const le = unit.file.info.le;
  const b = unit.bytes;
  const end = b.length;
  // within[depth] is the inlined call around entries of that depth.
  const within: number[] = [-1];
  let depth = 0;
  // Entries from that depth on are of a nested function, or of an ignored call.
  let hidden = Infinity;
  let p = entry;
  const c = unit.cursor(p);
  do {
    const at = p;
    if (p >= end) break;
    let code = byteAt(b, p++);
    if (code === 0) {
      if (--depth < hidden) hidden = Infinity;
      continue;
    }
    if (code >= 0x80) {
      c.pos = at;
      code = c.uleb();
      p = c.pos;
    }
    const a = dense >= 0 ? (code <= dense ? code - 1 : -1) : table.index(code);
    if (a < 0) throw unit.error(`abbreviation ${code} is not in the table`, at);
    const kind = numberAt(kinds, a);
    const jump = numberAt(jumps, a);
    if (jump >= 0 && (kind !== KIND.INLINED || hidden !== Infinity)) {
      p += jump;
      p = checkSibling(unit, p, p + 4 <= end ? u32(b, p, le) : -1, at);
      continue;
    }
    let inside = numberAt(within, depth);
    if (kind === KIND.INLINED && hidden === Infinity) {
      c.pos = p;
      die.read(c, table, a, unit);
      p = c.pos;
      inside = visit(at, die, inside);
      if (inside === UNWANTED && hasChildren[a]) {
        if (die.has(SLOT.SIBLING)) {
          const form = intAt(die.form, SLOT.SIBLING);
          const to = unit.reference(form, floatAt(die.value, SLOT.SIBLING)) - unit.offset;
          p = checkSibling(unit, p, to, at);
          continue;
        }
        hidden = depth + 1;
      }
    } else {
      const size = numberAt(sizes, a);
      if (size >= 0 && kind !== KIND.SKIPPED) p += size;
      else {
        p = stepOver(b, p, table, a, c, unit);
      }
      if (kind === KIND.SKIPPED) {
        p = siblingAt(unit, p, numberAt(table.sibling, a), at);
        continue;
      }
    }
    if (hasChildren[a]) {
      within[++depth] = inside;
      if ((kind === KIND.FUNCTION || kind === KIND.SUBPROGRAM) && depth > 1 && depth < hidden) {
        hidden = depth;
      }
    }
  } while (depth > 0);
  if (p > end) throw unit.error("the last entry runs past the end of the unit");
}

/** Inlined calls of a unit's functions, in arrays of equal length. */
export class Calls {
  origin = new Float64Array(64);
  parent = new Int32Array(64);
  file = new Uint32Array(64);
  line = new Uint32Array(64);
  column = new Uint32Array(64);
  discriminator = new Uint32Array(64);
  /** Index of each call's function; -2 until it is determined. */
  function = new Int32Array(64);
  count = 0;

  /** Adds a call inside the call `parent`, read from the entry at `at` of `unit`. */
  add(unit: Unit, at: number, die: Die, parent: number): number {
    const n = this.count;
    if (n === this.parent.length) {
      this.origin = enlarge(this.origin, n + 1);
      this.parent = enlarge(this.parent, n + 1);
      this.file = enlarge(this.file, n + 1);
      this.line = enlarge(this.line, n + 1);
      this.column = enlarge(this.column, n + 1);
      this.discriminator = enlarge(this.discriminator, n + 1);
      this.function = enlarge(this.function, n + 1);
    }
    this.count = n + 1;
    this.parent[n] = parent;
    this.origin[n] = die.has(SLOT.ABSTRACT_ORIGIN)
      ? unit.reference(
        intAt(die.form, SLOT.ABSTRACT_ORIGIN),
        floatAt(die.value, SLOT.ABSTRACT_ORIGIN),
      )
      : unit.offset + at;
    this.file[n] = die.constant(SLOT.CALL_FILE);
    this.line[n] = die.constant(SLOT.CALL_LINE);
    this.column[n] = die.constant(SLOT.CALL_COLUMN);
    this.discriminator[n] = die.constant(SLOT.DISCRIMINATOR);
    this.function[n] = -2;
    return n;
  }
}

/** The functions of a unit that have code. Inlined calls of a function are read on first use. */
export class FunctionTable {
  readonly #unit: Unit;
  readonly #cells = new Cells();
  /** Position in the unit of each function's entry. */
  readonly #entry: number[] = [];
  /** Start of each function's cells in `#callCells`; -1 before they are read. */
  readonly #cellStart: number[] = [];
  readonly #cellEnd: number[] = [];
  readonly #callCells = new Cells();
  readonly #calls = new Calls();

  constructor(unit: Unit) {
    this.#unit = unit;
    const ranges = new RangeList();
    unit.resetRangeBudget();
    const walk = new FunctionWalk(unit);
    for (let at = walk.next(); at >= 0; at = walk.next()) {
      const before = ranges.count;
      unit.ranges(walk.die, ranges, this.#entry.length);
      if (ranges.count > before) {
        this.#entry.push(at);
        this.#cellStart.push(-1);
        this.#cellEnd.push(-1);
      }
    }
    paint(ranges, 0, true, this.#cells);
    this.#cells.trim();
  }

  /** Size of the table in bytes. */
  get memory(): number {
    return this.#cells.bytes + this.#callCells.bytes + this.#calls.parent.length * 32 +
      this.#entry.length * 24;
  }

  /** Index of the function at `address`, or -1. */
  find(address: number): number {
    return this.#cells.find(address);
  }

  /** Offset in `.debug_info` of the entry of function `f`. */
  entryOffset(f: number): number {
    return this.#unit.offset + numberAt(this.#entry, f);
  }

  /** Whether the inlined calls of function `f` were read. */
  hasCalls(f: number): boolean {
    return numberAt(this.#cellStart, f) >= 0;
  }

  /** Index of the innermost call inlined into function `f` at `address`, or -1. */
  findCall(f: number, address: number): number {
    return this.#callCells.find(address, this.#cellStart[f], this.#cellEnd[f]);
  }

  /** The inlined calls, by index. `parent` is -1 for a call of the function itself. */
  get calls(): Readonly<Calls> {
    return this.#calls;
  }

  /** Reads the inlined calls of function `f`, before the first `findCall` for it. */
  readCalls(f: number): void {
    // Empty in case the rest fails, so that the error is reported once.
    this.#cellStart[f] = this.#cellEnd[f] = this.#callCells.count;
    const unit = this.#unit;
    const ranges = callRanges;
    ranges.count = 0;
    unit.resetRangeBudget();
    walkCalls(unit, numberAt(this.#entry, f), (at, die, parent) => {
      const call = this.#calls.add(unit, at, die, parent);
      unit.ranges(die, ranges, call);
      return call;
    });
    this.#cellStart[f] = this.#callCells.count;
    paint(ranges, 0, true, this.#callCells);
    this.#cellEnd[f] = this.#callCells.count;
  }
}

// Ranges of the function that is being read; only one at a time.
const callRanges = new RangeList();
