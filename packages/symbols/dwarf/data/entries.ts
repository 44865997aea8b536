import { enlarge, floatAt, intAt, numberAt } from "@perfdata/format/bytes";
import { DW_AT, DW_FORM, DW_TAG } from "../dwarf_constants.ts";
import { Cursor } from "../bytes.ts";
import { Die, readNumber } from "../die.ts";
import { DwarfError } from "../dwarf_error.ts";
import { fixedSize, READ, readOf, skipValue } from "../forms.ts";
import { SLOT } from "../abbrev.ts";
import { RangeList } from "../paint.ts";
import type { Unit } from "../unit.ts";

/** Limit of the entries of a unit. LLVM, linked into one unit, has some millions. */
const MOST_ENTRIES = 1 << 24;

export interface AttributeValue {
  /** `DW_FORM` of the attribute. */
  readonly form: number;
  /** The number; for strings and blocks, the position of the first byte in the unit. */
  readonly value: number;
}

/** An abbreviation with all of its attributes. */
interface Abbrev {
  readonly tag: number;
  readonly hasChildren: boolean;
  readonly attributes: readonly number[];
  readonly forms: readonly number[];
  readonly reads: readonly number[];
  readonly constants: readonly number[];
  /** Size of all attributes in bytes; -1 if it varies. */
  readonly size: number;
}

/**
 * All entries of a unit with all of their attributes, for the locations and types of variables.
 * `AbbrevTable` and `Die` read few attributes of code entries fast. This class reads a whole unit,
 * since any entry can be needed.
 */
export class Entries {
  readonly unit: Unit;
  readonly count: number;
  /** Position of each entry in the unit, in ascending order. */
  readonly at: Int32Array;
  /** Parent of each entry; -1 for the root. */
  readonly parent: Int32Array;
  /** For each entry, the first entry after its descendants. */
  readonly after: Int32Array;
  readonly #abbrev: Int32Array;
  readonly #abbrevs: readonly Abbrev[];

  /**
   * Reads the positions of a unit's entries.
   *
   * @throws {DwarfError} If the unit is damaged.
   */
  constructor(unit: Unit) {
    this.unit = unit;
    const byCode = new Map<number, number>();
    this.#abbrevs = readAbbrevs(unit, byCode);
    const c = unit.cursor(unit.headerSize);
    let at = new Int32Array(256), parent = new Int32Array(256);
    let after = new Int32Array(256), abbrev = new Int32Array(256);
    let count = 0, around = -1;
    while (c.pos < c.end) {
      const start = c.pos;
      const code = c.uleb();
      if (code === 0) {
        if (around < 0) break;
        after[around] = count;
        around = intAt(parent, around);
        if (around < 0) break;
        continue;
      }
      const number = byCode.get(code);
      const known = number === undefined ? undefined : this.#abbrevs[number];
      if (number === undefined || known === undefined) {
        throw unit.error(`abbreviation ${code} is not in the table`, start);
      }
      if (count === MOST_ENTRIES) throw unit.error(`too large: more than ${count} entries`, start);
      if (count === at.length) {
        at = enlarge(at, count + 1);
        parent = enlarge(parent, count + 1);
        after = enlarge(after, count + 1);
        abbrev = enlarge(abbrev, count + 1);
      }
      at[count] = start;
      parent[count] = around;
      abbrev[count] = number;
      if (known.size >= 0) c.take(known.size);
      else for (const read of known.reads) skipValue(c, read, unit);
      if (known.hasChildren) around = count;
      else after[count] = count + 1;
      count++;
      if (around < 0) break;
    }
    // Close the entries that a truncated unit leaves open.
    for (; around >= 0; around = intAt(parent, around)) after[around] = count;
    this.count = count;
    this.at = at.subarray(0, count);
    this.parent = parent.subarray(0, count);
    this.after = after.subarray(0, count);
    this.#abbrev = abbrev.subarray(0, count);
  }

  /** The entry at a position in the unit; -1 if no entry begins there. */
  indexOf(position: number): number {
    let low = 0, high = this.count - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const found = intAt(this.at, middle);
      if (found === position) return middle;
      if (found < position) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }

  /** `DW_TAG` of an entry. */
  tag(entry: number): number {
    return this.#abbrevOf(entry).tag;
  }

  *children(entry: number): Generator<number> {
    const end = intAt(this.after, entry);
    for (let i = entry + 1; i < end; i = intAt(this.after, i)) yield i;
  }

