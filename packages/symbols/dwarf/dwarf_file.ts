import { AbbrevTable, SLOT } from "./abbrev.ts";
import { i64 } from "./bytes.ts";
import { DW_UT } from "./dwarf_constants.ts";
import { DwarfError } from "./dwarf_error.ts";
import { NumberMap } from "./number_map.ts";
import { Section } from "./section.ts";
import type { DwarfSections } from "./sections.ts";
import type { Unit } from "./unit.ts";
import { UnitList } from "./unit_list.ts";

/** A split unit's parts of the sections in a package. */
export type Contributions = ReadonlyMap<string, { readonly offset: number; readonly size: number }>;

const KEPT_TABLES = 16;

/** The debugging sections of one file, and its units. */
export class DwarfFile {
  readonly info: Section;
  readonly #sections: DwarfSections;
  readonly #split: boolean;
  readonly #contributions: Contributions | undefined;
  readonly #opened = new Map<string, Section>();
  readonly #shared: Map<string, Section>;
  readonly #tables = new Map<string, AbbrevTable>();
  readonly #rootTables = new Map<string, AbbrevTable>();
  #rootWork = 0;
  readonly #report: (error: DwarfError) => void;
  readonly #openSupplementary: (() => DwarfSections | undefined) | undefined;
  #supplementary: DwarfFile | undefined;
  #supplementaryOpened = false;
  #units: UnitList | undefined;
  /**
   * One more than the index of the function that an entry names, by the entry's offset; 0 if not
   * determined.
   */
  readonly functionIds: NumberMap = new NumberMap();
  /** One more than the line that declares the function, by the entry's offset. */
  readonly declLines: NumberMap = new NumberMap();

  constructor(sections: DwarfSections, options: {
    /** Sections have the names `.debug_info.dwo` and so on. */
    readonly split?: boolean;
    readonly contributions?: Contributions | undefined;
    /** Whole sections by name, shared by all units of a package. */
    readonly shared?: Map<string, Section>;
    /** Receives errors that affect part of the file; may throw to stop. */
    readonly report: (error: DwarfError) => void;
    readonly supplementary?: (() => DwarfSections | undefined) | undefined;
  }) {
    this.#sections = sections;
    this.#split = options.split ?? false;
    this.#contributions = options.contributions;
    this.#shared = options.shared ?? new Map();
    this.#report = options.report;
    this.#openSupplementary = options.supplementary;
    this.info = this.#open(".debug_info");
  }

  #open(name: string): Section {
    const full = this.#split ? `${name}.dwo` : name;
    let section = this.#opened.get(name);
    if (section === undefined) {
      section = this.#shared.get(full);
      if (section === undefined) {
        section = Section.open(this.#sections, full);
        this.#shared.set(full, section);
      }
      const part = this.#contributions?.get(name);
      if (part !== undefined) section = section.part(part.offset, part.size);
      this.#opened.set(name, section);
    }
    return section;
  }

  /** Reports damage that affects only part of the file. */
  report(error: DwarfError): void {
    this.#report(error);
  }

  get str(): Section {
    return this.#open(".debug_str");
  }
  get lineStr(): Section {
    return this.#open(".debug_line_str");
  }
  get strOffsets(): Section {
    return this.#open(".debug_str_offsets");
  }
  get line(): Section {
    return this.#open(".debug_line");
  }
  get addr(): Section {
    return this.#open(".debug_addr");
  }
  get ranges(): Section {
    return this.#open(".debug_ranges");
  }
  get rnglists(): Section {
    return this.#open(".debug_rnglists");
  }
  get aranges(): Section {
    return this.#open(".debug_aranges");
  }
  get abbrev(): Section {
    return this.#open(".debug_abbrev");
  }
  get loc(): Section {
    return this.#open(".debug_loc");
  }
  get loclists(): Section {
    return this.#open(".debug_loclists");
  }

  /** The supplementary file (`.gnu_debugaltlink`, `.debug_sup`); `undefined` if there is none. */
  get supplementary(): DwarfFile | undefined {
    if (!this.#supplementaryOpened) {
      this.#supplementaryOpened = true;
      const sections = this.#openSupplementary?.();
      if (sections !== undefined) {
        this.#supplementary = new DwarfFile(sections, { report: this.#report });
      }
    }
    return this.#supplementary;
  }

  /** Reads an address of `size` bytes at `offset` of a section. */
  address(section: Section, offset: number, size: number): number {
    if (size !== 8) return section.uint(offset, size);
    const i = section.at(offset, 8);
    return i64(section.bytes, i, section.le);
  }

  /** All units, in section order. Only headers are read. */
  get units(): UnitList {
    return this.#units ??= new UnitList(this, this.#report);
  }

  /** The unit that contains `offset` of `.debug_info`. */
  unitAt(offset: number): Unit {
    const { units } = this;
    const number = units.before(offset);
    const unit = number < 0 ? undefined : units.unit(number);
    if (
      unit === undefined || !(offset >= unit.offset + unit.headerSize) ||
      offset >= unit.offset + unit.size
    ) {
      throw new DwarfError(this.info.name, offset, "a reference to where no unit is");
    }
    return unit;
  }

  abbrevTable(unit: Unit): AbbrevTable {
    const key = tableKey(unit);
    let table = this.#tables.get(key);
    if (table === undefined) {
      const section = this.abbrev;
      section.at(0, section.size);
      const bytes = section.bytes;
      table = new AbbrevTable(bytes, section.name, unit.abbrevOffset, section.le, unit);
      // Units of one link-time optimization share a table; others have their own.
      if (this.#tables.size >= KEPT_TABLES) {
        for (const oldest of this.#tables.keys()) {
          this.#tables.delete(oldest);
          break;
        }
      }
      this.#tables.set(key, table);
    }
    return table;
  }

  /** An abbreviation table parsed up to `code`, for a unit's root entry. */
  rootAbbrev(unit: Unit, code: number): AbbrevTable {
    const key = `${tableKey(unit)} ${code}`;
    let table = this.#rootTables.get(key);
    if (table === undefined) {
      const section = this.abbrev;
      section.at(0, section.size);
      const bytes = section.bytes;
      table = new AbbrevTable(bytes, section.name, unit.abbrevOffset, section.le, unit, code);
      this.#rootWork += table.tag.length;
      // In a hostile file each unit refers to a table of its own, which overlaps the others.
      if (this.#rootWork > 64 * this.units.length + 16 * section.size) {
        throw new DwarfError(section.name, unit.abbrevOffset, "overlapping abbreviation tables");
      }
      this.#rootTables.set(key, table);
    }
    return table;
  }

  splitUnit(id: bigint | undefined): Unit | undefined {
    const { units } = this;
    for (let i = 0; i < units.length; i++) {
      const unit = units.unit(i);
      if (unit.type !== DW_UT.split_compile && unit.type !== DW_UT.compile) continue;
      if (id === undefined || unit.root.dwoId === id) return unit;
      // Before DWARF 5 the id may be missing in the split file.
      if (unit.version < 5 && !unit.rootDie().has(SLOT.DWO_ID)) return unit;
    }
    return undefined;
  }
}

function tableKey(unit: Unit): string {
  return `${unit.abbrevOffset} ${unit.version < 3 ? 2 : 3} ${unit.offsetSize} ${unit.addressSize}`;
}
