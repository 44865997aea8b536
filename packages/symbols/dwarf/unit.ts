import { floatAt, intAt } from "@perfdata/format/bytes";
import { AbbrevTable, SLOT } from "./abbrev.ts";
import { Cursor } from "./bytes.ts";
import {
  DW_FORM,
  DW_LANG_C_PLUS_PLUS,
  DW_LANG_UNSCOPED,
  DW_RLE,
  DW_UT,
} from "./dwarf_constants.ts";
import { Die } from "./die.ts";
import { DwarfError } from "./dwarf_error.ts";
import type { DwarfFile } from "./dwarf_file.ts";
import type { UnitFormat } from "./forms.ts";
import { inlineString, type LineUnit } from "./line_table.ts";
import type { RangeList } from "./paint.ts";
import type { Section } from "./section.ts";

/** Attributes of a unit's root entry. Offsets and bases are -1 if the attribute is missing. */
interface Root {
  readonly stmtList: number;
  readonly compDir: string | undefined;
  readonly strOffsetsBase: number;
  readonly addrBase: number;
  readonly rnglistsBase: number;
  readonly gnuRangesBase: number;
  readonly dwoName: string | undefined;
  readonly dwoId: bigint | undefined;
  /** Base address of range lists. */
  readonly lowPc: number;
}

const ROOT_WINDOW = 512;

/**
 * A unit of `.debug_info`: its header, and parts that are read on demand. Bases, `.dwo` part and
 * address form, which its attributes depend on, are handled only here.
 */
export class Unit implements UnitFormat, LineUnit {
  readonly file: DwarfFile;
  /** Offset of the header in `.debug_info`. */
  readonly offset: number;
  /** Bytes from `offset` to the end of the unit. */
  readonly size: number;
  readonly headerSize: number;
  readonly version: number;
  readonly offsetSize: 4 | 8;
  readonly addressSize: number;
  /** One of `DW_UT`; before DWARF 5 always `compile`. */
  readonly type: number;
  readonly abbrevOffset: number;
  /** The skeleton in the main file that a split unit belongs to. */
  skeleton: Unit | undefined;
  #headerDwoId: bigint | undefined;
  #root: Root | undefined;
  #rootDie: Die | undefined;
  #bytes: Uint8Array | undefined;
  #abbrevs: AbbrevTable | undefined;
  #entries: Cursor | undefined;
  #borrowing = false;
  #rangeBudget = NaN;
  #rangeBase: number | undefined;

  /** Reads the header at `c.pos`. `sectionSize` is the size of the whole section. */
  constructor(file: DwarfFile, c: Cursor, sectionSize: number) {
    const start = c.pos;
    this.file = file;
    this.offset = c.base + start;
    const { length, offsetSize } = c.unitLength();
    this.size = c.pos - start + length;
    if (this.size > sectionSize - this.offset) {
      throw c.error(
        `a unit of 0x${length.toString(16)} bytes, the section ends at 0x${
          sectionSize.toString(16)
        }`,
        start,
      );
    }
    this.offsetSize = offsetSize;
    const at = c.pos;
    this.version = c.u16();
    if (this.version < 2 || this.version > 5) {
      this.addressSize = 0;
      this.type = DW_UT.type;
      this.abbrevOffset = 0;
      this.headerSize = c.pos - start;
      file.report(c.error(`unit of version ${this.version}; 2 to 5 expected`, at));
      return;
    }
    if (this.version >= 5) {
      this.type = c.u8();
      this.addressSize = c.u8();
      this.abbrevOffset = c.uint(offsetSize);
      if (this.type === DW_UT.skeleton || this.type === DW_UT.split_compile) {
        const low = c.u32(), high = c.u32();
        this.#headerDwoId = c.le
          ? BigInt(high) << 32n | BigInt(low)
          : BigInt(low) << 32n | BigInt(high);
      } else if (this.type === DW_UT.type || this.type === DW_UT.split_type) {
        c.take(8 + offsetSize);
      }
    } else {
      this.type = DW_UT.compile;
      this.abbrevOffset = c.uint(offsetSize);
      this.addressSize = c.u8();
    }
    if (
      this.addressSize !== 4 && this.addressSize !== 8 && this.addressSize !== 2 &&
      this.addressSize !== 1
    ) {
      throw c.error(`addresses of ${this.addressSize} bytes; 1, 2, 4 or 8 expected`, at);
    }
    this.headerSize = c.pos - start;
    if (this.headerSize > this.size) throw c.error("the unit ends in its header", start);
  }

  /** Whether the unit can contain code. Type units and partial units do not. */
  get hasCode(): boolean {
    return this.type === DW_UT.compile || this.type === DW_UT.skeleton ||
      this.type === DW_UT.split_compile;
  }