  /** An attribute of an entry; `undefined` if it is missing. */
  attribute(entry: number, wanted: number): AttributeValue | undefined {
    const abbrev = this.#abbrevOf(entry);
    const number = abbrev.attributes.indexOf(wanted);
    if (number < 0) return undefined;
    const c = this.unit.entryCursor(intAt(this.at, entry));
    c.uleb();
    for (let k = 0; k < number; k++) skipValue(c, numberAt(abbrev.reads, k), this.unit);
    let form = numberAt(abbrev.forms, number);
    let read = numberAt(abbrev.reads, number);
    if (read === READ.INDIRECT) {
      form = c.uleb();
      read = readOf(form, this.unit);
      if (read < 0 || read === READ.INDIRECT) throw c.error("an indirect form that is not known");
    }
    return { form, value: readNumber(c, read, numberAt(abbrev.constants, number), this.unit) };
  }

  /** A constant attribute; `undefined` if it is missing or not a constant. */
  constant(entry: number, wanted: number): number | undefined {
    const found = this.attribute(entry, wanted);
    return found === undefined || isBlock(found.form) ? undefined : found.value;
  }

  /** A string attribute; `undefined` if it is missing. */
  text(entry: number, wanted: number): string | undefined {
    const found = this.attribute(entry, wanted);
    return found === undefined ? undefined : this.unit.string(found.form, found.value);
  }

  /**
   * A cursor over an attribute's block or expression; `undefined` if it is missing or has another
   * form.
   */
  block(entry: number, wanted: number): Cursor | undefined {
    const found = this.attribute(entry, wanted);
    if (found === undefined || !isBlock(found.form)) return undefined;
    const c = this.unit.cursor(found.value);
    const size = found.form === DW_FORM.block1
      ? c.u8()
      : found.form === DW_FORM.block2
      ? c.u16()
      : found.form === DW_FORM.block4
      ? c.u32()
      : c.uleb();
    const start = c.take(size);
    c.end = c.pos;
    c.pos = start;
    return c;
  }

  /** The code of an entry, as pairs of start and end. */
  ranges(entry: number): number[] {
    const die = new Die();
    for (const [slot, wanted] of RANGE_ATTRIBUTES) {
      const found = this.attribute(entry, wanted);
      if (found === undefined) continue;
      die.mask |= 1 << slot;
      die.form[slot] = found.form;
      die.value[slot] = found.value;
    }
    if (die.mask === 0) return [];
    const list = new RangeList();
    this.unit.ranges(die, list, 0);
    const pairs: number[] = [];
    for (let i = 0; i < list.count; i++) pairs.push(floatAt(list.low, i), floatAt(list.high, i));
    return pairs;
  }

  #abbrevOf(entry: number): Abbrev {
    return this.#abbrevs[intAt(this.#abbrev, entry)] as Abbrev;
  }
}

const RANGE_ATTRIBUTES = [
  [SLOT.LOW_PC, DW_AT.low_pc],
  [SLOT.HIGH_PC, DW_AT.high_pc],
  [SLOT.RANGES, DW_AT.ranges],
] as const;

function isBlock(form: number): boolean {
  return form === DW_FORM.exprloc || form === DW_FORM.block || form === DW_FORM.block1 ||
    form === DW_FORM.block2 || form === DW_FORM.block4;
}

/** Reads a unit's abbreviation table. `byCode` receives the index of each code. */
function readAbbrevs(unit: Unit, byCode: Map<number, number>): Abbrev[] {
  const section = unit.file.abbrev;
  if (unit.abbrevOffset >= section.size) {
    throw new DwarfError(section.name, unit.abbrevOffset, "no abbreviation table here");
  }
  section.at(0, section.size);
  const c = new Cursor(section.bytes, section.name, 0, section.le, unit.abbrevOffset);
  const found: Abbrev[] = [];
  for (;;) {
    const code = c.uleb();
    if (code === 0) return found;
    const tag = c.uleb();
    const hasChildren = c.u8() !== 0;
    const attributes: number[] = [], forms: number[] = [];
    const reads: number[] = [], constants: number[] = [];
    let size = 0;
    for (;;) {
      const attribute = c.uleb();
      const form = c.uleb();
      constants.push(form === DW_FORM.implicit_const ? c.sleb() : 0);
      if (attribute === 0 && form === 0) break;
      const read = readOf(form, unit);
      if (read < 0) throw c.error(`form 0x${form.toString(16)} is not known`);
      attributes.push(attribute);
      forms.push(form);
      reads.push(read);
      const bytes = fixedSize(read);
      size = bytes < 0 || size < 0 ? -1 : size + bytes;
    }
    if (!byCode.has(code)) byCode.set(code, found.length);
    found.push({ tag, hasChildren, attributes, forms, reads, constants, size });
  }
}

/** Tags of scopes of variables within a function. */
export const SCOPE_TAGS: ReadonlySet<number> = new Set([
  DW_TAG.subprogram,
  DW_TAG.inlined_subroutine,
  DW_TAG.lexical_block,
]);
