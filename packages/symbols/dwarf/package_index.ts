import { Cursor } from "./bytes.ts";
import type { Contributions } from "./dwarf_file.ts";

// Section numbers of an index: in the GNU extension to DWARF 4 (version 2), and in DWARF 5
// (7.3.5.3).
const SECTIONS_V2: readonly (string | undefined)[] = [
  undefined,
  ".debug_info",
  ".debug_types",
  ".debug_abbrev",
  ".debug_line",
  ".debug_loc",
  ".debug_str_offsets",
];
const SECTIONS_V5: readonly (string | undefined)[] = [
  undefined,
  ".debug_info",
  undefined,
  ".debug_abbrev",
  ".debug_line",
  ".debug_loclists",
  ".debug_str_offsets",
  undefined,
  ".debug_rnglists",
];

/** `.debug_cu_index` of a DWARF package file (`.dwp`): locations of split units' sections. */
export class PackageIndex {
  readonly #c: Cursor;
  readonly #columns: number;
  readonly #units: number;
  readonly #slots: number;
  readonly #names: (string | undefined)[] = [];

  /** Reads the section's header. */
  constructor(bytes: Uint8Array, littleEndian: boolean) {
    const c = this.#c = new Cursor(bytes, ".debug_cu_index", 0, littleEndian);
    // The version is a half-word and padding in DWARF 5, a word in version 2.
    let version = c.u32();
    if (version !== 2) {
      c.pos = 0;
      version = c.u16();
      c.u16();
      if (version !== 5) throw c.error(`index of version ${version}; 2 or 5 expected`, 0);
    }
    const columns = this.#columns = c.u32();
    const units = this.#units = c.u32();
    const slots = this.#slots = c.u32();
    const size = slots * 12 + columns * 4 + units * columns * 8;
    if (size > bytes.length - c.pos || (slots & (slots - 1)) !== 0) {
      throw c.error(
        `${units} units of ${columns} sections in ${slots} slots: no such table here`,
        4,
      );
    }
    c.pos = 16 + slots * 12;
    const known = version === 2 ? SECTIONS_V2 : SECTIONS_V5;
    for (let i = 0; i < columns; i++) this.#names.push(known[c.u32()]);
  }

  /** The sections of the unit with that id; `undefined` if the package does not have it. */
  find(id: bigint): Contributions | undefined {
    const c = this.#c;
    if (this.#slots === 0) return undefined;
    const mask = this.#slots - 1;
    const low = Number(id & 0xffffffffn), high = Number(id >> 32n & 0xffffffffn);
    let slot = low & mask;
    const step = (high & mask) | 1;
    for (let tries = 0; tries < this.#slots; tries++, slot = (slot + step) & mask) {
      c.pos = 16 + slot * 8;
      const first = c.u32(), second = c.u32();
      c.pos = 16 + this.#slots * 8 + slot * 4;
      const row = c.u32();
      if (row === 0) return undefined;
      if ((c.le ? first : second) !== low || (c.le ? second : first) !== high) continue;
      if (row > this.#units) throw c.error(`row ${row} of ${this.#units}`, c.pos - 4);
      return this.#row(row);
    }
    return undefined;
  }

  #row(row: number): Contributions {
    const c = this.#c;
    const offsets = 16 + this.#slots * 12 + row * this.#columns * 4;
    const sizes = offsets + this.#units * this.#columns * 4;
    const parts = new Map<string, { offset: number; size: number }>();
    this.#names.forEach((name, column) => {
      if (name === undefined) return;
      c.pos = offsets + column * 4;
      const offset = c.u32();
      c.pos = sizes + column * 4;
      parts.set(name, { offset, size: c.u32() });
    });
    return parts;
  }
}