  get isCPlusPlus(): boolean {
    return DW_LANG_C_PLUS_PLUS.has(this.rootDie().constant(SLOT.LANGUAGE));
  }

  get hasScopes(): boolean {
    return !DW_LANG_UNSCOPED.has(this.rootDie().constant(SLOT.LANGUAGE));
  }

  /** An error at position `at` of this unit. */
  error(what: string, at = 0): DwarfError {
    return new DwarfError(this.file.info.name, this.offset + at, what);
  }

  /** The bytes of the whole unit, beginning with the header. */
  get bytes(): Uint8Array {
    if (this.#bytes !== undefined) return this.#bytes;
    const { info } = this.file;
    return this.#bytes = this.#borrowing
      ? info.borrow(this.offset, this.size)
      : info.window(this.offset, this.size);
  }

  /**
   * Until {@link giveBack}, the unit's bytes are in memory that other units reuse, unless they are
   * loaded already. Only one unit of a file can borrow at a time.
   */
  borrow(): void {
    this.#borrowing = this.#bytes === undefined && this.file.info.copies;
  }

  /** Ends what {@link borrow} began. */
  giveBack(): void {
    if (!this.#borrowing) return;
    this.#borrowing = false;
    this.#bytes = undefined;
    this.#entries = undefined;
  }

  get abbrevs(): AbbrevTable {
    return this.#abbrevs ??= this.file.abbrevTable(this);
  }

  /** Creates a cursor over the unit's bytes, at position `pos`. */
  cursor(pos: number): Cursor {
    return new Cursor(this.bytes, this.file.info.name, this.offset, this.file.info.le, pos);
  }

  /** Returns the unit's reusable cursor, at position `pos`. */
  entryCursor(pos: number): Cursor {
    const c = this.#entries ??= this.cursor(pos);
    c.pos = pos;
    return c;
  }

  /** Size in bytes that {@link release} frees. */
  get memory(): number {
    const own = this.#bytes !== undefined && this.file.info.copies && !this.#borrowing;
    return (own ? this.size : 0) +
      (this.#abbrevs === undefined
        ? 0
        : (this.#abbrevs.plan.length + this.#abbrevs.tag.length) * 12);
  }

  /** Frees everything that can be read again. */
  release(): void {
    this.#bytes = undefined;
    this.#entries = undefined;
    this.#abbrevs = undefined;
  }

  rootDie(): Die {
    if (this.#rootDie !== undefined) return this.#rootDie;
    // A small window first, so that reading all roots does not load the whole section.
    let die: Die | undefined;
    if (this.#bytes === undefined && this.size > ROOT_WINDOW && this.file.info.copies) {
      try {
        die = this.#readRoot(this.file.info.cursor(this.offset, ROOT_WINDOW));
      } catch (error) {
        if (!(error instanceof DwarfError)) throw error;
      }
    }
    return this.#rootDie = die ?? this.#readRoot(this.cursor(0));
  }

  #readRoot(c: Cursor): Die {
    const die = new Die();
    if (this.headerSize >= this.size) return die;
    c.pos = this.headerSize;
    const code = c.uleb();
    if (code === 0) return die;
    const table = this.file.rootAbbrev(this, code);
    const a = table.index(code);
    if (a < 0) throw c.error(`abbreviation ${code} is not in the table`, this.headerSize);
    die.read(c, table, a, this);
    // Inline strings are positions in the unit, so they are read from `bytes` later.
    return die;
  }

  get root(): Root {
    if (this.#root !== undefined) return this.#root;
    const die = this.rootDie();
    const offset = (slot: number) => die.has(slot) ? floatAt(die.value, slot) : -1;
    // Bases first: this entry's strings and addresses depend on them.
    const bases = {
      stmtList: offset(SLOT.STMT_LIST),
      strOffsetsBase: offset(SLOT.STR_OFFSETS_BASE),
      addrBase: offset(SLOT.ADDR_BASE),
      rnglistsBase: offset(SLOT.RNGLISTS_BASE),
      gnuRangesBase: offset(SLOT.GNU_RANGES_BASE),
      lowPc: 0,
      compDir: undefined,
      dwoName: undefined,
      dwoId: this.#headerDwoId,
    };
    this.#root = bases;
    let dwoId = this.#headerDwoId;
    if (dwoId === undefined && die.has(SLOT.DWO_ID)) {
      const c = this.cursor(floatAt(die.value, SLOT.DWO_ID));
      const first = BigInt(c.u32()), second = BigInt(c.u32());
      dwoId = c.le ? second << 32n | first : first << 32n | second;
    }
    return this.#root = {
      ...bases,
      compDir: this.attributeString(die, SLOT.COMP_DIR),
      dwoName: this.attributeString(die, SLOT.DWO_NAME),
      dwoId,
      lowPc: die.has(SLOT.LOW_PC)
        ? this.address(intAt(die.form, SLOT.LOW_PC), floatAt(die.value, SLOT.LOW_PC))
        : 0,
    };
  }

  /** Directory of the compilation; a split unit without one has that of its skeleton. */
  get compDir(): string | undefined {
    return this.root.compDir ?? this.skeleton?.root.compDir;
  }

  /** String of an attribute; `undefined` if it is missing. */
  attributeString(die: Die, slot: number): string | undefined {
    if (!die.has(slot)) return undefined;
    const form = intAt(die.form, slot), value = floatAt(die.value, slot);
    return this.string(form, value);
  }

  /**
   * The string of a form and value; `undefined` if its file is missing. `at` holds inline strings
   * that are not in the unit, as those of a line table.
   */
  string(form: number, value: number, at?: Uint8Array): string | undefined {
    if (form === DW_FORM.string) return inlineString(at ?? this.bytes, value);
    return this.stringSection(form)?.string(this.stringOffset(form, value));
  }

  /** The section with the strings of a form; `undefined` for inline strings. */
  stringSection(form: number): Section | undefined {
    const file = this.file;
    switch (form) {
      case DW_FORM.strp:
      case DW_FORM.strx:
      case DW_FORM.strx1:
      case DW_FORM.strx2:
      case DW_FORM.strx3:
      case DW_FORM.strx4:
      case DW_FORM.GNU_str_index:
        return file.str;
      case DW_FORM.line_strp:
        return file.lineStr;
      case DW_FORM.strp_sup:
      case DW_FORM.GNU_strp_alt:
        return file.supplementary?.str;
    }
    return undefined;
  }

  /** Section offset of a string. */
  stringOffset(form: number, value: number): number {
    switch (form) {
      case DW_FORM.strx:
      case DW_FORM.strx1:
      case DW_FORM.strx2:
      case DW_FORM.strx3:
      case DW_FORM.strx4:
      case DW_FORM.GNU_str_index: {
        let base = this.root.strOffsetsBase;
        // Without the attribute, the base is after the header of the only contribution (DWARF 5,
        // 7.26).
        if (base < 0) base = this.version < 5 ? 0 : this.offsetSize === 4 ? 8 : 16;
        return this.file.strOffsets.uint(base + value * this.offsetSize, this.offsetSize);
      }
    }
    return value;
  }

  address(form: number, value: number): number {
    switch (form) {
      case DW_FORM.addrx:
      case DW_FORM.addrx1:
      case DW_FORM.addrx2:
      case DW_FORM.addrx3:
      case DW_FORM.addrx4:
      case DW_FORM.GNU_addr_index:
        return this.indexedAddress(value);
      case DW_FORM.LLVM_addrx_offset: {
        const c = this.cursor(value);
        return this.indexedAddress(c.uleb()) + c.u32();
      }
    }
    return value;
  }

  /** Address number `index` in the unit's part of `.debug_addr`. */
  indexedAddress(index: number): number {
    const owner = this.skeleton ?? this;
    let base = owner.root.addrBase;
    if (base < 0) base = owner.version < 5 ? 0 : owner.offsetSize === 4 ? 8 : 16;
    return owner.file.address(owner.file.addr, base + index * this.addressSize, this.addressSize);
  }

  /**
   * Target of a reference: an offset in `.debug_info` of the same file; `-1 - offset` in the
   * supplementary file; `NaN` for a target without a name.
   */
  reference(form: number, value: number): number {
    switch (form) {
      case DW_FORM.ref1:
      case DW_FORM.ref2:
      case DW_FORM.ref4:
      case DW_FORM.ref8:
      case DW_FORM.ref_udata:
        return this.offset + value;
      case DW_FORM.ref_addr:
        return value;
      case DW_FORM.GNU_ref_alt:
      case DW_FORM.ref_sup4:
      case DW_FORM.ref_sup8:
        return -1 - value;
    }
    return NaN;
  }

  /** Whether an address is a linker's mark for dropped code. */
  #dropped(low: number): boolean {
    return this.addressSize === 8
      ? low === -1 || low === -2
      : low === 0xffffffff || low === 0xfffffffe;
  }

  /** Appends the code ranges of an entry to `list`. */
  ranges(die: Die, list: RangeList, owner: number): void {
    if (die.has(SLOT.LOW_PC) && die.has(SLOT.HIGH_PC)) {
      const low = this.address(intAt(die.form, SLOT.LOW_PC), floatAt(die.value, SLOT.LOW_PC));
      const form = intAt(die.form, SLOT.HIGH_PC);
      const value = floatAt(die.value, SLOT.HIGH_PC);
      const high = isAddress(form) ? this.address(form, value) : low + value;
      if (low < high && !this.#dropped(low)) list.push(low, high, owner);
      return;
    }
    if (!die.has(SLOT.RANGES)) return;
    const form = intAt(die.form, SLOT.RANGES), value = floatAt(die.value, SLOT.RANGES);
    if (this.version >= 5) this.#rangeList5(form, value, list, owner);
    else this.#rangeList4(value, list, owner);
  }

  /** The base of range and location lists, unless an entry changes it. */
  get baseAddress(): number {
    return this.#rangeBase ??= this.rootDie().has(SLOT.LOW_PC) || this.skeleton === undefined
      ? this.root.lowPc
      : this.skeleton.root.lowPc;
  }

  /**
   * Counts an entry of a range list. Lists are not shared, so a unit's lists have fewer entries
   * than the section has bytes. In a hostile file every function could refer to the longest list.
   */
  #countRange(section: { name: string; size: number }, at: number): void {
    if (Number.isNaN(this.#rangeBudget)) this.#rangeBudget = 4096 + 2 * section.size;
    if (--this.#rangeBudget < 0) {
      throw new DwarfError(section.name, at, "the same range lists are read again and again");
    }
  }

  /** Restarts the count of range list entries, before all lists of a unit are read. */
  resetRangeBudget(): void {
    this.#rangeBudget = NaN;
  }

  #rangeList4(value: number, list: RangeList, owner: number): void {
    const main = this.skeleton ?? this;
    const section = main.file.ranges;
    let at = value;
    if (this.skeleton !== undefined && main.root.gnuRangesBase > 0) at += main.root.gnuRangesBase;
    const size = this.addressSize;
    const selector = size === 8 ? -1 : 2 ** (8 * size) - 1;
    let base = this.baseAddress;
    for (;;) {
      this.#countRange(section, at);
      const low = main.file.address(section, at, size);
      const high = main.file.address(section, at + size, size);
      at += 2 * size;
      if (low === 0 && high === 0) return;
      if (low === selector) base = high;
      else if (low < high && !this.#dropped(base) && !this.#dropped(low)) {
        list.push(base + low, base + high, owner);
      }
    }
  }

  #rangeList5(form: number, value: number, list: RangeList, owner: number): void {
    const section = this.file.rnglists;
    let at = value;
    if (form === DW_FORM.rnglistx) {
      let base = this.root.rnglistsBase;
      if (base < 0) base = this.offsetSize === 4 ? 12 : 20;
      at = base + section.uint(base + value * this.offsetSize, this.offsetSize);
    }
    const size = this.addressSize;
    let base = this.baseAddress;
    let c = section.cursorAt(at, Math.min(LONGEST_ENTRY, Math.max(1, section.size - at)));
    for (;;) {
      if (c.end - c.pos < LONGEST_ENTRY && c.base + c.end < section.size) {
        const from = c.base + c.pos;
        c = section.cursorAt(from, Math.min(LONGEST_ENTRY, section.size - from));
      }
      this.#countRange(section, c.base + c.pos);
      const entryAt = c.pos;
      const kind = c.u8();
      let low: number, high: number;
      switch (kind) {
        case DW_RLE.end_of_list:
          return;
        case DW_RLE.base_addressx:
          base = this.indexedAddress(c.uleb());
          continue;
        case DW_RLE.base_address:
          base = c.address(size);
          continue;
        case DW_RLE.startx_endx:
          low = this.indexedAddress(c.uleb());
          high = this.indexedAddress(c.uleb());
          break;
        case DW_RLE.startx_length:
          low = this.indexedAddress(c.uleb());
          high = low + c.uleb();
          break;
        case DW_RLE.offset_pair:
          low = c.uleb();
          high = base + c.uleb();
          low += base;
          if (this.#dropped(base)) continue;
          break;
        case DW_RLE.start_end:
          low = c.address(size);
          high = c.address(size);
          break;
        case DW_RLE.start_length:
          low = c.address(size);
          high = low + c.uleb();
          break;
        default:
          throw c.error(`range list entry of kind ${kind}, which is not known`, entryAt);
      }
      if (low < high && !this.#dropped(low)) list.push(low, high, owner);
    }
  }
}

/** Size of the longest range list entry: its kind and two numbers of up to 10 bytes. */
const LONGEST_ENTRY = 21;

function isAddress(form: number): boolean {
  return form === DW_FORM.addr || form === DW_FORM.addrx || form === DW_FORM.GNU_addr_index ||
    (form >= DW_FORM.addrx1 && form <= DW_FORM.addrx4) || form === DW_FORM.LLVM_addrx_offset;
}
